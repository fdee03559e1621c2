"""Random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), and the distributions made from its words.

A word is an int32 of 32 random bits. Each distribution is a function of one word, so that a draw depends on its counter
and key alone.
"""

from __future__ import annotations

from optgen.functions.builder import Builder, V
from optgen.functions.math.logarithm import log_of_normal
from optgen.functions.math.normal_pieces import PIECES
from optgen.functions.math.tools import TWO52_BITS, horner

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS, LOW = 10, 0xFFFFFFFF
ONE32_BITS, FRACTION32, SIGN32 = 0x3F800000, 0x007FFFFF, -0x80000000

QUANTILE = (  # (the normal quantile of p)/(p - 1/2), a quotient of polynomials in w = -log(4p(1-p)) on [0, 22.2]
    (
        2.5066282746310007,
        1.0565695596052695,
        0.29970008294773864,
        0.061659093095898614,
        0.009634369883580397,
        0.0011843686146532858,
        0.00011504511098646636,
        8.755040546900957e-06,
        5.174185150846502e-07,
        2.354188252927744e-08,
        7.621214500691613e-10,
        4.754317146208842e-12,
    ),
    (
        1.0,
        0.15971088171251574,
        0.06471878652079276,
        0.008208602450890879,
        0.0014164331777985367,
        0.0001357046801745941,
        1.2209917113922257e-05,
        8.204317767004313e-07,
        4.003088314342805e-08,
        1.7397655772044877e-09,
        2.8135086368303786e-11,
        4.39079231980254e-14,
    ),
)


def philox(b: Builder[V], counter: tuple[V, V, V, V], key: tuple[V, V]) -> tuple[V, V, V, V]:
    """The four words of a counter of four int32 under a key of two.

    Words are kept in int64 values whose upper halves do not matter. A product then needs only a mask, and vector units
    that multiply 32 bits by 32 to 64 need not even that.
    """
    c0, c1, c2, c3 = (b.extend(c) for c in counter)
    k0, k1 = (b.extend(k) for k in key)
    for turn in range(ROUNDS):
        if turn > 0:
            k0, k1 = b.iadd(k0, b.iconst(KEY_STEPS[0])), b.iadd(k1, b.iconst(KEY_STEPS[1]))
        p0, p1 = _product(b, c0, MULTIPLIERS[0]), _product(b, c2, MULTIPLIERS[1])
        c0, c2 = b.ixor(b.ixor(b.shr(p1, 32), c1), k0), b.ixor(b.ixor(b.shr(p0, 32), c3), k1)
        c1, c3 = p1, p0
    return b.truncate(c0), b.truncate(c1), b.truncate(c2), b.truncate(c3)


def _product(b: Builder[V], x: V, factor: int) -> V:
    return b.imul(b.iand(x, b.iconst(LOW)), b.iconst(factor))


def uniform(b: Builder[V], word: V) -> V:
    """(2 (word >> 9) + 1) 2^-24, a float64 in (0, 1): symmetric about 1/2, and exact in float32."""
    odd = b.ior(b.shl(b.shr(word, 9), 1), b.iconst32(1))
    return b.convert(b.mul(b.to_float(odd), b.const32(2.0**-24)))


def rademacher(b: Builder[V], word: V) -> V:
    """-1 or 1, a float64: -1 where the highest bit of the word is set."""
    sign = b.iand(word, b.iconst32(SIGN32))
    return b.convert(b.from_bits(b.ior(sign, b.iconst32(ONE32_BITS))))


def normal(b: Builder[V], word: V) -> V:
    """The normal quantile of p = (word + 1/2) 2^-32, a float64 in (-6.34, 6.34), with a relative error below 3e-15.

    The complement of a word gives the negated number.
    """
    unsigned = b.sub(b.from_bits(b.ior(b.extend(word), b.iconst(TWO52_BITS))), b.const(2.0**52))
    half = b.const(0.5)
    q = b.mul(b.sub(unsigned, b.const(2.0**31 - 0.5)), b.const(2.0**-32))  # p - 1/2
    a = b.abs(q)
    # 1/2 - |q| and 1/2 + |q| are exact, so w is right to the last places in the tails too.
    w = b.neg(log_of_normal(b, b.mul(b.const(4.0), b.mul(b.sub(half, a), b.add(half, a)))))
    upper, lower = (horner(b, w, coefficients) for coefficients in QUANTILE)
    return b.mul(q, b.div(upper, lower))


def normal_single(b: Builder[V], word: V) -> V:
    """The normal quantile of p as a float32 in (-6.24, 6.24), with an error below 1.2e-6.

    Below the median p = (word | 1) 2^-32. The complement of a word gives the negated number. Between two powers of two,
    the quantile is a polynomial of degree 6 in the place of p between them.
    """
    below = b.lt(b.iconst32(-1), word)
    tail = b.ior(b.select(below, word, b.ixor(word, b.iconst32(-1))), b.iconst32(1))
    bits = b.bits(b.to_float(tail))
    power = b.shr(bits, 23)
    place = b.sub(b.from_bits(b.ior(b.iand(bits, b.iconst32(FRACTION32)), b.iconst32(ONE32_BITS))), b.const32(1.5))
    size = b.lookup(PIECES[-1], power)
    for table in reversed(PIECES[:-1]):
        size = b.add(b.mul(size, place), b.lookup(table, power))
    flipped = b.iand(b.ixor(word, b.iconst32(-1)), b.iconst32(SIGN32))
    return b.from_bits(b.ixor(b.bits(size), flipped))
