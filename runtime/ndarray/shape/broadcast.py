"""Operators that repeat elements: along axes of length 1, along any axis, or the array as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.base import ArgumentError, MXNetError, count, counts
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator
from runtime.ndarray.reduce.reductions import sum_to
from runtime.ndarray.shape.reshape import Axes, Shape, _reshape, axes_of, axis_of

__all__ = ["broadcast_axes", "broadcast_axis", "broadcast_like", "broadcast_to", "repeat", "tile"]
METHODS = ("broadcast_axes", "broadcast_to", "repeat", "tile")


@Operator
def _broadcast_to(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    y = np.empty_like(x, shape=shape)
    y[...] = x
    return y


@_broadcast_to.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, shape: Shape) -> NDArray:
    return sum_to(g, x.shape)


def broadcast_to(data: NDArray, shape: Sequence[int]) -> NDArray:
    """A copy with axes of length 1 repeated to the lengths of `shape`; a 0 in `shape` keeps an axis."""
    own = data.shape
    target = counts("broadcast_to: shape", shape, 0)
    if 0 in target and len(target) == len(own):
        target = tuple(n or m for m, n in zip(own, target, strict=True))
    lead = len(target) - len(own)
    if lead < 0 or any(m not in (1, n) for m, n in zip(own, target[lead:], strict=True)):
        raise ArgumentError(f"an array of shape {own} cannot be broadcast to {target}")
    return _broadcast_to(data, shape=target)


def broadcast_axis(data: NDArray, axis: Axes = (), size: Axes = ()) -> NDArray:
    """A copy with each of `axis`, of length 1, repeated to its counterpart in `size`."""
    axes = axes_of("broadcast_axis", data.shape, axis)
    sizes = counts("broadcast_axis: size", size)
    target = list(data.shape)
    if len(axes) != len(sizes) or any(target[a] != 1 for a in axes):
        raise MXNetError(f"broadcast_axis of an array of shape {data.shape}: axes {axes} to lengths {sizes}")
    for a, n in zip(axes, sizes, strict=True):
        target[a] = n
    return broadcast_to(data, target)


def broadcast_like(lhs: NDArray, rhs: NDArray, lhs_axes: Axes | None = None, rhs_axes: Axes | None = None) -> NDArray:
    """A copy of `lhs` with the shape of `rhs`; or with each of `lhs_axes` as long as its counterpart in `rhs_axes`."""
    if lhs_axes is None and rhs_axes is None:
        return broadcast_to(lhs, rhs.shape)
    ours = () if lhs_axes is None else axes_of("broadcast_like", lhs.shape, lhs_axes)
    theirs = () if rhs_axes is None else axes_of("broadcast_like", rhs.shape, rhs_axes)
    if not ours or len(ours) != len(theirs):
        raise MXNetError(
            f"broadcast_like: lhs_axes {lhs_axes} and rhs_axes {rhs_axes} must name as many axes, at least 1"
        )
    target = list(lhs.shape)
    for a, b in zip(ours, theirs, strict=True):
        target[a] = rhs.shape[b]
    return broadcast_to(lhs, target)


def tile(data: NDArray, reps: Axes) -> NDArray:
    """A copy repeated as a whole: `reps[i]` times along axis i. The shorter of shape and `reps` is led by ones."""
    reps = counts("tile: reps", reps)
    ndim = max(len(reps), data.ndim)
    shape = (1,) * (ndim - data.ndim) + data.shape
    reps = (1,) * (ndim - len(reps)) + reps
    blocks = _reshape(data, shape=tuple(length for n in shape for length in (1, n)))
    tiled = _broadcast_to(blocks, shape=tuple(length for r, n in zip(reps, shape, strict=True) for length in (r, n)))
    return _reshape(tiled, shape=tuple(r * n for r, n in zip(reps, shape, strict=True)))


def repeat(data: NDArray, repeats: int, axis: int | None = None) -> NDArray:
    """A copy with each element repeated `repeats` times, along `axis` (None: in the flattened array)."""
    repeats = count("repeat: repeats", repeats, 0)
    if axis is None:
        data, axis = _reshape(data, shape=(data.size,)), 0
    axis = axis_of("repeat", data.shape, axis)
    before, n, after = data.shape[:axis], data.shape[axis], data.shape[axis + 1 :]
    repeated = _broadcast_to(_reshape(data, shape=(*before, n, 1, *after)), shape=(*before, n, repeats, *after))
    return _reshape(repeated, shape=(*before, n * repeats, *after))


broadcast_axes = broadcast_axis
