"""Sparse arrays for tests, and checks of them."""

from __future__ import annotations

import numpy as np

from runtime import nd
from runtime.ndarray import sparse


def example(dtype: str | None = None) -> sparse.RowSparseNDArray:
    """Rows 1 and 3 of five, given in another order."""
    x = sparse.row_sparse_array(([[3, 4], [1, 2]], [3, 1]), shape=(5, 2), dtype=dtype)
    x.asnumpy()
    return x


DENSE = np.float32([[0, 0], [1, 2], [0, 0], [3, 4], [0, 0]])


def rows(x: sparse.RowSparseNDArray) -> tuple[list, list]:
    return x.indices.asnumpy().tolist(), x.data.asnumpy().tolist()


def same(x: nd.NDArray, stype: str, values: object) -> None:
    assert x.stype == stype
    np.testing.assert_array_equal(x.asnumpy(), values)


MATRIX = np.float32([[0, 1, 0, 2], [0, 0, 0, 0], [-3, 0, 4, 0]])


def matrix(dtype: str = "float32") -> sparse.CSRNDArray:
    return nd.array(MATRIX, dtype=dtype).tostype("csr")
