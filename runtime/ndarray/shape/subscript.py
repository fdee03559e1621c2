"""`x[key]` and `x[key] = value`: keys, and the operators that take elements out by key and put them back.

A key of integers, slices, None and `...` is *basic*. With an array, list, tuple or range in it, it is *advanced*. A
basic key names each element once. Its result shares memory with x where it is contiguous, as in MXNet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from runtime import autograd
from runtime.base import ArgumentError, MXNetError
from runtime.core import backend
from runtime.core.dtypes import convert
from runtime.core.threaded import MIN_ELEMENTS, takes, threads_pay
from runtime.native import gather as native
from runtime.ndarray.elementwise.casting import cast
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_fp_errors, in_float32, repeating
from runtime.ndarray.shape.broadcast import broadcast_to
from runtime.ndarray.shape.reshape import reshape

__all__ = []

Shape = tuple[int, ...]

ALL = slice(None)

# ---------------------------------------------------------------- keys


def numpy_key(key: Any, ndim: int) -> tuple[tuple, bool]:
    """The key as NumPy takes it, for an array of `ndim` axes, and whether it is advanced.

    Indices of any numeric type become integers, cut off towards zero. A key that names a single element ends in `...`,
    so that NumPy gives an array. ValueError for what is no index, and for boolean masks, as in MXNet.
    """
    if type(key) is not tuple:
        key = (key,)
    items = []
    integers = 0
    dotted = advanced = False
    for item in key:
        if type(item) is int:
            integers += 1
        elif item is Ellipsis:
            dotted = True
        elif isinstance(item, slice) or item is None:
            pass
        else:
            item = _index(item)
            if type(item) is int:
                integers += 1
            else:
                advanced = True
        items.append(item)
    if integers == ndim and not dotted:
        items.append(Ellipsis)
    return tuple(items), advanced


@ignore_fp_errors
def _index(item: Any) -> int | np.ndarray:
    """An item of a key as an int or an int64 array; ArgumentError for what cannot be one."""
    if isinstance(item, NDArray):
        if not item._ctx.on_cpu:
            with backend.device_scope(item._ctx):
                return _index(item._data)
        item = item._data
    elif isinstance(item, (list, tuple, range)):
        try:
            item = np.asarray(item)
        except ValueError:
            raise ArgumentError(f"an array cannot be indexed with {item!r}: its rows differ in length") from None
        if not item.size:
            item = item.astype(np.int64)
    if isinstance(item, (bool, np.bool_)) or (backend.is_array(item) and item.dtype == bool):
        raise ArgumentError(
            "an array cannot be indexed with booleans: take the rows with nd.contrib.boolean_mask(x, mask), or index "
            "with the integers of numpy.flatnonzero(mask)"
        )
    if (backend.is_array(item) or isinstance(item, np.integer)) and item.ndim == 0:
        return int(item)
    if not backend.is_array(item) or item.dtype.kind not in "iufV":  # V: bfloat16
        raise ArgumentError(f"an array cannot be indexed with {item!r} of type {type(item).__name__}")
    return item.astype(np.int64)


def _check_bounds(key: tuple, shape: Shape) -> None:
    """IndexError for integers in arrays that are out of bounds: CuPy takes them modulo the length of the axis."""
    dots = len(shape) - sum(item is not None and item is not Ellipsis for item in key)
    axis = 0
    for item in key:
        if backend.is_array(item) and item.size and axis < len(shape):
            n = shape[axis]
            wrong = item[(item < -n) | (item >= n)]
            if wrong.size:
                raise IndexError(f"index {int(wrong[0])} is out of bounds for axis {axis}, of length {n}")
        axis += dots if item is Ellipsis else item is not None


def is_contiguous(key: tuple[slice, ...], shape: Shape) -> bool:
    """Whether the part that a basic key takes from an array of `shape` is contiguous."""
    return np.empty(shape, np.int8)[key].flags.c_contiguous


# ---------------------------------------------------------------- parts along one axis


class Part(NamedTuple):
    """`count` of `length` positions along an axis, from `first` on, with `before` and `n` elements on both sides."""

    before: int
    first: int
    count: int
    length: int
    n: int

    def taken(self) -> tuple[int, ...]:
        """What `native.copy_rows` takes to copy the part out of an array."""
        return self.first * self.n, self.length * self.n, 0, self.count * self.n, self.before, self.count * self.n

    def joined(self) -> tuple[int, ...]:
        """What it takes to copy the part into an array."""
        return 0, self.count * self.n, self.first * self.n, self.length * self.n, self.before, self.count * self.n

    def put(self) -> tuple[int, ...]:
        """What `native.put_rows` takes to put the part into zeros."""
        return self.first * self.n, self.length * self.n, self.before, self.count * self.n


def part_of(key: Any, shape: Shape) -> Part | None:
    """What a key takes from an array of a shape; None if that is not a part along one axis."""
    key = key if isinstance(key, tuple) else (key,)
    key = tuple([slice(k, k + 1 or None) if type(k) is int else k for k in key])
    if not all(isinstance(k, slice) and k.step in (None, 1) for k in key) or len(key) > len(shape):
        return None
    cuts = [(axis, *k.indices(shape[axis])[:2]) for axis, k in enumerate(key)]
    cuts = [(axis, first, last) for axis, first, last in cuts if last - first != shape[axis]] or cuts[:1]
    if len(cuts) != 1 or cuts[0][2] <= cuts[0][1]:
        return None
    [(axis, first, last)] = cuts
    return Part(math.prod(shape[:axis]), first, last - first, shape[axis], math.prod(shape[axis + 1 :]))


def copied(x: np.ndarray, key: Any) -> np.ndarray:
    """A copy of `x[key]`, where the key is basic. Threads share large ones."""
    view = x[key]
    found = part_of(key, x.shape) if view.size >= MIN_ELEMENTS and threads_pay(x) else None
    if found is None:
        return view.copy()
    y = np.empty(view.shape, x.dtype)
    native.copy_rows(-(-y.size // native.ELEMENTS_PER_TASK), y.size, x, y, *found.taken())
    return y


def joined(arrays: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """The arrays one after the other along an axis. Threads share large ones."""
    if sum([x.size for x in arrays]) < MIN_ELEMENTS or not all(map(takes, arrays)):
        return np.concatenate(arrays, axis)
    shape, first = arrays[0].shape, 0
    before, length, n = math.prod(shape[:axis]), sum(x.shape[axis] for x in arrays), math.prod(shape[axis + 1 :])
    y = np.empty((*shape[:axis], length, *shape[axis + 1 :]), arrays[0].dtype)
    for x in arrays:
        found = Part(before, first, x.shape[axis], length, n)
        native.copy_rows(-(-x.size // native.ELEMENTS_PER_TASK), x.size, x, y, *found.joined())
        first += x.shape[axis]
    return y


# ---------------------------------------------------------------- taking out and putting back


@repeating
@Operator
def _view(x: np.ndarray, *, key: Any) -> np.ndarray:
    """A view if that is contiguous, else a copy. The key is basic."""
    part = x[key]
    if not part.flags.c_contiguous:
        return copied(x, key)
    return part if part.ndim else part.reshape(1)


@repeating
@Operator
def part(x: np.ndarray, *, key: Any) -> np.ndarray:
    """A copy. The key is basic."""
    return copied(x, key)


@repeating
@Operator
def _place(g: np.ndarray, *, key: Any, shape: Shape) -> np.ndarray:
    """Zeros of `shape` with `g` at `key`."""
    found = part_of(key, shape) if math.prod(shape) >= MIN_ELEMENTS and takes(g) else None
    if found is not None:
        x = np.empty(shape, g.dtype)
        native.put_rows(-(-x.size // native.ELEMENTS_PER_TASK), x.size, g, x, *found.put())
        return x
    x = np.zeros_like(g, shape=shape)
    x[key] = g
    return x


@_view.gradient
@part.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: Any) -> NDArray:
    return _place(g, key=key, shape=x.shape)


@_place.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: Any, shape: Shape) -> NDArray:
    return part(g, key=key).reshape(x.shape)


@Operator
def gather(x: np.ndarray, *, key: tuple) -> np.ndarray:
    """A copy, at least one-dimensional. The key is advanced."""
    if not isinstance(x, np.ndarray):
        return backend.array_module(x).array(x[key], ndmin=1, order="C")
    if len(key) == 1 and isinstance(key[0], np.ndarray) and key[0].ndim:
        return x.take(key[0], 0)  # in less time
    return np.array(x[key], ndmin=1, order="C", copy=None)


@Operator
@in_float32
def gather_add(g: np.ndarray, *, key: tuple, shape: Shape) -> np.ndarray:
    """Zeros of `shape` with `g` added at `key`; an element named several times gets all of its values."""
    lead, n = shape[: len(key)], math.prod(shape[len(key) :])
    if n >= MIN_ROW and g.size and takes(g) and all(isinstance(k, np.ndarray) for k in key):
        x, rows = np.empty(shape, g.dtype), [k % length for k, length in zip(key, lead, strict=True)]
        numbers = np.ravel_multi_index(np.broadcast_arrays(*rows), lead).ravel()
        sum_rows_by_number(g.reshape(-1, n), numbers, x.reshape(-1, n))
        return x
    x = np.zeros_like(g, shape=shape)
    backend.add_at(x, key, g.reshape(x[key].shape))
    return x


@gather.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: tuple) -> NDArray:
    return gather_add(g, key=key, shape=x.shape)


@gather_add.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, key: tuple, shape: Shape) -> NDArray:
    return gather(g, key=key)


MIN_ROW = 8
"""Rows of fewer elements are added by NumPy."""


def sum_rows_by_number(rows: np.ndarray, numbers: np.ndarray, x: np.ndarray) -> None:
    """Have in each row of x the sum of those of `rows` with its number, in the order of `sparse.sum_rows`; 0 if there
    are none."""
    order = numbers.argsort(kind="stable")
    count, n = len(rows), x.size // len(x)
    share = max(1, native.ELEMENTS_PER_TASK // n)
    tasks, scratch = -(-len(x) // share), n * (count.bit_length() + 1)
    sizes = count, len(x), n, share
    native.sum_rows_by_number(tasks, x.size + rows.size, rows, x, numbers[order], order, *sizes, scratch=scratch)


# ---------------------------------------------------------------- x[key]


def getitem(x: NDArray, key: Any) -> NDArray:
    """`x[key]`: shares memory with x if the key is basic and what it takes lies in one piece, as x[i] and x[i:j] do;
    a copy otherwise. What would be a scalar has shape (1,). IndexError out of bounds.
    """
    shape = x._data.shape
    if type(key) is int and shape:
        length = shape[0]
        if not -length <= key < length:
            raise IndexError(f"index {key} is out of bounds for the first axis, of length {length}")
        return _view(x, key=key if len(shape) > 1 else slice(key, key + 1 or None))
    if type(key) is slice:
        return x if key == ALL else _view(x, key=key)
    if type(key) is tuple and not key:
        return x
    key, advanced = numpy_key(key, len(shape))
    if advanced and not x._ctx.on_cpu:
        with backend.device_scope(x._ctx):
            _check_bounds(key, shape)
    return (gather if advanced else _view)(x, key=key)


# ---------------------------------------------------------------- x[key] = value

REFUSED_WHILE_RECORDING = (
    "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd.record(), except for "
    "writing y to all of an array, x[:] = y, that is in no computational graph. Make a new array (x = x + y), or write "
    "inside autograd.pause() or after backward()"
)


def setitem(x: NDArray, key: Any, value: Any) -> None:
    """`x[key] = value`, where value is an array, a number or what `numpy.asarray` takes, and is broadcast.

    Inside `record`, a value that is in the graph can only be written to all of an x that is not; x then is in it too.
    IndexError out of bounds, ValueError for shapes that do not fit, TypeError for values that are no numbers.
    """
    autograd.writes_values([x._data])
    data = x._data
    place, advanced = (..., False) if type(key) is slice and key == ALL else numpy_key(key, data.ndim)
    node = None
    if autograd.mode.recording:
        recorded = isinstance(value, NDArray) and autograd.is_recorded(value._node)
        if autograd.is_recorded(x._node) or (recorded and (advanced or not _is_whole(data, data[place]))):
            raise MXNetError(REFUSED_WHILE_RECORDING)
        if recorded:
            value = _like(value, x)
            node = value._node
    source = _source(value, x)
    try:
        if x._ctx.on_cpu:
            data[place] = source
        else:
            _write_on_device(x, place, advanced, source)
    except ValueError as error:
        raise ArgumentError(
            f"cannot write a value of shape {np.shape(source)} to x[{_text(key)}], where x has shape {x.shape}: {error}"
        ) from None
    if node is not None:
        x._node = node


def _write_on_device(x: NDArray, place: Any, advanced: bool, source: Any) -> None:
    with backend.device_scope(x._ctx):
        if advanced:
            _check_bounds(place, x.shape)
        x._data[place] = source


def _text(key: Any) -> str:
    """A key as it is written between brackets."""
    return ", ".join(map(_part_text, key if isinstance(key, tuple) else (key,)))


def _part_text(part: Any) -> str:
    if not isinstance(part, slice):
        return repr(part)
    ends = (part.start, part.stop) if part.step is None else (part.start, part.stop, part.step)
    return ":".join("" if end is None else repr(end) for end in ends)


def _is_whole(data: np.ndarray, view: np.ndarray) -> bool:
    """Whether `view` is all of `data`, in its order."""
    return view.size == data.size and _address(view) == _address(data)


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0] if backend.is_host(x) else x.data.ptr


def _like(value: NDArray, x: NDArray) -> NDArray:
    """`value` in the shape and type of x, as a recorded copy."""
    value = cast(value.as_in_context(x._ctx), x.dtype)
    if value.ndim > x.ndim:  # as NumPy, leave out axes of length 1 in front
        value = reshape(value, value.shape[value.ndim - x.ndim :])
    return value if value.shape == x.shape else broadcast_to(value, x.shape)


def _source(value: Any, x: NDArray) -> Any:
    """`value` as an array on the device of x, or a number, that can be written to x with one rounding."""
    dtype = x._data.dtype
    if isinstance(value, NDArray):
        near = (x._ctx.on_cpu and value._ctx.on_cpu) or value._ctx == x._ctx
        source = value._data if near else backend.to_context(value._data, x._ctx)
    elif isinstance(value, (float, int, np.generic)):
        return value
    else:
        try:
            source = np.asarray(value)
        except ValueError:
            source = None
    if source is None or source.dtype.kind not in "biufV":  # V: bfloat16
        raise TypeError(f"cannot write {value!r} of type {type(value).__name__} to an array: it is no array of numbers")
    if dtype.itemsize == 2 and source.dtype == np.float64:
        with backend.device_scope(x._ctx):
            source = convert(source, dtype)
    return source if x._ctx.on_cpu else backend.to_context(source, x._ctx)
