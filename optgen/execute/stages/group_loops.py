"""The calls of groups of rows or columns on the CPU, with the bits of `group_calls`: a compiled loop for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.execute import buffers
from optgen.execute.stages import group_calls
from optgen.loops.kernel import kernel
from optgen.loops.language import Array

ADD, LARGEST, LEAST = 0, 1, 2
_HOW = {"sum": ADD, "mean": ADD, "max": LARGEST, "min": LEAST}


@kernel
def fold_groups(
    task: int, scratch: Array, x: Array, y: Array, count: int, length: int, repeats: int,
    how: int,
) -> None:  # fmt: skip
    """Fold the values of group number `task`, of which there is one at least, by halves. A NaN stays."""
    for r in range(repeats):
        for j in range(length):
            scratch[r * length + j] = x[(r * count + task) * length + j]
    n = repeats * length
    while n > 1:
        half = n // 2
        for j in range(half):
            a = scratch[j]
            b = scratch[n - half + j]
            if how == ADD:
                scratch[j] = a + b
            if how == LARGEST:
                scratch[j] = a if a != a or a > b else b
            if how == LEAST:
                scratch[j] = a if a != a or a < b else b
        n = n - half
    y[task] = scratch[0]


def compute(function: str, x: buffers.Array, numbers: Sequence[float], out: buffers.Array) -> None:
    """Compute a call of `optgen.stages.plan.GROUPED`; `out` is written."""
    count, length, repeats, *each = map(int, numbers)
    lines: Any = length * repeats
    if function == "spread" or not lines or not count:
        group_calls.compute(np, function, x, numbers, out)
        return
    fold_groups(count, x.size, x, out, count, length, repeats, _HOW[function], scratch=lines)
    if function == "mean":
        group_calls.divide(out, lines * each[0])
