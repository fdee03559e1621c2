"""Random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), and the distributions made from its words.

A word is an int32 of 32 random bits. Each distribution is a function of one word, so that a draw depends on its counter
and key alone.
"""

from __future__ import annotations

from math import log

from optgen.ir.builder import Builder, V
from optgen.ir.math.logarithm import log_of_normal
from optgen.ir.math.tools import TWO52_BITS, horner

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS, LOW = 10, 0xFFFFFFFF
ONE32_BITS, SQRT_HALF32_BITS, FRACTION32 = 0x3F800000, 0x3F3504F3, 0x007FFFFF

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

QUANTILE_SINGLE = (  # the same for float32
    (
        2.5066282605476524,
        0.8962804332126147,
        0.1826928604446533,
        0.02520726234529116,
        0.002301003605650086,
        0.00012100492128908613,
        3.9824750611701947e-07,
    ),
    (1.0, 0.09576457479718514, 0.03478180715589443, 0.002335263902427843, 0.0002519565963420251, 3.846767516135621e-06),
)
LOG_SINGLE = (
    0.9999999679412315,
    -0.5000037578211898,
    0.3333461097193436,
    -0.24968867800637518,
    0.19913145498598134,
    -0.172785064525428,
    0.16128255876154904,
    -0.09897106249538763,
)  # log(1 + f) / f on [-0.293, 0.4143]


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
    """`normal`, computed in float32, with a relative error below 5e-7."""
    signed = b.ixor(word, b.iconst32(-(2**31)))  # (p - 1/2) 2^32 - 1/2
    below = b.lt(signed, b.iconst32(0))
    distance = b.select(below, b.ixor(signed, b.iconst32(-1)), signed)
    half = b.const32(0.5)
    a = b.mul(b.add(b.to_float(distance), half), b.const32(2.0**-32))  # |p - 1/2|
    tail = b.add(b.to_float(b.ixor(distance, b.iconst32(2**31 - 1))), half)
    w = _minus_log_single(b, b.mul(b.mul(tail, b.const32(2.0**-30)), b.add(half, a)))
    upper, lower = (horner(b, w, coefficients, single=True) for coefficients in QUANTILE_SINGLE)
    size = b.mul(a, b.div(upper, lower))
    return b.select(below, b.neg(size), size)


def _minus_log_single(b: Builder[V], x: V) -> V:
    """-log x of a positive normal float32, with an absolute error below 2e-7 near 1."""
    shifted = b.iadd(b.bits(x), b.iconst32(ONE32_BITS - SQRT_HALF32_BITS))
    k = b.sub(b.to_float(b.shr(shifted, 23)), b.const32(127.0))
    m = b.from_bits(b.iadd(b.iand(shifted, b.iconst32(FRACTION32)), b.iconst32(SQRT_HALF32_BITS)))
    f = b.sub(m, b.const32(1.0))
    log_m = b.mul(f, horner(b, f, LOG_SINGLE, single=True))
    return b.neg(b.add(b.mul(k, b.const32(log(2.0))), log_m))
