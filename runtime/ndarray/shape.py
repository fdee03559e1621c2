"""Operators that move elements and change none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator

__all__ = ["Flatten", "broadcast_to", "expand_dims", "flatten", "reshape", "reshape_like", "transpose"]
METHODS = ("broadcast_to", "expand_dims", "flatten", "reshape", "reshape_like", "transpose")

Shape = tuple[int, ...]


@Operator
def _reshape(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return x.reshape(shape)  # arrays are contiguous: never a copy


@_reshape.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, shape: Shape) -> NDArray:
    return _reshape(g, shape=x.shape)


@Operator
def _transpose(x: np.ndarray, *, axes: Shape) -> np.ndarray:
    return np.ascontiguousarray(x.transpose(axes))


@_transpose.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape) -> NDArray:
    return _transpose(g, axes=tuple(np.argsort(axes)))


@Operator
def _broadcast_to(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return np.ascontiguousarray(np.broadcast_to(x, shape))


@_broadcast_to.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, shape: Shape) -> NDArray:
    from runtime.ndarray.reduce import sum_to  # the two are each other's gradient

    return sum_to(g, x.shape)


def reshape(data: NDArray, *args: int | Sequence[int], shape: int | Sequence[int] | None = None) -> NDArray:
    """The same elements, in the same memory, as an array of `shape`.

    In `shape`, 0 keeps the length of that axis and one -1 stands for whatever is left.
    """
    args = args if shape is None else (shape,)
    lengths = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if any(n == 0 and i >= data.ndim for i, n in enumerate(lengths)):
        raise MXNetError(f"reshape of {data.shape} to {lengths}: a 0 keeps an axis, but there is none at its place")
    target = tuple(data.shape[i] if n == 0 else n for i, n in enumerate(lengths))
    try:
        return _reshape(data, shape=target)
    except ValueError:
        raise MXNetError(
            f"an array of shape {data.shape} has {data.size} elements and cannot be reshaped to {lengths}"
        ) from None


def reshape_like(lhs: NDArray, rhs: NDArray) -> NDArray:
    """`lhs` in the shape of `rhs`."""
    return reshape(lhs, rhs.shape)


def flatten(data: NDArray) -> NDArray:
    """A matrix: the first axis as it is, all others as one."""
    return _reshape(data, shape=(data.shape[0], int(np.prod(data.shape[1:]))))


def expand_dims(data: NDArray, axis: int) -> NDArray:
    """A copy with an axis of length 1 more, at `axis`."""
    if not -data.ndim - 1 <= axis <= data.ndim:
        raise MXNetError(f"expand_dims of an array of shape {data.shape} at axis {axis}")
    return _reshape(data.copy(), shape=np.expand_dims(data._data, axis).shape)


def transpose(data: NDArray, *axes: int | Sequence[int]) -> NDArray:
    """A copy with the axes in the order `axes`, reversed if none are given."""
    order: Any = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    order = tuple(a % data.ndim for a in order) or tuple(reversed(range(data.ndim)))
    if sorted(order) != list(range(data.ndim)):
        raise MXNetError(f"transpose of an array of shape {data.shape}: {order} is no order of its axes")
    return _transpose(data, axes=order)


def broadcast_to(data: NDArray, shape: Sequence[int]) -> NDArray:
    """A copy with axes of length 1 repeated to the lengths of `shape`; a 0 in `shape` keeps an axis."""
    target = tuple(data.shape[i] if n == 0 and i < data.ndim else n for i, n in enumerate(shape))
    if target == data.shape:
        return data
    try:
        return _broadcast_to(data, shape=target)
    except ValueError:
        raise MXNetError(f"an array of shape {data.shape} cannot be broadcast to {target}") from None


Flatten = flatten
