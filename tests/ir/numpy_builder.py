"""The builder protocol of optgen.ir.math on NumPy arrays: every operation is one IEEE operation on whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # float64, int64 or bool array; NumPy scalars serve as constants


class NumpyBuilder:
    """Evaluates at once instead of recording: `FUNCTIONS["exp"][1](NumpyBuilder(), x)` is the array exp(x)."""

    def const(self, value: float) -> Array:
        return np.float64(value)

    def iconst(self, value: int) -> Array:
        return np.int64(value)

    def add(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def sub(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)

    def mul(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)

    def div(self, a: Array, b: Array) -> Array:
        return np.divide(a, b)

    def neg(self, a: Array) -> Array:
        return np.negative(a)

    def abs(self, a: Array) -> Array:
        return np.abs(a)

    def floor(self, a: Array) -> Array:
        return np.floor(a)

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
        return a.view(np.int64)

    def from_bits(self, i: Array) -> Array:
        return i.view(np.float64)

    def iadd(self, i: Array, j: Array) -> Array:
        return np.add(i, j)

    def isub(self, i: Array, j: Array) -> Array:
        return np.subtract(i, j)

    def iand(self, i: Array, j: Array) -> Array:
        return np.bitwise_and(i, j)

    def ior(self, i: Array, j: Array) -> Array:
        return np.bitwise_or(i, j)

    def shl(self, i: Array, k: int) -> Array:
        return np.left_shift(i, np.int64(k))

    def shr(self, i: Array, k: int) -> Array:
        return np.right_shift(i.view(np.uint64), np.uint64(k)).view(np.int64)
