"""Activations and their gradients, one pass each. n is the number of elements.

x is the input, y the output, g the gradient with respect to y, and dx that with respect to x. relu of small arrays is
left to NumPy.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, function, total
from runtime.native.arithmetic import ELEMENTS_PER_TASK
from runtime.native.formulas import (
    exp_nonpositive,
    expm1,
    leaky_gradient,
    leaky_value,
    log1p_of_fraction,
    relu_gradient,
    relu_value,
    sigmoid_gradient,
    sigmoid_value,
    tanh_gradient,
    tanh_value,
)
from runtime.native.normalization import BLOCK, add_compensated
from runtime.native.vectors import clear


@kernel
def relu(task: int, x: Array, y: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        y[i] = relu_value(x[i])


@kernel
def relu_back(task: int, y: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        dx[i] = relu_gradient(g[i], y[i])


@kernel
def tanh(task: int, x: Array, y: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        y[i] = tanh_value(x[i])


@kernel
def tanh_back(task: int, y: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        dx[i] = tanh_gradient(g[i], y[i])


@kernel
def sigmoid(task: int, x: Array, y: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        y[i] = sigmoid_value(x[i])


@kernel
def sigmoid_back(task: int, y: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        dx[i] = sigmoid_gradient(g[i], y[i])


@kernel
def leaky(task: int, x: Array, slope: Array, y: Array, n: int) -> None:
    """`slope` is an array of one element."""
    below = slope[0]  # a number that only some elements read would keep the loop from being vector code
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        y[i] = leaky_value(x[i], below)


@kernel
def leaky_back(task: int, x: Array, slope: Array, g: Array, dx: Array, n: int) -> None:
    below = slope[0]
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        dx[i] = leaky_gradient(g[i], x[i], below)


@kernel
def elu(task: int, x: Array, slope: Array, y: Array, n: int) -> None:
    """`slope` has two elements, that of `exp(x) - 1` below zero and that of x above."""
    above = slope[1]
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        v = x[i]
        below = slope[0] * expm1(v)
        y[i] = above * v if v > 0.0 else below


@kernel
def elu_back(task: int, x: Array, slope: Array, g: Array, dx: Array, n: int) -> None:
    above = slope[1]
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        v = x[i]
        below = slope[0] * exp_nonpositive(-abs(v))
        dx[i] = g[i] * (above if v > 0.0 else below)


@kernel
def softrelu(task: int, x: Array, y: Array, n: int) -> None:
    """`log(1 + exp(x))`."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        v = x[i]
        y[i] = (v if v > 0.0 else 0.0) + log1p_of_fraction(exp_nonpositive(-abs(v)))


@kernel
def softrelu_back(task: int, x: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        dx[i] = g[i] * sigmoid_value(x[i])


@kernel
def softsign_back(task: int, x: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        size = 1.0 + abs(x[i])
        dx[i] = g[i] / size / size


# ---------------------------------------------------------------- prelu

BLOCK_SCRATCH = BLOCK + 4
"""Elements of scratch memory of `prelu_back`: a compensated sum, and a block of products."""


@function
def prelu_row(to: Array, x: Array, slope: float, n: int) -> None:
    for i in range(n):
        to[i] = x[i] if x[i] > 0.0 else x[i] * slope


@kernel
def prelu(task: int, x: Array, slopes: Array, y: Array, step: int, channels: int, size: int) -> None:
    """One task for each plane of x, (images, channels, size). Slopes of the channels are `step` apart, 0 or 1."""
    prelu_row(y + task * size, x + task * size, slopes[task % channels * step], size)


@function
def prelu_row_back(dx: Array, products: Array, x: Array, g: Array, slope: float, n: int) -> None:
    for i in range(n):
        dx[i] = leaky_gradient(g[i], x[i], slope)
        products[i] = g[i] * min(x[i], 0.0)


@kernel
def prelu_back(
    task: int, scratch: Array, x: Array, slopes: Array, g: Array, dx: Array, dslopes: Array, step: int, images: int,
    channels: int, size: int,
) -> None:  # fmt: skip
    """One task for each channel; `dslopes` has one number for each."""
    clear(scratch, 2)
    for p in range(images):
        for i in range(0, size, BLOCK):
            n = min(BLOCK, size - i)
            at = (p * channels + task) * size + i
            prelu_row_back(dx + at, scratch + 4, x + at, g + at, slopes[task * step], n)
            add_compensated(scratch, total(scratch + 4, n))
    dslopes[task] = scratch[0] + scratch[1]


# ---------------------------------------------------------------- gelu

MIDDLE = 3.75
"""The argument of erfc at which the variable of its series is 0."""
HALF_ROOT = 0.7071067811865476
"""1/sqrt(2)."""
DENSITY_AT_0 = 0.3989422804014327
"""The density of the standard normal distribution at 0: 1/sqrt(2 pi)."""


@function
def tail_series(s: float) -> float:
    """`(1 + 2 z) exp(z^2) erfc(z)` of `s = (z - MIDDLE)/(z + MIDDLE)`: its Chebyshev series, precise in float64."""
    p = -2.623107347133475761e-9
    p = p * s - 1.955135886898561655e-9
    p = p * s + 3.197926671666804292e-8
    p = p * s + 1.879082322370048126e-8
    p = p * s - 2.485712624801674287e-7
    p = p * s - 5.084465378687302198e-8
    p = p * s + 1.741982158622481592e-6
    p = p * s - 9.792625707303522032e-7
    p = p * s - 0.00001143804803334689355
    p = p * s + 0.00002238756571491181656
    p = p * s + 0.00005164652974177416126
    p = p * s - 0.000290155352460776553
    p = p * s + 0.0002937143780449580299
    p = p * s + 0.001755626165197065073
    p = p * s - 0.009746579683265262231
    p = p * s + 0.02836227737211113883
    p = p * s - 0.0586933985766493384
    p = p * s + 0.09230432116428124988
    p = p * s - 0.1088039301424446127
    p = p * s + 0.0822767384899950626
    p = p * s + 0.003585415485479025638
    p = p * s - 0.1402405985855452563
    p = p * s + 1.237512630837827529
    return p


@function
def short_tail_series(s: float) -> float:
    """The same for |z| up to 11, with a relative error of 7e-9."""
    p = 0.001061488162
    p = p * s + 0.002206330219
    p = p * s - 0.01001600706
    p = p * s + 0.02804629222
    p = p * s - 0.05869203935
    p = p * s + 0.09237015446
    p = p * s - 0.1087971989
    p = p * s + 0.08227150927
    p = p * s + 0.003584923255
    p = p * s - 0.1402404782
    p = p * s + 1.237512635
    return p


@function
def tail(x: float, density: float) -> float:
    """The probability that a standard normal variable exceeds |x|. `density` is exp(-x^2/2), 0 in float32 for |x| from
    14 on. The rest is approximated in `z = |x|/sqrt(2)`."""
    z = min(abs(x), 100.0) * HALF_ROOT
    s = (z - MIDDLE) / (z + MIDDLE)
    p = tail_series(s) if 1.0 + 1e-12 > 1.0 else short_tail_series(s)  # only float32 rounds 1 + 1e-12 to 1
    return 0.5 * density * p / (1.0 + 2.0 * z)


@kernel
def gelu(task: int, x: Array, y: Array, n: int) -> None:
    """x times the probability that a standard normal variable is below x."""
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        v = x[i]
        above = tail(v, exp_nonpositive(-0.5 * v * v))
        y[i] = v * (above if v < 0.0 else 1.0 - above)


@kernel
def gelu_back(task: int, x: Array, g: Array, dx: Array, n: int) -> None:
    for i in range(task * ELEMENTS_PER_TASK, min(task * ELEMENTS_PER_TASK + ELEMENTS_PER_TASK, n)):
        v = x[i]
        density = exp_nonpositive(-0.5 * v * v)
        above = tail(v, density)
        dx[i] = g[i] * ((above if v < 0.0 else 1.0 - above) + v * density * DENSITY_AT_0)
