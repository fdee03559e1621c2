"""Constants and short sequences of operations that several functions share."""

from __future__ import annotations

from optgen.functions.builder import Builder, V

LN2_HI = 0.6931471805598903  # 42 bits: an exponent times LN2_HI is exact
LN2_LO = 5.497923018708371e-14
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which its low bits then hold
ROUND_BITS = 0x4338000000000000
TWO52_BITS = 0x4330000000000000  # of 2^52: or-ing an integer below 2^52 into them adds it
ONE_BITS = 0x3FF0000000000000
FRACTION = 0x000FFFFFFFFFFFFF
SIGN = -0x8000000000000000
HEAD = -0x20000000  # keeps 24 of 53 significant bits
MIN_NORMAL = 2.0**-1022
TINY = 2.0**-54  # below it expm1(x), log1p(x) and tanh(x) round to x


def horner(b: Builder[V], x: V, coefficients: tuple[float, ...], single: bool = False) -> V:
    """The polynomial with these coefficients, the constant one first. With `single`, x is a float32."""
    const = b.const32 if single else b.const
    value = const(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = b.add(const(c), b.mul(value, x))
    return value


def clamp(b: Builder[V], x: V, low: float, high: float) -> V:
    """x in [low, high]; NaN stays."""
    x = b.select(b.gt(x, b.const(high)), b.const(high), x)
    return b.select(b.lt(x, b.const(low)), b.const(low), x)


def head(b: Builder[V], x: V) -> V:
    """The first 24 significant bits of x."""
    return b.from_bits(b.iand(b.bits(x), b.iconst(HEAD)))


def copy_sign(b: Builder[V], magnitude: V, x: V) -> V:
    """`magnitude`, which has no sign, with the sign of x."""
    return b.from_bits(b.ior(b.bits(magnitude), b.iand(b.bits(x), b.iconst(SIGN))))


def two_sum(b: Builder[V], x: V, y: V) -> tuple[V, V]:
    """x + y rounded, and the rounding error (Knuth)."""
    total = b.add(x, y)
    y_part = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, y_part)), b.sub(y, y_part))


def fast_two_sum(b: Builder[V], x: V, y: V) -> tuple[V, V]:
    """x + y rounded, and the rounding error, for |x| >= |y| or x = 0 (Dekker)."""
    total = b.add(x, y)
    return total, b.add(b.sub(x, total), y)


def divide(b: Builder[V], n: V, n_lo: V, d_hi: V, d_lo: V) -> tuple[V, V]:
    """(n + n_lo) / (d_hi + d_lo) as q_hi + q_lo. d_hi and q_hi have 24 bits, so that the remainder is exact."""
    inverse = b.div(b.const(1.0), b.add(d_hi, d_lo))
    q = head(b, b.mul(n, inverse))
    remainder = b.add(b.sub(b.sub(n, b.mul(q, d_hi)), b.mul(q, d_lo)), n_lo)
    return q, b.mul(remainder, inverse)
