"""exp, expm1, tanh, cosh and sigmoid, all by one reduction to 2^n (1 + r + tail)."""

from __future__ import annotations

from optgen.functions.builder import Builder, V
from optgen.functions.math.tools import (
    LN2_HI,
    LN2_LO,
    ROUND,
    ROUND_BITS,
    TINY,
    clamp,
    copy_sign,
    divide,
    fast_two_sum,
    head,
    horner,
    two_sum,
)

EXP = (  # 2 (e^r - 1 - r - r^2/2) / r^3 on |r| <= 0.3467
    0.33333333333333337,
    0.08333333333333333,
    0.01666666666666011,
    0.0027777777777773095,
    0.0003968253972617651,
    4.960317463433847e-05,
    5.511453681238159e-06,
    5.511456586225147e-07,
    5.02008221640298e-08,
    4.182250980417754e-09,
)
LOG2_E = 1.4426950408889634


def exp(b: Builder[V], x: V) -> V:
    """e^x."""
    return exp_pair(b, clamp(b, x, -746.0, 710.0), None)


def expm1(b: Builder[V], x: V) -> V:
    """e^x - 1, accurate near 0."""
    hi, lo = _half_expm1(b, clamp(b, x, -50.0, 710.0))
    half = b.add(hi, lo)
    return b.select(b.lt(b.abs(x), b.const(TINY)), x, b.add(half, half))


def tanh(b: Builder[V], x: V) -> V:
    """The hyperbolic tangent, -h / (1 + h) with h = (e^(-2|x|) - 1) / 2."""
    a = b.abs(x)
    hi, lo = _half_expm1(b, b.mul(b.const(-2.0), clamp(b, a, 0.0, 22.0)))
    h, h_lo = fast_two_sum(b, hi, lo)
    one = b.const(1.0)
    d_hi = head(b, b.add(one, h))
    d_lo = b.add(b.add(b.sub(one, d_hi), h), h_lo)
    q_hi, q_lo = divide(b, b.neg(h), b.neg(h_lo), d_hi, d_lo)
    value = copy_sign(b, b.add(q_hi, q_lo), x)
    return b.select(b.lt(a, b.const(TINY)), x, value)


def cosh(b: Builder[V], x: V) -> V:
    """The hyperbolic cosine: twice p + 1 / (16 p) with p = e^|x| / 4; half e^|x| is no double for the largest x."""
    n, r, tail = _reduce_exp(b, clamp(b, b.abs(x), 0.0, 710.5), None)
    scale = b.from_bits(b.shl(b.iadd(n, b.iconst(1021)), 52))
    hi, lo = _one_plus(b, r, tail)
    p, p_lo = b.mul(hi, scale), b.mul(lo, scale)
    total, error = fast_two_sum(b, p, b.div(b.const(0.0625), p))
    half = b.add(total, b.add(error, p_lo))
    return b.add(half, half)


def sigmoid(b: Builder[V], x: V) -> V:
    """1 / (1 + e^-x): with E = e^-|x| as a pair, 1 / (1 + E), or E / (1 + E) below 0, and e^x where that is tiny."""
    a = b.abs(x)
    n, r, tail = _reduce_exp(b, clamp(b, b.neg(a), -40.0, 0.0), None)
    scale = b.from_bits(b.shl(b.iadd(n, b.iconst(1023)), 52))
    one, zero = b.const(1.0), b.const(0.0)
    hi, lo = fast_two_sum(b, one, r)
    e, e_lo = b.mul(hi, scale), b.mul(b.add(lo, tail), scale)
    d, d_lo = fast_two_sum(b, one, e)
    d_hi = head(b, d)
    negative = b.lt(x, zero)
    n_hi, n_lo = b.select(negative, e, one), b.select(negative, e_lo, zero)
    q_hi, q_lo = divide(b, n_hi, n_lo, d_hi, b.add(b.sub(d, d_hi), b.add(d_lo, e_lo)))
    far = b.select(negative, exp(b, x), one)
    return b.select(b.gt(a, b.const(40.0)), far, b.select(b.eq(x, x), b.add(q_hi, q_lo), x))


def decay_pair(b: Builder[V], a: V) -> tuple[V, V]:
    """e^-a as hi + lo for a >= 0, of which larger ones count as 40."""
    n, r, tail = _reduce_exp(b, clamp(b, b.neg(a), -40.0, 0.0), None)
    scale = b.from_bits(b.shl(b.iadd(n, b.iconst(1023)), 52))
    hi, lo = _one_plus(b, r, tail)
    return b.mul(hi, scale), b.mul(lo, scale)


def _one_plus(b: Builder[V], r: V, tail: V) -> tuple[V, V]:
    """1 + r + tail as hi + lo, the second one below the last place of the first."""
    hi, lo = fast_two_sum(b, b.const(1.0), r)
    return fast_two_sum(b, hi, b.add(lo, tail))


def _reduce_exp(b: Builder[V], x: V, x_lo: V | None) -> tuple[V, V, V]:
    """n (int64), r and tail with e^(x + x_lo) = 2^n (1 + r + tail), |r| < 0.3467; for |x| < 2^11."""
    rounded = b.add(b.mul(x, b.const(LOG2_E)), b.const(ROUND))
    n = b.sub(rounded, b.const(ROUND))
    hi = b.sub(x, b.mul(n, b.const(LN2_HI)))
    lo = b.mul(n, b.const(LN2_LO))
    if x_lo is not None:
        lo = b.sub(lo, x_lo)
    r = b.sub(hi, lo)
    error = b.sub(b.sub(hi, r), lo)
    quadratic = b.mul(b.mul(b.const(0.5), r), r)
    cubic = b.mul(quadratic, b.mul(r, horner(b, r, EXP)))
    error = b.mul(error, b.add(b.const(1.0), r))  # its factor is e^r
    return b.isub(b.bits(rounded), b.iconst(ROUND_BITS)), r, b.add(quadratic, b.add(cubic, error))


def exp_pair(b: Builder[V], x: V, x_lo: V | None) -> V:
    """e^(x + x_lo) for x in [-746, 710]: wide enough to reach 0 and infinity."""
    n, r, tail = _reduce_exp(b, x, x_lo)
    hi, lo = fast_two_sum(b, b.const(1.0), r)
    # 2^n is two factors, because neither 2^1024 nor a subnormal power has an exponent field of its own. The first
    # product is exact, the second rounds a subnormal result or overflows.
    biased = b.iadd(n, b.iconst(2046))
    half = b.shr(biased, 1)
    first, second = b.from_bits(b.shl(half, 52)), b.from_bits(b.shl(b.isub(biased, half), 52))
    return b.mul(b.mul(b.add(hi, b.add(lo, tail)), first), second)


def _half_expm1(b: Builder[V], x: V) -> tuple[V, V]:
    """(e^x - 1) / 2 as hi + lo for x in [-50, 710]; half, as 2^1024 is no double."""
    n, r, tail = _reduce_exp(b, x, None)
    scale = b.from_bits(b.shl(b.iadd(n, b.iconst(1022)), 52))
    start, lost = two_sum(b, scale, b.const(-0.5))
    hi, lo = fast_two_sum(b, start, b.mul(scale, r))
    return hi, b.add(b.mul(scale, tail), b.add(lo, lost))
