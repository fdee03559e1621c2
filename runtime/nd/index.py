"""Operators that choose elements by position, in pairs: take out, put back. Each is the other's gradient."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.nd.ndarray import NDArray, numpy_key
from runtime.nd.operator import Operator

# ---------------------------------------------------------------- x[key]


@Operator
def _index(x: np.ndarray, *, key: Any) -> np.ndarray:
    """A view where NumPy gives a contiguous one on the first axis, else a copy."""
    part = x[key]
    shared = isinstance(key, (int, np.integer)) or (isinstance(key, slice) and part.flags.c_contiguous)
    return part.reshape(part.shape or (1,)) if shared else np.array(part, ndmin=1, order="C")


@Operator
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
