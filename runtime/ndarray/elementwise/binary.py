"""Operators on pairs of elements, of two arrays that are broadcast against each other, or an array and a number.

A number takes the type of the array beside it: an integer array stays one, whatever the number. The elements of two
arrays must have the same type, which is that of the result, of comparisons too.
"""

from __future__ import annotations

import functools
import operator as python
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from optgen.loops.kernel import LoopKernel
from runtime.base import MXNetError
from runtime.core import backend, threaded
from runtime.core.kept import of_sizes
from runtime.core.threaded import threads_pay
from runtime.native import arithmetic as native
from runtime.ndarray.elementwise.unary import floor, log
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_bfloat16_nan, ignore_fp_errors, in_float32
from runtime.ndarray.reduce.reductions import sum_to
from runtime.ndarray.two_gradients import run_elementwise_kernel

__all__ = [
    "ElementWiseSum",
    "add",
    "add_n",
    "broadcast_add",
    "broadcast_div",
    "broadcast_equal",
    "broadcast_greater",
    "broadcast_greater_equal",
    "broadcast_hypot",
    "broadcast_lesser",
    "broadcast_lesser_equal",
    "broadcast_logical_and",
    "broadcast_logical_or",
    "broadcast_logical_xor",
    "broadcast_maximum",
    "broadcast_minimum",
    "broadcast_minus",
    "broadcast_mod",
    "broadcast_mul",
    "broadcast_not_equal",
    "broadcast_plus",
    "broadcast_power",
    "broadcast_sub",
    "divide",
    "elemwise_add",
    "elemwise_div",
    "elemwise_mul",
    "elemwise_sub",
    "equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "not_equal",
    "power",
    "subtract",
    "true_divide",
]

NUMBER = (float, int, np.generic)

OPERATORS: dict[str, Operator] = {}
"""The operators of this file, which functions stand for, by their names."""

Gradient = Callable[[NDArray, NDArray, Any, Any], NDArray]
_BOOL = np.dtype(bool)

# ---------------------------------------------------------------- operands


def _operands(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both operands as the NumPy function takes them; an error for operands that do not fit."""
    if isinstance(a, NDArray):
        if isinstance(b, NDArray):
            if a._data.dtype is not b._data.dtype and a._data.dtype != b._data.dtype:
                raise MXNetError(types_differ(name, a, b))
            if a._data.shape != b._data.shape:
                _check_broadcast(name, a.shape, b.shape)
            return a, b
        a = _not_bool(a)
        return a, _number(name, b, a._data.dtype)
    if isinstance(b, NDArray):
        b = _not_bool(b)
        return _number(name, a, b._data.dtype), b
    raise TypeError(f"{name}: one operand must be an NDArray, not {type(a).__name__} and {type(b).__name__}")


def _not_bool(x: NDArray) -> NDArray:
    """The array beside a number: truth values count as the int64 0 and 1."""
    return x.astype(np.int64) if x._data.dtype is _BOOL else x


def _number(name: str, value: Any, dtype: np.dtype) -> Any:
    """A number in the type of the array beside it."""
    if not isinstance(value, NUMBER) or (isinstance(value, np.generic) and value.dtype.kind not in "biufV"):
        hint = "; nd.array() makes one of an ndarray" if isinstance(value, np.ndarray) else ""
        raise TypeError(f"{name}: operands must be NDArrays or numbers, not {type(value).__name__}{hint}")
    try:
        # Between these numbers no type of floats overflows, which would warn.
        return dtype.type(value) if -6e4 < value < 6e4 else ignore_fp_errors(dtype.type)(value)
    except (OverflowError, ValueError):
        raise MXNetError(f"{name}: {value} is no number of the array's type, {dtype}") from None


def types_differ(name: str, a: NDArray, b: NDArray) -> str:
    return f"{name}: types differ, {np.dtype(a.dtype)} and {np.dtype(b.dtype)}; convert one with astype()"


def _check_broadcast(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for m, n in zip(reversed(a), reversed(b), strict=False):
        if m != n and 1 not in (m, n):
            raise MXNetError(f"{name}: shapes {a} and {b} cannot be broadcast together")


def _dtype(a: Any, b: Any) -> np.dtype:
    return (b if isinstance(a, NUMBER) else a).dtype


def _broadcasting(
    name: str,
    forward: Callable,
    doc: str,
    left: Gradient | None = None,
    right: Gradient | None = None,
    of_numbers: Callable | None = None,
    repeats: bool = False,
) -> Callable[[Any, Any], Any]:
    """An operator on two arrays, or an array and a number; the gradients given are for operands of one shape.

    Of two numbers it is the Python function `of_numbers`.
    """
    gradients = [] if left is None or right is None else [_summed(left, 0), _summed(right, 1)]
    operator = OPERATORS[name] = Operator(forward, *gradients)
    operator.name, operator.repeats = name, repeats

    def call(lhs: Any, rhs: Any) -> Any:
        if of_numbers is not None and isinstance(lhs, (float, int)) and isinstance(rhs, (float, int)):
            return of_numbers(lhs, rhs)
        return operator(*_operands(name, lhs, rhs))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _summed(gradient: Gradient, i: int) -> Gradient:
    return lambda g, y, a, b: sum_to(gradient(g, y, a, b), (a, b)[i].shape)


# ---------------------------------------------------------------- arithmetic


class _Kernels(NamedTuple):
    """The same for large arrays: of two arrays, of an array and a number, and of a number and an array."""

    arrays: LoopKernel
    number: LoopKernel
    of_number: LoopKernel | None


def _arithmetic(forward: Callable, kernels: _Kernels | None = None) -> Callable:
    """The function on arrays of numbers; of truth values there is no arithmetic."""

    @functools.wraps(forward)
    @ignore_fp_errors
    def call(a: Any, b: Any) -> np.ndarray:
        if kernels is not None and a.size + b.size > threaded.MIN_ELEMENTS:
            found = _by_kernel(kernels, a, b)
            if found is not None:
                return found
        if _dtype(a, b) is _BOOL:
            raise MXNetError(f"{forward.__name__}: no arithmetic with arrays of truth values; convert with astype()")
        return forward(a, b)

    return call


def _by_kernel(kernels: _Kernels, a: Any, b: Any) -> np.ndarray | None:
    """The result for large arrays of one shape, or one and a number in its type; None where NumPy computes it."""
    if isinstance(b, np.generic):
        return run_elementwise_kernel(kernels.number, a, _in_array(b)) if threads_pay(a) else None
    if isinstance(a, np.generic):
        pays = kernels.of_number is not None and threads_pay(b)
        return run_elementwise_kernel(kernels.of_number, b, _in_array(a)) if pays else None
    return run_elementwise_kernel(kernels.arrays, a, b) if threads_pay(a, b) else None


@of_sizes
def _in_array(number: np.generic) -> np.ndarray:
    """A number, which is no element of an array, for kernels to read."""
    return np.array([number])


def _divide(a: Any, b: Any) -> np.ndarray:
    """True division of floats; of integers, the quotient rounded to zero, 0 for the divisor 0."""
    if _dtype(a, b).kind not in "iu":
        return np.true_divide(a, b)
    below = np.floor_divide(a, b)
    return below + ((below * b != a) & ((a < 0) != (b < 0)) & (b != 0))


def _power(a: Any, b: Any) -> np.ndarray:
    """The power; of integers, cut off: NumPy refuses their negative powers."""
    dtype = _dtype(a, b)
    if dtype.kind in "iu" and (b < 0 if isinstance(b, NUMBER) else np.less(b, 0).any()):
        return np.power(a, b, dtype=np.float64).astype(dtype)
    return np.power(a, b)


def _modulo(a: Any, b: Any) -> np.ndarray:
    """The remainder with the sign of the divisor; 0 where that is 0."""
    remainder = backend.as_contiguous(np.remainder(a, b))  # of 0-d arrays NumPy's is a scalar
    if not isinstance(b, NUMBER):
        np.copyto(remainder, 0, where=np.equal(b, 0))
    elif b == 0:
        remainder.fill(0)
    return remainder


def _of_floats(gradient: NDArray) -> NDArray:
    return gradient * 0 if gradient._data.dtype.kind in "iub" else gradient


@ignore_fp_errors
def _hypot(a: Any, b: Any) -> np.ndarray:
    return np.hypot(a, b).astype(_dtype(a, b), copy=False)


def _logarithm(a: Any) -> Any:
    return log(a) if isinstance(a, NDArray) else ignore_fp_errors(np.log)(a)


add = _broadcasting(
    "add",
    _arithmetic(np.add, _Kernels(native.add, native.add_number, native.add_number)),
    "`lhs + rhs`, element by element.",
    lambda g, y, a, b: g,
    lambda g, y, a, b: g,
    python.add,
    repeats=True,
)
subtract = _broadcasting(
    "subtract",
    _arithmetic(np.subtract, _Kernels(native.subtract, native.subtract_number, native.subtract_from)),
    "`lhs - rhs`, element by element.",
    lambda g, y, a, b: g,
    lambda g, y, a, b: -g,
    python.sub,
    repeats=True,
)
multiply = _broadcasting(
    "multiply",
    _arithmetic(np.multiply, _Kernels(native.multiply, native.scale, native.scale)),
    "`lhs * rhs`, element by element.",
    lambda g, y, a, b: g * b,
    lambda g, y, a, b: g * a,
    python.mul,
    repeats=True,
)
divide = _broadcasting(
    "divide",
    _arithmetic(_divide, _Kernels(native.divide, native.divide_by, None)),
    "`lhs / rhs`, element by element; of integers, rounded towards 0.",
    lambda g, y, a, b: g / b,
    lambda g, y, a, b: -g * y / b,
    python.truediv,
    repeats=True,
)
modulo = _broadcasting(
    "modulo",
    _arithmetic(_modulo),
    "`lhs % rhs`, element by element, with the sign of `rhs`; 0 where that is 0. Integers get gradients of 0.",
    lambda g, y, a, b: _of_floats(g),
    lambda g, y, a, b: _of_floats(-g * floor(a / b)),
    python.mod,
)
maximum = _broadcasting(
    "maximum",
    ignore_bfloat16_nan(np.maximum),
    "The larger of two elements; of two equal ones the left gets the gradient, of an array and a number the array.",
    lambda g, y, a, b: g * (a >= b),
    lambda g, y, a, b: g * (b > a if isinstance(a, NDArray) else b >= a),
    max,
)
minimum = _broadcasting(
    "minimum",
    ignore_bfloat16_nan(np.minimum),
    "The smaller of two elements; of two equal ones the left gets the gradient, of an array and a number the array.",
    lambda g, y, a, b: g * (a <= b),
    lambda g, y, a, b: g * (b < a if isinstance(a, NDArray) else b <= a),
    min,
)
_raise = _broadcasting(
    "power",
    _arithmetic(_power),
    "",
    lambda g, y, a, b: g * b * a ** (b - 1),
    lambda g, y, a, b: g * y * _logarithm(a),
    python.pow,
)
broadcast_hypot = _broadcasting(
    "broadcast_hypot",
    _hypot,
    "`√(lhs² + rhs²)`, element by element, without overflow.",
    lambda g, y, a, b: g * a / y,
    lambda g, y, a, b: g * b / y,
)


def power(base: Any, exp: Any) -> Any:
    """`base ** exp`, element by element."""
    return _raise(base, exp)


true_divide = divide
broadcast_add = broadcast_plus = add
broadcast_sub = broadcast_minus = subtract
broadcast_div, broadcast_mod = divide, modulo
broadcast_minimum = minimum


def broadcast_mul(lhs: Any, rhs: Any, axis: Any = None) -> Any:
    """`multiply`. `axis` has no meaning; MXNet accepts it, and scripts written for it give it."""
    return multiply(lhs, rhs)


def broadcast_maximum(lhs: Any, rhs: Any, axis: Any = None) -> Any:
    """`maximum`. `axis` has no meaning, as in `broadcast_mul`."""
    return maximum(lhs, rhs)


def broadcast_power(lhs: Any, rhs: Any) -> Any:
    """`lhs ** rhs`, element by element."""
    return _raise(lhs, rhs)


# ---------------------------------------------------------------- comparisons and logic; no gradient


def _compare(name: str, compare: Callable, doc: str, of_numbers: Callable) -> Callable[[Any, Any], Any]:
    """A test, whose result is 0 or 1 in the type of the arrays."""
    compare = ignore_bfloat16_nan(compare)
    return _broadcasting(name, lambda a, b: compare(a, b).astype(_dtype(a, b)), doc, of_numbers=of_numbers)


equal = _compare("equal", np.equal, "1 where `lhs == rhs`, else 0.", python.eq)
not_equal = _compare("not_equal", np.not_equal, "1 where `lhs != rhs`, else 0.", python.ne)
greater = _compare("greater", np.greater, "1 where `lhs > rhs`, else 0.", python.gt)
greater_equal = _compare("greater_equal", np.greater_equal, "1 where `lhs >= rhs`, else 0.", python.ge)
lesser = _compare("lesser", np.less, "1 where `lhs < rhs`, else 0.", python.lt)
lesser_equal = _compare("lesser_equal", np.less_equal, "1 where `lhs <= rhs`, else 0.", python.le)
logical_and = _compare(
    "logical_and", np.logical_and, "1 where both elements are not 0, else 0.", lambda a, b: bool(a) and bool(b)
)
logical_or = _compare(
    "logical_or", np.logical_or, "1 where either element is not 0, else 0.", lambda a, b: bool(a) or bool(b)
)
logical_xor = _compare(
    "logical_xor",
    np.logical_xor,
    "1 where one element is 0 and the other is not, else 0.",
    lambda a, b: bool(a) != bool(b),
)

broadcast_equal, broadcast_not_equal = equal, not_equal
broadcast_greater, broadcast_greater_equal = greater, greater_equal
broadcast_lesser, broadcast_lesser_equal = lesser, lesser_equal
broadcast_logical_and, broadcast_logical_or, broadcast_logical_xor = logical_and, logical_or, logical_xor


# ---------------------------------------------------------------- of arrays of one shape


def _elementwise(name: str, function: Callable, doc: str) -> Callable[[NDArray, NDArray], NDArray]:
    """The operator for arrays that need no broadcasting, and may have none."""

    def call(lhs: NDArray, rhs: NDArray) -> NDArray:
        _check_alike(name, lhs, rhs)
        return function(lhs, rhs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _check_alike(name: str, *arrays: Any) -> None:
    for x in arrays:
        if not isinstance(x, NDArray):
            raise TypeError(f"{name}: every operand must be an NDArray, not {type(x).__name__}")
        if x.shape != arrays[0].shape:
            raise MXNetError(f"{name}: shapes must be equal, not {arrays[0].shape} and {x.shape}")


elemwise_add = _elementwise("elemwise_add", add, "`lhs + rhs` of two arrays of one shape.")
elemwise_sub = _elementwise("elemwise_sub", subtract, "`lhs - rhs` of two arrays of one shape.")
elemwise_mul = _elementwise("elemwise_mul", multiply, "`lhs * rhs` of two arrays of one shape.")
elemwise_div = _elementwise("elemwise_div", divide, "`lhs / rhs` of two arrays of one shape.")


class Sum(Operator):
    """The sum of some arrays, one rounding after the other."""


@functools.cache
def _sum_of(n: int) -> Sum:

    @in_float32
    @ignore_fp_errors
    def forward(*arrays: np.ndarray) -> np.ndarray:
        total = arrays[0].copy()
        for x in arrays[1:]:
            total += x
        return total

    operator = Sum(forward, *[lambda g, *_: g] * n)
    operator.name = "add_n"
    return operator


def add_n(*args: NDArray) -> NDArray:
    """The sum of the arrays, of one shape and type."""
    if not args:
        raise MXNetError("add_n: no arrays given")
    _check_alike("add_n", *args)
    for x in args:
        if x._data.dtype != args[0]._data.dtype:
            raise MXNetError(types_differ("add_n", args[0], x))
    return _sum_of(len(args))(*args)


ElementWiseSum = add_n
