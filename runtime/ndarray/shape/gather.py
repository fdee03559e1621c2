"""Operators that choose elements by the values of an array: take, gather_nd, where, one_hot, Embedding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError, count, counts, did_you_mean
from runtime.core import backend
from runtime.core.dtypes import element_type
from runtime.core.threaded import takes, threads_pay
from runtime.native import arithmetic
from runtime.native import gather as native
from runtime.native.gather import ELEMENTS_PER_TASK
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_fp_errors, repeating
from runtime.ndarray.shape.reshape import axis_of
from runtime.ndarray.shape.subscript import gather, sum_rows_by_number
from runtime.ndarray.sparse import RowSparseNDArray, sum_rows
from runtime.ndarray.two_gradients import DirectOperator, constants, run_elementwise_kernel

__all__ = [
    "Embedding",
    "gather_nd",
    "one_hot",
    "ravel_multi_index",
    "scatter_nd",
    "take",
    "unravel_index",
    "where",
]
METHODS = ("one_hot", "take")
CONTRIB = ("boolean_mask", "index_array", "index_copy")

Shape = tuple[int, ...]

# ---------------------------------------------------------------- slices along an axis


class _Taking(DirectOperator):
    """The operator whose gradient, where `sparse_grad`, is a sparse array."""

    def pull(self, node: autograd.Node, g: NDArray) -> Iterable[tuple[Any, NDArray]]:
        return Operator.pull(self, node, g) if node.attrs["sparse_grad"] else super().pull(node, g)


@_Taking
def _take(x: np.ndarray, index: np.ndarray, *, axis: int, sparse_grad: bool) -> np.ndarray:
    return np.take(x, index, axis)


@_take.backward
def _(
    g: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    index: np.ndarray,
    *,
    places: list[np.ndarray | None],
    axis: int,
    sparse_grad: bool,
) -> tuple[np.ndarray]:
    return (_put_back(g, index, axis, x.shape[axis], places[0]),)


@Operator
def _put(g: np.ndarray, index: np.ndarray, *, axis: int, length: int) -> np.ndarray:
    """Zeros with the slices of `g` added at `index` along an axis of `length`."""
    return _put_back(g, index, axis, length)


def _put_back(g: np.ndarray, index: np.ndarray, axis: int, length: int, to: np.ndarray | None = None) -> np.ndarray:
    before, after = g.shape[:axis], g.shape[axis + index.ndim :]
    shape = (length, *before, *after)
    slices = g.reshape(*before, index.size, *after)
    slices = slices if axis == 0 else np.moveaxis(slices, axis, 0)
    if takes(g) and g.size:
        x = np.empty(shape, g.dtype) if axis or to is None else to
        sum_rows_by_number(np.ascontiguousarray(slices), index.ravel(), x)
    else:
        indices, sums = sum_rows(index.ravel(), slices)
        x = np.zeros_like(g, shape=shape)
        x[indices] = sums
    return x if axis == 0 else np.moveaxis(x, 0, axis).copy()


@_take.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int, sparse_grad: bool) -> NDArray:
    if sparse_grad and not autograd.is_recording():  # while recording, the gradient is made of operators
        with backend.device_scope(g._ctx):
            indices, sums = sum_rows(index._data.ravel(), g._data.reshape(index.size, *x.shape[1:]))
        return RowSparseNDArray(sums, indices, x.shape, g._ctx)
    return _put(g, index, axis=axis, length=x.shape[axis])


@_put.gradient
def _(g: NDArray, y: NDArray, x: NDArray, index: NDArray, *, axis: int, length: int) -> NDArray:
    return _take(g, index, axis=axis, sparse_grad=False)


def take(a: NDArray, indices: NDArray, axis: int = 0, mode: str = "clip") -> NDArray:
    """The slices of `a` along `axis` at `indices` (of any type), whose axes take the place of `axis`.

    Indices outside of the axis are moved to its nearest end ('clip'), counted around it ('wrap') or raise ('raise').
    """
    axis = axis_of("take", a.shape, axis)
    return _take(
        a, positions("take", indices, a.shape[axis], mode, ("clip", "wrap", "raise")), axis=axis, sparse_grad=False
    )


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
    index = positions("Embedding", data, shape[0], "clip", ("clip",))
    return _take(weight, index, axis=0, sparse_grad=sparse_grad)


def boolean_mask(data: NDArray, index: NDArray, axis: int = 0) -> NDArray:
    """The slices of `data` along `axis` at which `index`, a vector of that axis' length, is not 0."""
    axis = axis_of("boolean_mask", data.shape, axis)
    if index.shape != (data.shape[axis],):
        raise MXNetError(f"boolean_mask: index has shape {index.shape}, not {(data.shape[axis],)}, the axis it masks")
    autograd.reads_values(index._data)  # the length of the result follows from them
    with backend.device_scope(data._ctx):
        places = np.flatnonzero(index._data)
    return _take(data, NDArray(places, data._ctx), axis=axis, sparse_grad=False)


def positions(
    name: str, index: NDArray, length: int, mode: str, modes: tuple[str, ...], shape: Shape | None = None
) -> NDArray:
    """`index` as integers in [0, length), in `shape` (None: its own)."""
    if mode not in modes:
        raise MXNetError(f"{name}: unknown mode {mode!r}{did_you_mean(str(mode), modes)}")
    if not length and index.size:
        raise MXNetError(f"{name}: there is nothing to take from an axis of length 0")
    return _position(index, of=name, length=length, mode=mode, shape=index._data.shape if shape is None else shape)


@Operator
@ignore_fp_errors
def _position(index: np.ndarray, *, of: str, length: int, mode: str, shape: Shape) -> np.ndarray:
    at = index.astype(np.int64)
    if mode == "wrap":
        at %= length
    elif mode == "clip":
        at = np.minimum(np.maximum(at, 0), length - 1)
    elif at.size and not 0 <= at.min() <= at.max() < length:
        raise MXNetError(f"{of}: indices from {at.min()} to {at.max()} for an axis of length {length}")
    return at.reshape(shape)


# ---------------------------------------------------------------- elements by all their coordinates


@Operator
def _scatter(data: np.ndarray, *, key: tuple, shape: Shape) -> np.ndarray:
    x = np.zeros_like(data, shape=shape)
    x[key] = data
    return x


@_scatter.gradient
def _(g: NDArray, y: NDArray, data: NDArray, *, key: tuple, shape: Shape) -> NDArray:
    return gather(g, key=key)


def gather_nd(data: NDArray, indices: NDArray) -> NDArray:
    """The elements of `data` whose coordinates on the first axes are the columns of `indices`, (axes, ...).

    The result has the other axes of `indices`, then those of `data` without coordinates. Negative ones count from the
    end. IndexError out of bounds.
    """
    return gather(data, key=_coordinates("gather_nd", indices, data.shape))


def scatter_nd(data: NDArray, indices: NDArray, shape: Sequence[int]) -> NDArray:
    """Zeros of `shape`, with `data` at the places that `gather_nd` would take it from.

    Of several for one place the last counts; on a GPU any one of them.
    """
    shape = counts("scatter_nd: shape", shape, 0)
    key = _coordinates("scatter_nd", indices, shape)
    expected = (*indices.shape[1:], *shape[len(key) :])
    if data.shape != expected:
        raise MXNetError(
            f"scatter_nd: data has shape {data.shape}, but indices of shape {indices.shape} into {shape} name "
            f"places of shape {expected}"
        )
    return _scatter(data, key=key, shape=shape)


@ignore_fp_errors
def _coordinates(name: str, indices: NDArray, shape: Shape) -> tuple[np.ndarray, ...]:
    if indices.ndim < 2 or len(indices) > len(shape):
        raise MXNetError(
            f"{name}: indices have shape {indices.shape}; needed are two axes or more, the first of length "
            f"1 to {len(shape)}, as the array has shape {shape}"
        )
    with backend.device_scope(indices._ctx):
        key = tuple(indices._data.astype(np.int64))
        for axis, (at, length) in enumerate(zip(key, shape, strict=False)):
            if at.size and not -length <= at.min() <= at.max() < length:
                raise IndexError(f"{name}: indices from {at.min()} to {at.max()} for axis {axis} of length {length}")
    return key


def ravel_multi_index(data: NDArray, shape: Sequence[int]) -> NDArray:
    """The positions, in a flattened array of `shape`, of the coordinates that are the columns of `data`, (axes, ...).

    The first length of `shape` may be -1: it is not needed. No coordinate is checked to be within `shape`.
    """
    shape = counts("ravel_multi_index: shape", shape, -1)
    if data.ndim < 1 or len(data) != len(shape):
        raise MXNetError(f"ravel_multi_index: data has shape {data.shape}, not ({len(shape)}, ...) as shape has axes")
    with backend.device_scope(data._ctx):
        flat = np.zeros_like(data._data, np.int64, shape=data.shape[1:])
        for at, length in zip(data._data.astype(np.int64), shape, strict=True):
            flat = flat * length + at
        return NDArray(flat.astype(data._data.dtype).reshape(flat.shape or (1,)), data._ctx)


def unravel_index(data: NDArray, shape: Sequence[int]) -> NDArray:
    """The coordinates, (axes, ...), in an array of `shape` of the positions `data` in it flattened.

    The first length of `shape` may be -1: it is not needed, and the first coordinate is not checked to be within it.
    """
    shape = counts("unravel_index: shape", shape, -1)
    if not shape or min(shape[1:], default=1) < 1:
        raise MXNetError(f"unravel_index: {shape} is no shape with places in it")
    with backend.device_scope(data._ctx):
        rest = data._data.astype(np.int64)
        coordinates = []
        for length in reversed(shape[1:]):
            rest, at = np.divmod(rest, length)
            coordinates.append(at)
        return NDArray(np.stack([rest, *reversed(coordinates)]).astype(data._data.dtype), data._ctx)


@Operator
def _index_copy(old: np.ndarray, new: np.ndarray, *, at: np.ndarray) -> np.ndarray:
    x = old.copy()
    x[at] = new
    return x


@_index_copy.gradient
def _(g: NDArray, y: NDArray, old: NDArray, new: NDArray, *, at: np.ndarray) -> NDArray:
    return _index_copy(g, new._full_like(0), at=at)


@_index_copy.gradient
def _(g: NDArray, y: NDArray, old: NDArray, new: NDArray, *, at: np.ndarray) -> NDArray:
    return gather(g, key=(at,))


def index_copy(old_tensor: NDArray, index_vector: NDArray, new_tensor: NDArray) -> NDArray:
    """A copy of `old_tensor` in which the rows `index_vector`, (k,), are those of `new_tensor`, (k, ...)."""
    old, at, new = old_tensor, index_vector, new_tensor
    if at.ndim != 1 or new.shape != (len(at), *old.shape[1:]) or new.dtype != old.dtype:
        raise MXNetError(
            f"index_copy: index_vector has shape {at.shape} and new_tensor {new.shape} of {new._data.dtype}, not (k,) "
            f"and (k, *{old.shape[1:]}) of {old._data.dtype}"
        )
    return _index_copy(old, new, at=positions("index_copy", at, len(old), "raise", ("raise",))._data)


def index_array(data: NDArray, axes: Sequence[int] | None = None) -> NDArray:
    """For each element of `data`, its coordinates on `axes` (None: all) along a new last axis, as int64."""
    axes = range(data.ndim) if axes is None else [axis_of("index_array", data.shape, a) for a in axes]
    with backend.device_scope(data._ctx):
        coordinates = backend.xp_for(data._ctx).indices(data.shape, np.int64)
        chosen = coordinates[np.array(axes, np.intp)]
        return NDArray(backend.xp_for(data._ctx).moveaxis(chosen, 0, -1).copy(), data._ctx)


# ---------------------------------------------------------------- conditions


@repeating
@Operator
def _where(condition: np.ndarray, x: Any, y: Any) -> np.ndarray:
    """A condition is of truth values, or of numbers that are not 0 where it holds."""
    if threads_pay(condition):
        found = _by_kernel(condition, x, y)
        if found is not None:
            return found
    chosen = np.where(condition, x, y)
    if backend.is_host(chosen):
        return chosen
    return chosen.astype((x if backend.is_array(x) else y).dtype, copy=False)  # CuPy's has no bfloat16


def _by_kernel(condition: np.ndarray, x: Any, y: Any) -> np.ndarray | None:
    """The result for large arrays of one shape and type, or one and the number 0; None where NumPy computes it."""
    arrays = [a for a in (x, y) if isinstance(a, np.ndarray)]
    if not all(a.dtype == condition.dtype and threads_pay(condition, a) for a in arrays):
        return None
    if len(arrays) == 2:
        return run_elementwise_kernel(arithmetic.choose, condition, x, y)
    if len(arrays) == 1 and (y if arrays[0] is x else x) == 0:
        return run_elementwise_kernel(arithmetic.keep if arrays[0] is x else arithmetic.drop, condition, arrays[0])
    return None


_where.gradient(None)  # a condition has none


@_where.gradient
def _(g: NDArray, out: NDArray, condition: NDArray, x: Any, y: Any) -> NDArray:
    return _where(condition, g, g._data.dtype.type(0))


@_where.gradient
def _(g: NDArray, out: NDArray, condition: NDArray, x: Any, y: Any) -> NDArray:
    return _where(condition, g._data.dtype.type(0), g)


def where(condition: NDArray, x: NDArray, y: NDArray) -> NDArray:
    """The elements of `x` where `condition` is not 0, elsewhere those of `y`; all of one shape.

    A condition that is a vector chooses between whole rows of `x` and `y`.
    """
    rows = condition.ndim == 1 and x.ndim > 1 and len(condition) == len(x)
    if x.shape != y.shape or x.dtype != y.dtype or not (rows or condition.shape == x.shape):
        raise MXNetError(
            f"where: condition, x and y have shapes {condition.shape}, {x.shape} and {y.shape} and types "
            f"{condition._data.dtype}, {x._data.dtype} and {y._data.dtype}; x and y must agree, and condition "
            "have their shape, or be a vector as long as they are"
        )
    shape = (-1, *[1] * (x.ndim - 1)) if rows else condition._data.shape
    if condition._data.dtype == x._data.dtype and not rows:
        return _where(condition, x, y)
    return _where(_is_true(condition, shape=shape), x, y)


@Operator
def _is_true(condition: np.ndarray, *, shape: Shape) -> np.ndarray:
    return (condition != 0).reshape(shape)


def one_hot(
    indices: NDArray, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: Any = "float32"
) -> NDArray:
    """`on_value` at the place that each index names along a new last axis of length `depth`, else `off_value`.

    An index outside of the axis names none.
    """
    return _one_hot(
        indices, depth=count("one_hot: depth", depth, 0), on=on_value, off=off_value, dtype=element_type(dtype)
    )


@Operator
def _one_hot(indices: np.ndarray, *, depth: int, on: float, off: float, dtype: np.dtype) -> np.ndarray:
    if backend.is_host(indices) and dtype.char in "fd" and depth:
        y, share = np.empty((*indices.shape, depth), dtype), max(1, ELEMENTS_PER_TASK // depth)
        numbers, values = indices.astype(np.int64), constants(dtype, on, off)
        native.one_hot(-(-indices.size // share), y.size, y, values, numbers, indices.size, depth, share)
        return y
    hot = indices.astype(np.int64)[..., None] == backend.array_module(indices).arange(depth)
    values = np.where(hot, dtype.type(on), dtype.type(off))
    return values.astype(dtype, copy=False)  # CuPy's `where` has no bfloat16
