"""Arithmetic and comparisons with sparse arrays, and how their results are stored.

A result is sparse where it is 0 wherever the operands are. Everything else is computed, and stored, densely.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.core import backend
from runtime.ndarray import elementwise
from runtime.ndarray.elementwise import NUMBER
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse.base import BaseSparseNDArray, in_graph, tostype
from runtime.ndarray.sparse.row_sparse import sum_rows

Binary = Callable[[Any, Any], NDArray]

COMPARISONS = {
    "eq": (elementwise.equal, operator.eq),
    "ne": (elementwise.not_equal, operator.ne),
    "gt": (elementwise.greater, operator.gt),
    "ge": (elementwise.greater_equal, operator.ge),
    "lt": (elementwise.lesser, operator.lt),
    "le": (elementwise.lesser_equal, operator.le),
}
"""For each symbol, the function of arrays and that of numbers."""


# ---------------------------------------------------------------- as users call them


def add(lhs: Any, rhs: Any) -> NDArray:
    """The sum: of two arrays of one shape stored alike as they are, with what either has, and so is the sum with 0."""
    return _arithmetic(elementwise.add, lhs, rhs)


def subtract(lhs: Any, rhs: Any) -> NDArray:
    """The difference; stored as `add` stores sums, but for `0 - x`, which is dense."""
    return _arithmetic(elementwise.subtract, lhs, rhs)


def multiply(lhs: Any, rhs: Any) -> NDArray:
    """The product: stored as the one that is sparse, of two that are sparse in different ways densely.

    A dense factor may be broadcast to the shape of a csr array.
    """
    return _arithmetic(elementwise.multiply, lhs, rhs)


def divide(lhs: Any, rhs: Any) -> NDArray:
    """The quotient: of a sparse array and a number, or of a csr array and a dense one that is broadcast, stored as
    `lhs`, whose zeros stay 0 even where `rhs` is 0; of two arrays of one shape dense.
    """
    return _arithmetic(elementwise.divide, lhs, rhs)


# ---------------------------------------------------------------- how


def _arithmetic(function: Binary, lhs: Any, rhs: Any) -> NDArray:
    commutes = function in (elementwise.add, elementwise.multiply)
    if isinstance(lhs, NUMBER) and commutes:
        lhs, rhs = rhs, lhs
    if isinstance(lhs, BaseSparseNDArray) and isinstance(rhs, NUMBER):
        sums = function in (elementwise.add, elementwise.subtract)
        return lhs._map(lambda x: function(x, rhs)) if not sums or rhs == 0 else function(lhs, rhs)
    stype = _storage(function, lhs, rhs)
    if stype == "default":
        return function(lhs, rhs)
    if in_graph(lhs, rhs):
        return tostype(function(lhs, rhs), stype)
    _check_alike(function, lhs, rhs)
    if lhs.stype == rhs.stype:
        return (_common if function is elementwise.multiply else _union)(function, lhs, rhs)
    if lhs.stype == "default":
        return _against_dense(function, rhs, lhs)
    return _against_dense(function, lhs, rhs)


def _storage(function: Binary, lhs: Any, rhs: Any) -> str:
    """The storage of the result for two operands."""
    if not isinstance(lhs, NDArray) or not isinstance(rhs, NDArray):
        return "default"
    kinds, product = (lhs.stype, rhs.stype), function is elementwise.multiply
    if lhs.shape != rhs.shape:
        scales = kinds == ("csr", "default") and (product or function is elementwise.divide)
        return "csr" if scales and _broadcasts(rhs.shape, lhs.shape) else "default"
    if kinds[0] == kinds[1]:
        return kinds[0] if function is not elementwise.divide else "default"
    if product and "default" in kinds:
        return kinds[0] if kinds[1] == "default" else kinds[1]
    return "default"


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(shape[::-1], to[::-1], strict=False))


def _check_alike(function: Binary, lhs: NDArray, rhs: NDArray) -> None:
    types = [np.dtype(x.dtype).name for x in (lhs, rhs)]
    contexts = [] if lhs.context.on_cpu and rhs.context.on_cpu else [lhs.context, rhs.context]
    for what, pair in (("type", types), ("context", contexts)):
        if len(set(pair)) > 1:
            a, b = pair
            raise MXNetError(f"{function.__name__} of sparse arrays: one has {what} {a}, the other {b}")


def _union(function: Binary, lhs: BaseSparseNDArray, rhs: BaseSparseNDArray) -> BaseSparseNDArray:
    """A sum or difference, with the places of both."""
    with backend.device_scope(lhs._ctx):
        right = rhs._values if function is elementwise.add else np.negative(rhs._values)
        keys, values = np.concatenate([lhs._keys(), rhs._keys()]), np.concatenate([lhs._values, right])
        return lhs._of_keys(*sum_rows(keys, values))


def _common(function: Binary, lhs: BaseSparseNDArray, rhs: BaseSparseNDArray) -> BaseSparseNDArray:
    """A product, in the places that both have."""
    with backend.device_scope(lhs._ctx):
        keys, left, right = np.intersect1d(lhs._keys(), rhs._keys(), assume_unique=True, return_indices=True)
        factors = [NDArray(x, lhs._ctx) for x in (lhs._values[left], rhs._values[right])]
    return lhs._of_keys(keys, function(*factors)._data)


def _against_dense(function: Binary, x: BaseSparseNDArray, dense: NDArray) -> BaseSparseNDArray:
    return x._with(function(NDArray(x._values, x._ctx), NDArray(x._pick(dense._data), x._ctx))._data)


def _comparison(function: Binary, of_numbers: Callable[[float, float], bool]) -> Callable:
    """`x < 2`: sparse where 0 is not less than 2; comparisons of arrays are dense."""

    def call(self: BaseSparseNDArray, other: Any) -> Any:
        if not isinstance(other, NUMBER):
            return NotImplemented if _foreign(other) else function(self, other)
        return function(self, other) if of_numbers(0, other) else self._map(lambda x: function(x, other))

    return call


# ---------------------------------------------------------------- Python's symbols


def _symbol(function: Binary) -> Callable:
    return lambda self, other: NotImplemented if _foreign(other) else function(self, other)


def _reflected(function: Binary, dense: Binary) -> Callable:
    """The reflected operator: dense if the left operand is a dense array."""

    def call(self: BaseSparseNDArray, other: Any) -> Any:
        return NotImplemented if _foreign(other) else (dense if isinstance(other, NDArray) else function)(other, self)

    return call


def _in_place(function: Binary) -> Callable:
    def call(self: BaseSparseNDArray, other: Any) -> BaseSparseNDArray:
        self[:] = function(self, other)
        return self

    return call


def _foreign(other: Any) -> bool:
    """Whether an operator returns NotImplemented for this operand."""
    return other is None or isinstance(other, (str, tuple, list))


for _name, _function, _dense in (
    ("add", add, elementwise.add),
    ("sub", subtract, elementwise.subtract),
    ("mul", multiply, elementwise.multiply),
    ("truediv", divide, elementwise.divide),
):
    setattr(BaseSparseNDArray, f"__{_name}__", _symbol(_function))
    setattr(BaseSparseNDArray, f"__r{_name}__", _reflected(_function, _dense))
    setattr(BaseSparseNDArray, f"__i{_name}__", _in_place(_function))
for _name, _functions in COMPARISONS.items():
    setattr(BaseSparseNDArray, f"__{_name}__", _comparison(*_functions))
BaseSparseNDArray.__neg__ = lambda self: self._map(elementwise.negative)
BaseSparseNDArray.__abs__ = lambda self: self._map(elementwise.abs)
BaseSparseNDArray.__hash__ = object.__hash__
