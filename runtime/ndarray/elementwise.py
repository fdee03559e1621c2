"""Operators on one element, or on one of each of two arrays that are broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.dtypes import convert, element_type
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, quiet
from runtime.ndarray.reduce import sum_to

__all__ = [
    "abs",
    "add",
    "broadcast_add",
    "broadcast_div",
    "broadcast_mul",
    "broadcast_sub",
    "cast",
    "clip",
    "divide",
    "equal",
    "exp",
    "expm1",
    "greater",
    "greater_equal",
    "identity",
    "lesser",
    "lesser_equal",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "ones_like",
    "power",
    "sign",
    "sqrt",
    "square",
    "subtract",
    "tanh",
    "zeros_like",
]
METHODS = (
    "abs",
    "astype",
    "clip",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sign",
    "sqrt",
    "square",
    "tanh",
    "zeros_like",
    "ones_like",
)

NUMBER = (float, int, np.generic)

# ---------------------------------------------------------------- of one array

identity = Operator(np.copy, lambda g, y, x: g)
negative = Operator(np.negative, lambda g, y, x: -g)
abs = Operator(np.abs, lambda g, y, x: g * sign(x))
sign = Operator(np.sign, lambda g, y, x: zeros_like(x))
exp = Operator(quiet(np.exp), lambda g, y, x: g * y)
expm1 = Operator(quiet(np.expm1), lambda g, y, x: g * (y + 1))
log = Operator(quiet(np.log), lambda g, y, x: g / x)
log1p = Operator(quiet(np.log1p), lambda g, y, x: g / (x + 1))
sqrt = Operator(quiet(np.sqrt), lambda g, y, x: g * 0.5 / y)
square = Operator(np.square, lambda g, y, x: g * 2 * x)
tanh = Operator(np.tanh, lambda g, y, x: g * (1 - y * y))
zeros_like = Operator(np.zeros_like, lambda g, y, x: y)
ones_like = Operator(np.ones_like, lambda g, y, x: zeros_like(x))


@Operator
def _cast(x: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return convert(x, dtype)


@_cast.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, dtype: np.dtype) -> NDArray:
    return cast(g, x.dtype)


def cast(data: NDArray, dtype: Any) -> NDArray:
    """A copy whose elements have type `dtype`."""
    return _cast(data, dtype=element_type(dtype))


def astype(data: NDArray, dtype: Any, copy: bool = True) -> NDArray:
    """A copy whose elements have type `dtype`; with `copy=False`, the array itself if they have it already."""
    return data if not copy and data._data.dtype == element_type(dtype) else cast(data, dtype)


@Operator
def _clip(x: np.ndarray, *, a_min: float, a_max: float) -> np.ndarray:
    low, high = x.dtype.type(a_min), x.dtype.type(a_max)
    return np.minimum(np.maximum(x, low), high)  # np.clip would turn bfloat16 to float32


@_clip.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, a_min: float, a_max: float) -> NDArray:
    return g * (x >= a_min) * (x <= a_max)


def clip(data: NDArray, a_min: float, a_max: float) -> NDArray:
    """Each element, but at least `a_min` and at most `a_max`. Outside of the bounds the gradient is 0."""
    return _clip(data, a_min=float(a_min), a_max=float(a_max))


# ---------------------------------------------------------------- of two arrays


def _broadcasting(forward: Callable, left: Callable, right: Callable) -> Callable[[Any, Any], NDArray]:
    """An operator on two arrays, or an array and a number; its gradients are given as if nothing were broadcast."""
    operator = Operator(
        forward,
        lambda g, y, a, b: sum_to(left(g, y, a, b), a.shape),
        lambda g, y, a, b: sum_to(right(g, y, a, b), b.shape),
    )

    def call(lhs: Any, rhs: Any) -> NDArray:
        return operator(*_operands(operator.name, lhs, rhs))

    call.__name__ = call.__qualname__ = operator.name
    return call


def _operands(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands as the NumPy function needs them, or an error that says what does not fit.

    A number takes the type of the array beside it: an integer array stays one, whatever the number.
    """
    if isinstance(a, NDArray) and isinstance(b, NDArray):
        if a._data.dtype != b._data.dtype:
            raise MXNetError(f"{name}: types differ, {a._data.dtype} and {b._data.dtype}; convert one with astype()")
        if a.shape != b.shape:
            _check_broadcast(name, a.shape, b.shape)
        return a, b
    if isinstance(a, NDArray) and isinstance(b, NUMBER):
        return a, a._data.dtype.type(b)
    if isinstance(b, NDArray) and isinstance(a, NUMBER):
        return b._data.dtype.type(a), b
    raise TypeError(f"{name}: operands must be NDArrays or numbers, not {type(a).__name__} and {type(b).__name__}")


def _check_broadcast(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for m, n in zip(reversed(a), reversed(b), strict=False):
        if m != n and 1 not in (m, n):
            raise MXNetError(f"{name}: shapes {a} and {b} cannot be broadcast together")


@quiet
def _divide(a: Any, b: Any) -> np.ndarray:
    """True division of floats; of integers, the quotient rounded to zero."""
    quotient = np.true_divide(a, b)
    dtype = (a if isinstance(a, np.ndarray) else b).dtype
    return quotient if quotient.dtype == dtype else quotient.astype(dtype)


def _zero(g: NDArray, y: NDArray, a: Any, b: Any) -> NDArray:
    return zeros_like(g)


def _compare(compare: Callable) -> Callable[[Any, Any], NDArray]:
    """A comparison, whose result is 0 or 1 in the type of the arrays."""

    def forward(a: Any, b: Any) -> np.ndarray:
        return compare(a, b).astype((a if isinstance(a, np.ndarray) else b).dtype)

    forward.__name__ = compare.__name__
    return _broadcasting(forward, _zero, _zero)


add = _broadcasting(np.add, lambda g, y, a, b: g, lambda g, y, a, b: g)
subtract = _broadcasting(np.subtract, lambda g, y, a, b: g, lambda g, y, a, b: -g)
multiply = _broadcasting(np.multiply, lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)
divide = _broadcasting(_divide, lambda g, y, a, b: g / b, lambda g, y, a, b: -g * y / b)
power = _broadcasting(quiet(np.power), lambda g, y, a, b: g * b * a ** (b - 1), lambda g, y, a, b: g * y * _log(a))
maximum = _broadcasting(np.maximum, lambda g, y, a, b: g * (a >= b), lambda g, y, a, b: g * (a < b))
minimum = _broadcasting(np.minimum, lambda g, y, a, b: g * (a <= b), lambda g, y, a, b: g * (a > b))
equal = _compare(np.equal)
not_equal = _compare(np.not_equal)
greater = _compare(np.greater)
greater_equal = _compare(np.greater_equal)
lesser = _compare(np.less)
lesser_equal = _compare(np.less_equal)


def _log(a: Any) -> Any:
    return log(a) if isinstance(a, NDArray) else quiet(np.log)(a)


# The names that operators of two arrays have where only broadcasting ones are meant.
broadcast_add, broadcast_sub, broadcast_mul, broadcast_div = add, subtract, multiply, divide
