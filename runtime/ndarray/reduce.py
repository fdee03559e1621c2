"""Operators that take one value from many: over all elements, or over some axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32
from runtime.ndarray.shape import broadcast_to, reshape

__all__ = ["argmax", "argmin", "max", "mean", "min", "sum"]
METHODS = ("argmax", "argmin", "max", "mean", "min", "sum")

Axes = int | Sequence[int] | None

# Every operator here keeps the reduced axes, with length 1: its gradient is then a broadcast. `_drop` takes them out.


@Operator
@in_float32
def _sum(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.sum(x, axis=axes, keepdims=True, dtype=x.dtype)


@_sum.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: tuple[int, ...]) -> NDArray:
    return broadcast_to(g, x.shape)


@Operator
def _max(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.max(x, axis=axes, keepdims=True)


@Operator
def _min(x: np.ndarray, *, axes: tuple[int, ...]) -> np.ndarray:
    return np.min(x, axis=axes, keepdims=True)


@_max.gradient
@_min.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: tuple[int, ...]) -> NDArray:
    return g * (x == y)  # each of several extremes gets the whole gradient


@Operator
def _argmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    return np.argmax(x, axis=axis, keepdims=True).astype(np.float32)


@Operator
def _argmin(x: np.ndarray, *, axis: int) -> np.ndarray:
    return np.argmin(x, axis=axis, keepdims=True).astype(np.float32)


def sum(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The sum over `axis` (an axis, several, None for all; with `exclude`, over all others), in the type of `data`.

    The result has the reduced axes with length 1 if `keepdims`, else not at all; shape (1,) if none is left.
    """
    axes = _axes(data, axis, exclude)
    return _drop(_sum(data, axes=axes), axes, keepdims)


def mean(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The mean over `axis`; see `sum`."""
    if data._data.dtype.itemsize == 2:  # the sum of 16-bit floats may be too large for one where their mean is not
        return mean(data.astype("float32"), axis, keepdims, exclude).astype(data.dtype)
    axes = _axes(data, axis, exclude)
    count = int(np.prod([data.shape[a] for a in axes]))
    return _drop(_sum(data, axes=axes) / count, axes, keepdims)


def max(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The largest element over `axis`; see `sum`."""
    axes = _axes(data, axis, exclude)
    return _drop(_max(data, axes=axes), axes, keepdims)


def min(data: NDArray, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> NDArray:
    """The smallest element over `axis`; see `sum`."""
    axes = _axes(data, axis, exclude)
    return _drop(_min(data, axes=axes), axes, keepdims)


def argmax(data: NDArray, axis: int | None = None, keepdims: bool = False) -> NDArray:
    """Where the largest element along `axis` is (the first of several; None: in the flattened array), as float32."""
    return _position(_argmax, data, axis, keepdims)


def argmin(data: NDArray, axis: int | None = None, keepdims: bool = False) -> NDArray:
    """Where the smallest element along `axis` is (the first of several; None: in the flattened array), as float32."""
    return _position(_argmin, data, axis, keepdims)


def sum_to(data: NDArray, shape: tuple[int, ...]) -> NDArray:
    """`data` summed down to `shape`: what undoes, for a gradient, that an array of `shape` was broadcast."""
    if data.shape == shape:
        return data
    lead = data.ndim - len(shape)
    axes = tuple(i for i in range(data.ndim) if i < lead or shape[i - lead] != data.shape[i])
    return reshape(_sum(data, axes=axes), shape)


def _position(operator: Operator, data: NDArray, axis: int | None, keepdims: bool) -> NDArray:
    if axis is None:
        data, axis = reshape(data, (-1,)), 0
    axes = _axes(data, axis, False)
    return _drop(operator(data, axis=axes[0]), axes, keepdims)


def _axes(data: NDArray, axis: Axes, exclude: bool) -> tuple[int, ...]:
    """The axes to reduce, counted from 0."""
    ndim = data.ndim
    given = range(ndim) if axis is None or axis == () else [axis] if isinstance(axis, (int, np.integer)) else axis
    for a in given:
        if not -ndim <= a < ndim:
            raise MXNetError(f"axis {a} of an array of shape {data.shape}: there are {ndim} axes")
    axes = {a % ndim for a in given}
    return tuple(a for a in range(ndim) if (a in axes) != (exclude and axis is not None))


def _drop(reduced: NDArray, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    if keepdims:
        return reduced
    return reshape(reduced, tuple(n for i, n in enumerate(reduced.shape) if i not in axes) or (1,))
