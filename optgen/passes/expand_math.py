"""Elementary functions become the primitive operations that define them, the same on every target.

The last pass of all: until then a kernel says `pow`, which is easier to read and quicker to rewrite.
"""

from __future__ import annotations

from dataclasses import replace

from optgen.ir import nodes as ir
from optgen.ir.expand import expand
from optgen.ir.nodes import Instr, Kernel, Phase
from optgen.model import Kind


def expand_math(kernel: Kernel) -> Kernel:
    phases: list[Phase] = []
    for phase in kernel.phases:
        lists = [expand(i) if isinstance(i.op, ir.Math) else [i] for i in phase.instrs]
        instrs = [i for expanded in lists for i in expanded]
        if phase.kind == "sweep":
            # Of a power of elements, what depends on a scalar exponent (or base) alone is known before the sweep.
            before = phases.pop()
            phases.append(replace(before, instrs=(*before.instrs, *(i for i in instrs if _is_scalar(i)))))
            instrs = [i for i in instrs if not _is_scalar(i)]
        phases.append(replace(phase, instrs=tuple(instrs)))
    return replace(kernel, phases=tuple(phases))


def _is_scalar(instr: Instr) -> bool:
    return instr.result is not None and instr.result.type.kind is not Kind.ELEM and not isinstance(instr.op, ir.Reduce)
