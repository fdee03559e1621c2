"""pow and cbrt."""

from __future__ import annotations

from math import inf, nan

from optgen.functions.builder import Builder, V
from optgen.functions.math.exponential import exp_pair
from optgen.functions.math.logarithm import log_pair
from optgen.functions.math.tools import (
    FRACTION,
    MIN_NORMAL,
    ONE_BITS,
    ROUND,
    ROUND_BITS,
    TWO52_BITS,
    clamp,
    copy_sign,
    fast_two_sum,
    head,
    horner,
)

CBRT = (  # m^(-1/3) on [1, 2]
    1.6662787377309156,
    -1.1623973573078166,
    0.6846527077322325,
    -0.21636185469244387,
    0.02778280101858424,
)


def pow(b: Builder[V], x: V, y: V) -> V:
    """x^y as e^(y log |x|), log and product to about 70 bits; the sign and special values of C99 Annex F."""
    a = b.abs(x)
    # |log x| >= 2^-54 unless x = 1, so a larger |y| changes no result, and no product overflows.
    bounded = clamp(b, y, -(2.0**70), 2.0**70)
    log_hi, log_lo = log_pair(b, a)
    y_hi = head(b, bounded)
    rest = b.add(b.mul(b.sub(bounded, y_hi), log_hi), b.mul(bounded, log_lo))
    hi, lo = fast_two_sum(b, b.mul(y_hi, log_hi), rest)
    inside = b.lt(b.abs(hi), b.const(746.0))
    magnitude = exp_pair(b, clamp(b, hi, -746.0, 710.0), b.select(inside, lo, b.const(0.0)))
    return _pow_special(b, x, y, magnitude)


def cbrt(b: Builder[V], x: V) -> V:
    """The cube root, of negative numbers too."""
    third = b.const(1 / 3)
    a = b.abs(x)
    subnormal = b.lt(a, b.const(MIN_NORMAL))
    i = b.bits(b.select(subnormal, b.mul(a, b.const(2.0**54)), a))
    # The biased exponent is 3q + e with e in 0, 1, 2; m is the significand times 2^e, in [1, 8), factor is 2^(-e/3).
    exponent = b.sub(b.from_bits(b.ior(b.shr(i, 52), b.iconst(TWO52_BITS))), b.const(2.0**52))
    q_round = b.add(b.mul(b.sub(exponent, b.const(1.0)), third), b.const(ROUND))
    q = b.isub(b.bits(q_round), b.iconst(ROUND_BITS))
    e = b.sub(exponent, b.mul(b.const(3.0), b.sub(q_round, b.const(ROUND))))
    significand = b.from_bits(b.ior(b.iand(i, b.iconst(FRACTION)), b.iconst(ONE_BITS)))
    e0, e1 = b.eq(e, b.const(0.0)), b.eq(e, b.const(1.0))
    m = b.mul(significand, b.select(e0, b.const(1.0), b.select(e1, b.const(2.0), b.const(4.0))))
    factor = b.select(e0, b.const(1.0), b.select(e1, b.const(0.7937005259840998), b.const(0.6299605249474366)))
    y = _cbrt_of_significand(b, m, b.mul(horner(b, significand, CBRT), factor))
    # m^(1/3) times 2^(q - 341), as 1023 = 3 * 341; the 2^54 of a subnormal leaves 2^-18.
    value = b.from_bits(b.iadd(b.bits(y), b.shl(b.isub(q, b.iconst(341)), 52)))
    value = b.select(subnormal, b.mul(value, b.const(2.0**-18)), value)
    ordinary = b.and_(b.gt(a, b.const(0.0)), b.lt(a, b.const(inf)))
    return b.select(ordinary, copy_sign(b, value, x), x)


def _pow_special(b: Builder[V], x: V, y: V, magnitude: V) -> V:
    """x^y given |x|^y for a positive finite |x|."""
    zero, one, infinity = b.const(0.0), b.const(1.0), b.const(inf)
    a = b.abs(x)
    edge = b.or_(b.eq(a, zero), b.eq(a, infinity))
    grows = b.gt(b.select(b.gt(a, one), y, b.neg(y)), zero)
    magnitude = b.select(edge, b.select(grows, infinity, zero), magnitude)

    integer = b.eq(b.floor(y), y)
    half = b.mul(b.const(0.5), y)
    odd = b.and_(integer, b.ne(b.floor(half), half))
    value = b.select(odd, copy_sign(b, magnitude, x), magnitude)

    unreal = b.and_(b.and_(b.lt(x, zero), b.gt(x, b.const(-inf))), b.not_(integer))
    invalid = b.or_(unreal, b.or_(b.ne(x, x), b.ne(y, y)))
    return b.select(b.or_(b.eq(y, zero), b.eq(x, one)), one, b.select(invalid, b.const(nan), value))


def _cbrt_of_significand(b: Builder[V], m: V, z: V) -> V:
    """The cube root of m in [1, 8), given z = m^(-1/3) to 14 bits."""
    third = b.const(1 / 3)
    # z (1 - h)^(-1/3) to second order in h = 1 - m z^3: 40 bits.
    h = b.sub(b.const(1.0), b.mul(m, b.mul(b.mul(z, z), z)))
    z = b.add(z, b.mul(b.mul(z, h), b.add(third, b.mul(b.const(2 / 9), h))))
    square = b.mul(z, z)
    # y = m z^2 cut to 24 bits has y^2 exact, and y^3 in two exact parts; then one Newton step to second order.
    y = head(b, b.mul(m, square))
    y2 = b.mul(y, y)
    y2_hi = head(b, y2)
    residual = b.sub(b.sub(m, b.mul(y, y2_hi)), b.mul(y, b.sub(y2, y2_hi)))
    d = b.mul(residual, b.mul(third, square))
    return b.add(y, b.add(d, b.mul(b.mul(d, d), z)))
