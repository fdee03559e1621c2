"""What the two kinds of sparse arrays have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from runtime import autograd
from runtime.base import ArgumentError, MXNetError, NotSupportedForSparseNDArray
from runtime.context import Context
from runtime.core import backend
from runtime.core.dtypes import convert, element_type
from runtime.ndarray import creation
from runtime.ndarray.elementwise import NUMBER, identity
from runtime.ndarray.ndarray import NDArray


def in_graph(*inputs: Any) -> bool:
    """Whether what is computed from `inputs` must be recorded."""
    return autograd.mode.recording and any(isinstance(x, NDArray) and x._in_graph() for x in inputs)


class BaseSparseNDArray(NDArray):
    """An array that stores some of its elements; the others are 0.

    Its parts are the values, and the arrays of indices that say where the values lie. An operator without a rule for
    sparse arrays (see `rules`) reads the dense values. So does the graph: the dense computation is recorded, and a
    sparse result has the node of its dense values.

    Parts are *settled* if they are valid, in order and without duplicates. Parts that a user gave are settled when they
    are first computed with.
    """

    __slots__ = ("_parts", "_settled", "_shape")

    STYPE: ClassVar[str]

    def __init__(self, parts: tuple[np.ndarray, ...], shape: tuple[int, ...], ctx: Context, settled: bool) -> None:
        self._parts, self._shape, self._settled = parts, shape, settled
        self._ctx = ctx
        self._node = None

    def __reduce__(self) -> tuple:
        return _restored, (type(self), tuple(map(backend.to_host, self._parts)), self._shape, self._ctx, self._settled)

    def _become(self, other: BaseSparseNDArray) -> None:
        self.__init__(*other._parts, other._shape, other._ctx)  # type: ignore[call-arg]

    # ------------------------------------------------------------ for each kind to say

    def _settle(self) -> tuple[np.ndarray, ...]:
        """The parts in order, without duplicates; MXNetError for invalid parts."""
        raise NotImplementedError

    def _keys(self) -> np.ndarray:
        """The places of the values, int64, ascending: rows, or positions in the flattened array."""
        raise NotImplementedError

    def _of_keys(self, keys: np.ndarray, values: np.ndarray) -> BaseSparseNDArray:
        """An array of this shape with `values` at `keys`."""
        raise NotImplementedError

    def _pick(self, dense: np.ndarray) -> np.ndarray:
        """The elements of a dense array, which broadcasts to this shape, at the places of the values."""
        raise NotImplementedError

    @classmethod
    def _from_dense(cls, dense: np.ndarray, ctx: Context) -> BaseSparseNDArray:
        """The array that stores the elements that are not 0. Called in the `device_scope` of `ctx`."""
        raise NotImplementedError

    def _dense(self) -> np.ndarray:
        """The dense values, a new array."""
        raise NotImplementedError

    def check_format(self, full_check: bool = True) -> None:
        """Raise MXNetError if the parts, as they were given, do not describe an array.

        Without `full_check`, only what can be seen without reading all of them.
        """
        raise NotImplementedError

    # ------------------------------------------------------------ what it is

    @property
    def stype(self) -> str:
        return self.STYPE

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
        return self._parts[0].dtype.type

    @property
    def writable(self) -> bool:
        return True

    @property
    def data(self) -> NDArray:
        """A copy of the stored values."""
        return self._copied(0)

    @property
    def indices(self) -> NDArray:
        """A copy of the places of the values, int64: the stored rows' numbers, or each value's column."""
        return self._copied(1)

    def _copied(self, part: int) -> NDArray:
        with backend.device_scope(self._ctx):
            return NDArray(self._parts[part].copy(), self._ctx)

    @property
    def _num_aux(self) -> int:
        """How many arrays say where the values lie."""
        return len(self._parts) - 1

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self._shape))} @{self._ctx}>"

    # ------------------------------------------------------------ taking values out

    def _read(self) -> tuple[np.ndarray, ...]:
        """The settled parts."""
        if not self._settled:
            self._parts, self._settled = self._settle(), True
        return self._parts

    def _checked(self) -> BaseSparseNDArray:
        """The array itself, settled."""
        self._read()
        return self

    @property
    def _values(self) -> np.ndarray:
        return self._read()[0]

    @property
    def _indices(self) -> np.ndarray:
        return self._read()[1]

    @property
    def _data(self) -> np.ndarray:
        """The dense values, which operators read. They are read-only: writing to them would not change this array."""
        dense = self._dense()
        if self._ctx.on_cpu:
            dense.flags.writeable = False
        return dense

    def asnumpy(self) -> np.ndarray:
        """The dense values, as a NumPy array."""
        return backend.to_host(self._dense())

    def _with(self, values: np.ndarray) -> BaseSparseNDArray:
        """Other values in the same places."""
        return type(self)(values, *self._read()[1:], self._shape, self._ctx)

    def _map(self, function: Callable[[NDArray], NDArray]) -> NDArray:
        """The result of an operator on each element that maps 0 to 0, stored as this array is."""
        if in_graph(self):
            return tostype(function(self), self.stype)
        return self._with(function(NDArray(self._values, self._ctx))._data)

    def as_in_context(self, context: Context, always_copy: bool = False) -> NDArray:
        if context == self._ctx and not always_copy:
            return self
        context.require()
        with backend.device_scope(context):
            near = context.on_cpu == self._ctx.on_cpu
            parts = [part.copy() if near else backend.to_context(part, context) for part in self._parts]
        copied = type(self)(*parts, self._shape, context, self._settled)
        if in_graph(self):
            copied._node = identity(self)._node
        return copied

    as_in_ctx = as_in_context

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """A copy whose elements have type `dtype`; with `copy=False`, the array itself if they have it already."""
        dtype = element_type(dtype)
        if not copy and dtype == self._parts[0].dtype:
            return self
        if in_graph(self):
            return tostype(NDArray.astype(self, dtype), self.stype)
        with backend.device_scope(self._ctx):
            return self._with(convert(self._values, dtype))

    def detach(self) -> NDArray:
        """The same values outside of the graph."""
        return self._with(self._values)

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Want the gradient of this array, stored as `stype`, by default as the array itself; see NDArray."""
        super().attach_grad(grad_req, self.stype if stype is None else stype)

    def _full_like(self, value: float) -> NDArray:
        return creation.full(self._shape, value, self._ctx, self.dtype)

    def _at(self, idx: int) -> NoReturn:
        raise NotSupportedForSparseNDArray(self._at, "[idx]", idx)

    def _slice(self, start: int, stop: int) -> NoReturn:
        raise NotSupportedForSparseNDArray(self._slice, None, start, stop)

    # ------------------------------------------------------------ writing

    def __setitem__(self, key: Any, value: Any) -> None:
        """`x[:] = value` writes the whole array: `value` is an array of its shape, or a number.

        Afterwards, of a value stored as x is, the same places are stored; of any other those that are not 0.
        """
        if not _is_all(key):
            raise ArgumentError(f"a sparse array is written as a whole, x[:] = value, not at {key!r}")
        if autograd.mode.recording and self._in_graph():
            raise MXNetError("a sparse array of the computational graph cannot be written to inside autograd.record()")
        if isinstance(value, NUMBER):
            written = self._of_keys(self._keys()[:0], self._values[:0])
            if value:
                written = tostype(self._full_like(value), self.stype)
        else:
            if not isinstance(value, NDArray):
                value = creation.array(value, self._ctx, self.dtype)
            if value.shape != self._shape:
                raise ArgumentError(f"cannot write a value of shape {value.shape} to an array of shape {self._shape}")
            written = tostype(value.as_in_context(self._ctx), self.stype).astype(self.dtype, copy=False)
        self._parts, self._settled, self._node = written._read(), True, written._node or self._node


def _restored(kind: type, parts: tuple, shape: tuple[int, ...], ctx: Context, settled: bool) -> BaseSparseNDArray:
    """A pickled array, in the context it was in."""
    ctx.require()
    return kind(*(backend.to_context(part, ctx) for part in parts), shape, ctx, settled)


# ---------------------------------------------------------------- from one way of storing to another

KINDS: dict[str, type[BaseSparseNDArray]] = {}
"""The sparse arrays, by how they store their elements."""


def tostype(data: NDArray, stype: str) -> NDArray:
    """A copy of `data` stored as `stype`: 'default', 'row_sparse' or 'csr'; what is 0 in a dense array is left out."""
    check_stype(stype)
    if data.stype == stype:
        return data.copy()
    if stype == "default":
        return identity(data) if in_graph(data) else NDArray(data._dense(), data._ctx)
    autograd.reads_values(data._data)  # what is stored follows from them
    with backend.device_scope(data._ctx):
        result = KINDS[stype]._from_dense(data._data, data._ctx)
    if in_graph(data):
        result._node = identity(data)._node
    return result


def cast_storage(data: NDArray, stype: str) -> NDArray:
    """A copy of `data` stored as `stype`: 'default', 'row_sparse' or 'csr'."""
    return tostype(data, stype)


def check_stype(stype: Any) -> None:
    if stype != "default" and stype not in KINDS:
        raise ArgumentError(f"unknown storage type {stype!r}: it is 'default', or one of {', '.join(map(repr, KINDS))}")


def _is_all(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)
