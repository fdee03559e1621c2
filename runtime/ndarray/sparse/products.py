"""Products of csr arrays with dense ones."""

from __future__ import annotations

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.core.backend import is_host
from runtime.ndarray.elementwise.binary import types_differ
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32, on_own_device
from runtime.ndarray.sparse.csr import CSRNDArray
from runtime.ndarray.sparse.row_sparse import RowSparseNDArray, sum_rows

_MAX_PRODUCTS = 1 << 20
"""The most products that are held before they are summed."""


def matmul(a: CSRNDArray, b: NDArray, transposed: bool = False) -> NDArray:
    """`a b`, or `aᵀ b`, a dense matrix; differentiable in `b`, a matrix of any storage."""
    _check(a, b, transposed)
    return _matmul(b, a=a, transposed=transposed)


@on_own_device
def present_rows(a: CSRNDArray, b: NDArray) -> RowSparseNDArray:
    """`aᵀ b` row-sparse: its rows are the columns that `a` has values in."""
    _check(a, b, True)
    across = a._transposed()
    present = np.flatnonzero(np.diff(across._indptr))
    rows = _product(b._data, a=across._taken(present))
    return RowSparseNDArray(rows, present, (a.shape[1], b.shape[1]), a._ctx)


def _check(a: CSRNDArray, b: NDArray, transposed: bool) -> None:
    inner = a.shape[0 if transposed else 1]
    if b.ndim != 2 or b.shape[0] != inner:
        shape = f"{a.shape} transposed" if transposed else f"{a.shape}"
        raise MXNetError(f"dot: a csr array of shape {shape} takes a matrix of {inner} rows, not shape {b.shape}")
    if b.dtype != a.dtype:
        raise MXNetError(types_differ("dot", a, b))
    if b._ctx != a._ctx and not (a._ctx.on_cpu and b._ctx.on_cpu):
        raise MXNetError(f"dot: inputs live in {a._ctx} and in {b._ctx}; bring them together with as_in_context()")


@in_float32
def _product(b: np.ndarray, *, a: CSRNDArray) -> np.ndarray:
    values, indices, starts = a._read()
    y = np.zeros_like(b, shape=(a.shape[0], b.shape[1]))
    if not is_host(b):
        _add_products(y, b, a)
        return y
    rows = np.flatnonzero(np.diff(starts))  # the others stay 0
    block = max(_MAX_PRODUCTS // max(b.shape[1], 1), 1)
    begin = 0
    while begin < len(rows):
        end = max(np.searchsorted(starts[rows + 1], starts[rows[begin]] + block, "right"), begin + 1)
        part = slice(starts[rows[begin]], starts[rows[end - 1] + 1])
        products = values[part, None].astype(b.dtype, copy=False) * b[indices[part]]
        y[rows[begin:end]] = np.add.reduceat(products, starts[rows[begin:end]] - part.start)
        begin = end
    return y


def _add_products(y: np.ndarray, b: np.ndarray, a: CSRNDArray) -> None:
    """Add `a b` to y without a loop over rows, and without atomic additions, whose order varies."""
    values, indices, _ = a._read()
    numbers, block = a._row_numbers(), max(_MAX_PRODUCTS // max(b.shape[1], 1), 1)
    for begin in range(0, len(values), block):
        part = slice(begin, begin + block)
        rows, sums = sum_rows(numbers[part], values[part, None].astype(b.dtype, copy=False) * b[indices[part]])
        y[rows] += sums


@Operator
def _matmul(b: np.ndarray, *, a: CSRNDArray, transposed: bool) -> np.ndarray:
    return _product(b, a=a._transposed() if transposed else a)


@_matmul.gradient
def _(g: NDArray, y: NDArray, b: NDArray, *, a: CSRNDArray, transposed: bool) -> NDArray:
    if not transposed and not autograd.is_recording():  # a gradient to be differentiated again is made of operators
        return present_rows(a, g)
    return _matmul(g, a=a, transposed=not transposed)
