"""Operators on each element of one array.

Mathematical functions of integers are computed in float64 and truncated; those of 16-bit floats are computed in float32
and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from optgen.loops.kernel import LoopKernel
from runtime import autograd
from runtime.base import MXNetError
from runtime.core.backend import is_host
from runtime.core.threaded import takes, threads_pay
from runtime.native import activation as native
from runtime.native import arithmetic, error_function
from runtime.native.formulas import tanh_gradient
from runtime.ndarray.elementwise import special
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_bfloat16_nan, ignore_fp_errors, repeating
from runtime.ndarray.two_gradients import (
    DirectOperator,
    TwoGradientOperator,
    constants,
    kernel_pays,
    run_elementwise_kernel,
)

__all__ = [
    "BlockGrad",
    "abs",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "fix",
    "floor",
    "gamma",
    "gammaln",
    "identity",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_not",
    "make_loss",
    "negative",
    "ones_like",
    "radians",
    "rcbrt",
    "reciprocal",
    "rint",
    "round",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "smooth_l1",
    "sqrt",
    "square",
    "stop_gradient",
    "tan",
    "tanh",
    "trunc",
    "zeros_like",
]
METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "clip", "cos", "cosh",
    "degrees", "exp", "expm1", "fix", "floor", "log", "log1p", "log2", "log10", "ones_like", "radians", "rcbrt",
    "reciprocal", "rint", "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    "zeros_like",
)  # fmt: skip
CONTRIB = ("isfinite", "isinf", "isnan")

Forward = Callable[[np.ndarray], np.ndarray]
Gradient = Callable[[NDArray, NDArray, NDArray], NDArray]


def _operator(
    name: str, forward: Forward, doc: str, gradient: Gradient | None = None, kind: type[Operator] = Operator
) -> Operator:
    """An operator for every type; without a gradient, none flows."""
    operator = kind(forward)
    operator.gradient(gradient)
    operator.name = name
    operator.__doc__ = doc
    return operator


def _function(
    name: str, function: Forward, doc: str, gradient: Gradient | None = None, kind: type[Operator] = Operator
) -> Operator:
    """A function of real numbers as an operator."""

    @ignore_fp_errors
    def forward(x: np.ndarray) -> np.ndarray:
        if x.dtype.char in "fd":
            return function(x)
        wide = np.float64 if x.dtype.kind in "iub" else np.float32
        return function(x.astype(wide)).astype(x.dtype)

    return _operator(name, forward, doc, gradient, kind)


def _special(name: str, function: Forward, doc: str, gradient: Gradient) -> Operator:
    """A function that is computed in float64 whatever the type."""
    return _function(name, lambda x: function(x.astype(np.float64)).astype(x.dtype), doc, gradient)


def _rounding(name: str, function: Forward, doc: str) -> Operator:
    operator = _function(name, function, doc)
    of_floats = operator.forward
    operator.forward = lambda x: x.copy() if x.dtype.kind in "iub" else of_floats(x)
    return operator


# ---------------------------------------------------------------- what is exact in every type


def _threaded(kernel: LoopKernel, function: Forward) -> Forward:
    """The function, of large arrays by a kernel of the same bits."""
    return lambda x: run_elementwise_kernel(kernel, x) if threads_pay(x) else function(x)


identity = repeating(_operator("identity", _threaded(arithmetic.copy, np.copy), "A copy.", lambda g, y, x: g))
negative = repeating(_operator("negative", _threaded(arithmetic.negate, np.negative), "`-x`.", lambda g, y, x: -g))
abs = _operator("abs", np.abs, "`|x|`, whose slope at 0 is 0.", lambda g, y, x: g * sign(x))
square = repeating(
    _operator("square", _threaded(arithmetic.square, ignore_fp_errors(np.square)), "`x²`.", lambda g, y, x: g * x * 2)
)
sign = _operator(
    "sign",
    ignore_bfloat16_nan(lambda x: (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)),
    "1, -1, or 0 (also of NaN).",
)
_zeros_like = _operator("zeros_like", np.zeros_like, "")
_ones_like = _operator("ones_like", np.ones_like, "")


def zeros_like(data: NDArray, dtype: Any = None) -> NDArray:
    """Zeros, in the shape and type of `data`. `dtype` does nothing; MXNet accepts it, and scripts written for it give
    it."""
    return _zeros_like(data)


def ones_like(data: NDArray, dtype: Any = None) -> NDArray:
    """Ones, in the shape and type of `data`. `dtype` does nothing, as in `zeros_like`."""
    return _ones_like(data)


logical_not = _operator("logical_not", lambda x: (x == 0).astype(x.dtype), "1 where x is 0, else 0.")


class _Barrier(Operator):
    """A copy through which no gradient flows. A loss behind it has its own all the same, and is asked for it."""

    def pull(self, node: autograd.Node, g: NDArray) -> Iterator[tuple[Any, NDArray]]:
        (parent,) = node.parents
        if getattr(getattr(parent, "operator", None), "is_loss", False):
            yield parent, zeros_like(g)


BlockGrad = stop_gradient = _operator("BlockGrad", np.copy, "A copy through which no gradient flows.", kind=_Barrier)
make_loss = _operator(
    "make_loss", np.copy, "A copy, with gradient 1 whatever flows into it.", lambda g, y, x: ones_like(x)
)
make_loss.is_loss = True

isnan = _operator("isnan", lambda x: np.isnan(x).astype(x.dtype), "1 where x is not a number, else 0.")
isinf = _operator("isinf", lambda x: np.isinf(x).astype(x.dtype), "1 where x is infinite, else 0.")
isfinite = _operator("isfinite", lambda x: np.isfinite(x).astype(x.dtype), "1 where x is a finite number, else 0.")

# ---------------------------------------------------------------- rounding; the gradient is 0 everywhere


def _round(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)


def _rint(x: np.ndarray) -> np.ndarray:
    below, above = np.floor(x), np.ceil(x)
    return np.where(x - below <= above - x, below, above)


round = _rounding("round", _round, "The nearest integer, ties away from 0.")
rint = _rounding("rint", _rint, "The nearest integer, ties to the lower one.")
ceil = _rounding("ceil", np.ceil, "The nearest integer that is not smaller.")
floor = _rounding("floor", np.floor, "The nearest integer that is not larger.")
trunc = _rounding("trunc", np.trunc, "The nearest integer towards 0.")
fix = _rounding("fix", np.trunc, "The nearest integer towards 0.")

# ---------------------------------------------------------------- roots, exponentials, logarithms

_LN2, _LN10 = math.log(2), math.log(10)

sqrt = _function("sqrt", np.sqrt, "`√x`.", lambda g, y, x: g * 0.5 / y)
rsqrt = _function("rsqrt", lambda x: 1 / np.sqrt(x), "`1/√x`.", lambda g, y, x: g * -0.5 * y / x)
cbrt = _function("cbrt", np.cbrt, "The cube root.", lambda g, y, x: g / (y * y * 3))
rcbrt = _function("rcbrt", lambda x: 1 / np.cbrt(x), "1 over the cube root.", lambda g, y, x: g * y / (x * -3))
reciprocal = _function("reciprocal", np.reciprocal, "`1/x`.", lambda g, y, x: -g * y * y)
# In float64: NumPy's float32 exp is off by up to 2.5 units in the last place, at 1 already.
exp = _special("exp", np.exp, "`e^x`.", lambda g, y, x: g * y)
expm1 = _function("expm1", np.expm1, "`e^x - 1`, precise near 0.", lambda g, y, x: g * (y + 1))
log = _function("log", np.log, "The natural logarithm.", lambda g, y, x: g / x)
log2 = _function("log2", np.log2, "The logarithm to the base 2.", lambda g, y, x: g / (x * _LN2))
log10 = _function("log10", np.log10, "The logarithm to the base 10.", lambda g, y, x: g / (x * _LN10))
log1p = _function("log1p", np.log1p, "`log(1 + x)`, precise near 0.", lambda g, y, x: g / (x + 1))

# ---------------------------------------------------------------- trigonometric and hyperbolic functions

TANH_WORK = 8
"""The work of tanh per element, in additions."""

sin = _function("sin", np.sin, "The sine.", lambda g, y, x: g * cos(x))
cos = _function("cos", np.cos, "The cosine.", lambda g, y, x: -g * sin(x))
tan = _function("tan", np.tan, "The tangent.", lambda g, y, x: g * (y * y + 1))
arcsin = _function("arcsin", np.arcsin, "The inverse of `sin`.", lambda g, y, x: g * rsqrt(1 - x * x))
arccos = _function("arccos", np.arccos, "The inverse of `cos`.", lambda g, y, x: -g * rsqrt(1 - x * x))
arctan = _function("arctan", np.arctan, "The inverse of `tan`.", lambda g, y, x: g / (x * x + 1))
degrees = _function("degrees", np.degrees, "Radians as degrees.", lambda g, y, x: g * (180 / math.pi))
radians = _function("radians", np.radians, "Degrees as radians.", lambda g, y, x: g * (math.pi / 180))
sinh = _function("sinh", np.sinh, "The hyperbolic sine.", lambda g, y, x: g * cosh(x))
cosh = _function("cosh", np.cosh, "The hyperbolic cosine.", lambda g, y, x: g * sinh(x))
tanh = _function(
    "tanh",
    lambda x: run_elementwise_kernel(native.tanh, x, work=TANH_WORK) if is_host(x) else np.tanh(x),
    "The hyperbolic tangent.",
    lambda g, y, x: tanh_gradient.python(g, y),
    TwoGradientOperator,
)
arcsinh = _function("arcsinh", np.arcsinh, "The inverse of `sinh`.", lambda g, y, x: g * rsqrt(x * x + 1))
arccosh = _function("arccosh", np.arccosh, "The inverse of `cosh`.", lambda g, y, x: g * rsqrt((x - 1) * (x + 1)))
arctanh = _function("arctanh", np.arctanh, "The inverse of `tanh`.", lambda g, y, x: g / (1 - x * x))


tanh.repeats = True


@tanh.backward
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    return (run_elementwise_kernel(native.tanh_back, y, g) if kernel_pays(y) else tanh_gradient.python(g, y),)


# ---------------------------------------------------------------- special functions

ERF_WORK = 32
"""The work of erf per element, in additions."""


def _erf(x: np.ndarray) -> np.ndarray:
    if not is_host(x):
        return special.erf(x)
    return run_elementwise_kernel(error_function.erf, x, work=ERF_WORK)


erf = _function(
    "erf",
    lambda x: _erf(x.astype(np.float64)).astype(x.dtype),
    "The error function.",
    lambda g, y, x: g * exp(x * x * -1) * (2 / math.sqrt(math.pi)),
    TwoGradientOperator,
)


erf.repeats = True


@erf.backward
@ignore_fp_errors
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray]:
    if takes(x):
        return (run_elementwise_kernel(error_function.erf_back, x, g, work=ERF_WORK // 2),)
    slope = np.exp(-(x * x).astype(np.float64)) * (2 / math.sqrt(math.pi))
    return ((g.astype(np.float64) * slope).astype(x.dtype),)


erfinv = _special(
    "erfinv", special.erfinv, "The inverse of `erf`.", lambda g, y, x: g * exp(y * y) * (math.sqrt(math.pi) / 2)
)
gamma = _special("gamma", special.gamma, "The gamma function.", lambda g, y, x: g * y * _polygamma(x, n=0))
gammaln = _special("gammaln", special.gammaln, "`log |gamma(x)|`.", lambda g, y, x: g * _polygamma(x, n=0))


@Operator
@ignore_fp_errors
def _polygamma(x: np.ndarray, *, n: int) -> np.ndarray:
    """The derivative of order n + 1 of gammaln."""
    return special.polygamma(n, x.astype(np.float64)).astype(x.dtype)


@_polygamma.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, n: int) -> NDArray:
    return g * _polygamma(x, n=n + 1)


@Operator
def relu_slope(y: np.ndarray) -> np.ndarray:
    """The slope of relu where its value is y: 1, 0, or NaN of NaN. It has no gradient."""
    return np.sign(y).astype(y.dtype, copy=False)  # CuPy's has no bfloat16


# ---------------------------------------------------------------- with parameters


@repeating
@DirectOperator
@ignore_fp_errors
def _clip(x: np.ndarray, *, a_min: float, a_max: float) -> np.ndarray:
    if x.dtype.kind in "iu":  # their bounds may lie outside of the type
        least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        a_min, a_max = min(max(a_min, least), most), min(max(a_max, least), most)
    if threads_pay(x):
        return run_elementwise_kernel(arithmetic.clip, x, constants(x.dtype, a_min, a_max))
    low, high = x.dtype.type(a_min), x.dtype.type(a_max)
    return np.minimum(np.maximum(x, low), high)  # np.clip would turn bfloat16 to float32


@_clip.backward
@ignore_fp_errors
def _(g: np.ndarray, y: np.ndarray, x: np.ndarray, *, a_min: float, a_max: float) -> tuple[np.ndarray]:
    if kernel_pays(x):
        return (run_elementwise_kernel(arithmetic.clip_back, x, constants(x.dtype, a_min, a_max), g),)
    return (g * ((x < y) == (x > y)).astype(g.dtype),)


@_clip.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, a_min: float, a_max: float) -> NDArray:
    return g * ((x < y) == (x > y))  # neither: x is within the bounds, or NaN


def clip(data: NDArray, a_min: float, a_max: float) -> NDArray:
    """Each element, but at least `a_min` and at most `a_max`. Outside of the bounds the gradient is 0; NaN stays
    NaN, and lets the gradient through."""
    if not a_min <= a_max:
        raise MXNetError(f"clip: a_min={a_min} must not be above a_max={a_max}")
    return _clip(data, a_min=a_min, a_max=a_max)


@Operator
def _smooth_l1(x: np.ndarray, *, scalar: float) -> np.ndarray:
    size = np.abs(x)
    near = size * size * x.dtype.type(0.5 * scalar * scalar)
    y = np.where(size < 1 / scalar**2, near, size - x.dtype.type(0.5 / scalar**2))
    return y.astype(x.dtype, copy=False)  # CuPy's `where` has no bfloat16


@_smooth_l1.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, scalar: float) -> NDArray:
    return g * clip(x * scalar**2, -1, 1)


def smooth_l1(data: NDArray, scalar: float = 1.0) -> NDArray:
    """`(scalar x)²/2` where `|x| < 1/scalar²`, and beyond, with the same slope there, `|x| - 1/(2 scalar²)`."""
    return _smooth_l1(data, scalar=scalar)
