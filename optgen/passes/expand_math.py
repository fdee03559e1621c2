"""Replaces elementary functions by the primitive operations that define them, the same on every target.

This is the last pass. Until then a kernel says `pow`, which is easier to read and quicker to rewrite.
"""

from __future__ import annotations

from dataclasses import replace

from optgen import ir
from optgen.ir import Instr, Kernel, Phase, PhaseKind
from optgen.ir.expand import expand
from optgen.ir.verify import PHASE_KINDS
from optgen.model import Kind

PHASE_OF_KIND: dict[Kind, PhaseKind] = {
    Kind.SHARED: "shared",
    Kind.TENSOR: "scalar",
    Kind.ROW: "row",
    Kind.COL: "col",
}


def expand_math(kernel: Kernel) -> Kernel:
    phases: list[Phase] = []
    for phase in kernel.phases:
        instrs = [x for i in phase.instrs for x in (expand(i) if isinstance(i.op, ir.Math) else [i])]
        if phase.kind != "update":
            # In a power of elements, the part that depends only on a smaller exponent (or base) is computed before the
            # sweep.
            for instr in instrs:
                if not _belongs(instr, phase.kind):
                    _put_before(phases, instr)
            instrs = [i for i in instrs if _belongs(i, phase.kind)]
        phases.append(replace(phase, instrs=tuple(instrs)))
    return replace(kernel, phases=tuple(phases))


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
