"""Elementary functions become the primitive operations that define them, the same on every target.

The last pass of all: until then a kernel says `pow`, which is easier to read and quicker to rewrite.
"""

from __future__ import annotations

from dataclasses import replace

from optgen.ir import nodes as ir
from optgen.ir.expand import expand
from optgen.ir.nodes import Kernel


def expand_math(kernel: Kernel) -> Kernel:
    phases = []
    for phase in kernel.phases:
        lists = [expand(i) if isinstance(i.op, ir.Math) else [i] for i in phase.instrs]
        phases.append(replace(phase, instrs=tuple(i for instrs in lists for i in instrs)))
    return replace(kernel, phases=tuple(phases))
