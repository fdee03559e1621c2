"""The array: its storage, its place, reading and writing it. What it can compute is in the operator files."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.context import Context


class NDArray:
    """An n-dimensional array of one type, over a C-contiguous NumPy array.

    `x[i]`, `x[i:j]` on the first axis and `reshape` give arrays that share memory with `x`; every other result is a
    copy. There are no scalars: what would be one has shape (1,). `nd.array`, `nd.zeros` and their like make arrays.
    """

    __slots__ = ("__weakref__", "_ctx", "_data", "_node")
    __array_priority__ = 1000.0  # so that `numpy_array + x` comes to us instead of going through x element by element

    def __init__(self, data: np.ndarray, ctx: Context, node: autograd.Node | autograd.Variable | None = None) -> None:
        self._data = data
        self._ctx = ctx
        self._node = node

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
        """How the elements are stored: 'default', all of them, or 'row_sparse' (see `nd.sparse`)."""
        return "default"

    def __len__(self) -> int:
        return self._data.shape[0]

    def __repr__(self) -> str:
        return f"\n{self._data}\n<NDArray {'x'.join(map(str, self.shape))} @{self._ctx}>"

    # ------------------------------------------------------------ taking values out

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy."""
        return self._data.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._data, dtype=dtype)

    def asscalar(self) -> Any:
        """The value of an array of one element, as a NumPy scalar; ValueError for any other size."""
        if self.size != 1:
            raise ValueError(f"an array of shape {self.shape} is not a scalar")
        return self._data.reshape(-1)[0]

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
        """Return when the value is there: at once, as operators are computed when they are called."""

    # ------------------------------------------------------------ copies

    def copy(self) -> NDArray:
        return self.as_in_context(self._ctx, always_copy=True)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Write into the array `other`, or copy to the context `other`. Returns the array written to."""
        if isinstance(other, NDArray):
            if other is not self:
                other[:] = self
            return other
        return self.as_in_context(other, always_copy=True)

    def as_in_context(self, context: Context, always_copy: bool = False) -> NDArray:
        """This array if it lives in `context`, else a copy there."""
        if context == self._ctx and not always_copy:
            return self
        from runtime.ndarray.elementwise import identity

        context.require()
        result = identity(self)
        result._ctx = context
        return result

    def _in_graph(self) -> bool:
        """Whether gradients can flow here: an array whose history `backward` has released is a constant."""
        return self._node is not None and not self._node.spent

    def _full_like(self, value: float) -> NDArray:
        return NDArray(np.full_like(self._data, value), self._ctx)

    # ------------------------------------------------------------ gradients

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Want the gradient of this array: `backward` writes it to `grad` ('write'), adds it to it ('add'), or
        ignores it ('null').

        `grad` is stored as `stype`, 'default' (also None) or 'row_sparse'. The array forgets what it was computed
        from.
        """
        from runtime.ndarray.creation import zeros

        autograd.mark_variables(self, zeros(self.shape, self._ctx, self.dtype, stype), grad_req)

    @property
    def grad(self) -> NDArray | None:
        """The gradient's array; None without `attach_grad`."""
        return self._node.grad if isinstance(self._node, autograd.Variable) else None

    def detach(self) -> NDArray:
        """The same memory outside of the graph."""
        return NDArray(self._data, self._ctx)

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """`autograd.backward` from this array; `out_grad` is the gradient that flows into it, None for ones."""
        autograd.backward([self], [out_grad], retain_graph, train_mode)

    # ------------------------------------------------------------ writing

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write `value` (an array or a number, broadcast) to `x[key]`.

        Inside `record`, a value that is in the graph can only be written by `x[:] = value`, with x of its shape and
        not in the graph: x then is in it too.
        """
        whole = isinstance(key, slice) and key == slice(None)
        if autograd.mode.recording:
            self._check_writable(value, whole)
        source = value._data if isinstance(value, NDArray) else value
        try:
            self._data[numpy_key(key)] = source
        except ValueError as error:
            raise MXNetError(
                f"cannot write a value of shape {np.shape(source)} to x[{key!r}] of shape {self.shape}: {error}"
            ) from None
        if autograd.mode.recording and isinstance(value, NDArray) and value._in_graph():
            from runtime.ndarray.elementwise import identity

            self._node = identity(value)._node

    def _check_writable(self, value: Any, whole: bool) -> None:
        """Refuse a write that the graph could not know of."""
        if self._in_graph():
            raise MXNetError(
                "writing into an array of the computational graph (x[...] = y, +=, -=, *=, /=) is not possible inside "
                "autograd.record(); make a new array (x = x + y), or write inside autograd.pause() or after backward"
            )
        in_graph = isinstance(value, NDArray) and value._in_graph()
        if in_graph and (not whole or value.shape != self.shape):
            raise MXNetError(
                "inside autograd.record() an array of the computational graph can only be written to a whole array "
                "of its shape"
            )


def numpy_key(key: Any) -> Any:
    """An index as NumPy takes it: arrays, of whatever type, become integer arrays."""
    if isinstance(key, tuple):
        return tuple(map(numpy_key, key))
    if isinstance(key, NDArray):
        return key._data.astype(np.int64)
    return key
