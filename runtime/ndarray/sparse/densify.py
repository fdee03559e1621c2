"""Sparse arrays for kernels that write to dense memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from runtime.core.backend import device_scope, xp_for
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse.row_sparse import RowSparseNDArray


@contextlib.contextmanager
def as_dense(arrays: Sequence[NDArray]) -> Iterator[list[NDArray]]:
    """Dense arrays in place of `arrays`; what is written to them is in the arrays at the end.

    Afterwards a row-sparse array stores all of its rows. Its dense array is their very memory, as a dense one's is.
    """
    dense = [_dense(x) for x in arrays]
    yield dense
    for array, values in zip(arrays, dense, strict=True):
        if array.stype == "csr":
            values.copyto(array)


def _dense(array: NDArray) -> NDArray:
    if not isinstance(array, RowSparseNDArray):
        return array.tostype("default") if array.stype == "csr" else array
    if len(array._indices) < len(array):
        with device_scope(array._ctx):
            array._parts = array._dense(), xp_for(array._ctx).arange(len(array))
    return NDArray(array._rows, array.context)
