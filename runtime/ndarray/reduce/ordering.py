"""Operators that sort: sort, argsort, topk; and histograms. Equal elements keep their order; NaN is largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError, count, did_you_mean
from runtime.core.backend import is_host
from runtime.core.dtypes import convert, element_type
from runtime.core.threaded import takes
from runtime.native import ordering as native
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import on_own_device
from runtime.ndarray.shape.pick import along
from runtime.ndarray.shape.reshape import axis_of, reshape
from runtime.ndarray.two_gradients import widen_half

__all__ = ["argsort", "histogram", "sort", "topk"]
METHODS = ("argsort", "sort", "topk")

RETURNED = ("value", "indices", "mask", "both")


@on_own_device
def sort(data: NDArray, axis: int | None = -1, is_ascend: bool = True) -> NDArray:
    """The elements sorted along `axis` (None: those of the flattened array)."""
    data, axis = _flattened("sort", data, axis)
    return along(data, NDArray(order_along(data._data, axis, is_ascend), data._ctx), axis=axis)


@on_own_device
def argsort(data: NDArray, axis: int | None = -1, is_ascend: bool = True, dtype: Any = "float32") -> NDArray:
    """Where along `axis` (None: in the flattened array) the elements that `sort` gives are, as numbers of `dtype`."""
    data, axis = _flattened("argsort", data, axis)
    return NDArray(convert(order_along(data._data, axis, is_ascend), element_type(dtype)), data._ctx)


@on_own_device
def topk(
    data: NDArray,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: str = "indices",
    is_ascend: bool = False,
    dtype: Any = "float32",
) -> NDArray | list[NDArray]:
    """The `k` largest elements along `axis` (None: of the flattened array), the largest first; all if k < 1.

    With `is_ascend` they are the smallest, the smallest first. `ret_typ` says what is returned: their 'indices', as
    numbers of `dtype`, their 'value', a list of 'both' (values, then indices), or a 'mask' of the shape of `data` with
    1 where they are.
    """
    if ret_typ not in RETURNED:
        raise MXNetError(f"topk: unknown ret_typ {ret_typ!r}{did_you_mean(str(ret_typ), RETURNED)}")
    k = count("topk: k", k, None)
    shape = data.shape
    data, axis = _flattened("topk", data, axis)
    length = data.shape[axis]
    if k > length:
        raise MXNetError(f"topk: k is {k}, but there are {length} elements along axis {axis} of shape {data.shape}")
    at = _first(data._data, axis, k if k > 0 else length, is_ascend)
    if ret_typ == "mask":
        mask = np.zeros_like(data._data)
        np.put_along_axis(mask, at, 1, axis)
        return NDArray(mask.reshape(shape), data._ctx)
    indices = NDArray(convert(at, element_type(dtype)), data._ctx)
    if ret_typ == "indices":
        return indices
    values = along(data, NDArray(at, data._ctx), axis=axis)
    return values if ret_typ == "value" else [values, indices]


@on_own_device
def histogram(a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None) -> list[NDArray]:
    """How many elements lie in each of `bins`, as int64, and the edges of the bins, in the type of `a`.

    `bins` are their edges, ascending, or a number of bins of equal width in `range` (None: that of the elements, and
    both results are float32, as in MXNet). The last bin includes its upper edge; what lies outside is not counted.
    """
    edges = bins._data if isinstance(bins, NDArray) else count("histogram: bins", bins)
    if isinstance(bins, NDArray) and (bins.ndim != 1 or bins.size < 2):  # what CuPy would write beyond its array for
        raise ArgumentError(f"histogram: bins are edges of shape (n,), two or more, not {bins.shape}")
    try:
        counts, edges = np.histogram(a._data, edges, range)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"histogram with bins {bins!r} and range {range}: {error}") from None
    measured = range is None and not isinstance(bins, NDArray)
    types = ("float32", "float32") if measured else (counts.dtype, a._data.dtype)
    return [NDArray(x.astype(dtype, copy=False), a._ctx) for x, dtype in zip((counts, edges), types, strict=True)]


def _flattened(name: str, data: NDArray, axis: int | None) -> tuple[NDArray, int]:
    return (reshape(data, (-1,)), 0) if axis is None else (data, axis_of(name, data.shape, axis))


def order_along(x: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """The places of the elements along `axis` in ascending or descending order, equal ones in theirs."""
    x = x if is_host(x) else widen_half(x)  # CuPy does not sort bfloat16
    if takes(x) and x.dtype == np.float32 and x.size >= MIN_KEYS and x.shape[axis] < 1 << 31:
        keys = _keys(np.moveaxis(x, axis, -1), ascending)
        keys.sort()
        keys &= (1 << 32) - 1
        return np.ascontiguousarray(np.moveaxis(keys, -1, axis))
    if ascending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


MIN_KEYS = 1 << 11
"""From this many elements on, sorting keys is faster than sorting places."""


def _keys(x: np.ndarray, ascending: bool) -> np.ndarray:
    """An int64 for each element of rows, float32, in the same order: above what is in the order of the elements, below
    their places. No two are equal, so NumPy's fastest sort keeps the order of equal elements."""
    bits = np.where(np.isnan(x), np.float32(np.nan), x + np.float32(0)).view(np.int32)  # one NaN, one zero
    bits ^= (bits >> 31) & 0x7FFFFFFF  # of negative numbers, larger ones have smaller bits
    keys = (bits if ascending else ~bits).astype(np.int64)
    keys <<= 32
    keys |= np.arange(x.shape[-1])
    return keys


KERNEL_K = 128
"""Up to this many first elements, a kernel finds them in one pass, which takes at most k steps for each element."""
TASK_ELEMENTS = 1 << 13
"""Elements of a task, about."""


def _first(x: np.ndarray, axis: int, k: int, ascending: bool) -> np.ndarray:
    """The first `k` of `order_along`. On the CPU, if k is small, the other elements are not sorted."""
    length = x.shape[axis]
    if is_host(x) and 0 < k <= KERNEL_K and x.size and widen_half(x).dtype.char in "fd" and length < 1 << 32:
        return _first_by_kernel(widen_half(x), axis, k, ascending)
    if length < 16 * k or not is_host(x) or (x.dtype.kind not in "iu" and np.isnan(x).any()):
        return order_along(x, axis, ascending)[(slice(None),) * axis + (slice(k),)].copy()
    rows = np.moveaxis(x, axis, -1)
    last = k - 1 if ascending else length - k
    bound = np.partition(rows, last)[..., last, None]  # the least of the k; of its equals, the first are in
    inside = rows < bound if ascending else rows > bound
    equal = rows == bound
    inside |= equal & (np.cumsum(equal, -1) <= k - inside.sum(-1, keepdims=True))
    candidates = np.nonzero(inside)[-1].reshape(*rows.shape[:-1], k)
    order = order_along(np.take_along_axis(rows, candidates, -1), rows.ndim - 1, ascending)
    return np.ascontiguousarray(np.moveaxis(np.take_along_axis(candidates, order, -1), -1, axis))


def _first_by_kernel(x: np.ndarray, axis: int, k: int, ascending: bool) -> np.ndarray:
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    n = rows.shape[-1]
    count, share = rows.size // n, max(1, TASK_ELEMENTS // n)
    places = np.empty((*rows.shape[:-1], k), np.uint32)
    sizes = k, count, n, share
    native.first(-(-count // share), rows.size, rows, places, -1 if ascending else 1, *sizes, scratch=k)
    return np.ascontiguousarray(np.moveaxis(places.astype(np.int64), -1, axis))
