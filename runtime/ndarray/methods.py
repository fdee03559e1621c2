"""What an NDArray can do, beyond holding values: its operators and methods, and the functions they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.base import MXNetError
from runtime.ndarray import elementwise, index, nn, reduce, shape, sparse
from runtime.ndarray.ndarray import NDArray

SYMBOLS: dict[str, Callable] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
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
METHODS: tuple[Callable, ...] = (
    elementwise.astype,
    elementwise.clip,
    index.pick,
    nn.softmax,
    nn.log_softmax,
    reduce.sum,
    reduce.mean,
    reduce.max,
    reduce.min,
    reduce.argmax,
    reduce.argmin,
    sparse.tostype,
    shape.broadcast_to,
    shape.expand_dims,
    shape.flatten,
    shape.reshape_like,
    shape.transpose,
)
UNARY = ("abs", "exp", "expm1", "log", "log1p", "sign", "sqrt", "square", "tanh", "zeros_like", "ones_like")


def install() -> None:
    """Give NDArray everything above."""
    for name, function in SYMBOLS.items():
        setattr(NDArray, f"__{name}__", _symbol(function))
        setattr(NDArray, f"__r{name}__", _symbol(lambda a, b, f=function: f(b, a)))
        setattr(NDArray, f"__i{name}__", _in_place(function))
    for name, function in COMPARISONS.items():
        setattr(NDArray, f"__{name}__", _symbol(function))
    for function in METHODS:
        setattr(NDArray, function.__name__, function)
    for name in UNARY:
        setattr(NDArray, name, _method(getattr(elementwise, name)))
    NDArray.relu = _method(nn.relu)
    NDArray.sigmoid = _method(nn.sigmoid)
    NDArray.reshape = _reshape
    NDArray.T = property(shape.transpose, doc="A copy with the axes reversed.")
    NDArray.__neg__ = _method(elementwise.negative)
    NDArray.__abs__ = _method(elementwise.abs)
    NDArray.__getitem__ = index.getitem
    NDArray.__hash__ = object.__hash__  # comparing gives arrays, so arrays are told apart by identity


def _symbol(function: Callable) -> Callable[[NDArray, Any], NDArray]:
    """A Python operator: operands it knows nothing of are left to the other side."""

    def call(self: NDArray, other: Any) -> NDArray:
        return NotImplemented if other is None or isinstance(other, (str, tuple, list)) else function(self, other)

    return call


def _in_place(function: Callable) -> Callable[[NDArray, Any], NDArray]:
    def call(self: NDArray, other: Any) -> NDArray:
        result = function(self, other)
        if result.shape != self.shape:
            raise MXNetError(
                f"an array of shape {self.shape} cannot be updated in place by one of shape {result.shape}"
            )
        self[:] = result
        return self

    return call


def _method(operator: Callable[[NDArray], NDArray]) -> Callable[[NDArray], NDArray]:
    """An operator as a method (an Operator object would not bind to the array it is called on)."""

    def call(self: NDArray) -> NDArray:
        return operator(self)

    return call


def _reshape(self: NDArray, *args: Any, shape: Any = None) -> NDArray:
    return _reshape_function(self, *(args if shape is None else (shape,)))


_reshape_function = shape.reshape
