"""Normalization to mean 0 and variance 1, and its gradient: as few passes as the sums allow, over values in the cache.

x is (batch, channels, size), normalized over one plane or over all planes of a channel; or it is (rows, n), normalized
over each row. g is the gradient with respect to the output; dx, dgamma and dbeta are those with respect to x, gamma and
beta. `eps` is an array of one element.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function, sqrt, total
from runtime.native.formulas import relu_value
from runtime.native.vectors import clear

BLOCK = 1024
"""Elements that are added up without compensation."""
SCRATCH = 2 * BLOCK + 4
"""Elements of scratch memory: two compensated sums, and two blocks."""


@function
def add_compensated(sum: Array, x: float) -> None:
    """Add x to a compensated sum of two elements: the rounded sum, and the sum of its rounding errors."""
    whole = sum[0] + x
    sum[1] += x - (whole - sum[0])
    sum[0] = whole


@function
def deviations(to: Array, x: Array, mean: float, runs: int, stride: int, n: int) -> None:
    """Runs of n elements, `stride` apart in x, minus the mean, one directly after the other.

    Short runs are then added up together: a sum of few elements takes as long as a sum of many.
    """
    for r in range(runs):
        for i in range(n):
            to[r * n + i] = x[r * stride + i] - mean


@function
def squares(x: Array, n: int) -> None:
    for i in range(n):
        x[i] = x[i] * x[i]


@function
def moments(scratch: Array, x: Array, mean: Array, var: Array, planes: int, stride: int, size: int) -> None:
    """Mean and variance of `planes` runs of `size` elements, `stride` apart.

    The sum of the deviations from the computed mean is not exactly 0, because that mean is rounded; it corrects both.
    """
    count = float(planes * size)
    block = scratch + 4
    per = max(1, BLOCK // size)
    clear(scratch, 2)
    for p in range(0, planes, per):
        runs = min(per, planes - p)
        for i in range(0, size, BLOCK):
            n = min(BLOCK, size - i)
            deviations(block, x + (p * stride + i), 0.0, runs, stride, n)
            add_compensated(scratch, total(block, runs * n))
    mu = (scratch[0] + scratch[1]) / count
    clear(scratch, 4)
    for p in range(0, planes, per):
        runs = min(per, planes - p)
        for i in range(0, size, BLOCK):
            n = min(BLOCK, size - i)
            deviations(block, x + (p * stride + i), mu, runs, stride, n)
            add_compensated(scratch, total(block, runs * n))
            squares(block, runs * n)
            add_compensated(scratch + 2, total(block, runs * n))
    error = (scratch[0] + scratch[1]) / count
    mean[0] = mu + error
    var[0] = (scratch[2] + scratch[3]) / count - error * error


# ---------------------------------------------------------------- planes


@function
def scale_and_shift(to: Array, x: Array, mean: float, scale: float, shift: float, n: int) -> None:
    for i in range(n):
        to[i] = (x[i] - mean) * scale + shift


@kernel
def planes(
    task: int, scratch: Array, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, var: Array, eps: Array,
    channels: int, planes_per_mean: int, size: int,
) -> None:  # fmt: skip
    """`(x - mean)/sqrt(var + eps) gamma + beta`. One task for each mean, which is over `planes_per_mean` planes: plane
    `task`, and those of the same channel in the following images."""
    stride = channels * size
    moments(scratch, x + task * size, mean + task, var + task, planes_per_mean, stride, size)
    scale = gamma[task % channels] / sqrt(var[task] + eps[0])
    for p in range(planes_per_mean):
        at = task * size + p * stride
        scale_and_shift(y + at, x + at, mean[task], scale, beta[task % channels], size)


@function
def scale_shift_relu(to: Array, x: Array, mean: float, scale: float, shift: float, n: int) -> None:
    for i in range(n):
        to[i] = relu_value((x[i] - mean) * scale + shift)


@function
def scale_shift_add_relu(to: Array, x: Array, other: Array, mean: float, scale: float, shift: float, n: int) -> None:
    for i in range(n):
        to[i] = relu_value((x[i] - mean) * scale + shift + other[i])


@kernel
def planes_relu(
    task: int, scratch: Array, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, var: Array, eps: Array,
    other: Array, adds: int, channels: int, planes_per_mean: int, size: int,
) -> None:  # fmt: skip
    """`relu` of what `planes` computes, or if `adds` of its sum with `other`."""
    stride = channels * size
    moments(scratch, x + task * size, mean + task, var + task, planes_per_mean, stride, size)
    scale = gamma[task % channels] / sqrt(var[task] + eps[0])
    for p in range(planes_per_mean):
        at = task * size + p * stride
        if adds == 1:
            scale_shift_add_relu(y + at, x + at, other + at, mean[task], scale, beta[task % channels], size)
        else:
            scale_shift_relu(y + at, x + at, mean[task], scale, beta[task % channels], size)


@function
def products(to: Array, flows: Array, g: Array, x: Array, mean: float, runs: int, stride: int, n: int) -> None:
    """`g (x - mean)` and g, in runs as `deviations` has them."""
    for r in range(runs):
        for i in range(n):
            flows[r * n + i] = g[r * stride + i]
            to[r * n + i] = g[r * stride + i] * (x[r * stride + i] - mean)


@function
def input_gradient(
    to: Array, g: Array, x: Array, mean: float, along: float, across: float, scale: float, n: int
) -> None:  # fmt: skip
    """`across` and `along` remove the parts of g that change only the mean, or only the variance."""
    for i in range(n):
        to[i] = (g[i] - ((x[i] - mean) * along + across)) * scale


@function
def add_totals(sums: Array, products: Array, flows: Array, n: int) -> None:
    """Add the total of `products` to `sums[0:2]` and that of `flows` to `sums[2:4]`."""
    add_compensated(sums, total(products, n))
    add_compensated(sums + 2, total(flows, n))


@function
def scale_and_shift_gradients(dgamma: Array, dbeta: Array, sums: Array, rate: float) -> None:
    """`sums` are those of `add_totals` over all elements; `rate` is 1/sqrt(var + eps)."""
    dgamma[0] = (sums[0] + sums[1]) * rate
    dbeta[0] = sums[2] + sums[3]


@kernel
def planes_back(
    task: int, scratch: Array, g: Array, x: Array, gamma: Array, mean: Array, var: Array, eps: Array,
    dx: Array, dgamma: Array, dbeta: Array, channels: int, planes_per_mean: int, size: int,
) -> None:  # fmt: skip
    """dx; and the part of each task in dgamma and dbeta: (tasks,)."""
    stride = channels * size
    mu = mean[task]
    block = scratch + 4
    flows = block + BLOCK
    per = max(1, BLOCK // size)
    clear(scratch, 4)
    for p in range(0, planes_per_mean, per):
        runs = min(per, planes_per_mean - p)
        for i in range(0, size, BLOCK):
            at = task * size + p * stride + i
            n = min(BLOCK, size - i)
            products(block, flows, g + at, x + at, mu, runs, stride, n)
            add_totals(scratch, block, flows, runs * n)
    rate = 1.0 / sqrt(var[task] + eps[0])
    scale_and_shift_gradients(dgamma + task, dbeta + task, scratch, rate)
    count = float(planes_per_mean * size)
    along = dgamma[task] / count * rate
    for p in range(planes_per_mean):
        at = task * size + p * stride
        input_gradient(dx + at, g + at, x + at, mu, along, dbeta[task] / count, rate * gamma[task % channels], size)


@function
def masked(to: Array, g: Array, z: Array, runs: int, stride: int, n: int) -> None:
    """g through a relu whose output is z, in runs as `deviations` has them."""
    for r in range(runs):
        for i in range(n):
            at = r * stride + i
            to[r * n + i] = g[at] * (1.0 if z[at] > 0.0 else abs(z[at]))


@function
def products_with(to: Array, flows: Array, x: Array, mean: float, runs: int, stride: int, n: int) -> None:
    for r in range(runs):
        for i in range(n):
            to[r * n + i] = flows[r * n + i] * (x[r * stride + i] - mean)


@function
def masked_input_gradient(
    to: Array, g: Array, z: Array, x: Array, mean: float, along: float, across: float, scale: float, n: int
) -> None:  # fmt: skip
    for i in range(n):
        flow = g[i] * (1.0 if z[i] > 0.0 else abs(z[i]))
        to[i] = (flow - ((x[i] - mean) * along + across)) * scale


@kernel
def planes_back_relu(
    task: int, scratch: Array, g: Array, z: Array, x: Array, gamma: Array, mean: Array, var: Array, eps: Array,
    dx: Array, dgamma: Array, dbeta: Array, channels: int, planes_per_mean: int, size: int,
) -> None:  # fmt: skip
    """`planes_back` where g is the gradient of the relu of what was normalized, and z the output of that."""
    stride = channels * size
    mu = mean[task]
    block = scratch + 4
    flows = block + BLOCK
    per = max(1, BLOCK // size)
    clear(scratch, 4)
    for p in range(0, planes_per_mean, per):
        runs = min(per, planes_per_mean - p)
        for i in range(0, size, BLOCK):
            at = task * size + p * stride + i
            n = min(BLOCK, size - i)
            masked(flows, g + at, z + at, runs, stride, n)
            products_with(block, flows, x + at, mu, runs, stride, n)
            add_totals(scratch, block, flows, runs * n)
    rate = 1.0 / sqrt(var[task] + eps[0])
    scale_and_shift_gradients(dgamma + task, dbeta + task, scratch, rate)
    count = float(planes_per_mean * size)
    along = dgamma[task] / count * rate
    for p in range(planes_per_mean):
        at = task * size + p * stride
        across = dbeta[task] / count
        scale = rate * gamma[task % channels]
        masked_input_gradient(dx + at, g + at, z + at, x + at, mu, along, across, scale, size)


@kernel
def scaled_planes(
    task: int, x: Array, gamma: Array, beta: Array, mean: Array, var: Array, eps: Array, y: Array, planes: int,
    channels: int, size: int, planes_per_task: int,
) -> None:  # fmt: skip
    """`(x - mean)/sqrt(var + eps) gamma + beta`, where mean and var, (channels,), are given."""
    for p in range(task * planes_per_task, min(task * planes_per_task + planes_per_task, planes)):
        c = p % channels
        scale = gamma[c] / sqrt(var[c] + eps[0])
        scale_and_shift(y + p * size, x + p * size, mean[c], scale, beta[c], size)


@kernel
def move(task: int, mean: Array, mu: Array, variance: Array, var: Array, rates: Array, n: int) -> None:
    """`mean` becomes `mean rates[0] + mu rates[1]`, and `variance` likewise, by `var`."""
    for i in range(n):
        mean[i] = mean[i] * rates[0] + mu[i] * rates[1]
        variance[i] = variance[i] * rates[0] + var[i] * rates[1]


# ---------------------------------------------------------------- rows


@function
def scale_and_shift_row(
    to: Array, x: Array, gamma: Array, beta: Array, mean: float, rate: float, n: int
) -> None:  # fmt: skip
    """`rate` is 1/sqrt(var + eps)."""
    for i in range(n):
        to[i] = (x[i] - mean) * rate * gamma[i] + beta[i]


@kernel
def layers(
    task: int, scratch: Array, x: Array, gamma: Array, beta: Array, y: Array, mean: Array, var: Array, eps: Array,
    rows: int, n: int, rows_per_task: int,
) -> None:  # fmt: skip
    """Rows of n elements; gamma and beta are (n,)."""
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        moments(scratch, x + r * n, mean + r, var + r, 1, 0, n)
        rate = 1.0 / sqrt(var[r] + eps[0])
        scale_and_shift_row(y + r * n, x + r * n, gamma, beta, mean[r], rate, n)


@function
def row_terms(
    flows: Array, along: Array, dgamma: Array, dbeta: Array, g: Array, x: Array, gamma: Array, mean: float, rate: float,
    n: int,
) -> None:  # fmt: skip
    """For a row: the gradient with respect to the normalized values (`flows`), its products with these (`along`), and
    the row's part in dgamma and dbeta."""
    for i in range(n):
        value = (x[i] - mean) * rate
        dgamma[i] += g[i] * value
        dbeta[i] += g[i]
        flows[i] = g[i] * gamma[i]
        along[i] = flows[i] * value


@kernel
def layers_back(
    task: int, scratch: Array, g: Array, x: Array, gamma: Array, mean: Array, var: Array, eps: Array,
    dx: Array, dgamma: Array, dbeta: Array, rows: int, n: int, rows_per_task: int,
) -> None:  # fmt: skip
    """dx; and the part of each task in dgamma and dbeta: (tasks, n)."""
    clear(dgamma + task * n, n)
    clear(dbeta + task * n, n)
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        at = r * n
        rate = 1.0 / sqrt(var[r] + eps[0])
        clear(scratch, 4)
        for i in range(0, n, BLOCK):
            count = min(BLOCK, n - i)
            row_terms(
                dx + (at + i), scratch + 4, dgamma + (task * n + i), dbeta + (task * n + i), g + (at + i), x + (at + i),
                gamma + i, mean[r], rate, count,
            )  # fmt: skip
            add_totals(scratch, scratch + 4, dx + (at + i), count)
        along = (scratch[0] + scratch[1]) / float(n) * rate
        across = (scratch[2] + scratch[3]) / float(n)
        input_gradient_in_place(dx + at, x + at, mean[r], along, across, rate, n)


@function
def input_gradient_in_place(
    to: Array, x: Array, mean: float, along: float, across: float, scale: float, n: int
) -> None:  # fmt: skip
    """`input_gradient`, where `to` holds g."""
    for i in range(n):
        to[i] = (to[i] - ((x[i] - mean) * along + across)) * scale


@function
def rates_of(to: Array, gamma: Array, var: Array, eps: float, n: int) -> None:
    for i in range(n):
        to[i] = gamma[i] / sqrt(var[i] + eps)


@function
def scale_and_shift_each(to: Array, x: Array, mean: Array, scale: Array, shift: Array, n: int) -> None:
    for i in range(n):
        to[i] = (x[i] - mean[i]) * scale[i] + shift[i]


@kernel
def scaled_rows(
    task: int, scratch: Array, x: Array, gamma: Array, beta: Array, mean: Array, var: Array, eps: Array, y: Array,
    rows: int, n: int, rows_per_task: int,
) -> None:  # fmt: skip
    """`scaled_planes` for planes of one element: rows of n channels. `scratch` has n elements."""
    rates_of(scratch, gamma, var, eps[0], n)
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        scale_and_shift_each(y + r * n, x + r * n, mean, scratch, beta, n)
