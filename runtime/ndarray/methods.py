"""Methods of NDArray that are made of operators: Python's symbols, indexing, copies to another context, pickling.

`ndarray`, which has the class, is below operators, so `install` puts these methods there. Other methods are functions
of the families, named in their METHODS.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime import autograd
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.ndarray import creation, elementwise, serialization
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import move
from runtime.ndarray.shape import broadcast, reshape, subscript

SYMBOLS: dict[str, Callable] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "mod": elementwise.modulo,
    "pow": elementwise.power,
}
COMPARISONS: dict[str, Callable] = {
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
    "lt": elementwise.lesser,
    "le": elementwise.lesser_equal,
}


def install() -> None:
    """Give NDArray everything above."""
    for name, function in SYMBOLS.items():
        setattr(NDArray, f"__{name}__", _symbol(function))
        setattr(NDArray, f"__r{name}__", _symbol(lambda a, b, f=function: f(b, a)))
        if name != "pow":  # `x **= y` is `x = x**y`
            setattr(NDArray, f"__i{name}__", _in_place(function))
    for name, function in COMPARISONS.items():
        setattr(NDArray, f"__{name}__", _symbol(function))
    NDArray.T = property(
        lambda self: self if self.ndim < 2 else reshape.transpose(self),
        doc="A copy with the axes reversed; the array itself if it has no two.",
    )
    NDArray.__neg__ = lambda self: elementwise.negative(self)
    NDArray.__abs__ = lambda self: elementwise.abs(self)
    NDArray.__getitem__ = subscript.getitem
    NDArray.__setitem__ = subscript.setitem
    NDArray._basic_indexing_slice_is_contiguous = staticmethod(subscript.is_contiguous)
    NDArray._at = subscript.getitem
    NDArray._slice = lambda self, start, stop: subscript.getitem(self, slice(start, stop))
    NDArray.__hash__ = object.__hash__  # comparing gives arrays, so arrays are told apart by identity
    NDArray.as_in_ctx = as_in_context
    for function in (as_in_context, attach_grad, broadcast_like, __getstate__, __setstate__):
        function.__qualname__ = f"NDArray.{function.__name__}"
        setattr(NDArray, function.__name__, function)


# ---------------------------------------------------------------- methods in full


def as_in_context(self, context: Context, always_copy: bool = False) -> NDArray:
    """This array if it lives in `context`, else a copy there."""
    if context == self._ctx and not always_copy:
        return self
    context.require()
    return move(self, context)


def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
    """Want the gradient of this array: `backward` writes it to `grad` ('write'), adds it to it ('add'), or
    ignores it ('null').

    `grad` is stored as `stype`, 'default' (also None) or 'row_sparse'. The array forgets what it was computed
    from.
    """
    sparse = stype not in (None, "default")
    make = functools.partial(creation.zeros, stype=stype) if sparse else creation.blank
    autograd.mark(self, make(self.shape, self._ctx, self.dtype), grad_req)


def broadcast_like(
    self, other: NDArray, lhs_axes: broadcast.Axes | None = None, rhs_axes: broadcast.Axes | None = None
) -> NDArray:
    """A copy with the shape of `other`; or with each of `lhs_axes` as long as its counterpart in `rhs_axes`."""
    return broadcast.broadcast_like(self, other, lhs_axes, rhs_axes)


def __getstate__(self) -> dict[str, bytes]:
    """What is in a pickle of MXNet's: the array in the bytes of its files, under 'handle'."""
    return {"handle": serialization.encoded(self)}


def __setstate__(self, state: dict[str, bytes]) -> None:
    """Become the array whose `__getstate__`, here or in MXNet, gave this, in the current context.

    MXNetError for what is no such state, or one of another kind of storage.
    """
    self._become(serialization.decoded(state, self.stype))


# ---------------------------------------------------------------- Python's symbols


def _symbol(function: Callable) -> Callable[[NDArray, Any], NDArray]:
    """A Python operator. Of what is no number it refuses all but None, so that `x == None` is False."""

    def call(self: NDArray, other: Any) -> NDArray:
        return NotImplemented if other is None else function(self, other)

    return call


def _in_place(function: Callable) -> Callable[[NDArray, Any], NDArray]:
    def call(self: NDArray, other: Any) -> NDArray:
        if autograd.mode.recording and isinstance(other, NDArray) and autograd.is_recorded(other._node):
            raise MXNetError(subscript.REFUSED_WHILE_RECORDING)
        result = function(self, other)
        if result.shape != self.shape:
            raise ArgumentError(
                f"an array of shape {self.shape} cannot be updated in place by one of shape {result.shape}"
            )
        self[:] = result
        return self

    return call
