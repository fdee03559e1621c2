"""Sparse weights, for kernels that update dense memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray


@contextlib.contextmanager
def as_dense(weights: Sequence[NDArray]) -> Iterator[list[NDArray]]:
    """Dense arrays in place of the weights; what is written to them is in the weights at the end.

    Afterwards a row-sparse weight stores all of its rows. Its dense array is their very memory.
    """
    dense = [_rows(w) if isinstance(w, RowSparseNDArray) else w.tostype("default") for w in weights]
    yield dense
    for weight, array in zip(weights, dense, strict=True):
        if not isinstance(weight, RowSparseNDArray):
            array.copyto(weight)


def _rows(weight: RowSparseNDArray) -> NDArray:
    if len(weight._indices) < len(weight):
        weight._parts = weight.asnumpy(), np.arange(len(weight))
    return NDArray(weight._rows, weight.context)
