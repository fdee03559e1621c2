"""Mean 0 and variance 1, and the way back, each in as few passes as the sums allow, while the values are in the cache.

Values are normalized over planes, (batch, channels, size), each over its channel's planes or alone; or over rows.
`eps` is an array of one element.
"""

from __future__ import annotations

from runtime.native.compile import Array, function, total
from runtime.native.kernel import kernel

BLOCK = 1024
"""So many elements are added up without compensation."""
SCRATCH = BLOCK + 4


@function
def add(sum: Array, x: float) -> None:
    """Add to a sum of two numbers, the second being what the first could not hold."""
    whole = sum[0] + x
    sum[1] += x - (whole - sum[0])
    sum[0] = whole


@function
def clear(x: Array, n: int) -> None:
    for i in range(n):
        x[i] = 0.0


@function
def squares(to: Array, x: Array, mean: float, n: int) -> None:
    for i in range(n):
        d = x[i] - mean
        to[i] = d * d


@function
def moments(
    scratch: Array, x: Array, mean: Array, var: Array, planes: int, stride: int, size: int
) -> None:  # fmt: skip
    """Mean and variance of `planes` runs of `size` elements, `stride` apart."""
    clear(scratch, 2)
    for p in range(planes):
        for i in range(0, size, BLOCK):
            add(scratch, total(x + (p * stride + i), min(BLOCK, size - i)))
    mu = (scratch[0] + scratch[1]) / float(planes * size)
    clear(scratch, 2)
    for p in range(planes):
        for i in range(0, size, BLOCK):
            n = min(BLOCK, size - i)
            squares(scratch + 4, x + (p * stride + i), mu, n)
            add(scratch, total(scratch + 4, n))
    mean[0] = mu
    var[0] = (scratch[0] + scratch[1]) / float(planes * size)


# ---------------------------------------------------------------- planes


@function
def scale_and_shift(to: Array, x: Array, mean: float, scale: float, shift: float, n: int) -> None:
    for i in range(n):
        to[i] = (x[i] - mean) * scale + shift


@kernel
def planes(
    task: int, scratch: Array, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, var: Array, eps: Array,
    channels: int, together: int, size: int,
) -> None:  # fmt: skip
    """`(x - mean)/sqrt(var + eps) gamma + beta`. A task for each mean: plane `task`, and those of its channel in the
    images behind, `together` in all."""
    stride = channels * size
    moments(scratch, x + task * size, mean + task, var + task, together, stride, size)
    scale = gamma[task % channels] / sqrt(var[task] + eps[0])  # noqa: F821
    for p in range(together):
        at = task * size + p * stride
        scale_and_shift(y + at, x + at, mean[task], scale, beta[task % channels], size)


@function
def products(to: Array, g: Array, x: Array, mean: float, n: int) -> None:
    for i in range(n):
        to[i] = g[i] * (x[i] - mean)


@function
def flow(to: Array, g: Array, x: Array, mean: float, along: float, across: float, scale: float, n: int) -> None:
    for i in range(n):
        to[i] = (g[i] - ((x[i] - mean) * along + across)) * scale


@kernel
def planes_back(
    task: int, scratch: Array, g: Array, x: Array, gamma: Array, mean: Array, var: Array, eps: Array,
    dx: Array, dgamma: Array, dbeta: Array, channels: int, together: int, size: int,
) -> None:  # fmt: skip
    """What flows into x; and each task's part of what flows into gamma and beta."""
    stride = channels * size
    mu = mean[task]
    clear(scratch, 4)
    for p in range(together):
        for i in range(0, size, BLOCK):
            at = task * size + p * stride + i
            n = min(BLOCK, size - i)
            products(scratch + 4, g + at, x + at, mu, n)
            add(scratch, total(scratch + 4, n))
            add(scratch + 2, total(g + at, n))
    rate = 1.0 / sqrt(var[task] + eps[0])  # noqa: F821
    dgamma[task] = (scratch[0] + scratch[1]) * rate
    dbeta[task] = scratch[2] + scratch[3]
    count = float(together * size)
    along = dgamma[task] / count * rate
    for p in range(together):
        at = task * size + p * stride
        flow(dx + at, g + at, x + at, mu, along, dbeta[task] / count, rate * gamma[task % channels], size)


# ---------------------------------------------------------------- rows


@function
def scale_and_shift_row(
    to: Array, x: Array, gamma: Array, beta: Array, mean: float, rate: float, n: int
) -> None:  # fmt: skip
    for i in range(n):
        to[i] = (x[i] - mean) * rate * gamma[i] + beta[i]


@kernel
def layers(
    task: int, scratch: Array, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, var: Array, eps: Array,
    rows: int, n: int, share: int,
) -> None:  # fmt: skip
    """Rows of n elements, of which a task has `share`; gamma and beta lie along them."""
    for r in range(task * share, min(task * share + share, rows)):
        moments(scratch, x + r * n, mean + r, var + r, 1, 0, n)
        rate = 1.0 / sqrt(var[r] + eps[0])  # noqa: F821
        scale_and_shift_row(y + r * n, x + r * n, gamma, beta, mean[r], rate, n)


@function
def row_terms(
    flows: Array, along: Array, dgamma: Array, dbeta: Array, g: Array, x: Array, gamma: Array, mean: float, rate: float,
    n: int,
) -> None:  # fmt: skip
    """Of a row: what flows into the normalized values, and its products with them."""
    for i in range(n):
        value = (x[i] - mean) * rate
        dgamma[i] += g[i] * value
        dbeta[i] += g[i]
        flows[i] = g[i] * gamma[i]
        along[i] = flows[i] * value


@kernel
def layers_back(
    task: int, scratch: Array, g: Array, x: Array, gamma: Array, mean: Array, var: Array, eps: Array,
    dx: Array, dgamma: Array, dbeta: Array, rows: int, n: int, share: int,
) -> None:  # fmt: skip
    """What flows into x; and what flows into gamma and beta from the rows of each task: (tasks, n)."""
    clear(dgamma + task * n, n)
    clear(dbeta + task * n, n)
    for r in range(task * share, min(task * share + share, rows)):
        at = r * n
        rate = 1.0 / sqrt(var[r] + eps[0])  # noqa: F821
        clear(scratch, 4)
        for i in range(0, n, BLOCK):
            count = min(BLOCK, n - i)
            row_terms(
                dx + (at + i), scratch + 4, dgamma + (task * n + i), dbeta + (task * n + i), g + (at + i), x + (at + i),
                gamma + i, mean[r], rate, count,
            )  # fmt: skip
            add(scratch, total(scratch + 4, count))
            add(scratch + 2, total(dx + (at + i), count))
        along = (scratch[0] + scratch[1]) / float(n) * rate
        across = (scratch[2] + scratch[3]) / float(n)
        flow_in_place(dx + at, x + at, mean[r], along, across, rate, n)


@function
def flow_in_place(to: Array, x: Array, mean: float, along: float, across: float, scale: float, n: int) -> None:
    for i in range(n):
        to[i] = (to[i] - ((x[i] - mean) * along + across)) * scale
