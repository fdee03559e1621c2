"""Row-sparse arrays: those of which only some rows are there, such as the gradient of an embedding.

    x = nd.sparse.row_sparse_array((data, indices), shape=(1000, 16))

A row is what one index of the first axis leads to.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from runtime import autograd
from runtime.base import MXNetError, did_you_mean
from runtime.context import Context
from runtime.dtypes import convert, element_type
from runtime.ndarray import creation, elementwise
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import quiet

__all__ = []
METHODS = ("tostype",)

STYPES = ("default", "row_sparse")


class RowSparseNDArray(NDArray):
    """An array that stores some of its rows; the others are 0. `row_sparse_array`, `zeros` and `tostype` make them.

    Times or divided by a number it stays row-sparse, and so does the sum of two. Every other operator reads it as the
    dense array it stands for; what is written into an array that such an operator made a view raises MXNetError.
    """

    __slots__ = ("_indices", "_rows", "_shape")

    def __init__(self, rows: np.ndarray, indices: np.ndarray, shape: tuple[int, ...], ctx: Context) -> None:
        """`rows` is (k, *shape[1:]); `indices` (k,), of int64, ascending, distinct and in range, is not checked."""
        self._rows, self._indices, self._shape = rows, indices, shape
        self._ctx = ctx
        self._node = None  # row-sparse arrays are gradients, and never part of the graph

    # ------------------------------------------------------------ what it is

    @property
    def stype(self) -> str:
        return "row_sparse"

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def dtype(self) -> type:
        return self._rows.dtype.type

    @property
    def data(self) -> NDArray:
        """A copy of the stored rows, (k, *shape[1:])."""
        return NDArray(self._rows.copy(), self._ctx)

    @property
    def indices(self) -> NDArray:
        """A copy of the stored rows' numbers, (k,), int64, ascending."""
        return NDArray(self._indices.copy(), self._ctx)

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        return f"\n<RowSparseNDArray {'x'.join(map(str, self._shape))} @{self._ctx}>"

    # ------------------------------------------------------------ taking values out

    @property
    def _data(self) -> np.ndarray:
        """What operators read: the dense values, which nobody must think to change this array by writing to."""
        dense = self.asnumpy()
        dense.flags.writeable = False
        return dense

    def asnumpy(self) -> np.ndarray:
        """The dense values, as a NumPy array."""
        dense = np.zeros(self._shape, self._rows.dtype)
        dense[self._indices] = self._rows
        return dense

    def as_in_context(self, context: Context, always_copy: bool = False) -> RowSparseNDArray:
        if context == self._ctx and not always_copy:
            return self
        context.require()
        return RowSparseNDArray(self._rows.copy(), self._indices.copy(), self._shape, context)

    def astype(self, dtype: Any, copy: bool = True) -> RowSparseNDArray:
        """A copy whose elements have type `dtype`; with `copy=False`, the array itself if they have it already."""
        dtype = element_type(dtype)
        return self if not copy and dtype == self._rows.dtype else self._with(convert(self._rows, dtype))

    def retain(self, indices: Any) -> RowSparseNDArray:
        """The rows `indices` alone; see `nd.sparse.retain`."""
        return retain(self, indices)

    def detach(self) -> RowSparseNDArray:
        """The array itself, which is never part of the graph."""
        return self

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> NoReturn:
        raise MXNetError("a row-sparse array cannot have a gradient; take x.tostype('default')")

    # ------------------------------------------------------------ computing and writing

    def __add__(self, other: Any) -> NDArray:
        return add(self, other) if isinstance(other, RowSparseNDArray) else super().__add__(other)

    def __mul__(self, other: Any) -> NDArray:
        if not isinstance(other, elementwise.NUMBER):
            return super().__mul__(other)
        return self._with(elementwise.multiply(self.data, other)._data)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> NDArray:
        if not isinstance(other, elementwise.NUMBER):
            return super().__truediv__(other)
        return self._with(elementwise.divide(self.data, other)._data)

    def __iadd__(self, other: Any) -> RowSparseNDArray:
        self[:] = self + other
        return self

    def __imul__(self, other: Any) -> RowSparseNDArray:
        self[:] = self * other
        return self

    def __itruediv__(self, other: Any) -> RowSparseNDArray:
        self[:] = self / other
        return self

    def _with(self, rows: np.ndarray) -> RowSparseNDArray:
        """Other values for the same rows."""
        return RowSparseNDArray(rows, self._indices, self._shape, self._ctx)

    def __getitem__(self, key: Any) -> NDArray:
        """`x[:]` is the array itself; any other index takes from the dense values."""
        return self if _is_all(key) else super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """`x[:] = value` writes the whole array: `value` is an array of its shape, or a number.

        Afterwards the rows of a row-sparse value are stored, of any other those that are not 0 throughout.
        """
        if not _is_all(key):
            raise TypeError(f"a row-sparse array is written as a whole, x[:] = value, not at {key!r}")
        if isinstance(value, elementwise.NUMBER):
            zero = zeros("row_sparse", self._shape)
            value = creation.full(self._shape, value, dtype=self.dtype) if value else zero
        elif not isinstance(value, NDArray):
            value = creation.array(value, dtype=self.dtype)
        if value.shape != self._shape:
            raise MXNetError(f"cannot write a value of shape {value.shape} to an array of shape {self._shape}")
        written = tostype(value, "row_sparse").astype(self.dtype, copy=False)
        self._rows, self._indices = written._rows, written._indices


# ---------------------------------------------------------------- making them


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """A row-sparse array.

    Parameters
    ----------
    arg1: `(data, indices)`: rows, (k, ...), and their numbers, k integers in any order, where rows with the same number
        are added; or an array of any kind, whose rows that are not 0 are stored; or a shape, for zeros.
    shape: the shape; None: as many rows as the largest of `indices` asks for, or that of the array.
    ctx: where it lives.
    dtype: element type; None: that of an array (NumPy's too), float32 for nested sequences.
    """
    shape = None if shape is None else _shape(shape)
    if isinstance(arg1, tuple) and all(isinstance(n, numbers.Integral) for n in arg1):
        result = zeros("row_sparse", arg1, ctx, dtype)
    elif isinstance(arg1, tuple):
        if len(arg1) != 2:
            raise ValueError(f"row_sparse_array takes (data, indices), not a tuple of {len(arg1)}")
        return _from_rows(_dense(arg1[0], ctx, dtype), arg1[1], shape)
    elif isinstance(arg1, RowSparseNDArray):
        result = array(arg1, ctx, dtype)
    else:
        result = tostype(_dense(arg1, ctx, dtype), "row_sparse")
    if shape not in (None, result.shape):
        raise ValueError(f"row_sparse_array: an array of shape {result.shape} was given, and shape {shape} asked for")
    return result


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """A copy of a row-sparse array; ValueError for what is none."""
    if not isinstance(source_array, RowSparseNDArray):
        raise ValueError(f"nd.sparse.array copies sparse arrays; for {type(source_array).__name__} use nd.array")
    copied = source_array.as_in_context(source_array.context if ctx is None else ctx, always_copy=True)
    return copied if dtype is None else copied.astype(dtype, copy=False)


def zeros(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of zeros, stored as `stype`: 'row_sparse', without any rows, or 'default'."""
    _check_stype(stype)
    if stype == "default":
        return creation.zeros(shape, ctx, dtype)
    shape = _shape(shape)
    rows = creation.zeros((0, *shape[1:]), ctx, dtype)
    return RowSparseNDArray(rows._data, np.zeros(0, np.int64), shape, rows._ctx)


def tostype(data: NDArray, stype: str) -> NDArray:
    """A copy of `data` stored as `stype`: 'default' or 'row_sparse'; of a dense array, rows that are 0 are left out.

    Inside `record`, an array of the graph cannot become row-sparse.
    """
    _check_stype(stype)
    if data.stype == stype:
        return data.copy()
    if stype == "default":
        return NDArray(data.asnumpy(), data._ctx)
    if autograd.mode.recording and data._in_graph():
        raise MXNetError("gradients cannot pass through a row-sparse array; convert inside autograd.pause()")
    stored = np.flatnonzero(data._data.any(axis=tuple(range(1, data.ndim))))
    return RowSparseNDArray(data._data[stored], stored, data.shape, data._ctx)


def _from_rows(data: NDArray, indices: Any, shape: tuple[int, ...] | None) -> RowSparseNDArray:
    indices = _row_numbers(indices)
    if shape is None:
        if not len(indices):
            raise ValueError("row_sparse_array: without rows, give the shape")
        shape = (int(indices.max()) + 1, *data.shape[1:])
    if data.shape != (len(indices), *shape[1:]):
        raise ValueError(
            f"row_sparse_array: data has shape {data.shape}; {len(indices)} indices and shape {shape} ask for "
            f"{(len(indices), *shape[1:])}"
        )
    _check_range(indices, shape)
    indices, rows = sum_rows(indices, data._data)
    return RowSparseNDArray(rows, indices, shape, data._ctx)


# ---------------------------------------------------------------- computing with them


def retain(data: RowSparseNDArray, indices: Any) -> RowSparseNDArray:
    """The array that has the rows `indices` of `data`, and stores these alone, those that are 0 included."""
    indices = np.unique(_row_numbers(indices))
    _check_range(indices, data.shape)
    rows = np.zeros((len(indices), *data.shape[1:]), data.dtype)
    _, there, here = np.intersect1d(data._indices, indices, assume_unique=True, return_indices=True)
    rows[here] = data._rows[there]
    return RowSparseNDArray(rows, indices, data.shape, data._ctx)


def add(lhs: NDArray, rhs: NDArray) -> NDArray:
    """The sum of two arrays: row-sparse if both are, with the rows of either."""
    if not (isinstance(lhs, RowSparseNDArray) and isinstance(rhs, RowSparseNDArray)):
        return elementwise.add(lhs, rhs)
    types = lhs._rows.dtype, rhs._rows.dtype
    for what, a, b in (("shape", lhs.shape, rhs.shape), ("type", *types), ("context", lhs.context, rhs.context)):
        if a != b:
            raise MXNetError(f"sum of row-sparse arrays: one has {what} {a}, the other {b}")
    indices, rows = sum_rows(np.concatenate([lhs._indices, rhs._indices]), np.concatenate([lhs._rows, rhs._rows]))
    return RowSparseNDArray(rows, indices, lhs.shape, lhs._ctx)


elemwise_add = add


@quiet
def sum_rows(indices: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`indices`, (k,), ascending and distinct, and for each the sum of its `rows`, (k, ...).

    The rows of an index are added in pairs of neighbours, then those sums likewise; 16-bit floats in float32.
    """
    order = np.argsort(indices, kind="stable")
    indices, sums = indices[order], rows[order]
    if rows.dtype.itemsize == 2:
        sums = sums.astype(np.float32)
    while True:
        first = np.ones(len(indices), bool)
        first[1:] = indices[1:] != indices[:-1]
        if first.all():
            return indices, sums.astype(rows.dtype, copy=False)
        position = np.arange(len(indices))
        rank = position - np.maximum.accumulate(np.where(first, position, 0))  # among the sums of the same index
        odd, even = np.flatnonzero(rank % 2), np.flatnonzero(rank % 2 == 0)
        sums[odd - 1] += sums[odd]
        indices, sums = indices[even], sums[even]


# ---------------------------------------------------------------- checks


def _dense(source: Any, ctx: Context | None, dtype: Any) -> NDArray:
    return creation.array(source, ctx, source.dtype if dtype is None and isinstance(source, np.ndarray) else dtype)


def _row_numbers(indices: Any) -> np.ndarray:
    """Indices as int64. Floats that are integers will do: they are what `nd.array` makes of a list."""
    given = np.asarray(indices)
    if given.ndim != 1:
        raise ValueError(f"indices of rows must be one-dimensional, not of shape {given.shape}")
    if given.dtype.kind not in "iuf":
        raise ValueError(f"indices of rows must be integers, not {given.dtype}")
    with np.errstate(invalid="ignore"):  # NaN and infinity: found below
        found = given.astype(np.int64)
    fractional = given[found != given]
    if len(fractional):
        raise ValueError(f"indices of rows must be integers, not {fractional[0]}")
    return found


def _check_range(indices: np.ndarray, shape: Sequence[int]) -> None:
    outside = indices[(indices < 0) | (indices >= shape[0])]
    if len(outside):
        raise ValueError(f"row {outside[0]} is none of the rows 0 to {shape[0] - 1} of an array of shape {shape}")


def _check_stype(stype: str) -> None:
    if stype not in STYPES:
        raise ValueError(f"unknown storage type '{stype}'{did_you_mean(str(stype), STYPES)}")


def _shape(shape: Any) -> tuple[int, ...]:
    shape = tuple(map(operator.index, (shape,) if isinstance(shape, numbers.Integral) else shape))
    if not shape or min(shape) < 0:
        raise ValueError(f"{shape} is not the shape of a row-sparse array")
    return shape


def _is_all(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)
