"""Operators that choose elements by position, in pairs: take out, put back. Each is the other's gradient."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.dtypes import element_type
from runtime.ndarray.ndarray import NDArray, numpy_key
from runtime.ndarray.operator import Operator, in_float32
from runtime.ndarray.sparse import RowSparseNDArray, sum_rows

__all__ = ["Embedding", "pick"]
METHODS = ("pick",)

# ---------------------------------------------------------------- x[key]


@Operator
def _index(x: np.ndarray, *, key: Any) -> np.ndarray:
    """A view where NumPy gives a contiguous one on the first axis, else a copy."""
    part = x[key]
    shared = isinstance(key, (int, np.integer)) or (isinstance(key, slice) and part.flags.c_contiguous)
    return part.reshape(part.shape or (1,)) if shared else np.array(part, ndmin=1, order="C")


@Operator
@in_float32
def _unindex(g: np.ndarray, *, key: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros of `shape` with `g` added at `key`; a place chosen several times gets every share."""
    x = np.zeros(shape, g.dtype)
    np.add.at(x, key, g.reshape(x[key].shape))
    return x


@_index.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: Any) -> NDArray:
    return _unindex(g, key=key, shape=x.shape)


@_unindex.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: Any, shape: tuple[int, ...]) -> NDArray:
    return _index(g, key=key)


def getitem(x: NDArray, key: Any) -> NDArray:
    """`x[key]`: an integer or a slice of the first axis shares memory with x; any other index copies."""
    if isinstance(key, numbers.Integral) and not -len(x) <= key < len(x):
        raise IndexError(f"index {key} is out of bounds for the first axis, of length {len(x)}")
    return _index(x, key=numpy_key(key))


# ---------------------------------------------------------------- one element along an axis


@Operator
def _pick(x: np.ndarray, index: np.ndarray, *, axis: int) -> np.ndarray:
    return np.ascontiguousarray(np.take_along_axis(x, index, axis))


@Operator
def _unpick(g: np.ndarray, index: np.ndarray, *, axis: int, length: int) -> np.ndarray:
    shape = list(g.shape)
    shape[axis] = length
    x = np.zeros(shape, g.dtype)
    np.put_along_axis(x, index, g, axis)
    return x


@_pick.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int) -> NDArray:
    return _unpick(g, index, axis=axis, length=x.shape[axis])


@_unpick.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int, length: int) -> NDArray:
    return _pick(g, index, axis=axis)


def pick(data: NDArray, index: NDArray, axis: int = -1, keepdims: bool = False) -> NDArray:
    """From each vector along `axis`, the element that `index` names (of any type; clipped to the axis).

    `index` has the shape of `data` without `axis`, or with length 1 there; so has the result (with, if `keepdims`).
    """
    axis %= data.ndim
    kept = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    dropped = (*data.shape[:axis], *data.shape[axis + 1 :])
    if index.shape not in (kept, dropped) and (dropped or index.size != 1):
        raise MXNetError(
            f"pick from shape {data.shape} along axis {axis}: index has shape {index.shape}, not {dropped} or {kept}"
        )
    positions = np.clip(index._data.astype(np.int64), 0, data.shape[axis] - 1).reshape(kept)
    picked = _pick(data, NDArray(positions, data._ctx), axis=axis)
    return picked if keepdims else picked.reshape(dropped or (1,))


# ---------------------------------------------------------------- rows


@Operator
def _take_rows(x: np.ndarray, index: np.ndarray, *, sparse_grad: bool) -> np.ndarray:
    return np.take(x, index, axis=0)


@Operator
def _put_rows(g: np.ndarray, index: np.ndarray, *, rows: int) -> np.ndarray:
    """Zeros with the rows of `g` added at `index`."""
    indices, sums = _sums(g, index)
    x = np.zeros((rows, *sums.shape[1:]), g.dtype)
    x[indices] = sums
    return x


@_take_rows.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, sparse_grad: bool) -> NDArray:
    if sparse_grad and not autograd.is_recording():  # a gradient to be differentiated again is made of operators
        indices, sums = _sums(g._data, index._data)
        return RowSparseNDArray(sums, indices, x.shape, g._ctx)
    return _put_rows(g, index, rows=len(x))


@_put_rows.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, rows: int) -> NDArray:
    return _take_rows(g, index, sparse_grad=False)


def _sums(g: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct elements of `index`, and for each the sum of the rows of `g` that lie there."""
    return sum_rows(index.ravel(), g.reshape(index.size, *g.shape[index.ndim :]))


def Embedding(
    data: NDArray,
    weight: NDArray,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = None,
    sparse_grad: bool = False,
) -> NDArray:
    """The row of `weight`, (input_dim, output_dim), for each number in `data` (of any type; clipped to the rows).

    The result has the shape of `data` with output_dim added. With `sparse_grad`, the gradient that reaches `weight`
    is row-sparse, with the rows that occur in `data`. Dimensions and type of `weight`, if given, are checked.
    """
    shape, asked = (input_dim or weight.shape[0], output_dim or weight.shape[-1]), element_type(dtype or weight.dtype)
    if weight.shape != shape or weight.dtype != asked:
        raise MXNetError(
            f"Embedding: weight has shape {weight.shape} and type {weight._data.dtype}, not {shape} and {asked}"
        )
    index = np.clip(data._data.astype(np.int64), 0, len(weight) - 1)
    return _take_rows(weight, NDArray(index, data._ctx), sparse_grad=sparse_grad)
