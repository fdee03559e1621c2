"""Activations: relu, sigmoid, softrelu, softsign, tanh, leaky relu, elu, selu, prelu, rrelu, gelu."""

from __future__ import annotations

import math

import numpy as np

from runtime import autograd
from runtime.base import MXNetError, did_you_mean
from runtime.core.backend import device_scope, is_host, to_device_of
from runtime.core.generator import generator
from runtime.core.threaded import takes, threads_pay
from runtime.native import activation as native
from runtime.native import arithmetic
from runtime.native.activation import DENSITY_AT_0
from runtime.native.formulas import sigmoid_gradient
from runtime.ndarray.elementwise import abs as abs_
from runtime.ndarray.elementwise import exp, minimum, tanh
from runtime.ndarray.elementwise.special import erf
from runtime.ndarray.elementwise.unary import relu_slope
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_bfloat16_nan, ignore_fp_errors, in_float32, repeating
from runtime.ndarray.reduce.reductions import sum_to
from runtime.ndarray.two_gradients import (
    DirectOperator,
    TwoGradientOperator,
    constants,
    kernel_pays,
    run_elementwise_kernel,
    widen_half,
)

__all__ = ["Activation", "LeakyReLU", "hard_sigmoid", "relu", "sigmoid", "softsign"]
METHODS = ("relu", "sigmoid")


EXP_WORK = 8
"""The work of an exponential per element, in additions."""


def _has_kernels(x: np.ndarray) -> bool:
    return x.dtype.char in "fd" and is_host(x)


@repeating
@TwoGradientOperator
def relu(x: np.ndarray) -> np.ndarray:
    """`max(x, 0)`, whose slope at 0 is 0; both are NaN where x is."""
    return run_elementwise_kernel(native.relu, x) if threads_pay(x) else np.maximum(x, x.dtype.type(0))


@relu.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    return (run_elementwise_kernel(native.relu_back, y, g) if kernel_pays(y) else g * relu_slope.forward(y),)


@relu.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * relu_slope(y)


@repeating
@TwoGradientOperator
@in_float32
@ignore_fp_errors
def sigmoid(x: np.ndarray) -> np.ndarray:
    """`1/(1 + exp(-x))`."""
    if _has_kernels(x):
        return run_elementwise_kernel(native.sigmoid, x, work=EXP_WORK)
    y = np.exp(-x)
    y += 1
    np.reciprocal(y, out=y)
    return y.astype(x.dtype, copy=False)  # of integers, cut off


@sigmoid.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    if kernel_pays(y):
        return (run_elementwise_kernel(native.sigmoid_back, y, g),)
    return (sigmoid_gradient.python(g, y),)


@sigmoid.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return sigmoid_gradient.python(g, y)


@repeating
@TwoGradientOperator
@ignore_fp_errors
def softrelu(x: np.ndarray) -> np.ndarray:
    """`log(1 + exp(x))`, without overflow."""
    if _has_kernels(x):
        return run_elementwise_kernel(native.softrelu, x, work=2 * EXP_WORK)
    return np.logaddexp(x, x.dtype.type(0))


@softrelu.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    if _has_kernels(x):
        return (run_elementwise_kernel(native.softrelu_back, x, g, work=EXP_WORK),)
    return (g * sigmoid.forward(x),)


@softrelu.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * sigmoid(x)


@repeating
@TwoGradientOperator
@in_float32
@ignore_fp_errors
def _softsign(x: np.ndarray) -> np.ndarray:
    y = np.abs(x)
    y += 1
    return np.divide(x, y, out=y)


@_softsign.backward
@ignore_fp_errors
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    if _has_kernels(x):
        return (run_elementwise_kernel(native.softsign_back, x, g),)
    x, g, dtype = widen_half(x), widen_half(g), x.dtype
    size = 1 + np.abs(x)
    return ((g / size / size).astype(dtype, copy=False),)


@_softsign.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    size = 1 + abs_(x)
    return g / size / size


def softsign(data: NDArray) -> NDArray:
    """`x/(1 + |x|)`."""
    return data / (1 + abs_(data)) if data._data.dtype.kind in "iub" else _softsign(data)


def hard_sigmoid(data: NDArray, alpha: float = 0.2, beta: float = 0.5) -> NDArray:
    """`alpha x + beta`, but at least 0 and at most 1, where the gradient is 0."""
    return _saturated(data * alpha + beta)


@repeating
@DirectOperator
@ignore_bfloat16_nan
def _saturated(x: np.ndarray) -> np.ndarray:
    if threads_pay(x):
        return run_elementwise_kernel(arithmetic.clip, x, constants(x.dtype, 0, 1))
    return np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(1))


@_saturated.backward
@ignore_fp_errors
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    if kernel_pays(y):
        return (run_elementwise_kernel(arithmetic.clipped_back, y, constants(y.dtype, 0, 1), g),)
    return (g * ((y > 0) & (y < 1)).astype(g.dtype),)


@_saturated.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * ((y > 0) * (y < 1))


_ACTIVATIONS = {"relu": relu, "sigmoid": sigmoid, "softrelu": softrelu, "softsign": softsign, "tanh": tanh}


def Activation(data: NDArray, act_type: str) -> NDArray:
    """The activation called `act_type`: relu, sigmoid, softrelu, softsign or tanh."""
    if act_type not in _ACTIVATIONS:
        raise MXNetError(f"Activation: unknown act_type '{act_type}'{did_you_mean(str(act_type), _ACTIVATIONS)}")
    return _ACTIVATIONS[act_type](data)


# ---------------------------------------------------------------- with a slope below zero


@repeating
@TwoGradientOperator
@in_float32
def _leaky(x: np.ndarray, *, slope: float) -> np.ndarray:
    """x above zero, `slope x` below."""
    if not is_host(x):
        return np.where(x > 0, x, x * slope)
    return run_elementwise_kernel(native.leaky, x, constants(x.dtype, slope))


@_leaky.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray, *, slope: float) -> tuple[np.ndarray]:
    if not is_host(x):
        return (np.where(x > 0, g, g * slope),)
    x, dtype = widen_half(x), x.dtype
    return (
        run_elementwise_kernel(native.leaky_back, x, constants(x.dtype, slope), widen_half(g)).astype(
            dtype, copy=False
        ),
    )


@_leaky.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, slope: float) -> NDArray:
    with device_scope(x._ctx):
        dtype = x._data.dtype
        slopes = np.where(x._data > 0, dtype.type(1), dtype.type(slope)).astype(dtype, copy=False)
    return g * NDArray(slopes, x._ctx)


@repeating
@TwoGradientOperator
@in_float32
@ignore_fp_errors
def _elu(x: np.ndarray, *, slope: float, scale: float) -> np.ndarray:
    """`scale x` above zero, `slope (exp(x) - 1)` below."""
    if is_host(x):
        return run_elementwise_kernel(native.elu, x, constants(x.dtype, slope, scale), work=EXP_WORK)
    y = np.expm1(np.minimum(x, 0))
    y *= slope
    y += np.maximum(x, 0) * x.dtype.type(scale)
    return y


@Operator
@in_float32
@ignore_fp_errors
def _elu_slopes(x: np.ndarray, *, slope: float, scale: float) -> np.ndarray:
    """`scale` above zero, `slope exp(x)` below."""
    return np.where(x > 0, x.dtype.type(scale), x.dtype.type(slope) * np.exp(np.minimum(x, 0)))


@_elu.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray, *, slope: float, scale: float) -> tuple[np.ndarray]:
    if not is_host(x):
        return (g * _elu_slopes.forward(x, slope=slope, scale=scale),)
    x, dtype = widen_half(x), x.dtype
    slopes = constants(x.dtype, slope, scale)
    dx = run_elementwise_kernel(native.elu_back, x, slopes, widen_half(g), work=EXP_WORK)
    return (dx.astype(dtype, copy=False),)


@_elu.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, slope: float, scale: float) -> NDArray:
    return g * _elu_slopes(x, slope=slope, scale=scale)


@_elu_slopes.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, slope: float, scale: float) -> NDArray:
    return g * y * (x <= 0)


_SELU_SLOPE, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


MIN_PLANE = 16
"""Planes of fewer elements are left to NumPy."""


def _has_planes(x: np.ndarray, slope: np.ndarray) -> bool:
    """Whether there is one slope for each channel, or for all, and kernels take the arrays."""
    if x.ndim < 2 or not kernel_pays(x) or x.size // (len(x) * x.shape[1]) < MIN_PLANE or not takes(x):
        return False
    return takes(slope) and slope.dtype == x.dtype and slope.size in (1, x.shape[1]) and slope.size == slope.shape[1]


@repeating
@TwoGradientOperator
@ignore_bfloat16_nan
def _prelu(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """`slope`, of as many axes as x, is broadcast against it."""
    if _has_planes(x, slope):
        y, planes = np.empty_like(x), len(x) * x.shape[1]
        native.prelu(planes, x.size, x, slope, y, int(slope.size > 1), x.shape[1], x.size // planes)
        return y
    return np.where(x > 0, x, x * slope).astype(x.dtype, copy=False)  # CuPy's `where` has no bfloat16


@_prelu.backward
@ignore_fp_errors
def _(
    g: np.ndarray, y: np.ndarray, x: np.ndarray, slope: np.ndarray, *, wanted: list[bool]
) -> tuple[np.ndarray, np.ndarray | None]:
    if _has_planes(x, slope):
        images, channels, size = len(x), x.shape[1], x[0, 0].size
        dx, dslopes = np.empty_like(x), np.empty(channels, x.dtype)
        native.prelu_back(
            channels, 4 * x.size, x, slope, g, dx, dslopes, int(slope.size > 1), images, channels, size,
            scratch=native.BLOCK_SCRATCH,
        )  # fmt: skip
        return dx, (dslopes if slope.size > 1 else dslopes.sum(keepdims=True)).reshape(slope.shape)
    dx = g * np.where(x > 0, x.dtype.type(1), slope).astype(g.dtype, copy=False)
    if not wanted[1]:
        return dx, None
    products = widen_half(g) * np.minimum(widen_half(x), 0)
    axes = tuple(i for i, n in enumerate(slope.shape) if n == 1)
    dslope = products.sum(axes, keepdims=True).astype(slope.dtype)
    return dx, dslope


@_prelu.gradient
def _(g: NDArray, y: NDArray, x: NDArray, slope: NDArray) -> NDArray:
    above = x > 0
    return g * (above + (1 - above) * slope)


@_prelu.gradient
def _(g: NDArray, y: NDArray, x: NDArray, slope: NDArray) -> NDArray:
    return sum_to(g * minimum(x, 0), slope.shape)


def _channel_slopes(data: NDArray, gamma: NDArray | None) -> NDArray:
    """The slopes of prelu in a shape that broadcasts against `data`: one for all, one for each index of axis 1, or one
    for each index of the first axes."""
    if gamma is None:
        raise MXNetError("LeakyReLU: act_type='prelu' needs gamma, the slopes")
    if gamma.ndim == data.ndim and all(m in (1, n) for m, n in zip(gamma.shape, data.shape, strict=True)):
        return gamma
    if gamma.ndim > 1 and gamma.shape == data.shape[: gamma.ndim]:
        return gamma.reshape(gamma.shape + (1,) * (data.ndim - gamma.ndim))
    channels = data.shape[min(1, data.ndim - 1)] if data.ndim else 1
    if gamma.ndim != 1 or gamma.shape[0] not in (1, channels):
        raise MXNetError(
            f"LeakyReLU: gamma of shape {gamma.shape} does not fit data of shape {data.shape}: (1,) or ({channels},)"
        )
    return gamma.reshape((1, -1) + (1,) * (data.ndim - 2)) if data.ndim > 1 else gamma


# ---------------------------------------------------------------- gelu

GELU_WORK = 16
"""The work of gelu per element, in additions."""


@Operator
@in_float32
def _normal_cdf(x: np.ndarray) -> np.ndarray:
    """The distribution function of the standard normal distribution."""
    if not is_host(x):
        from cupyx.scipy.special import ndtr

        return ndtr(x)
    y = erf(x * math.sqrt(0.5))
    y += 1
    y *= 0.5
    return y


@_normal_cdf.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * exp(x * x * -0.5) * DENSITY_AT_0


@repeating
@TwoGradientOperator
@in_float32
def _gelu(x: np.ndarray) -> np.ndarray:
    """`x P(X <= x)`, X being a standard normal number."""
    if not is_host(x):
        return x * _normal_cdf.forward(x)
    return run_elementwise_kernel(native.gelu, x, work=GELU_WORK)


@_gelu.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    if not is_host(x):
        x, g, dtype = widen_half(x), widen_half(g), x.dtype
        slopes = _normal_cdf.forward(x) + x * np.exp(x * x * -0.5) * DENSITY_AT_0
        return ((g * slopes).astype(dtype, copy=False),)
    return (
        run_elementwise_kernel(native.gelu_back, widen_half(x), widen_half(g), work=GELU_WORK).astype(
            x.dtype, copy=False
        ),
    )


@_gelu.gradient
def _(g: NDArray, y: NDArray, x: NDArray) -> NDArray:
    return g * (_normal_cdf(x) + x * exp(x * x * -0.5) * DENSITY_AT_0)


# ---------------------------------------------------------------- LeakyReLU


def LeakyReLU(
    data: NDArray,
    gamma: NDArray | None = None,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
) -> NDArray:
    """x where it is positive, and below zero what `act_type` says.

    leaky: `slope x`; elu: `slope (exp(x) - 1)`; selu: elu with the slope and scale of self-normalizing networks;
    prelu: `gamma x`, gamma being learned, (1,) or (channels,), channels on axis 1; rrelu: a slope drawn for each
    element from [lower_bound, upper_bound) in training, their mean otherwise. gelu is `x P(X <= x)`, X normal.
    """
    if data._data.dtype.kind in "iub":
        raise MXNetError(f"LeakyReLU: elements must be floats, not {data._data.dtype}; convert with astype()")
    if act_type == "leaky":
        return _leaky(data, slope=slope)
    if act_type == "elu":
        return _elu(data, slope=slope, scale=1.0)
    if act_type == "selu":
        return _elu(data, slope=_SELU_SLOPE * _SELU_SCALE, scale=_SELU_SCALE)
    if act_type == "prelu":
        return _prelu(data, _channel_slopes(data, gamma))
    if act_type == "gelu":
        return _gelu(data)
    if act_type == "rrelu":
        if not autograd.is_training():
            return _leaky(data, slope=(lower_bound + upper_bound) / 2)
        drawn = lower_bound + (upper_bound - lower_bound) * generator.random(data.shape)
        return _prelu(data, NDArray(to_device_of(data._data, drawn.astype(data._data.dtype)), data._ctx))
    known = ("elu", "gelu", "leaky", "prelu", "rrelu", "selu")
    raise MXNetError(f"LeakyReLU: unknown act_type '{act_type}'{did_you_mean(str(act_type), known)}")
