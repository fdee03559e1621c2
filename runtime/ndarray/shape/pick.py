"""Operators that choose one element of each vector along an axis: pick, and what is made of it."""

from __future__ import annotations

import math

import numpy as np

from runtime.base import MXNetError
from runtime.core import backend
from runtime.native import gather as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, repeating
from runtime.ndarray.shape.gather import positions
from runtime.ndarray.shape.reshape import axis_of
from runtime.ndarray.shape.subscript import setitem

__all__ = ["batch_take", "choose_element_0index", "fill_element_0index", "pick"]
METHODS = ("pick",)

Shape = tuple[int, ...]
VECTORS_PER_TASK = 1 << 12


@Operator
def along(x: np.ndarray, index: np.ndarray, *, axis: int) -> np.ndarray:
    """The elements at `index`, of the same shape but for `axis`. Each is named once in its vector."""
    return x.take(places(index, axis, x.shape[axis]))


@Operator
def _put_along(g: np.ndarray, index: np.ndarray, *, axis: int, length: int) -> np.ndarray:
    x = np.zeros_like(g, shape=(*g.shape[:axis], length, *g.shape[axis + 1 :]))
    x.reshape(-1)[places(index, axis, length)] = g
    return x


def places(index: np.ndarray, axis: int, length: int) -> np.ndarray:
    """The positions of the elements at `index` in the flattened array, which has `length` on `axis`.

    NumPy's functions for this (`take_along_axis`) take several times as long on small arrays.
    """
    before, after = math.prod(index.shape[:axis]), math.prod(index.shape[axis + 1 :])
    found, xp = index.reshape(before, index.shape[axis], after), backend.array_module(index)
    if after > 1:
        found = found * after + xp.arange(after)
    if before > 1:
        found = found + xp.arange(0, before * length * after, length * after)[:, None, None]
    return found.reshape(index.shape)


@along.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int) -> NDArray:
    return _put_along(g, index, axis=axis, length=x.shape[axis])


@_put_along.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int, length: int) -> NDArray:
    return along(g, index, axis=axis)


# ---------------------------------------------------------------- pick


@repeating
@Operator
def _pick(x: np.ndarray, index: np.ndarray, *, axis: int, shape: Shape) -> np.ndarray:
    """The elements at `index`, in `shape`: whole numbers on the axis, or, for a kernel, any of the type of x."""
    if not _in_kernel(x):
        return along.forward(x, _standing(index, x.shape, axis), axis=axis).reshape(shape)
    y = np.empty(shape, x.dtype)
    native.pick(-(-y.size // VECTORS_PER_TASK), y.size, x, *_named(index), y, *_lengths(index, x.shape, axis))
    return y


@Operator
def _put_back(g: np.ndarray, index: np.ndarray, *, axis: int, shape: Shape) -> np.ndarray:
    """Zeros of `shape` with g where `_pick` takes it from."""
    if not _in_kernel(g):
        at = _standing(index, shape, axis)
        return _put_along.forward(g.reshape(at.shape), at, axis=axis, length=shape[axis])
    x = np.zeros(shape, g.dtype)
    native.put(-(-g.size // VECTORS_PER_TASK), g.size, g, *_named(index), x, *_lengths(index, shape, axis))
    return x


def _in_kernel(x: np.ndarray) -> bool:
    return type(x) is np.ndarray and x.dtype.char in "fd"


def _standing(index: np.ndarray, shape: Shape, axis: int) -> np.ndarray:
    return index.reshape(*shape[:axis], 1, *shape[axis + 1 :])


def _named(index: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    return (None, index) if index.dtype == np.int64 else (index, None)


def _lengths(index: np.ndarray, shape: Shape, axis: int) -> tuple[int, int, int, int, int]:
    after = math.prod(shape[axis + 1 :]) if axis + 1 < len(shape) else 1
    return int(index.dtype == np.int64), index.size, shape[axis], after, VECTORS_PER_TASK


@_pick.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int, shape: Shape) -> NDArray:
    return _put_back(g, index, axis=axis, shape=x.shape)


@_put_back.gradient
def _(g: NDArray, x: NDArray, y: NDArray, index: NDArray, *, axis: int, shape: Shape) -> NDArray:
    return _pick(g, index, axis=axis, shape=y.shape)


def pick(data: NDArray, index: NDArray, axis: int = -1, keepdims: bool = False, mode: str = "clip") -> NDArray:
    """From each vector along `axis`, the element that `index` names (of any type).

    `index` has the shape of `data` without `axis`, or with length 1 there; so has the result (with, if `keepdims`).
    Indices outside of the axis are moved to its nearest end ('clip') or counted around it ('wrap').
    """
    shape, found = data._data.shape, index._data.shape
    axis = axis_of("pick", shape, axis)
    before, after = shape[:axis], shape[axis + 1 :]
    kept, dropped = (*before, 1, *after), before + after
    if found != dropped and found != kept and (dropped or index.size != 1):
        raise MXNetError(f"pick from shape {shape} along axis {axis}: index has shape {found}, not {dropped} or {kept}")
    if mode == "clip" and shape[axis] and index._data.dtype == data._data.dtype and _in_kernel(data._data):
        at = index
    else:
        at = positions("pick", index, shape[axis], mode, ("clip", "wrap"))
    return _pick(data, at, axis=axis, shape=kept if keepdims else dropped or (1,))


choose_element_0index = pick


def batch_take(a: NDArray, indices: NDArray) -> NDArray:
    """From each row of a matrix, (n, m), the element that `indices`, (n,), names; clipped to the rows."""
    if a.ndim != 2 or indices.shape != a.shape[:1]:
        raise MXNetError(f"batch_take: a and indices have shapes {a.shape} and {indices.shape}, not (n, m) and (n,)")
    return pick(a, indices)


def fill_element_0index(lhs: NDArray, mhs: NDArray, rhs: NDArray) -> NDArray:
    """A copy of the matrix `lhs`, (n, m), in which row i has `mhs[i]` in column `rhs[i]`."""
    if lhs.ndim != 2 or not mhs.shape == rhs.shape == lhs.shape[:1]:
        raise MXNetError(
            f"fill_element_0index: lhs, mhs and rhs have shapes {lhs.shape}, {mhs.shape} and {rhs.shape}, not (n, m), "
            "(n,) and (n,)"
        )
    columns = positions("fill_element_0index", rhs, lhs.shape[1], "raise", ("raise",))
    filled = lhs.detach().copy()
    setitem(filled, (np.arange(len(lhs)), columns), mhs.detach())
    return filled
