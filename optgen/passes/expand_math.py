"""Replaces elementary functions by the primitive operations that define them, the same on every target.

This is the last pass. Until then a kernel says `pow`, which is easier to read and quicker to rewrite. A target may call
functions in some phases, as the CPU does in most of those of the host: those needed there more than once are left to
it, as it is quicker to compile one function of the same operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr, Kernel, Phase, PhaseKind
from optgen.ir.expand import expand
from optgen.ir.verify import PHASE_KINDS

PHASE_OF_KIND: dict[Kind, PhaseKind] = {
    Kind.SHARED: "shared",
    Kind.TENSOR: "scalar",
    Kind.ROW: "row",
    Kind.COL: "col",
}


def expand_math(kernel: Kernel, calls: Callable[[Phase], bool] | None = None) -> Kernel:
    """The kernel without elementary functions, except for those needed twice in a phase of which `calls` is true."""
    phases: list[Phase] = []
    for phase in kernel.phases:
        left = {None, *(_needed_twice(phase) if calls is not None and calls(phase) else ())}
        instrs = [x for i in phase.instrs for x in ([i] if _function(i) in left else expand(i))]
        if phase.kind != "update":
            # In a power of elements, the part that depends only on a smaller exponent (or base) is computed before the
            # sweep.
            for instr in instrs:
                if not _belongs(instr, phase.kind):
                    _put_before(phases, instr)
            instrs = [i for i in instrs if _belongs(i, phase.kind)]
        phases.append(replace(phase, instrs=tuple(instrs)))
    return replace(kernel, phases=tuple(phases))


def _function(instr: Instr) -> str | None:
    """The elementary function that an instruction is, if it is one."""
    return instr.op.function if isinstance(instr.op, ir.Math) else None


def _needed_twice(phase: Phase) -> set[str]:
    """The elementary functions that several instructions of a phase are."""
    uses = Counter(_function(i) for i in phase.instrs)
    return {name for name, count in uses.items() if name is not None and count > 1}


def _belongs(instr: Instr, phase: PhaseKind) -> bool:
    if instr.result is None or isinstance(instr.op, ir.Reduce):
        return True
    return instr.result.type.kind in PHASE_KINDS[phase]


def _put_before(phases: list[Phase], instr: Instr) -> None:
    """Append the instruction to the host phase, or to a phase of its kind at the end."""
    assert instr.result is not None
    kind = PHASE_OF_KIND.get(instr.result.type.kind, "host")
    if kind == "host":
        phases[0] = replace(phases[0], instrs=(*phases[0].instrs, instr))
    elif phases[-1].kind == kind:
        phases[-1] = replace(phases[-1], instrs=(*phases[-1].instrs, instr))
    else:
        phases.append(Phase(kind, (instr,)))
