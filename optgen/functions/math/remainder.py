"""mod, the remainder of a division that is rounded down."""

from __future__ import annotations

from math import inf, nan

from optgen.functions.builder import Builder, V
from optgen.functions.math.tools import copy_sign, head, two_sum

LARGEST_QUOTIENT = 2.0**48
"""The quotient from which on mod is NaN: one of 48 bits, times a half of the divisor, is exact."""


def mod(b: Builder[V], x: V, y: V) -> V:
    """x - y floor(x/y), exact but for one rounding where x and y have different signs; it has the sign of y.

    A zero has the sign of y. y is infinite: x, or y if x has the other sign. y is 0 or x is infinite: NaN.
    """
    quotient = b.floor(b.div(x, y))
    r = _remainder(b, x, quotient, y)
    # The rounded quotient may be the next larger whole number.
    zero = b.const(0.0)
    wrong = b.or_(b.and_(b.lt(r, zero), b.gt(y, zero)), b.and_(b.gt(r, zero), b.lt(y, zero)))
    r = b.select(wrong, b.add(r, y), r)
    r = b.select(b.eq(r, zero), copy_sign(b, zero, y), r)
    r = b.select(b.lt(b.abs(quotient), b.const(LARGEST_QUOTIENT)), r, b.const(nan))
    endless = b.and_(b.eq(b.abs(y), b.const(inf)), b.lt(b.abs(x), b.const(inf)))
    agrees = b.or_(b.and_(b.gt(x, zero), b.gt(y, zero)), b.and_(b.lt(x, zero), b.lt(y, zero)))
    at_infinity = b.select(b.eq(x, zero), copy_sign(b, zero, y), b.select(agrees, x, y))
    return b.select(endless, at_infinity, r)


def _remainder(b: Builder[V], x: V, quotient: V, y: V) -> V:
    """x - quotient y, rounded once: the four products of halves are exact."""
    q_hi, y_hi = head(b, quotient), head(b, y)
    q_lo, y_lo = b.sub(quotient, q_hi), b.sub(y, y_hi)
    r, rest = two_sum(b, x, b.neg(b.mul(q_hi, y_hi)))
    for p, q in ((q_hi, y_lo), (q_lo, y_hi), (q_lo, y_lo)):
        r, error = two_sum(b, r, b.neg(b.mul(p, q)))
        rest = b.add(rest, error)
    return b.add(r, rest)
