"""Softmax over rows, and its gradient. The scores are `scale x`, where `scale` is an array of one element.

x is (rows, n) and y the result, g the gradient with respect to y, and dx that with respect to x.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function, total
from runtime.native.formulas import exp_nonpositive, log_from_1
from runtime.native.normalization import BLOCK, add_compensated
from runtime.native.vectors import clear

LANES = 64
"""Maxima that are taken at a time, so that they are vectors."""


@function
def halve(maxima: Array, n: int) -> None:
    """The larger of each two of 2n numbers that are n apart."""
    for k in range(n):
        maxima[k] = max(maxima[k], maxima[n + k])


@function
def max_scaled(scratch: Array, x: Array, scale: float, n: int) -> float:
    """The maximum of `scale x`, n >= 1 elements. NaN among them may be the result or not."""
    whole = n // LANES * LANES
    top = scale * x[0]
    if whole > 0:
        for k in range(LANES):
            scratch[k] = top
        for i in range(0, whole, LANES):
            for k in range(LANES):
                scratch[k] = max(scratch[k], scale * x[i + k])
        halve(scratch, 32)
        halve(scratch, 16)
        halve(scratch, 8)
        for k in range(8):
            top = max(top, scratch[k])
    for i in range(whole, n):
        top = max(top, scale * x[i])
    return top


@function
def exp_row(e: Array, x: Array, scale: float, top: float, n: int) -> None:
    """`exp(scale x - top)`, where top is the maximum of `scale x`."""
    for i in range(n):
        e[i] = exp_nonpositive(scale * x[i] - top)


@function
def scale_by(x: Array, factor: float, n: int) -> None:
    for i in range(n):
        x[i] = x[i] * factor


@function
def exponentials_of_row(scratch: Array, e: Array, x: Array, scale: float, top: float, n: int) -> float:
    """e becomes `exp(scale x - top)`; their sum."""
    clear(scratch, 2)
    for i in range(0, n, BLOCK):
        count = min(BLOCK, n - i)
        exp_row(e + i, x + i, scale, top, count)
        add_compensated(scratch, total(e + i, count))
    return scratch[0] + scratch[1]


@kernel
def exponentials(
    task: int, scratch: Array, x: Array, scale: Array, e: Array, tops: Array, sums: Array, rows: int, n: int,
    rows_per_task: int,
) -> None:  # fmt: skip
    """e: rows of `exp(scale x - top)`. `tops` are the maxima of `scale x` and `sums` the sums of the exponentials, one
    for each row."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        tops[r] = max_scaled(scratch, x + r * n, scale[0], n)
        sums[r] = exponentials_of_row(scratch, e + r * n, x + r * n, scale[0], tops[r], n)


@kernel
def softmax(task: int, scratch: Array, x: Array, scale: Array, y: Array, rows: int, n: int, rows_per_task: int) -> None:
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        top = max_scaled(scratch, x + r * n, scale[0], n)
        sum = exponentials_of_row(scratch, y + r * n, x + r * n, scale[0], top, n)
        scale_by(y + r * n, 1.0 / sum, n)


@function
def subtract_twice(to: Array, x: Array, scale: float, first: float, second: float, n: int) -> None:
    """`scale x - first - second`."""
    for i in range(n):
        to[i] = scale * x[i] - first - second


@kernel
def log_softmax(
    task: int, scratch: Array, x: Array, scale: Array, y: Array, rows: int, n: int, rows_per_task: int
) -> None:
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        top = max_scaled(scratch, x + r * n, scale[0], n)
        sum = exponentials_of_row(scratch, y + r * n, x + r * n, scale[0], top, n)
        subtract_twice(y + r * n, x + r * n, scale[0], top, log_from_1(sum), n)


# ---------------------------------------------------------------- cross-entropy


@function
def class_of(label: float, n: int) -> int:
    """A class number as an index, of the first class for NaN and what is below, of the last for what is above."""
    # The largest index may have no float of its own, and the nearest one be larger.
    return min(int(min(label if label >= 0.0 else 0.0, float(n - 1))), n - 1)


@kernel
def cross_entropy(
    task: int, scratch: Array, x: Array, label: Array, e: Array, sums: Array, loss: Array, rows: int, n: int,
    rows_per_task: int,
) -> None:  # fmt: skip
    """`-log softmax(x)[label]` of each row; and exp(x - max(x)) and its sums."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        top = max_scaled(scratch, x + r * n, 1.0, n)
        sums[r] = exponentials_of_row(scratch, e + r * n, x + r * n, 1.0, top, n)
        loss[r] = log_from_1(sums[r]) + top - x[r * n + class_of(label[r], n)]


@function
def scaled(to: Array, x: Array, by: float, n: int) -> None:
    for i in range(n):
        to[i] = x[i] * by


@kernel
def cross_entropy_back(
    task: int, g: Array, label: Array, e: Array, sums: Array, dx: Array, rows: int, n: int, rows_per_task: int
) -> None:
    """g is the gradient with respect to the loss of each row."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        scaled(dx + r * n, e + r * n, g[r] / sums[r], n)
        dx[r * n + class_of(label[r], n)] -= g[r]


# ---------------------------------------------------------------- gradients of softmax


@function
def multiply(to: Array, x: Array, y: Array, n: int) -> None:
    for i in range(n):
        to[i] = x[i] * y[i]


@function
def input_gradient(to: Array, g: Array, y: Array, sum: float, scale: float, n: int) -> None:
    """`sum` is that of g y over the row."""
    for i in range(n):
        to[i] = (g[i] - sum) * y[i] * scale


@kernel
def softmax_back(
    task: int, scratch: Array, y: Array, g: Array, scale: Array, dx: Array, rows: int, n: int, rows_per_task: int
) -> None:
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        clear(scratch, 2)
        for i in range(0, n, BLOCK):
            count = min(BLOCK, n - i)
            multiply(scratch + 4, y + (r * n + i), g + (r * n + i), count)
            add_compensated(scratch, total(scratch + 4, count))
        input_gradient(dx + r * n, g + r * n, y + r * n, scratch[0] + scratch[1], scale[0], n)


@function
def log_input_gradient(to: Array, g: Array, y: Array, sum: float, scale: float, n: int) -> None:
    """`sum` is that of g over the row."""
    for i in range(n):
        to[i] = (g[i] - exp_nonpositive(y[i]) * sum) * scale


@kernel
def log_softmax_back(
    task: int, scratch: Array, y: Array, g: Array, scale: Array, dx: Array, rows: int, n: int, rows_per_task: int
) -> None:
    """The gradient of log softmax, from its result y."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        clear(scratch, 2)
        for i in range(0, n, BLOCK):
            add_compensated(scratch, total(g + (r * n + i), min(BLOCK, n - i)))
        log_input_gradient(dx + r * n, g + r * n, y + r * n, scratch[0] + scratch[1], scale[0], n)
