"""Compressed sparse rows: matrices that store single elements, row by row, such as bags of words."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.core import backend
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import on_own_device
from runtime.ndarray.sparse.base import KINDS, BaseSparseNDArray, _is_all, in_graph, tostype
from runtime.ndarray.sparse.row_sparse import sum_rows


class CSRNDArray(BaseSparseNDArray):
    """A matrix that stores some of its elements.

    Those of row i are `data[indptr[i]:indptr[i + 1]]`, in the columns `indices[indptr[i]:indptr[i + 1]]`, ascending.
    """

    __slots__ = ()

    STYPE = "csr"

    def __init__(
        self,
        values: np.ndarray,
        indices: np.ndarray,
        indptr: np.ndarray,
        shape: tuple[int, int],
        ctx: Context,
        settled: bool = True,
    ) -> None:
        """`values` and `indices` are (k,), `indptr` (rows + 1,), both int64 and in order if `settled`."""
        super().__init__((values, indices, indptr), shape, ctx, settled)

    @property
    def indptr(self) -> NDArray:
        """A copy of where each row's values begin, and the last one's end: (rows + 1,), int64."""
        return self._copied(2)

    @property
    def _indptr(self) -> np.ndarray:
        return self._read()[2]

    def _row_numbers(self) -> np.ndarray:
        """The row of each value."""
        return _numbers(self._indptr, len(self._indices))

    @on_own_device
    def _dense(self) -> np.ndarray:
        dense = np.zeros_like(self._values, shape=self._shape)
        dense[self._row_numbers(), self._indices] = self._values
        return dense

    def asscipy(self) -> Any:
        """A `scipy.sparse.csr_matrix` of the same values. ImportError without SciPy."""
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise ImportError("asscipy makes a matrix of SciPy, which is not installed: pip install scipy") from None
        return csr_matrix(tuple(self._copied(i).asnumpy() for i in range(3)), shape=self._shape)

    def __getitem__(self, key: Any) -> NDArray:
        """`x[i]`, of shape (1, columns), and `x[i:j]`: rows, stored as x is. `x[:]` is the array itself."""
        if _is_all(key):
            return self
        rows = self._shape[0]
        if isinstance(key, numbers.Integral):
            if not -rows <= key < rows:
                raise IndexError(f"index {key} is out of bounds for {rows} rows")
            return self._block(slice(key % rows, key % rows + 1))
        if isinstance(key, slice) and key.step in (None, 1):
            return self._block(key)
        raise ValueError(
            f"a csr array is indexed by a number or x[i:j], not by {key!r}; take x.tostype('default')[...]"
        )

    @on_own_device
    def _block(self, rows: slice, columns: slice = slice(None)) -> NDArray:
        """The elements in these rows and columns, slices without steps."""
        if in_graph(self):
            return tostype(NDArray.__getitem__(self, (rows, columns)), "csr")
        begin, end, _ = rows.indices(self._shape[0])
        left, right, _ = columns.indices(self._shape[1])
        starts = self._indptr[begin : max(begin, end) + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        values, indices, starts = self._values[part], self._indices[part], starts - starts[0]
        if (left, right) != (0, self._shape[1]):
            inside = (indices >= left) & (indices < right)
            starts = _sums(inside)[starts]
            values, indices = values[inside], indices[inside] - left
        return CSRNDArray(values.copy(), indices.copy(), starts, (len(starts) - 1, max(right - left, 0)), self._ctx)

    @on_own_device
    def check_format(self, full_check: bool = True) -> None:
        values, indices, indptr = self._parts
        rows = self._shape[0]
        if len(values) != len(indices) or len(indptr) != rows + 1:
            raise MXNetError(
                f"{len(values)} values, {len(indices)} indices and {len(indptr)} numbers in indptr in a csr array of "
                f"{rows} rows, which takes as many indices as values, and {rows + 1} in indptr"
            )
        if full_check:
            self._check_places()
            rows = _numbers(indptr, len(values))
            if ((rows[1:] == rows[:-1]) & (indices[1:] <= indices[:-1])).any():
                raise MXNetError("the indices of a row of a csr array must be ascending, each once")

    def _check_places(self) -> None:
        """Refuse indptr that descends or ends elsewhere than the values, and columns that are not there."""
        values, indices, indptr = self._parts
        if indptr[0] != 0 or indptr[-1] != len(values):
            raise MXNetError(
                f"indptr of a csr array goes from {indptr[0]} to {indptr[-1]}, not from 0 to {len(values)}"
            )
        if (np.diff(indptr) < 0).any():
            raise MXNetError("indptr of a csr array must not descend")
        outside = indices[(indices < 0) | (indices >= self._shape[1])]
        if len(outside):
            raise MXNetError(
                f"column {outside[0]} is none of the columns 0 to {self._shape[1] - 1} of a csr array of {self._shape}"
            )

    @on_own_device
    def _settle(self) -> tuple[np.ndarray, ...]:
        self.check_format(full_check=False)
        self._check_places()
        values, indices, indptr = self._parts
        rows = _numbers(indptr, len(values))
        return self._of_keys(*sum_rows(rows * self._shape[1] + indices, values))._parts

    @on_own_device
    def _keys(self) -> np.ndarray:
        return self._row_numbers() * self._shape[1] + self._indices

    @on_own_device
    def _of_keys(self, keys: np.ndarray, values: np.ndarray) -> CSRNDArray:
        rows, indices = np.divmod(keys, max(self._shape[1], 1))
        return CSRNDArray(values, indices, _starts(rows, self._shape[0]), self._shape, self._ctx)

    @on_own_device
    def _pick(self, dense: np.ndarray) -> np.ndarray:
        return np.broadcast_to(dense, self._shape)[self._row_numbers(), self._indices]

    @classmethod
    def _from_dense(cls, dense: np.ndarray, ctx: Context) -> CSRNDArray:
        if dense.ndim != 2:
            raise ArgumentError(f"a csr array is a matrix: an array of shape {dense.shape} cannot be one")
        rows, indices = np.nonzero(dense != 0)
        return cls(dense[rows, indices], indices, _starts(rows, len(dense)), dense.shape, ctx)

    @on_own_device
    def _taken(self, rows: np.ndarray) -> CSRNDArray:
        """The rows with these numbers, in this order."""
        lengths = np.diff(self._indptr)[rows]
        starts = _sums(lengths)
        count = int(starts[-1])
        place = backend.xp_for(self._ctx).arange(count) + (self._indptr[rows] - starts[:-1])[_numbers(starts, count)]
        shape = (len(rows), self._shape[1])
        return CSRNDArray(self._values[place], self._indices[place], starts, shape, self._ctx)

    @on_own_device
    def _transposed(self) -> CSRNDArray:
        order = self._indices.argsort(kind="stable")
        starts = _starts(self._indices[order], self._shape[1])
        return CSRNDArray(self._values[order], self._row_numbers()[order], starts, self._shape[::-1], self._ctx)


KINDS["csr"] = CSRNDArray


def _starts(rows: np.ndarray, count: int) -> np.ndarray:
    """Where each of `count` rows begins, and the last ends, among the ascending numbers `rows`."""
    return np.searchsorted(rows, backend.array_module(rows).arange(count + 1))


def _numbers(starts: np.ndarray, count: int) -> np.ndarray:
    """The row of each of `count` values; rows begin at `starts`."""
    if backend.is_host(starts):
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.searchsorted(starts[1:], backend.array_module(starts).arange(count), "right")


def _sums(lengths: np.ndarray) -> np.ndarray:
    """The places where rows of these lengths begin, and the last one ends."""
    starts = np.zeros_like(lengths, np.int64, shape=len(lengths) + 1)
    starts[1:] = np.cumsum(lengths)
    return starts
