"""The builder protocol of optgen.functions.math on NumPy arrays: every operation is one IEEE operation on whole arrays,
with zeros instead of float32 results that are below 2^-126 once they are rounded to 24 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any  # float64, float32, int64, int32 or bool array; NumPy scalars serve as constants
OTHER = {np.float64: np.int64, np.int64: np.float64, np.float32: np.int32, np.int32: np.float32}
"""The integer type of a float's width, and the other way round."""


def operation(of: Any, a: Array, b: Array) -> Array:
    """An operation of two floats."""
    x = of(a, b)
    return flushed(x, of(np.float64(a), np.float64(b))) if x.dtype == np.float32 else x


def flushed(x: Array, wide: Array) -> Array:
    """The float32 x, or zeros of its sign; `wide` is the same in float64, which has the bits that matter."""
    with np.errstate(all="ignore"):
        vanishes = np.abs((wide * 2.0**64).astype(np.float32)) < 2.0**-62
    return np.where(vanishes, np.copysign(np.float32(0), x), x)


class NumpyBuilder:
    """Evaluates at once instead of recording: `EXPANSIONS["exp"][1](NumpyBuilder(), x)` is the array exp(x)."""

    def const(self, value: float) -> Array:
        return np.float64(value)

    def const32(self, value: float) -> Array:
        return np.float32(value)

    def iconst(self, value: int) -> Array:
        return np.int64(value)

    def iconst32(self, value: int) -> Array:
        return np.int32(value)

    def add(self, a: Array, b: Array) -> Array:
        return operation(np.add, a, b)

    def sub(self, a: Array, b: Array) -> Array:
        return operation(np.subtract, a, b)

    def mul(self, a: Array, b: Array) -> Array:
        return operation(np.multiply, a, b)

    def div(self, a: Array, b: Array) -> Array:
        return operation(np.divide, a, b)

    def neg(self, a: Array) -> Array:
        return np.negative(a)

    def abs(self, a: Array) -> Array:
        return np.abs(a)

    def floor(self, a: Array) -> Array:
        return np.floor(a)

    def sqrt(self, a: Array) -> Array:
        return np.sqrt(a)

    def lt(self, a: Array, b: Array) -> Array:
        return np.less(a, b)

    def gt(self, a: Array, b: Array) -> Array:
        return np.greater(a, b)

    def eq(self, a: Array, b: Array) -> Array:
        return np.equal(a, b)

    def ne(self, a: Array, b: Array) -> Array:
        return np.not_equal(a, b)

    def and_(self, a: Array, b: Array) -> Array:
        return np.logical_and(a, b)

    def or_(self, a: Array, b: Array) -> Array:
        return np.logical_or(a, b)

    def not_(self, a: Array) -> Array:
        return np.logical_not(a)

    def select(self, c: Array, a: Array, b: Array) -> Array:
        return np.where(c, a, b)

    def bits(self, a: Array) -> Array:
        return a.view(OTHER[a.dtype.type])

    def from_bits(self, i: Array) -> Array:
        x = i.view(OTHER[i.dtype.type])
        tiny = (x.dtype == np.float32) & (np.abs(x) < 2.0**-126)
        return np.where(tiny, np.copysign(x.dtype.type(0), x), x)

    def iadd(self, i: Array, j: Array) -> Array:
        return np.add(i, j)

    def isub(self, i: Array, j: Array) -> Array:
        return np.subtract(i, j)

    def imul(self, i: Array, j: Array) -> Array:
        return np.multiply(i, j)

    def iand(self, i: Array, j: Array) -> Array:
        return np.bitwise_and(i, j)

    def ior(self, i: Array, j: Array) -> Array:
        return np.bitwise_or(i, j)

    def ixor(self, i: Array, j: Array) -> Array:
        return np.bitwise_xor(i, j)

    def shl(self, i: Array, k: int) -> Array:
        return np.left_shift(i, i.dtype.type(k))

    def shr(self, i: Array, k: int) -> Array:
        unsigned = np.dtype(f"u{i.dtype.name}").type
        return np.right_shift(i.view(unsigned), unsigned(k)).view(i.dtype)

    def extend(self, i: Array) -> Array:
        return i.view(np.uint32).astype(np.int64)

    def truncate(self, i: Array) -> Array:
        return i.astype(np.int32)

    def to_float(self, i: Array) -> Array:
        return i.astype(OTHER[i.dtype.type])

    def to_int(self, a: Array) -> Array:
        assert np.all(np.abs(a) < np.ldexp(1.0, 8 * a.dtype.itemsize - 1)), "out of range"
        return a.astype(OTHER[a.dtype.type])

    def convert(self, a: Array) -> Array:
        return a.astype(np.float64) if a.dtype == np.float32 else flushed(a.astype(np.float32), a)

    def lookup(self, table: Sequence[float], i: Array) -> Array:
        return np.array(table, np.float32)[i & (len(table) - 1)]
