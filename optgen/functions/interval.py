"""Bounds of values: closed intervals of real numbers, whose ends may be infinite.

Bounds of exact arithmetic hold in floating point too, because rounding keeps order and sign. A value may be NaN
whatever its bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Bounds(NamedTuple):
    """The bounds of a value, both included."""

    low: float
    high: float

    def __neg__(self) -> Bounds:
        return Bounds(-self.high, -self.low)


ALL = Bounds(-math.inf, math.inf)
NONNEGATIVE = Bounds(0.0, math.inf)
UNIT = Bounds(0.0, 1.0)


def hull(*several: Bounds) -> Bounds:
    """The smallest bounds that hold all of these."""
    return Bounds(min(x.low for x in several), max(x.high for x in several))


def sign_of(x: Bounds) -> Bounds:
    """The bounds of what has the sign of a value, or is 0."""
    return Bounds(0.0 if x.low >= 0 else -math.inf, 0.0 if x.high <= 0 else math.inf)


def power(base: Bounds, exponent: Bounds) -> Bounds:
    """The bounds of `base^exponent`."""
    even = exponent.low == exponent.high and exponent.low % 2 == 0
    if base.low < 0 and not even:
        return ALL
    if (base.low >= 0 and base.high <= 1 and exponent.low >= 0) or (base.low >= 1 and exponent.high <= 0):
        return UNIT
    return NONNEGATIVE
