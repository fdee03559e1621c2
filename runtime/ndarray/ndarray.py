"""The array: its memory, its context, reading it, its gradient. What it computes is in the files of operators."""

from __future__ import annotations

import numbers
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from runtime import autograd
from runtime.autograd import watching
from runtime.base import ArgumentError, MXNetError, NDArrayHandle
from runtime.context import Context
from runtime.core import backend

_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
"""MXNet's numbers for kinds of storage. Programs import this name from this module."""
_CPU = Context("cpu")
_WITH_HANDLES: WeakValueDictionary[int, NDArray] = WeakValueDictionary()
py_slice = slice
"""Python's `slice`. Programs import this name from this module."""


class NDArray:
    """An n-dimensional array of one type, over a C-contiguous NumPy array, or, in a GPU's context, a CuPy array.

    `x[i]`, `x[i:j]` on the first axis and `reshape` give arrays that share memory with `x`; `shape/subscript.py` has
    the rules for other keys and for writing. Every other result is a copy. Operators return no scalars: what would be
    one has shape (1,). `nd.array`, `nd.zeros` and their like make arrays. Methods that are made of operators are added
    by `methods.py`.
    """

    __slots__ = ("__weakref__", "_ctx", "_data", "_node")
    __array_priority__ = 1000.0  # `numpy_array + x` calls `x.__radd__`; else NumPy would add element by element

    def __init__(
        self,
        data: np.ndarray | NDArrayHandle | None,
        ctx: Context = _CPU,
        node: autograd.Node | autograd.Variable | None = None,
        writable: bool = True,
    ) -> None:
        """`data` is None in pickles of MXNet's: `__setstate__` follows.

        Of the `handle` of another array, it has the memory and the context of that one, and is read-only unless
        `writable`; MXNetError if that one is gone.
        """
        if type(data) is not np.ndarray:
            data, ctx = _memory(data, ctx, writable)
        if watching:
            autograd.keep(data)
        self._data = data
        self._ctx = ctx
        self._node = node

    def __reduce__(self) -> tuple:
        """Pickled and copied as values and context; a copy is outside of the graph."""
        return _restored, (self.asnumpy(), self._ctx)

    def _become(self, other: NDArray) -> None:
        self._data, self._ctx, self._node = other._data, other._ctx, None

    # ------------------------------------------------------------ what it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def size(self) -> int:
        return self._data.size

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def dtype(self) -> type:
        """The element type as a NumPy scalar type, such as `numpy.float32`."""
        return self._data.dtype.type

    @property
    def context(self) -> Context:
        return self._ctx

    ctx = context

    @property
    def stype(self) -> str:
        """How the elements are stored: 'default', all of them, or one of the ways of `nd.sparse`."""
        return "default"

    @property
    def writable(self) -> bool:
        """Whether elements can be written: not those of a read-only NumPy array (`nd.from_numpy`)."""
        return not self._ctx.on_cpu or self._data.flags.writeable

    def __len__(self) -> int:
        return self._data.shape[0]

    def __repr__(self) -> str:
        autograd.reads_values(self._data)
        return f"\n{self._data}\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    @property
    def handle(self) -> NDArrayHandle:
        """A number that stands for the array as long as it lives, in the place of MXNet's pointers: monitors written
        for MXNet call `NDArray(ctypes.cast(array, NDArrayHandle), writable=False)`."""
        _WITH_HANDLES[id(self)] = self
        return NDArrayHandle(id(self))

    _as_parameter_ = handle  # what ctypes takes for the array

    # ------------------------------------------------------------ taking values out

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy. It waits for a GPU to have computed the values."""
        autograd.reads_values(self._data)
        data = self._data
        return data.copy() if type(data) is np.ndarray else data.get()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        autograd.reads_values(self._data)
        return np.array(backend.to_host(self._data), dtype=dtype)

    def asscalar(self) -> Any:
        """The value of an array of one element, as a NumPy scalar; ValueError for any other size."""
        autograd.reads_values(self._data)
        if self.size != 1:
            raise ValueError(
                f"an array of shape {self.shape} is not a scalar: take an element of it, or its mean(), or asnumpy()"
            )
        return backend.to_host(self._data).reshape(-1)[0]

    item = asscalar

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError(f"the truth value of an array of shape {self.shape} is ambiguous")
        return bool(self.size) and bool(self.asscalar())

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        value = self.asscalar()
        if not isinstance(value, numbers.Integral):
            raise TypeError(f"an array of {self._data.dtype} cannot be used as an index")
        return int(value)

    def wait_to_read(self) -> None:
        """Return when the value is there: at once on the CPU, where operators are computed when they are called."""
        backend.synchronize(self._data)

    wait_to_write = wait_to_read

    def __dlpack__(self, **arguments: Any) -> Any:
        """The memory as a DLPack capsule, for libraries that read it."""
        autograd.reads_values(self._data)
        return self._data.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    # ------------------------------------------------------------ copies

    def copy(self) -> NDArray:
        return self.as_in_context(self._ctx, always_copy=True)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Write into the array `other`, of this shape, or copy to the context `other`. Returns the array written to."""
        if isinstance(other, Context):
            return self.as_in_context(other, always_copy=True)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto needs an array or a context to copy to, not {type(other).__name__}")
        if other.shape != self.shape:
            raise ArgumentError(f"copyto: an array of shape {self.shape} does not fit into one of shape {other.shape}")
        if other is not self:
            other[:] = self
        return other

    def as_nd_ndarray(self) -> NDArray:
        """The array itself: there is no other kind of array here."""
        return self

    def _in_graph(self) -> bool:
        """Whether gradients can flow here: an array whose history `backward` has released is a constant."""
        return self._node is not None and not self._node.released_at

    def _full_like(self, value: float) -> NDArray:
        with backend.device_scope(self._ctx):
            data = np.empty_like(self._data)
            data.fill(value)  # a tenth of the time that np.full_like takes
        return NDArray(data, self._ctx)

    # ------------------------------------------------------------ gradients

    @property
    def grad(self) -> NDArray | None:
        """The gradient's array; None without `attach_grad`. MXNetError if a step has used its memory since."""
        node = self._node
        return node.expose() if isinstance(node, autograd.Variable) else None

    @property
    def _grad_stype(self) -> str:
        """How the gradient is stored; 'default' without one."""
        return self._node.grad.stype if isinstance(self._node, autograd.Variable) else "default"

    @property
    def _fresh_grad(self) -> bool:
        """Whether `grad` has been written since this was last set to False."""
        return isinstance(self._node, autograd.Variable) and self._node.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if not isinstance(self._node, autograd.Variable):
            raise MXNetError(
                f"an array of shape {self.shape} without attach_grad() has no gradient that could be fresh"
            )
        if fresh:
            self._node.expose()  # which refuses a gradient whose memory a step has used
        self._node.fresh = bool(fresh)

    def detach(self) -> NDArray:
        """The same memory outside of the graph."""
        return NDArray(self._data, self._ctx)

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """`autograd.backward` from this array; `out_grad` is the gradient that flows into it, None for ones."""
        autograd.backward([self], [out_grad], retain_graph, train_mode)


def _memory(data: Any, ctx: Context, writable: bool) -> tuple[Any, Context]:
    """The memory and the context of the array that a handle stands for; of other data an array, and `ctx`."""
    if not isinstance(data, NDArrayHandle):
        return backend.as_contiguous(data), ctx  # perhaps of a NumPy scalar
    array = _WITH_HANDLES.get(data.value or 0)
    if array is None:
        raise MXNetError("the handle is of no array that lives: keep the array whose handle it is")
    memory = array._data
    if not writable and array._ctx.on_cpu:
        memory = memory.view()
        memory.flags.writeable = False
    return memory, array._ctx


def _restored(data: np.ndarray, ctx: Context) -> NDArray:
    """A pickled array, in the context it was in."""
    ctx.require()
    return NDArray(backend.to_context(data, ctx), ctx)
