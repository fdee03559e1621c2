"""Operators that reduce axes to one value: sums, means, products, extremes, norms; and running sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError, counts
from runtime.core.backend import is_host
from runtime.core.threaded import takes
from runtime.native import sums as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_fp_errors, in_float32, repeating
from runtime.ndarray.shape.reshape import axes_of, axis_of, reshape
from runtime.ndarray.two_gradients import MIN_KERNEL_ELEMENTS, widen_half

__all__ = [
    "argmax",
    "argmax_channel",
    "argmin",
    "cumsum",
    "max",
    "max_axis",
    "mean",
    "min",
    "min_axis",
    "moments",
    "nanprod",
    "nansum",
    "norm",
    "prod",
    "sum",
    "sum_axis",
]
METHODS = ("argmax", "argmax_channel", "argmin", "max", "mean", "min", "nanprod", "nansum", "norm", "prod", "sum")

SUMS = ("sum", "nansum")
"""What is 0 without elements; others are undefined then, and an error."""

Axes = int | Sequence[int] | None
Shape = tuple[int, ...]

# ---------------------------------------------------------------- which axes, and what is left of a shape


@functools.lru_cache(4096, typed=True)  # 1.0 and True are equal to 1, but no axes
def _plan(name: str, shape: Shape, axis: int | Shape | None, keepdims: bool, exclude: bool) -> tuple[Shape, Shape]:
    """The axes to reduce, ascending, and the shape of the result."""
    axes = tuple(range(len(shape)))
    if axis is not None:
        named = axes_of(name, shape, axis)
        axes = tuple(a for a in axes if (a in named) != exclude)
    if 0 in shape and name not in SUMS:
        raise MXNetError(f"{name}: an array of shape {shape} has no elements")
    return axes, _kept(shape, axes) if keepdims else tuple(n for a, n in enumerate(shape) if a not in axes) or (1,)


def _kept(shape: Shape, axes: Shape) -> Shape:
    """`shape` with length 1 on `axes`."""
    return tuple(1 if a in axes else n for a, n in enumerate(shape))


def _key(axis: Axes) -> int | Shape | None:
    """`axis` as `_plan` takes it: hashable, several of one type, None for all."""
    return counts("axis", axis, None) or None if isinstance(axis, (list, tuple, range)) else axis


def _reduce(operator: Operator, data: NDArray, axis: Axes, keepdims: bool, exclude: bool, **attrs: Any) -> NDArray:
    axes, shape = _plan(operator.name, data._data.shape, _key(axis), bool(keepdims), bool(exclude))
    return operator(data, axes=axes, shape=shape, **attrs)


def _reduction(name: str, forward: Callable) -> Operator:
    """An operator from `forward(x, axes)`, which keeps the reduced axes; its result is given `shape`.

    As `in_float32` does, it computes with 16-bit floats in float32.
    """

    @ignore_fp_errors
    def call(x: np.ndarray, *, axes: Shape, shape: Shape) -> np.ndarray:
        if x.dtype.itemsize == 2:
            return forward(x.astype(np.float32), axes).reshape(shape).astype(x.dtype)
        return forward(x, axes).reshape(shape)

    operator = Operator(call)
    operator.name = name
    return operator


@Operator
def _spread(g: np.ndarray, *, axes: Shape, shape: Shape) -> np.ndarray:
    """`g`, reduced over `axes` of an array of `shape`, repeated along them: the transpose of a sum."""
    x = np.empty_like(g, shape=shape)
    x[...] = g.reshape(_kept(shape, axes))
    return x


@_spread.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _sum(g, axes=axes, shape=x.shape)


def _align(g: NDArray, x: NDArray, axes: Shape) -> NDArray:
    """`g`, reduced over `axes` of x, in a shape to be broadcast against x."""
    return reshape(g, _kept(x.shape, axes))


def _over(ufunc: np.ufunc, method: str) -> Callable:
    """`ufunc` over axes, which stay with length 1, in the type of the elements.

    A CuPy array has `method` for it; NumPy's methods are slower than `ufunc.reduce`.
    """

    def reduce(x: np.ndarray, axes: Shape) -> np.ndarray:
        if is_host(x):
            return ufunc.reduce(x, axes, x.dtype, None, True)
        return getattr(x, method)(axes, keepdims=True).astype(x.dtype, copy=False)

    return reduce


_add_up, _multiply_up = _over(np.add, "sum"), _over(np.multiply, "prod")

# ---------------------------------------------------------------- sums


def _sum_up(x: np.ndarray, axes: Shape) -> np.ndarray:
    sizes = _around(x.shape, axes) if x.dtype.char in "fd" and type(x) is np.ndarray else None
    return _add_up(x, axes) if sizes is None else native.summed(x, *sizes)


@functools.lru_cache(4096)
def _around(shape: Shape, axes: Shape) -> tuple[int, int, int] | None:
    """The elements before, of, and behind the axes that stay; None if there are none, or others between them."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    if 0 in shape or not axes or not kept or kept[-1] - kept[0] + 1 != len(kept):
        return None
    before, behind = math.prod(shape[: kept[0]]), math.prod(shape[kept[-1] + 1 :])
    return before, math.prod(shape) // (before * behind), behind


_sum = repeating(_reduction("sum", _sum_up))
_nansum = _reduction("nansum", lambda x, axes: _add_up(np.where(np.isnan(x), 0, x), axes))


@_sum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _spread(g, axes=axes, shape=x.shape)


@_nansum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _spread(g, axes=axes, shape=x.shape) * (x == x)


def _mean_of(x: np.ndarray, axes: Shape) -> np.ndarray:
    """The mean; of integers, cut off."""
    total = _add_up(x, axes)
    count = x.size // total.size
    if x.dtype.kind in "iub":
        return np.trunc(total / count).astype(x.dtype)
    total /= count
    return total


_mean = _reduction("mean", _mean_of)


@_mean.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _spread(g / (x.size // y.size), axes=axes, shape=x.shape)


def sum(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The sum over `axis` (an axis, several, None for all; with `exclude`, over all others), in the type of `data`.

    The result has the reduced axes with length 1 if `keepdims`, else not at all; shape (1,) if none is left.
    """
    return _reduce(_sum, data, axis, keepdims, exclude)


def mean(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The mean over `axis`; see `sum`."""
    return _reduce(_mean, data, axis, keepdims, exclude)


def nansum(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The sum over `axis` of what is not NaN; see `sum`."""
    return _reduce(_nansum, data, axis, keepdims, exclude)


sum_axis = sum


def sum_to(data: NDArray, shape: Shape) -> NDArray:
    """`data` summed down to `shape`: what undoes, for a gradient, that an array of `shape` was broadcast."""
    if data._data.shape == shape:
        return data
    lead = data.ndim - len(shape)
    axes = tuple(i for i in range(data.ndim) if i < lead or shape[i - lead] != data.shape[i])
    return _sum(data, axes=axes, shape=shape)


# ---------------------------------------------------------------- products


def _others_of(x: np.ndarray, axes: Shape) -> np.ndarray:
    """For each element the product of all others that are reduced with it: exact where some are 0, NaN where one is."""
    zero = x == 0
    zeros = zero.sum(axes, keepdims=True)
    safe = np.where(zero, 1, x)
    product = _multiply_up(safe, axes)
    with_zero = np.where(np.isnan(product), product, 0)
    return np.where(zeros - zero == 0, product / safe, with_zero).astype(x.dtype, copy=False)


@Operator
@in_float32
@ignore_fp_errors
def _others(x: np.ndarray, *, axes: Shape) -> np.ndarray:
    return _others_of(x, axes)


@_others.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape) -> NDArray:
    flow = g * y
    return (_sum(flow, axes=axes, shape=_kept(x.shape, axes)) - flow) / x


_prod = _reduction("prod", _multiply_up)
_nanprod = _reduction("nanprod", lambda x, axes: _multiply_up(np.where(np.isnan(x), 1, x), axes))


@_prod.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _align(g, x, axes) * _others(x, axes=axes)


@_nanprod.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _align(g, x, axes) * _others(_nan_to_one(x), axes=axes) * (x == x)


_nan_to_one = Operator(
    lambda x: np.where(np.isnan(x), x.dtype.type(1), x).astype(x.dtype, copy=False), lambda g, y, x: g * (x == x)
)


def prod(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The product over `axis`; see `sum`."""
    return _reduce(_prod, data, axis, keepdims, exclude)


def nanprod(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The product over `axis` of what is not NaN; see `sum`."""
    return _reduce(_nanprod, data, axis, keepdims, exclude)


# ---------------------------------------------------------------- extremes and where they are


_max = _reduction("max", _over(np.maximum, "max"))
_min = _reduction("min", _over(np.minimum, "min"))


@_max.gradient
@_min.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _align(g, x, axes) * (x == _align(y, x, axes))  # each of several extremes gets the whole gradient


def max(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The largest element over `axis`, NaN if one is there; see `sum`."""
    return _reduce(_max, data, axis, keepdims, exclude)


def min(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The smallest element over `axis`, NaN if one is there; see `sum`."""
    return _reduce(_min, data, axis, keepdims, exclude)


max_axis, min_axis = max, min


def _position(name: str, find: Callable) -> Operator:
    def forward(x: np.ndarray, *, axis: int, shape: Shape) -> np.ndarray:
        found = find(x if is_host(x) else widen_half(x), axis)  # CuPy's functions have no bfloat16
        return found.reshape(shape).astype(x.dtype)

    operator = Operator(forward)
    operator.name = name
    return operator


_argmax, _argmin = _position("argmax", np.argmax), _position("argmin", np.argmin)


def argmax(data: NDArray, axis: int | None = None, keepdims: bool = False) -> NDArray:
    """Where the largest element along `axis` is, the first of several, in the type of `data`.

    Without an axis, its position in the flattened array.
    """
    return _find(_argmax, data, axis, keepdims)


def argmin(data: NDArray, axis: int | None = None, keepdims: bool = False) -> NDArray:
    """Where the smallest element along `axis` is; see `argmax`."""
    return _find(_argmin, data, axis, keepdims)


def _find(operator: Operator, data: NDArray, axis: int | None, keepdims: bool) -> NDArray:
    if axis is not None:
        axis = axis_of(operator.name, data.shape, axis)
    _, shape = _plan(operator.name, data.shape, _key(axis), bool(keepdims), False)
    return operator(data, axis=axis, shape=shape)


def argmax_channel(data: NDArray) -> NDArray:
    """Where along axis 1 the largest element is."""
    return argmax(data, axis=axis_of("argmax_channel", data.shape, 1))


# ---------------------------------------------------------------- norms and moments


_norm1 = _reduction("norm", lambda x, axes: _add_up(np.abs(x), axes))
_norm2 = _reduction("norm", lambda x, axes: np.sqrt(_add_up(x * x, axes)).astype(x.dtype, copy=False))


@_norm1.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _align(g, x, axes) * ((x > 0) - (x < 0))


@_norm2.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape, shape: Shape) -> NDArray:
    return _align(g / y, x, axes) * x


def norm(data: NDArray, ord: int = 2, axis: Axes = None, out_dtype: Any = None, keepdims: bool = False) -> NDArray:
    """The sum of the absolute values over `axis` (`ord=1`), or the root of the sum of the squares (`ord=2`).

    `axis` and `keepdims` are as for `sum`; the result has type `out_dtype`, by default that of `data`.
    """
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord must be 1 or 2, not {ord}")
    if out_dtype is not None:
        data = data.astype(out_dtype, copy=False)
    return _reduce(_norm1 if ord == 1 else _norm2, data, axis, keepdims, False)


def moments(data: NDArray, axes: Axes, keepdims: bool = False) -> list[NDArray]:
    """The mean and the variance (that of a population, over n) over `axes`; see `sum`."""
    if axes is None or axes == ():
        raise MXNetError("moments: axes must name at least one axis")
    centre = mean(data, axes, keepdims=True)
    variance = mean((data - centre) * (data - centre), axes, keepdims)
    return [centre if keepdims else reshape(centre, variance.shape), variance]


# ---------------------------------------------------------------- running sums


@repeating
@Operator
@in_float32
@ignore_fp_errors
def _cumsum(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
    """The sums of the elements up to each along `axis`; from each to the last if `reverse`."""
    if takes(x) and x.size >= MIN_KERNEL_ELEMENTS:
        y, tasks, n = np.empty_like(x), math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        native.running_sums(tasks, 4 * x.size, x, y, x.shape[axis], n, int(reverse))
        return y
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis, x.dtype), axis).copy()
    return np.cumsum(x, axis, x.dtype)


@_cumsum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axis: int, reverse: bool) -> NDArray:
    return _cumsum(g, axis=axis, reverse=not reverse)


def cumsum(a: NDArray, axis: int | None = None, dtype: Any = None) -> NDArray:
    """The sum of all elements up to each one along `axis`, in the shape of `a`; without an axis, of `a` flattened.

    It is computed in `dtype`, by default that of `a`.
    """
    a = a if dtype is None else a.astype(dtype, copy=False)
    if axis is None:
        return _cumsum(reshape(a, (-1,)), axis=0, reverse=False)
    return _cumsum(a, axis=axis_of("cumsum", a.shape, axis), reverse=False)
