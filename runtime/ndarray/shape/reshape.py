"""Operators that change the shape or the order of axes and elements; and the checks of axes that all families use."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from runtime.base import ArgumentError, MXNetError, count, counts
from runtime.core import backend
from runtime.native import transpose as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, repeating

__all__ = [
    "Flatten",
    "Reshape",
    "SwapAxis",
    "depth_to_space",
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "reshape",
    "reshape_like",
    "reverse",
    "shape_array",
    "size_array",
    "space_to_depth",
    "squeeze",
    "swapaxes",
    "transpose",
]
METHODS = (
    "depth_to_space",
    "expand_dims",
    "flatten",
    "flip",
    "reshape",
    "reshape_like",
    "shape_array",
    "size_array",
    "space_to_depth",
    "squeeze",
    "swapaxes",
    "transpose",
)

Shape = tuple[int, ...]
MIN_EXCHANGED = 4096
"""The fewest elements of which `native.transpose` exchanges axes: fewer are copied by NumPy in less time."""
Axes = int | Sequence[int]

# ---------------------------------------------------------------- the same elements in another shape


@Operator
def _reshape(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return x.reshape(shape)  # arrays are contiguous: never a copy


@Operator
def _reshape_copy(x: np.ndarray, *, shape: Shape) -> np.ndarray:
    return x.reshape(shape).copy()


@_reshape.gradient
@_reshape_copy.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, shape: Shape) -> NDArray:
    return _reshape(g, shape=x.shape)


def reshape(
    data: NDArray,
    *args: Axes,
    shape: Axes | None = None,
    reverse: bool = False,
    target_shape: Axes | None = None,
    keep_highest: bool = False,
) -> NDArray:
    """The same elements, in the same memory, as an array of `shape`: `reshape(2, 3)`, `reshape((2, 3))`.

    In `shape`, 0 keeps the length of that axis, one -1 stands for whatever is left, -2 for all axes that are left, -3
    joins two axes, and -4 splits one into the two lengths behind it, one of which may be -1. With `reverse`, shapes are
    read from right to left. `target_shape` is what old versions of MXNet had for `shape`: there, 0 stands for whatever
    is left, and `keep_highest` keeps the first length.
    """
    if target_shape and not args and not shape:
        shape = old_target(target_shape, keep_highest)
    wanted = args if shape is None else (shape,)
    if len(wanted) == 1 and not isinstance(wanted[0], (int, np.integer)):
        wanted = tuple(wanted[0])
    own = data._data.shape
    if not wanted and data._data.size != 1:
        raise ArgumentError(f"reshape of an array of shape {own} to (): there must be one element")
    target = wanted
    try:
        if wanted and (0 in wanted or min(wanted) < -1):
            target = _decoded(own[::-1], wanted[::-1])[::-1] if reverse else _decoded(own, wanted)
        return _reshape(data, shape=target)
    except ArgumentError:
        raise
    except (ValueError, TypeError):
        counts("reshape: shape", wanted, None)
        size = data.size
        raise ArgumentError(f"an array of shape {own} has {size} elements and cannot be reshaped to {wanted}") from None


def old_target(target_shape: Axes, keep_highest: bool) -> Shape:
    """The `shape` of `reshape` that a `target_shape` stands for."""
    target = tuple(n or -1 for n in ((target_shape,) if isinstance(target_shape, int) else target_shape))
    return (0, *target[1:]) if keep_highest else target


def reshaped(own: Shape, wanted: Shape, reverse: bool) -> Shape:
    """The shape that `reshape` gives an array of shape `own`; ArgumentError if there is none."""
    target = _decoded(own[::-1], wanted[::-1])[::-1] if reverse else _decoded(own, wanted)
    size, rest = math.prod(own), math.prod(n for n in target if n != -1)
    free = target.count(-1)
    if free > 1 or (size % rest if free and rest else size != rest):
        raise ArgumentError(f"an array of shape {own} has {size} elements and cannot be reshaped to {wanted}")
    return tuple(size // rest if rest and n == -1 else max(n, 0) for n in target)


def _decoded(own: Shape, wanted: Shape) -> Shape:
    """`wanted` with the codes 0, -2, -3 and -4 replaced by the lengths they stand for."""
    target: list[int] = []
    axis = 0  # of `own`, the next that is to be used up
    codes = iter(wanted)
    try:
        for code in codes:
            if code == -2:
                target += own[axis:]
                axis = len(own)
            elif code == -3:
                target.append(own[axis] * own[axis + 1])
                axis += 2
            elif code == -4:
                first, second = next(codes), next(codes)
                target += _halves(own[axis], first, second)
                axis += 1
            elif code < -4:
                raise ArgumentError(
                    f"reshape of an array of shape {own}: {code} is neither a length nor one of the codes 0 to -4"
                )
            else:
                target.append(own[axis] if code == 0 else code)
                axis += 1
    except (IndexError, StopIteration):
        raise ArgumentError(
            f"reshape of an array of shape {own} to {wanted}: a code lacks the axes it is for"
        ) from None
    return tuple(target)


def _halves(length: int, first: int, second: int) -> tuple[int, int]:
    if first == -1 and second > 0:
        first = length // second
    elif second == -1 and first > 0:
        second = length // first
    if first < 0 or first * second != length:
        raise ArgumentError(f"reshape: an axis of length {length} cannot be split into {first} and {second}")
    return first, second


def reshape_like(
    lhs: NDArray,
    rhs: NDArray,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> NDArray:
    """`lhs` in the shape of `rhs`; or with its axes from `lhs_begin` to before `lhs_end` in the shape of those of `rhs`
    from `rhs_begin` to before `rhs_end`.
    """
    given = {"lhs_begin": lhs_begin, "lhs_end": lhs_end, "rhs_begin": rhs_begin, "rhs_end": rhs_end}
    begin, end, *of_rhs = (None if x is None else count(f"reshape_like: {n}", x, None) for n, x in given.items())
    ours, theirs = slice(begin, end), slice(*of_rhs)
    start, stop, _ = ours.indices(lhs.ndim)
    shape = lhs.shape[:start] + rhs.shape[theirs] + lhs.shape[max(start, stop) :]
    if math.prod(shape) != lhs.size:
        raise ArgumentError(
            f"reshape_like: lhs of shape {lhs.shape} has {lhs.size} elements, not those of shape {shape}"
        )
    return _reshape_copy(lhs, shape=shape)


def flatten(data: NDArray, inplace: bool = False) -> NDArray:
    """A copy as a matrix: the first axis as it is, all others as one. With `inplace`, in the same memory."""
    shape = data.shape
    if not shape:
        raise MXNetError("flatten of an array without axes")
    return _shaped(data, (shape[0], math.prod(shape[1:])), inplace)


def expand_dims(data: NDArray, axis: int, inplace: bool = False) -> NDArray:
    """A copy with an axis of length 1 more, at `axis`. With `inplace`, in the same memory."""
    shape = data.shape
    ndim = len(shape)
    if not -ndim - 1 <= count("expand_dims: axis", axis, None) <= ndim:
        raise ArgumentError(f"expand_dims of an array of shape {shape} at axis {axis}: there are {ndim} axes")
    axis %= ndim + 1
    return _shaped(data, (*shape[:axis], 1, *shape[axis:]), inplace)


def squeeze(data: NDArray, axis: Axes | None = None, inplace: bool = False) -> NDArray:
    """A copy without the axes `axis`, which must have length 1 (None: all that have); one of them if none was left.

    With `inplace`, in the same memory.
    """
    shape = data.shape
    if axis is None:
        kept = tuple(n for n in shape if n != 1)
    else:
        dropped = axes_of("squeeze", data.shape, axis)
        if any(shape[a] != 1 for a in dropped):
            raise ArgumentError(f"squeeze of an array of shape {shape}: not all of the axes {dropped} have length 1")
        kept = tuple(n for a, n in enumerate(shape) if a not in dropped)
    return _shaped(data, kept or (1,), inplace)


def _shaped(data: NDArray, shape: Shape, inplace: bool) -> NDArray:
    """The same elements as an array of `shape`: in the same memory, or a copy."""
    return (_reshape if inplace else _reshape_copy)(data, shape=shape)


def shape_array(data: NDArray) -> NDArray:
    """The lengths of the axes, as int64."""
    return NDArray(backend.to_context(np.array(data.shape, np.int64), data._ctx), data._ctx)


def size_array(data: NDArray) -> NDArray:
    """The number of elements, of shape (1,), as int64."""
    return NDArray(backend.to_context(np.array([data.size], np.int64), data._ctx), data._ctx)


# ---------------------------------------------------------------- the order of axes and elements


@repeating
@Operator
def _transpose(x: np.ndarray, *, axes: Shape) -> np.ndarray:
    if x.size < MIN_EXCHANGED or x.dtype.char not in "fd" or not backend.is_host(x):
        return x.transpose(axes).copy()
    if (sizes := _exchanged(x.shape, axes)) is None:
        return x.transpose(axes).copy()
    before, a, b, n = sizes
    y = np.empty([x.shape[axis] for axis in axes], x.dtype)
    native.exchange_axes(before * -(-b // native.TILE), x.size, x, y, a, b, n, scratch=native.TILE * native.APART)
    return y


@functools.lru_cache(maxsize=1024)
def _exchanged(shape: Shape, axes: Shape) -> tuple[int, int, int, int] | None:
    """The lengths before, a, b, n of an array (before, a, b, n) for which the order `axes` exchanges a and b; None
    where it does more. Axes that stay beside each other count as one, those of length 1 not at all."""
    long = [axis for axis, n in enumerate(shape) if n != 1]
    runs: list[list[int]] = []
    for i in [long.index(axis) for axis in axes if shape[axis] != 1]:
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    sizes = [math.prod(shape[long[i]] for i in run) for run in runs]
    match [sorted(runs).index(run) for run in runs]:
        case [1, 0]:
            return 1, sizes[1], sizes[0], 1
        case [1, 0, 2]:
            return 1, sizes[1], sizes[0], sizes[2]
        case [0, 2, 1]:
            return sizes[0], sizes[2], sizes[1], 1
        case [0, 2, 1, 3]:
            return sizes[0], sizes[2], sizes[1], sizes[3]
    return None


@_transpose.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, axes: Shape) -> NDArray:
    return _transpose(g, axes=tuple(map(axes.index, range(len(axes)))))


@Operator
def _flip(x: np.ndarray, *, key: tuple) -> np.ndarray:
    return x[key].copy()


@_flip.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: tuple) -> NDArray:
    return _flip(g, key=key)


def transpose(data: NDArray, axes: Axes | None = None) -> NDArray:
    """A copy with the axes in the order `axes`, reversed if none are given."""
    shape = data.shape
    order = tuple(range(len(shape)))[::-1] if axes is None or axes == () else axes_of("transpose", shape, axes)
    if len(order) != len(shape):
        raise MXNetError(f"transpose of an array of shape {shape}: {axes} is no order of its axes")
    return _transpose(data, axes=order)


def swapaxes(data: NDArray, dim1: int = 0, dim2: int = 0) -> NDArray:
    """A copy in which the axes `dim1` and `dim2` have changed places."""
    dim1, dim2 = axis_of("swapaxes", data.shape, dim1), axis_of("swapaxes", data.shape, dim2)
    order = list(range(data.ndim))
    order[dim1], order[dim2] = dim2, dim1
    return _transpose(data, axes=tuple(order))


def moveaxis(tensor: NDArray, source: Axes, destination: Axes) -> NDArray:
    """A copy in which the axes `source` are at the places `destination`, and the others in their order."""
    try:
        order = np.moveaxis(np.empty(range(1, tensor.ndim + 1)), source, destination).shape  # lengths tell axes apart
    except ValueError as error:
        raise ArgumentError(f"moveaxis of an array of shape {tensor.shape}: {error}") from None
    return _transpose(tensor, axes=tuple(n - 1 for n in order))


def flip(data: NDArray, axis: Axes) -> NDArray:
    """A copy with the elements along each of `axis` in reverse order."""
    flipped = axes_of("flip", data.shape, axis)
    return _flip(data, key=tuple(slice(None, None, -1) if a in flipped else slice(None) for a in range(data.ndim)))


def depth_to_space(data: NDArray, block_size: int) -> NDArray:
    """(n, b*b*c, h, w) to (n, c, h*b, w*b), where b is `block_size`: the blocks of channels become blocks of pixels."""
    n, depth, h, w = _image("depth_to_space", data)
    b = count("depth_to_space: block_size", block_size)
    if depth % (b * b):
        raise MXNetError(f"depth_to_space: {depth} channels (shape {data.shape}) are no multiple of {b}*{b}")
    c = depth // (b * b)
    return reshape(_transpose(reshape(data, (n, b, b, c, h, w)), axes=(0, 3, 4, 1, 5, 2)), (n, c, h * b, w * b))


def space_to_depth(data: NDArray, block_size: int) -> NDArray:
    """(n, c, h*b, w*b) to (n, b*b*c, h, w), where b is `block_size`: the blocks of pixels become blocks of channels."""
    n, c, height, width = _image("space_to_depth", data)
    b = count("space_to_depth: block_size", block_size)
    if height % b or width % b:
        raise MXNetError(f"space_to_depth: an image of shape {data.shape} cannot be cut into blocks of {b}x{b}")
    h, w = height // b, width // b
    return reshape(_transpose(reshape(data, (n, c, h, b, w, b)), axes=(0, 3, 5, 1, 2, 4)), (n, b * b * c, h, w))


def _image(name: str, data: NDArray) -> Shape:
    if data.ndim != 4:
        raise MXNetError(f"{name}: data has shape {data.shape}, not (batch, channels, height, width)")
    return data.shape


# ---------------------------------------------------------------- checks


def axis_of(name: str, shape: Shape, axis: int) -> int:
    """The axis of an array of `shape`, counted from 0; ArgumentError, for the operator `name`, if there is none."""
    ndim = len(shape)
    whole = type(axis) is int or (isinstance(axis, (int, np.integer)) and not isinstance(axis, bool))
    if not whole or not -ndim <= axis < ndim:
        raise ArgumentError(f"{name}: there is no axis {axis!r} in an array of shape {shape}")
    return axis + ndim if axis < 0 else axis


def axes_of(name: str, shape: Shape, axis: Axes) -> Shape:
    """One axis or several, counted from 0; ArgumentError if one is missing or named twice."""
    axes = tuple(axis_of(name, shape, a) for a in (axis if isinstance(axis, (tuple, list, range)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{name}: {axis} names an axis of an array of shape {shape} twice")
    return axes


Flatten = flatten
Reshape = reshape
SwapAxis = swapaxes
reverse = flip
