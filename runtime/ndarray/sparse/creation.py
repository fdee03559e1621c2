"""Functions that make sparse arrays: of parts, of dense arrays, of SciPy's matrices, of a shape."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from runtime.base import ArgumentError, counts
from runtime.context import Context
from runtime.core import backend
from runtime.core.dtypes import element_type
from runtime.core.params_file import Stored
from runtime.ndarray import creation
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse.base import BaseSparseNDArray, check_stype, tostype
from runtime.ndarray.sparse.csr import CSRNDArray
from runtime.ndarray.sparse.row_sparse import RowSparseNDArray, integers


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """A row-sparse array.

    Parameters
    ----------
    arg1: `(data, indices)`: rows, (k, ...), and their numbers, k integers; when they are first computed with, rows are
        put in order, and those with the same number added. Or an array of any kind, whose rows that are not 0 are
        stored. Or a shape, for zeros.
    shape: the shape; None: as many rows as the largest of `indices` asks for, or that of the array.
    ctx: where it lives.
    dtype: element type; None: that of an array (NumPy's too), float32 for nested sequences.
    """
    if isinstance(arg1, tuple) and not _is_shape(arg1):
        if len(arg1) != 2:
            raise ArgumentError(f"row_sparse_array takes (data, indices), not a tuple of {len(arg1)}")
        return _rows(_dense(arg1[0], ctx, dtype), integers(arg1[1]), shape)
    return _whole("row_sparse", arg1, shape, ctx, dtype)


def csr_matrix(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    """A csr array.

    Parameters
    ----------
    arg1: `(data, indices, indptr)`: values, their columns, and where the values of each row begin; when they are first
        computed with, columns are put in order, and values of the same place added. `(data, (row, col))`: values and
        where they lie, in any order. Or a matrix of any kind, SciPy's sparse ones included, whose elements that are not
        0 are stored. Or a shape, for zeros.
    shape: the shape; None: as many rows and columns as the numbers ask for, or that of the matrix.
    ctx: where it lives.
    dtype: element type; None: that of an array (NumPy's and SciPy's too), float32 for sequences.
    """
    if isinstance(arg1, tuple) and not _is_shape(arg1):
        match arg1:
            case (data, (row, col)):
                return _coordinates(_dense(data, ctx, dtype), integers(row), integers(col), shape)
            case (data, indices, indptr):
                return _compressed(_dense(data, ctx, dtype), integers(indices), integers(indptr), shape)
        raise ArgumentError(
            f"csr_matrix takes (data, indices, indptr) or (data, (row, col)), not a tuple of {len(arg1)}"
        )
    return _whole("csr", arg1, shape, ctx, dtype)


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> BaseSparseNDArray:
    """A copy of a sparse array, or a csr array of a sparse matrix of SciPy; ArgumentError for what is neither."""
    if hasattr(source_array, "tocsr"):  # SciPy's, which need not be installed
        matrix = source_array.tocsr()
        return csr_matrix((matrix.data, matrix.indices, matrix.indptr), matrix.shape, ctx, dtype)._checked()
    if not isinstance(source_array, BaseSparseNDArray):
        raise ArgumentError(f"nd.sparse.array copies sparse arrays; for {type(source_array).__name__} use nd.array")
    copied = source_array.as_in_context(source_array.context if ctx is None else ctx, always_copy=True)
    return copied if dtype is None else copied.astype(dtype, copy=False)


def zeros(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of zeros, stored as `stype`: 'row_sparse' or 'csr', without any values, or 'default'."""
    check_stype(stype)
    if stype == "default":
        return creation.blank(shape, ctx, dtype)
    shape = _shape(shape, stype)
    none = creation.blank(0, ctx, np.int64)._data
    if stype == "csr":
        values, starts = creation.blank(0, ctx, dtype), creation.blank(shape[0] + 1, ctx, np.int64)
        return CSRNDArray(values._data, none, starts._data, shape, values._ctx)
    rows = creation.blank((0, *shape[1:]), ctx, dtype)
    return RowSparseNDArray(rows._data, none, shape, rows._ctx)


def empty(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array without values, stored as `stype`; it reads as zeros."""
    return zeros(stype, shape, ctx, dtype)


creation.SPARSE_MAKERS.update(array=array, zeros=zeros)

# ---------------------------------------------------------------- from parts


def _rows(data: NDArray, indices: np.ndarray, shape: Any) -> RowSparseNDArray:
    if shape is None:
        if not len(indices):
            raise ArgumentError("row_sparse_array: without rows, give the shape")
        shape = (int(indices.max()) + 1, *data.shape[1:])
    shape = _shape(shape, "row_sparse")
    if not len(indices) and data.size == 0:  # of a nested sequence that is empty, the shape cannot be seen
        data = NDArray(data._data.reshape(0, *shape[1:]), data._ctx)
    if data.shape != (len(indices), *shape[1:]):
        raise ArgumentError(
            f"row_sparse_array: data has shape {data.shape}; {len(indices)} indices and shape {shape} ask for "
            f"{(len(indices), *shape[1:])}"
        )
    return RowSparseNDArray(data._data, backend.to_context(indices, data._ctx), shape, data._ctx, settled=False)


def _compressed(data: NDArray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> CSRNDArray:
    if shape is None:
        if not len(indices):
            raise ArgumentError("csr_matrix: without values, give the shape")
        shape = (len(indptr) - 1, int(indices.max()) + 1)
    shape = _shape(shape, "csr")
    if data.shape != indices.shape:
        raise ArgumentError(
            f"csr_matrix: data has shape {data.shape} and indices {indices.shape}: they must be vectors of one length"
        )
    places = (backend.to_context(x, data._ctx) for x in (indices, indptr))
    return CSRNDArray(data._data, *places, shape, data._ctx, settled=False)


def _coordinates(data: NDArray, row: np.ndarray, col: np.ndarray, shape: Any) -> CSRNDArray:
    if not data.shape == row.shape == col.shape:
        raise ArgumentError(f"csr_matrix: data has shape {data.shape}, row {row.shape} and col {col.shape}")
    if shape is None:
        if not len(row):
            raise ArgumentError("csr_matrix: without values, give the shape")
        shape = (int(row.max()) + 1, int(col.max()) + 1)
    shape = _shape(shape, "csr")
    for what, found, length in (("row", row, shape[0]), ("column", col, shape[1])):
        outside = found[(found < 0) | (found >= length)]
        if len(outside):
            raise ArgumentError(f"csr_matrix: {what} {outside[0]} is none of the {length} of shape {shape}")
    order = np.argsort(row, kind="stable")
    starts = np.searchsorted(row[order], np.arange(shape[0] + 1))
    col, starts, order = (backend.to_context(x, data._ctx) for x in (col[order], starts, order))
    with backend.device_scope(data._ctx):
        return CSRNDArray(data._data[order], col, starts, shape, data._ctx, settled=False)._checked()


def _whole(stype: str, source: Any, shape: Any, ctx: Context | None, dtype: Any) -> Any:
    """A sparse array of a shape, or of an array of any kind."""
    if isinstance(source, tuple):
        result = zeros(stype, source, ctx, dtype)
    elif isinstance(source, BaseSparseNDArray) or hasattr(source, "tocsr"):
        result = tostype(array(source, ctx, dtype), stype)
    else:
        dense = _dense(source, ctx, dtype)
        _shape(dense.shape, stype)
        result = tostype(dense, stype)
    if shape is not None and _shape(shape, stype) != result.shape:
        raise ArgumentError(f"an array of shape {result.shape} was given, and shape {tuple(shape)} asked for")
    return result


# ---------------------------------------------------------------- files


def to_stored(x: NDArray) -> Stored:
    """The array in the form of a file."""
    if isinstance(x, BaseSparseNDArray):
        values, *indices = map(backend.to_host, x._read())
        return Stored(x.stype, x.shape, values, tuple(indices))
    return Stored("default", x.shape, backend.to_host(x._data))


def from_stored(stored: Stored, ctx: Context) -> NDArray:
    """The array of a form of a file, as a copy; ArgumentError or MXNetError for invalid sparse parts."""
    dtype = element_type(stored.data.dtype)
    values = creation.place(stored.data.astype(dtype).reshape(stored.data.shape or (1,)), ctx)
    if stored.stype == "default":
        return values
    check_stype(stored.stype)
    result = (_rows if stored.stype == "row_sparse" else _compressed)(
        values, *(integers(part) for part in stored.indices), stored.shape
    )
    return result._checked()


# ---------------------------------------------------------------- arguments


def _dense(source: Any, ctx: Context | None, dtype: Any) -> NDArray:
    return creation.array(source, ctx, source.dtype if dtype is None and isinstance(source, np.ndarray) else dtype)


def _is_shape(given: tuple) -> bool:
    return all(isinstance(n, numbers.Integral) for n in given)


def _shape(shape: Any, stype: str) -> tuple[int, ...]:
    shape = counts("shape", shape, None)
    if not shape or min(shape) < 0 or (stype == "csr" and len(shape) != 2) or math.prod(shape) >= 2**63:
        kind = "csr array, which has two axes" if stype == "csr" else "row-sparse array"
        raise ArgumentError(f"{shape} is not the shape of a {kind}")
    return shape
