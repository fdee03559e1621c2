"""Row-sparse arrays, which store some of their rows, such as the gradient of an embedding.

A row is `x[i]`, of one index on the first axis.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.core import backend
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import ignore_fp_errors, on_own_device
from runtime.ndarray.sparse.base import KINDS, BaseSparseNDArray, _is_all, in_graph


class RowSparseNDArray(BaseSparseNDArray):
    """An array that stores some of its rows: `data`, (k, *shape[1:]), the rows with the numbers `indices`, (k,)."""

    __slots__ = ()

    STYPE = "row_sparse"

    def __init__(
        self, rows: np.ndarray, indices: np.ndarray, shape: tuple[int, ...], ctx: Context, settled: bool = True
    ) -> None:
        """`rows` is (k, *shape[1:]); `indices` (k,), of int64, ascending, distinct and in range if `settled`."""
        super().__init__((rows, indices), shape, ctx, settled)

    @property
    def _rows(self) -> np.ndarray:
        return self._values

    @on_own_device
    def _dense(self) -> np.ndarray:
        rows, indices = self._read()
        dense = np.zeros_like(rows, shape=self._shape)
        dense[indices] = rows
        return dense

    def retain(self, indices: Any) -> RowSparseNDArray:
        """The rows `indices` alone; see `nd.sparse.retain`."""
        return retain(self, indices)

    def __getitem__(self, key: Any) -> NDArray:
        """`x[:]` is the array itself; any other index takes from the dense values."""
        return self if _is_all(key) else super().__getitem__(key)

    @on_own_device
    def check_format(self, full_check: bool = True) -> None:
        rows, indices = self._parts
        if rows.shape != (len(indices), *self._shape[1:]):
            raise MXNetError(f"{len(indices)} indices, and rows of shape {rows.shape}, in an array of {self._shape}")
        if full_check:
            _check_range(indices, self._shape)
            if (indices[1:] <= indices[:-1]).any():
                raise MXNetError("the indices of a row-sparse array must be ascending, each once")

    @on_own_device
    def _settle(self) -> tuple[np.ndarray, ...]:
        rows, indices = self._parts
        _check_range(indices, self._shape)
        indices, rows = sum_rows(indices, rows)
        return rows, indices

    def _keys(self) -> np.ndarray:
        return self._indices

    def _of_keys(self, keys: np.ndarray, values: np.ndarray) -> RowSparseNDArray:
        return RowSparseNDArray(values, keys, self._shape, self._ctx)

    @on_own_device
    def _pick(self, dense: np.ndarray) -> np.ndarray:
        return np.broadcast_to(dense, self._shape)[self._indices]

    @classmethod
    def _from_dense(cls, dense: np.ndarray, ctx: Context) -> RowSparseNDArray:
        length = math.prod(dense.shape[1:])
        stored = np.flatnonzero((dense.reshape(len(dense), length) != 0).any(axis=1))
        return cls(dense[stored], stored, dense.shape, ctx)


KINDS["row_sparse"] = RowSparseNDArray


@on_own_device
def retain(data: RowSparseNDArray, indices: Any) -> RowSparseNDArray:
    """The array that has the rows `indices` of `data`, and stores these alone, those that are 0 included."""
    if not isinstance(data, RowSparseNDArray):
        raise ArgumentError(f"retain takes a row-sparse array, not {type(data).__name__} of storage 'default' or 'csr'")
    indices = np.unique(integers(indices))
    _check_range(indices, data.shape)
    indices = backend.to_context(indices, data._ctx)
    rows = np.zeros_like(data._values, shape=(len(indices), *data.shape[1:]))
    _, there, here = np.intersect1d(data._indices, indices, assume_unique=True, return_indices=True)
    rows[here] = data._values[there]
    result = RowSparseNDArray(rows, indices, data.shape, data._ctx)
    if in_graph(data):
        kept = np.zeros_like(rows, shape=(len(data), *(1,) * (data.ndim - 1)))
        kept[indices] = 1
        result._node = (data * NDArray(kept, data._ctx))._node
    return result


@ignore_fp_errors
def sum_rows(indices: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct `indices`, ascending, and for each the sum of its rows.

    `rows` is (k, ...), `indices` (k,). Equal indices are summed in pairs, neighbours first (as they come in `rows`),
    then those sums likewise; 16-bit floats in float32.
    """
    order = indices.argsort(kind="stable")
    indices, sums = indices[order], rows[order]
    if rows.dtype.itemsize == 2:
        sums = sums.astype(np.float32)
    while True:
        first = np.ones_like(indices, bool)
        first[1:] = indices[1:] != indices[:-1]
        if first.all():
            return indices, sums.astype(rows.dtype, copy=False)
        rank = _since(first)  # among the sums of the same index
        odd, even = np.flatnonzero(rank % 2), np.flatnonzero(rank % 2 == 0)
        sums[odd - 1] += sums[odd]
        indices, sums = indices[even], sums[even]


def _since(first: np.ndarray) -> np.ndarray:
    """The distance of each element from the last True up to it."""
    position = backend.array_module(first).arange(len(first))
    if backend.is_host(first):
        return position - np.maximum.accumulate(np.where(first, position, 0))
    return position - np.flatnonzero(first)[np.cumsum(first) - 1]  # CuPy's ufuncs do not accumulate


def integers(indices: Any) -> np.ndarray:
    """Indices as a vector of int64. Floats that are integers will do: they are what `nd.array` makes of a list."""
    given = np.asarray(indices)
    if given.ndim != 1:
        raise ArgumentError(f"indices must be one-dimensional, not of shape {given.shape}")
    if given.dtype.kind not in "iuf":
        raise ArgumentError(f"indices must be integers, not {given.dtype}")
    with np.errstate(invalid="ignore"):  # NaN and infinity: found below
        found = given.astype(np.int64)
    fractional = given[found != given]
    if len(fractional):
        raise ArgumentError(f"indices must be integers, not {fractional[0]}")
    return found


def _check_range(indices: np.ndarray, shape: tuple[numbers.Integral, ...]) -> None:
    outside = indices[(indices < 0) | (indices >= shape[0])]
    if len(outside):
        raise ArgumentError(f"row {outside[0]} is none of the rows 0 to {shape[0] - 1} of an array of shape {shape}")
