"""Operators that cut arrays and join them: slice, concat, stack, split, pad."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from runtime.autograd import Node
from runtime.base import ArgumentError, MXNetError, count, counts, did_you_mean
from runtime.core import backend
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32, repeating
from runtime.ndarray.shape.reshape import axis_of
from runtime.ndarray.shape.subscript import copied, joined, part, setitem

__all__ = [
    "Concat",
    "Crop",
    "Pad",
    "SliceChannel",
    "concat",
    "concatenate",
    "crop",
    "pad",
    "slice",
    "slice_axis",
    "slice_like",
    "split",
    "split_v2",
    "stack",
]
METHODS = ("pad", "slice", "slice_assign", "slice_assign_scalar", "slice_axis", "slice_like", "split", "split_v2")

Shape = tuple[int, ...]
Bounds = int | Sequence[int | None] | None

py_slice = builtins.slice

# ---------------------------------------------------------------- parts


def slice(data: NDArray, begin: Bounds, end: Bounds, step: Bounds = None) -> NDArray:
    """A copy of `data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]`; None and missing ones as in Python."""
    return part(data, key=_box("slice", data, begin, end, step))


def slice_assign(data: NDArray, rhs: NDArray, begin: Bounds, end: Bounds, step: Bounds = None) -> NDArray:
    """Write `rhs` to the part that `slice` would take; returns `data`."""
    setitem(data, _box("slice_assign", data, begin, end, step), rhs)
    return data


def slice_assign_scalar(data: NDArray, value: float, begin: Bounds, end: Bounds, step: Bounds = None) -> NDArray:
    """Write the number `value` to the part that `slice` would take; returns `data`."""
    return slice_assign(data, value, begin, end, step)


def slice_axis(data: NDArray, axis: int, begin: int, end: int | None) -> NDArray:
    """A copy of what lies from `begin` to before `end` (None: the end) along `axis`; negative ones count from there."""
    axis = axis_of("slice_axis", data.shape, axis)
    begin = count("slice_axis: begin", begin, None)
    end = None if end is None else count("slice_axis: end", end, None)
    length = data.shape[axis]
    first = begin + length if begin < 0 else begin
    last = length if end is None else end + length if end < 0 else end
    if not 0 <= first < last <= length:
        raise MXNetError(f"slice_axis: there is nothing from {begin} to {end} along axis {axis} of shape {data.shape}")
    return part(data, key=(*[py_slice(None)] * axis, py_slice(first, last)))


def slice_like(data: NDArray, shape_like: NDArray, axes: int | Sequence[int] = ()) -> NDArray:
    """A copy of the first elements along `axes` (none given: all), as many as `shape_like` has there."""
    like = shape_like.shape
    if not isinstance(axes, int) and not len(axes):
        if len(like) != data.ndim:
            raise MXNetError(
                f"slice_like: data and shape_like have shapes {data.shape} and {like}; name the axes to cut"
            )
        axes = range(data.ndim)
    named = [axes] if isinstance(axes, int) else axes
    cut = sorted({axis_of("slice_like", data.shape, a) for a in named})
    if any(a >= len(like) or like[a] > data.shape[a] for a in cut):
        raise MXNetError(f"slice_like: shape_like, {like}, does not fit into data, {data.shape}, along axes {cut}")
    return part(data, key=tuple(py_slice(like[a] if a in cut else None) for a in range(data.ndim)))


def Crop(
    *data: NDArray,
    num_args: int | None = None,
    offset: Sequence[int] = (0, 0),
    h_w: Sequence[int] = (0, 0),
    center_crop: bool = False,
) -> NDArray:
    """A copy of a rectangle of the images `data[0]`, (batch, channels, height, width), at `offset` or in their centre.

    It has the height and width of the images `data[1]`, if they are given, else `h_w`.
    """
    if not 1 <= len(data) <= 2 or num_args not in (None, len(data)) or any(x.ndim != 4 for x in data):
        raise MXNetError(f"Crop: one or two batches of images, not {len(data)} arrays of {[x.shape for x in data]}")
    height, width = data[0].shape[2:]
    h, w = data[1].shape[2:] if len(data) == 2 else counts("Crop: h_w", h_w)
    y, x = ((height - h) // 2, (width - w) // 2) if center_crop else counts("Crop: offset", offset, 0)
    if h < 1 or w < 1 or y < 0 or x < 0 or y + h > height or x + w > width:
        raise MXNetError(f"Crop: a rectangle of {h}x{w} at ({y}, {x}) does not fit into images of {height}x{width}")
    everything = py_slice(None)
    return part(data[0], key=(everything, everything, py_slice(y, y + h), py_slice(x, x + w)))


def _box(name: str, data: NDArray, begin: Bounds, end: Bounds, step: Bounds) -> tuple[builtins.slice, ...]:
    """The key of a part; MXNetError if it cannot be one."""
    begin, end, step = _bounds(name, "begin", begin), _bounds(name, "end", end), _bounds(name, "step", step)
    step = step + (None,) * (len(begin) - len(step))
    if not len(begin) == len(end) == len(step) <= data.ndim or 0 in step:
        raise MXNetError(
            f"{name} of an array of shape {data.shape}: begin {begin}, end {end} and step {step} must have as many "
            "entries, at most one an axis, and no step may be 0"
        )
    return tuple(map(py_slice, begin, end, step))


def _bounds(name: str, what: str, given: Bounds) -> tuple[int | None, ...]:
    given = given if hasattr(given, "__iter__") and not isinstance(given, str) else (given,)
    return tuple([b if b is None or type(b) is int else count(f"{name}: {what}", b, None) for b in given])


# ---------------------------------------------------------------- joining


class _Joining(Operator):
    """An operator on any number of arrays; input i has its gradient at `key(axis, i, inputs)` of the output's."""

    def __init__(self, name: str, forward: Any, key: Any) -> None:
        super().__init__(forward)
        self.name, self._key = name, key

    def pull(self, node: Node, g: NDArray) -> Iterator[tuple[Any, NDArray]]:
        for parent, key in zip(node.parents, self._key(node.inputs, **node.attrs), strict=True):
            if parent is not None:
                yield parent, part(g, key=key)


def _concat_keys(inputs: list[np.ndarray], *, axis: int) -> Iterator[tuple]:
    start = 0
    for x in inputs:
        stop = start + x.shape[axis]
        yield (*[py_slice(None)] * axis, py_slice(start, stop))
        start = stop


def _stack_forward(*arrays: np.ndarray, axis: int) -> np.ndarray:
    shape = arrays[0].shape
    row = (*shape[:axis], 1, *shape[axis:])
    return joined([x.reshape(row) for x in arrays], axis)  # np.stack takes three times as long


def _stack_keys(inputs: list[np.ndarray], *, axis: int) -> list[tuple]:
    return [(*[py_slice(None)] * axis, i) for i in range(len(inputs))]


_concat = repeating(_Joining("concat", lambda *arrays, axis: joined(arrays, axis), _concat_keys))
_stack = repeating(_Joining("stack", _stack_forward, _stack_keys))


def concat(*data: NDArray, dim: int = 1, num_args: int | None = None) -> NDArray:
    """The arrays, which differ at most along `dim`, one after the other along it."""
    first = _check_joined("concat", data, num_args)
    axis = axis_of("concat", first.shape, dim)
    for i, x in enumerate(data):
        if (
            x.ndim != first.ndim
            or x.shape[:axis] != first.shape[:axis]
            or x.shape[axis + 1 :] != first.shape[axis + 1 :]
        ):
            raise ArgumentError(
                f"concat along axis {axis}: array {i} has shape {x.shape}, array 0 {first.shape}; they may differ "
                "along that axis only"
            )
    return _concat(*data, axis=axis)


def stack(*data: NDArray, axis: int = 0, num_args: int | None = None) -> NDArray:
    """The arrays, all of one shape, one after the other along a new axis at `axis`."""
    first = _check_joined("stack", data, num_args)
    if not -first.ndim - 1 <= count("stack: axis", axis, None) <= first.ndim:
        raise MXNetError(
            f"stack of arrays of shape {first.shape} along axis {axis}: the result has {first.ndim + 1} axes"
        )
    for i, x in enumerate(data):
        if x.shape != first.shape:
            raise MXNetError(f"stack: array {i} has shape {x.shape}, array 0 {first.shape}")
    return _stack(*data, axis=axis % (first.ndim + 1))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays of a list one after the other along `axis`; a single one itself, unless `always_copy`."""
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return concat(*arrays, dim=axis)


def _check_joined(name: str, data: tuple, num_args: int | None) -> NDArray:
    """The first of the arrays, which must be some, and of one type."""
    if not data or num_args not in (None, len(data)):
        raise ArgumentError(
            f"{name}: {len(data)} arrays are given" + (f", not {num_args}" if data else "; it needs some")
        )
    first = data[0]
    for i, x in enumerate(data):
        if not isinstance(x, NDArray):
            raise ArgumentError(
                f"{name}: argument {i} is a {type(x).__name__}, not an NDArray; pass arrays, not a list"
            )
        if x.dtype != first.dtype:
            raise ArgumentError(f"{name}: array {i} is of {x._data.dtype}, array 0 of {first._data.dtype}")
    return first


# ---------------------------------------------------------------- cutting into several


@repeating
@Operator
def _split(x: np.ndarray, *, at: tuple[int, ...], axis: int, drop: bool) -> tuple[np.ndarray, ...]:
    """Copies of the pieces between the places `at` along `axis`; with `drop`, without that axis."""
    return tuple(copied(x, key) for key in _pieces(x.shape, at, axis, drop))


@_split.gradient
def _(g: list, y: list, x: NDArray, *, at: tuple[int, ...], axis: int, drop: bool) -> NDArray:
    flows = [piece._full_like(0) if flow is None else flow for flow, piece in zip(g, y, strict=True)]
    return (_stack if drop else _concat)(*flows, axis=axis)


def _pieces(shape: Shape, at: tuple[int, ...], axis: int, drop: bool) -> Iterator[tuple]:
    for start, stop in zip((0, *at), (*at, shape[axis]), strict=True):
        yield (*[py_slice(None)] * axis, start if drop else py_slice(start, stop))


def split(data: NDArray, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> NDArray | list[NDArray]:
    """Copies of `num_outputs` equal pieces along `axis`: a list, or the array if it is one.

    `squeeze_axis` leaves out the axis, along which the pieces must have length 1.
    """
    num_outputs = count("split: num_outputs", num_outputs)
    axis = axis_of("split", data.shape, axis)
    length = data.shape[axis]
    if length % num_outputs:
        raise MXNetError(f"split: axis {axis} of an array of shape {data.shape} has no {num_outputs} equal parts")
    size = length // num_outputs
    return _cut("split", data, tuple(size * i for i in range(1, num_outputs)), axis, squeeze_axis)


def split_v2(
    ary: NDArray, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> NDArray | list[NDArray]:
    """Copies of the pieces of `ary` along `axis`: so many equal ones, or what lies between the places given.

    It is a list, or the array if there is one piece. `squeeze_axis` leaves out the axis, along which the pieces must
    have length 1.
    """
    axis = axis_of("split_v2", ary.shape, axis)
    length = ary.shape[axis]
    given = counts("split_v2: indices_or_sections", indices_or_sections, 0)
    if not hasattr(indices_or_sections, "__iter__"):
        (sections,) = given
        if sections < 1 or length % sections:
            raise ArgumentError(
                f"split_v2: indices_or_sections: axis {axis} of an array of shape {ary.shape} has no {sections} equal "
                "parts"
            )
        at = tuple(length // sections * i for i in range(1, sections))
    else:
        at = given
        if list(at) != sorted(at) or (at and not 0 <= at[0] <= at[-1] <= length):
            raise ArgumentError(
                f"split_v2: {at} are no ascending places along axis {axis} of an array of shape {ary.shape}"
            )
    return _cut("split_v2", ary, at, axis, squeeze_axis)


def _cut(name: str, data: NDArray, at: tuple[int, ...], axis: int, squeeze_axis: bool) -> NDArray | list[NDArray]:
    if squeeze_axis and (0, *at) != tuple(range(data.shape[axis])):
        raise MXNetError(f"{name}: axis {axis} can only be left out of pieces of length 1; the array has {data.shape}")
    pieces = _split(data, at=at, axis=axis, drop=bool(squeeze_axis) and data.ndim > 1)
    return pieces[0] if len(pieces) == 1 else pieces


# ---------------------------------------------------------------- a margin


@Operator
def _pad(x: np.ndarray, *, widths: tuple[tuple[int, int], ...], value: float) -> np.ndarray:
    shape = [n + before + after for n, (before, after) in zip(x.shape, widths, strict=True)]
    padded = np.full_like(x, value, shape=shape)
    padded[_inside(x.shape, widths)] = x
    return padded


@_pad.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, widths: tuple[tuple[int, int], ...], value: float) -> NDArray:
    return part(g, key=_inside(x.shape, widths))


def _inside(shape: Shape, widths: tuple[tuple[int, int], ...]) -> tuple:
    return tuple(py_slice(before, before + n) for n, (before, _) in zip(shape, widths, strict=True))


@Operator
def _extend(x: np.ndarray, *, widths: tuple[tuple[int, int], ...], mode: str) -> np.ndarray:
    """A copy with a margin of the next elements ('edge'), or of mirrored ones ('reflect')."""
    return backend.array_module(x).pad(x, widths, mode)


@Operator
@in_float32
def _fold_margin(g: np.ndarray, *, widths: tuple[tuple[int, int], ...], mode: str) -> np.ndarray:
    """The transpose of `_extend`: what is in the margin is added to the elements that it is a copy of."""
    g = g.copy()
    inside = tuple(py_slice(before, n - after) for n, (before, after) in zip(g.shape, widths, strict=True))
    for axis, (before, after) in enumerate(widths):
        along = g.swapaxes(0, axis)
        last = len(along) - after - 1
        if mode == "edge":
            along[before] += along[:before].sum(0)
            along[last] += along[last + 1 :].sum(0)
        else:
            along[before + 1 : 2 * before + 1] += along[:before][::-1]
            along[last - after : last] += along[last + 1 :][::-1]
    return g[inside].copy()


@_extend.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, widths: tuple[tuple[int, int], ...], mode: str) -> NDArray:
    return _fold_margin(g, widths=widths, mode=mode)


@_fold_margin.gradient
def _(g: NDArray, x: NDArray, y: NDArray, *, widths: tuple[tuple[int, int], ...], mode: str) -> NDArray:
    return _extend(g, widths=widths, mode=mode)


def pad(data: NDArray, mode: str = "constant", pad_width: Sequence[int] = (), constant_value: float = 0.0) -> NDArray:
    """A copy with a margin around its images, (batch, channels, height, width) or with a depth before the height.

    `pad_width` has the widths before and after each axis in turn, 0 for the first two. `mode` says what the margin is
    made of: 'constant_value', the next element of the 'edge', or the elements mirrored at it ('reflect').
    """
    if mode not in ("constant", "edge", "reflect"):
        raise MXNetError(f"pad: unknown mode {mode!r}{did_you_mean(str(mode), ('constant', 'edge', 'reflect'))}")
    pad_width = counts("pad: pad_width", pad_width, 0)
    widths = tuple(zip(pad_width[::2], pad_width[1::2], strict=False))
    shape = data.shape
    if data.ndim not in (4, 5) or len(pad_width) != 2 * data.ndim or any(pad_width[:4]):
        raise MXNetError(
            f"pad: an array of 4 or 5 axes and two widths for each, 0 for the first two axes, not shape {shape} and "
            f"{pad_width}"
        )
    if mode == "constant":
        return _pad(data, widths=widths, value=constant_value)
    if mode == "reflect" and any(max(width) >= n for n, width in zip(shape[2:], widths[2:], strict=True)):
        raise MXNetError(f"pad: a margin of {widths} that mirrors an array of shape {shape} must be narrower than it")
    return _extend(data, widths=widths, mode=mode)


Concat = concat
SliceChannel = split
Pad = pad
crop = slice
