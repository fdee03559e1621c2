"""Softmax over rows, and its gradient. A task takes `share` of the rows.

`scale`, an array of one element, is a factor of the scores.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function, total
from runtime.native.exponential import decay
from runtime.native.normalization import BLOCK, add
from runtime.native.vectors import clear

LANES = 64


@function
def greatest(scratch: Array, x: Array, scale: float, n: int) -> float:
    """The greatest of `scale x`, n >= 1 elements; of NaN, nothing is said."""
    whole = n // LANES * LANES
    top = scale * x[0]
    if whole > 0:
        for k in range(LANES):
            scratch[k] = top
        for i in range(0, whole, LANES):
            for k in range(LANES):
                scratch[k] = max(scratch[k], scale * x[i + k])
        for k in range(LANES):
            top = max(top, scratch[k])
    for i in range(whole, n):
        top = max(top, scale * x[i])
    return top


@function
def exp_row(e: Array, x: Array, scale: float, top: float, n: int) -> None:
    for i in range(n):
        e[i] = decay(scale * x[i] - top)


@function
def divide(x: Array, by: float, n: int) -> None:
    for i in range(n):
        x[i] = x[i] / by


@kernel
def softmax(
    task: int, scratch: Array, x: Array, scale: Array, e: Array, tops: Array, sums: Array, rows: int, n: int,
    share: int, divided: int,
) -> None:  # fmt: skip
    """Rows of `exp(scale x - top)`, divided by their sum if `divided`; the greatest scores, and the sums."""
    for r in range(task * share, min(task * share + share, rows)):
        tops[r] = greatest(scratch, x + r * n, scale[0], n)
        clear(scratch, 2)
        for i in range(0, n, BLOCK):
            count = min(BLOCK, n - i)
            exp_row(e + (r * n + i), x + (r * n + i), scale[0], tops[r], count)
            add(scratch, total(e + (r * n + i), count))
        sums[r] = scratch[0] + scratch[1]
        if divided == 1:
            divide(e + r * n, sums[r], n)


@function
def multiply(to: Array, x: Array, y: Array, n: int) -> None:
    for i in range(n):
        to[i] = x[i] * y[i]


@function
def flow(to: Array, g: Array, y: Array, sum: float, scale: float, n: int) -> None:
    for i in range(n):
        to[i] = (g[i] - sum) * y[i] * scale


@kernel
def softmax_back(
    task: int, scratch: Array, y: Array, g: Array, scale: Array, dx: Array, rows: int, n: int, share: int
) -> None:
    for r in range(task * share, min(task * share + share, rows)):
        clear(scratch, 2)
        for i in range(0, n, BLOCK):
            count = min(BLOCK, n - i)
            multiply(scratch + 4, y + (r * n + i), g + (r * n + i), count)
            add(scratch, total(scratch + 4, count))
        flow(dx + r * n, g + r * n, y + r * n, scratch[0] + scratch[1], scale[0], n)


@function
def log_flow(to: Array, g: Array, y: Array, sum: float, scale: float, n: int) -> None:
    for i in range(n):
        to[i] = (g[i] - decay(y[i]) * sum) * scale


@kernel
def log_softmax_back(
    task: int, scratch: Array, y: Array, g: Array, scale: Array, dx: Array, rows: int, n: int, share: int
) -> None:
    """From the logarithms of softmax, `y`."""
    for r in range(task * share, min(task * share + share, rows)):
        clear(scratch, 2)
        for i in range(0, n, BLOCK):
            add(scratch, total(g + (r * n + i), min(BLOCK, n - i)))
        log_flow(dx + r * n, g + r * n, y + r * n, scratch[0] + scratch[1], scale[0], n)
