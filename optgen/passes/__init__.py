"""The passes between `ir.build` and a backend, in order. Each takes and returns a well-formed kernel.

`expand_math` runs last, in the lowering: until then a kernel says `pow`, which is easier to read.
"""

from __future__ import annotations

from collections.abc import Callable

from optgen.ir import Kernel
from optgen.passes import cse_dce, hoist_host, plan_sweeps

PASSES: tuple[Callable[[Kernel], Kernel], ...] = (
    cse_dce.cse_dce,  # equal operations once, unused ones not at all
    hoist_host.hoist_host,  # [update] -> [host, update]
    plan_sweeps.plan_sweeps,  # [host, update] -> [host, (shared | scalar | row | col | sweep)*]
)
