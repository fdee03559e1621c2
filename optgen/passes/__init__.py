"""The passes between `ir.build` and a backend, in order. Each takes and returns a well-formed kernel.

`expand_math` runs last, in the lowering: until then a kernel says `pow`, which is easier to read.
"""

from __future__ import annotations

from collections.abc import Callable

from optgen.ir import Kernel
from optgen.passes.cse_dce import cse_dce
from optgen.passes.hoist_host import hoist_host
from optgen.passes.plan_sweeps import plan_sweeps

PASSES: tuple[Callable[[Kernel], Kernel], ...] = (
    cse_dce,  # equal operations once, unused ones not at all
    hoist_host,  # [update] -> [host, update]
    plan_sweeps,  # [host, update] -> [host, (shared | scalar | row | col | sweep)*]
)
