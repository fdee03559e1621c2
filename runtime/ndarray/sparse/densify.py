"""Dense memory for sparse arrays, for kernels that write to dense memory alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from runtime.core.backend import device_scope, xp_for
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse.row_sparse import RowSparseNDArray


@contextlib.contextmanager
def as_dense(arrays: Sequence[NDArray]) -> Iterator[list[NDArray]]:
    """Dense arrays in place of `arrays`. At the end of the block, `arrays` have what was written to them.

    A row-sparse array stores all of its rows afterwards, and its dense array shares their memory.
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
