"""The calls of groups of rows or columns, with any library that has NumPy's functions: the same bits with each.

The values of lines stand as (repeats, groups, lines side by side). Those of a group are folded by halves, the
first half of them with the last one and so on, so that each step is one operation on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optgen.ir import IDENTITY, ReduceOp

_REDUCES: dict[str, ReduceOp] = {"sum": "sum", "mean": "sum", "max": "max", "min": "min"}


def compute(xp: Any, function: str, x: Any, numbers: Sequence[float], out: Any) -> None:
    """Compute a call of `optgen.stages.plan.GROUPED` with the functions of `xp`; `out` is written."""
    count, length, repeats, *each = map(int, numbers)
    if function == "spread":
        out.reshape(repeats, count, length)[...] = x.reshape(1, count, 1)
        return
    values = x.reshape(repeats, count, length).swapaxes(0, 1).reshape(count, repeats * length)
    lines = values.shape[1]
    if not lines:
        out[...] = IDENTITY[_REDUCES[function]]
    while (n := values.shape[1]) > 1:
        half = n // 2
        folded = _fold(xp, function, values[:, :half], values[:, n - half :])
        values = xp.concatenate([folded, values[:, half : n - half]], 1)
    if lines:
        out[...] = values[:, 0]
    if function == "mean":
        divide(out, lines * each[0])


def divide(sums: Any, count: int) -> None:
    """Make means of sums of so many numbers; NaN of none."""
    sums /= float(count or "nan")


def _fold(xp: Any, function: str, a: Any, b: Any) -> Any:
    """Two arrays folded element by element. A NaN stays."""
    if function in ("sum", "mean"):
        return a + b
    return xp.where((a != a) | (a > b if function == "max" else a < b), a, b)
