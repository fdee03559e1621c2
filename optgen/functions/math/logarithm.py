"""log, log1p, softplus, and the logarithm to 70 bits that pow needs."""

from __future__ import annotations

from math import inf, nan

from optgen.functions.builder import Builder, V
from optgen.functions.math.exponential import decay_pair, exp
from optgen.functions.math.tools import (
    FRACTION,
    LN2_HI,
    LN2_LO,
    MIN_NORMAL,
    ONE_BITS,
    TINY,
    TWO52_BITS,
    divide,
    fast_two_sum,
    head,
    horner,
    two_sum,
)

LOG = (  # 2 (atanh(s)/s - 1) / z, z = s^2 on [0, 0.02945]
    0.666666666666667,
    0.3999999999989924,
    0.2857142862609589,
    0.2222221111514416,
    0.18182890556695602,
    0.1533167403016786,
    0.1461703754879165,
)
POW = (  # 3 (atanh(s)/s - 1 - z/3) / z^2, z = s^2 on [0, 0.00345]
    0.6000000000000002,
    0.4285714285686406,
    0.33333333979613955,
    0.2727220312575365,
    0.23250279940429064,
)
BOUND_LOW, BOUND_HIGH = 0.8908987181403393, 1.122462048309373  # 2^(-1/6), 2^(1/6): where pow's three intervals meet
C_LOW, C_HIGH = 203 / 256, 323 / 256  # their centres; the middle one is 1
LOG_C_LOW_HI = -0.23197146543793679  # 42 bits after the point, as LN2_HI
LOG_C_LOW_LO = 1.616426980649123e-13
LOG_C_HIGH_HI = 0.23247487874300532
LOG_C_HIGH_LO = 8.874507297974632e-14
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def log(b: Builder[V], x: V) -> V:
    """The natural logarithm; -inf at zeros, NaN below."""
    scaled, k0 = _normalise(b, x)
    k, m = _split_binade(b, scaled)
    value = _log_of_binade(b, b.add(k, k0), b.sub(m, b.const(1.0)), None)
    return _log_special(b, x, value)


def log_of_normal(b: Builder[V], x: V) -> V:
    """log of a positive normal number: `log` without its special cases."""
    k, m = _split_binade(b, x)
    return _log_of_binade(b, k, b.sub(m, b.const(1.0)), None)


def log1p(b: Builder[V], x: V) -> V:
    """log(1 + x), accurate near 0."""
    one = b.const(1.0)
    u = b.add(one, x)
    k, m = _split_binade(b, u)
    # log(1 + x) = log(u) + rounding error of u / u; in the middle binade u - 1 is simply x.
    middle = b.eq(k, b.const(0.0))
    _, error = two_sum(b, one, x)
    f = b.select(middle, x, b.sub(m, one))
    value = _log_of_binade(b, k, f, b.select(middle, b.const(0.0), b.div(error, u)))
    return b.select(b.lt(b.abs(x), b.const(TINY)), x, _log_special(b, u, value))


def softplus(b: Builder[V], x: V) -> V:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), and e^x or x where |x| is large."""
    one, zero = b.const(1.0), b.const(0.0)
    a = b.abs(x)
    e, e_lo = decay_pair(b, a)
    u = b.add(one, e)
    k, m = _split_binade(b, u)
    # As in log1p. What e lacks is added to the rounding error of u.
    middle = b.eq(k, zero)
    _, error = fast_two_sum(b, one, e)
    f = b.select(middle, e, b.sub(m, one))
    hi, rest = _log_terms(b, k, f, b.div(b.select(middle, e_lo, b.add(error, e_lo)), u))
    negative = b.lt(x, zero)
    total, lost = two_sum(b, b.select(negative, zero, x), hi)
    near = b.add(total, b.add(lost, rest))
    far = b.select(negative, exp(b, x), x)
    return b.select(b.gt(a, b.const(40.0)), far, b.select(b.eq(x, x), near, x))


def log_pair(b: Builder[V], x: V) -> tuple[V, V]:
    """log(x) of a positive finite x as hi + lo to about 70 bits, hi of 24 bits.

    x = 2^k m and s = (m - c) / (m + c), for the c of three (1 among them) that is nearest m; |s| < 0.0587. Then
    log m = log c + 2 atanh(s) = log c + t (3 + s^2 + s^4 P(s^2)) with t = 2s/3.
    """
    scaled, k0 = _normalise(b, x)
    k, m = _split_binade(b, scaled)
    k = b.add(k, k0)
    low, high = b.lt(m, b.const(BOUND_LOW)), b.gt(m, b.const(BOUND_HIGH))

    def centre(at_low: float, at_one: float, at_high: float) -> V:
        return b.select(low, b.const(at_low), b.select(high, b.const(at_high), b.const(at_one)))

    c = centre(C_LOW, 1.0, C_HIGH)
    difference = b.sub(m, c)
    twice = b.add(m, m)
    triple_c = b.mul(b.const(3.0), c)
    d_hi = head(b, b.add(b.add(twice, m), triple_c))
    d_lo = b.add(b.sub(twice, b.sub(d_hi, triple_c)), m)
    t_hi, t_lo = divide(b, b.add(difference, difference), b.const(0.0), d_hi, d_lo)

    s_hi, s_lo = b.mul(b.const(1.5), t_hi), b.mul(b.const(1.5), t_lo)
    s = b.add(s_hi, s_lo)
    square = b.mul(s_hi, s_hi)
    z = b.mul(s, s)
    rest = b.add(b.mul(s_lo, b.add(s, s_hi)), b.mul(b.mul(z, z), horner(b, z, POW)))
    three = b.const(3.0)
    p_hi = head(b, b.add(three, b.add(square, rest)))
    p_lo = b.add(b.sub(square, b.sub(p_hi, three)), rest)

    product = b.mul(t_hi, p_hi)
    product_lo = b.add(b.mul(t_lo, p_hi), b.mul(b.add(t_hi, t_lo), p_lo))
    base = b.add(b.mul(k, b.const(LN2_HI)), centre(LOG_C_LOW_HI, 0.0, LOG_C_HIGH_HI))
    base_lo = b.add(b.mul(k, b.const(LN2_LO)), centre(LOG_C_LOW_LO, 0.0, LOG_C_HIGH_LO))
    total, error = fast_two_sum(b, base, product)
    lo = b.add(error, b.add(base_lo, product_lo))
    hi = head(b, b.add(total, lo))
    return hi, b.add(b.sub(total, hi), lo)


def _normalise(b: Builder[V], x: V) -> tuple[V, V]:
    """x 2^54 and -54 for a subnormal x, else x and 0."""
    subnormal = b.lt(x, b.const(MIN_NORMAL))
    scaled = b.select(subnormal, b.mul(x, b.const(2.0**54)), x)
    return scaled, b.select(subnormal, b.const(-54.0), b.const(0.0))


def _split_binade(b: Builder[V], x: V) -> tuple[V, V]:
    """k (an integral float64) and m in [sqrt(1/2), sqrt(2)) with x = 2^k m, for a positive normal x."""
    shifted = b.iadd(b.bits(x), b.iconst(ONE_BITS - SQRT_HALF_BITS))
    biased = b.from_bits(b.ior(b.shr(shifted, 52), b.iconst(TWO52_BITS)))
    m = b.from_bits(b.iadd(b.iand(shifted, b.iconst(FRACTION)), b.iconst(SQRT_HALF_BITS)))
    return b.sub(biased, b.const(2.0**52 + 1023.0)), m


def _log_of_binade(b: Builder[V], k: V, f: V, correction: V | None) -> V:
    """k log 2 + log(1 + f) + correction for 1 + f in [sqrt(1/2), sqrt(2))."""
    hi, rest = _log_terms(b, k, f, correction)
    return b.add(hi, rest)


def _log_terms(b: Builder[V], k: V, f: V, correction: V | None) -> tuple[V, V]:
    """`_log_of_binade` as two terms, the second one small.

    With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - (h - s (h + R)) where h = f^2 / 2 and R = 2 atanh(s)/s - 2: only
    small terms are rounded before the last addition.
    """
    s = b.div(f, b.add(b.const(2.0), f))
    z = b.mul(s, s)
    h = b.mul(b.mul(b.const(0.5), f), f)
    hi, lo = fast_two_sum(b, b.mul(k, b.const(LN2_HI)), f)
    series = b.mul(s, b.add(h, b.mul(z, horner(b, z, LOG))))
    small = b.mul(k, b.const(LN2_LO))
    if correction is not None:
        small = b.add(small, correction)
    return hi, b.add(lo, b.sub(b.add(series, small), h))


def _log_special(b: Builder[V], x: V, value: V) -> V:
    """`value` for a positive finite x; else log(x) by Annex F."""
    zero = b.const(0.0)
    other = b.select(b.lt(x, zero), b.const(nan), b.select(b.eq(x, zero), b.const(-inf), x))
    return b.select(b.and_(b.gt(x, zero), b.lt(x, b.const(inf))), value, other)
