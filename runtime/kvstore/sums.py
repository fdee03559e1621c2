"""The sum of one key's values over contexts, in the order in which they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.context import Context
from runtime.ndarray import NDArray
from runtime.ndarray.operator import quiet
from runtime.ndarray.sparse import RowSparseNDArray, sum_rows


def total(arrays: Sequence[NDArray], context: Context, memory: np.ndarray | None = None) -> NDArray:
    """The sum of arrays of one shape, type and storage, in `context`; of one array it shares the memory.

    Elements of 16 bits are added in float32, and rounded once. A dense sum is written to `memory` where that is of the
    same shape and type.
    """
    first = arrays[0]
    if first.stype == "row_sparse":
        return _row_sparse(arrays, context)
    if len(arrays) == 1:
        return NDArray(first._data, context)
    if memory is None or memory.shape != first.shape or memory.dtype != first.dtype:
        memory = np.empty(first.shape, first._data.dtype)
    _add([a._data for a in arrays], memory)
    return NDArray(memory, context)


@quiet
def _add(terms: Sequence[np.ndarray], out: np.ndarray) -> None:
    sums = np.empty(out.shape, np.float32) if out.dtype.itemsize == 2 and out.dtype.kind not in "iu" else out
    np.add(terms[0], terms[1], out=sums, dtype=sums.dtype)
    for term in terms[2:]:
        np.add(sums, term, out=sums)
    if sums is not out:
        out[...] = sums


def _row_sparse(arrays: Sequence[RowSparseNDArray], context: Context) -> RowSparseNDArray:
    first = arrays[0]
    if len(arrays) == 1:
        return RowSparseNDArray(first._rows, first._indices, first.shape, context)
    indices = np.concatenate([a._indices for a in arrays])
    indices, rows = sum_rows(indices, np.concatenate([a._rows for a in arrays]))
    return RowSparseNDArray(rows, indices, first.shape, context)
