"""Compressed sparse rows: matrices that store single elements, row by row, such as bags of words."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.context import Context
from runtime.ndarray.ndarray import NDArray
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
        return NDArray(self._parts[2].copy(), self._ctx)

    @property
    def _indptr(self) -> np.ndarray:
        return self._read()[2]

    def _row_numbers(self) -> np.ndarray:
        """The row of each value."""
        return np.repeat(np.arange(self._shape[0]), np.diff(self._indptr))

    def asnumpy(self) -> np.ndarray:
        dense = np.zeros(self._shape, self._values.dtype)
        dense[self._row_numbers(), self._indices] = self._values
        return dense

    def asscipy(self) -> Any:
        """A `scipy.sparse.csr_matrix` of the same values. ImportError without SciPy."""
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            raise ImportError("asscipy makes a matrix of SciPy, which is not installed: pip install scipy") from None
        return csr_matrix(tuple(part.copy() for part in self._read()), shape=self._shape)

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

    def _block(self, rows: slice, columns: slice = slice(None)) -> NDArray:
        """The elements in both, which have no steps."""
        if in_graph(self):
            return tostype(NDArray.__getitem__(self, (rows, columns)), "csr")
        begin, end, _ = rows.indices(self._shape[0])
        left, right, _ = columns.indices(self._shape[1])
        starts = self._indptr[begin : max(begin, end) + 1]
        part = slice(starts[0], starts[-1])
        values, indices, starts = self._values[part], self._indices[part], starts - starts[0]
        if (left, right) != (0, self._shape[1]):
            inside = (indices >= left) & (indices < right)
            starts = np.concatenate(([0], np.cumsum(inside)))[starts]
            values, indices = values[inside], indices[inside] - left
        return CSRNDArray(values.copy(), indices.copy(), starts, (len(starts) - 1, max(right - left, 0)), self._ctx)

    def check_format(self, full_check: bool = True) -> None:
        values, indices, indptr = self._parts
        rows = self._shape[0]
        if len(values) != len(indices) or len(indptr) != rows + 1:
            raise MXNetError(
                f"{len(values)} values, {len(indices)} indices and {len(indptr)} numbers in indptr in a csr array of "
                f"{rows} rows, which takes as many indices as values, and {rows + 1} in indptr"
            )
        if indptr[0] != 0 or indptr[-1] != len(values):
            raise MXNetError(
                f"indptr of a csr array goes from {indptr[0]} to {indptr[-1]}, not from 0 to {len(values)}"
            )
        if full_check:
            self._check_places()
            rows = np.repeat(np.arange(rows), np.diff(indptr))
            if ((rows[1:] == rows[:-1]) & (indices[1:] <= indices[:-1])).any():
                raise MXNetError("the indices of a row of a csr array must be ascending, each once")

    def _check_places(self) -> None:
        """Refuse indptr that descends, and columns that are not there."""
        _, indices, indptr = self._parts
        if (np.diff(indptr) < 0).any():
            raise MXNetError("indptr of a csr array must not descend")
        outside = indices[(indices < 0) | (indices >= self._shape[1])]
        if len(outside):
            raise MXNetError(
                f"column {outside[0]} is none of the columns 0 to {self._shape[1] - 1} of a csr array of {self._shape}"
            )

    def _settle(self) -> tuple[np.ndarray, ...]:
        self.check_format(full_check=False)
        self._check_places()
        values, indices, indptr = self._parts
        rows = np.repeat(np.arange(self._shape[0]), np.diff(indptr))
        return self._of_keys(*sum_rows(rows * self._shape[1] + indices, values))._parts

    def _keys(self) -> np.ndarray:
        return self._row_numbers() * self._shape[1] + self._indices

    def _of_keys(self, keys: np.ndarray, values: np.ndarray) -> CSRNDArray:
        rows, indices = np.divmod(keys, max(self._shape[1], 1))
        return CSRNDArray(values, indices, _starts(rows, self._shape[0]), self._shape, self._ctx)

    def _pick(self, dense: np.ndarray) -> np.ndarray:
        return np.broadcast_to(dense, self._shape)[self._row_numbers(), self._indices]

    @classmethod
    def _from_dense(cls, dense: np.ndarray, ctx: Context) -> CSRNDArray:
        if dense.ndim != 2:
            raise MXNetError(f"a csr array is a matrix: an array of shape {dense.shape} cannot be one")
        rows, indices = np.nonzero(dense != 0)
        return cls(dense[rows, indices], indices, _starts(rows, len(dense)), dense.shape, ctx)

    def _taken(self, rows: np.ndarray) -> CSRNDArray:
        """The rows with these numbers, in this order."""
        lengths = np.diff(self._indptr)[rows]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        place = np.arange(starts[-1]) + np.repeat(self._indptr[rows] - starts[:-1], lengths)
        shape = (len(rows), self._shape[1])
        return CSRNDArray(self._values[place], self._indices[place], starts, shape, self._ctx)

    def _transposed(self) -> CSRNDArray:
        order = np.argsort(self._indices, kind="stable")
        starts = _starts(self._indices[order], self._shape[1])
        return CSRNDArray(self._values[order], self._row_numbers()[order], starts, self._shape[::-1], self._ctx)


KINDS["csr"] = CSRNDArray


def _starts(rows: np.ndarray, count: int) -> np.ndarray:
    """Where each of `count` rows begins, and the last ends, among the ascending numbers `rows`."""
    return np.searchsorted(rows, np.arange(count + 1))
