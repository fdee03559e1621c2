"""Bounds of values: closed intervals of real numbers, whose ends may be infinite.

Bounds of exact arithmetic hold in floating point too, because rounding keeps order and sign. A value may be NaN
whatever its bounds. -0 is below 0 here, as `1/-0` and `atan2(0, -0)` are not what they are of 0: a value whose `low` is
0 is never -0, and arithmetic of ends gives them the signs of the results.
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


def least(*ends: float) -> float:
    """The lowest of some ends."""
    return min(ends, key=_order)


def most(*ends: float) -> float:
    """The highest of some ends."""
    return max(ends, key=_order)


def is_below(a: float, b: float) -> bool:
    """Whether an end is lower than another."""
    return _order(a) < _order(b)


def is_within(x: Bounds, other: Bounds) -> bool:
    """Whether no end of some bounds is beyond others."""
    return not (is_below(x.low, other.low) or is_below(other.high, x.high))


def _order(end: float) -> tuple[float, float]:
    """What ends are ordered by: of two zeros, by their signs."""
    return end, math.copysign(1.0, end)


def has_no_sign(x: Bounds) -> bool:
    """Whether a value is neither negative nor -0."""
    return math.copysign(1.0, x.low) > 0


def hull(*several: Bounds) -> Bounds:
    """The smallest bounds that hold all of these."""
    return Bounds(least(*(x.low for x in several)), most(*(x.high for x in several)))


def sign_of(x: Bounds) -> Bounds:
    """The bounds of what has the sign of a value, or is a zero of that sign."""
    return Bounds(
        math.copysign(0.0, x.low) if x.low >= 0 else -math.inf, math.copysign(0.0, x.high) if x.high <= 0 else math.inf
    )


def power(base: Bounds, exponent: Bounds) -> Bounds:
    """The bounds of `base^exponent`. Of -0 it is -0 or -inf for odd exponents, and else what it is of 0."""
    remainder = exponent.low % 2 if exponent.low == exponent.high else None
    may_be_odd = remainder in (None, 1)
    if remainder != 0 and (base.low < 0 or (may_be_odd and exponent.low < 0 and not has_no_sign(base))):
        return ALL
    low = sign_of(base).low if may_be_odd else 0.0
    if (base.low >= 0 and base.high <= 1 and exponent.low >= 0) or (base.low >= 1 and exponent.high <= 0):
        return Bounds(low, 1.0)
    return Bounds(low, math.inf)
