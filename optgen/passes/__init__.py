"""The passes between `ir.build` and a backend. Each takes and returns a well-formed kernel.

PASSES run for every target, in this order. Two more run when a kernel is lowered (`optgen/pipeline.py`):
`split_sweeps`, for GPUs alone, then `expand_math`. Until then a kernel says `pow`, which is easier to read.
`place_stores` and `defer_reductions` are the choices of `plan_sweeps`: where to store, and where to reduce.
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
