"""float16 as an int32 of 16 bits: rounding at random, and to nearest as a float32; infinite from 65536 on."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from optgen.ir.storage.record import Codec, Storage
from optgen.ir.storage.tools import SIGN, copy_sign

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V

NAN, INFINITY = 0x7E00, 0x7C00
DROPPED = 13
"""The bits of a float32's fraction that a float16 has not."""
LEAST_NORMAL = 2.0**-14
"""Below, numbers are multiples of 2^-24."""
LARGEST = 65504.0
BIASES = 112 << 10
"""The difference of the biases of exponents, in units of the last place of a float16."""


def decode(b: Builder[V], code: V) -> V:
    """The float32 that a code in [0, 65536) stands for."""
    size = b.iand(code, b.iconst32(0x7FFF))
    bits = b.shl(b.iadd(size, b.iconst32(BIASES)), DROPPED)
    special = b.iadd(bits, b.iconst32(BIASES << DROPPED))  # an exponent of ones in both
    large = b.from_bits(b.select(b.lt(size, b.iconst32(INFINITY)), bits, special))
    small = b.mul(b.to_float(size), b.const32(2.0**-24))
    value = b.select(b.lt(size, b.iconst32(1 << 10)), small, large)
    sign = b.shl(b.iand(code, b.iconst32(0x8000)), 16)
    return b.from_bits(b.ior(b.bits(value), sign))


def encode_stochastic(b: Builder[V], x: V, random: V) -> V:
    """One of the two codes next to a float32, at random: the nearer x is to one of them, the more often it is that one.
    `random` is in [0, 65536). Of a normal number, its upper 13 bits decide; of a smaller one, all 16.

    A number that a code stands for is kept. Above the largest finite code the neighbour is infinity; infinities stay,
    and every NaN becomes 0x7E00.
    """
    size, last = b.abs(x), b.iconst32(INFINITY)
    is_small = b.lt(size, b.const32(LEAST_NORMAL))
    parts = b.to_int(b.mul(b.select(is_small, size, b.const32(0.0)), b.const32(2.0**40)))
    small = b.shr(b.iadd(parts, random), 16)
    large = b.isub(b.shr(b.iadd(b.bits(size), b.shr(random, 3)), DROPPED), b.iconst32(BIASES))
    code = b.select(is_small, small, b.select(b.lt(large, last), large, last))
    sign = b.shr(b.iand(b.bits(x), b.iconst32(SIGN)), 16)
    return b.select(b.ne(x, x), b.iconst32(NAN), b.ior(code, sign))


def nearest(b: Builder[V], x: V) -> V:
    """The float16 nearest to a float32, the even one of two, as a float32; a NaN stays."""
    size, half = b.abs(x), b.const32(0.5)
    bits = b.bits(size)
    even = b.iand(b.shr(bits, DROPPED), b.iconst32(1))
    moved = b.iadd(b.iadd(bits, b.iconst32((1 << (DROPPED - 1)) - 1)), even)
    large = b.from_bits(b.iand(moved, b.iconst32(-1 << DROPPED)))
    large = b.select(b.gt(large, b.const32(LARGEST)), b.const32(inf), large)
    small = b.sub(b.add(size, half), half)  # multiples of 2^-24, as those of float32 from 1/2 to 1 are
    rounded = b.select(b.lt(size, b.const32(LEAST_NORMAL)), small, large)
    return b.select(b.ne(x, x), x, copy_sign(b, rounded, x))


STOCHASTIC = Storage("float16_stochastic", 16, "float16", Codec(encode_stochastic, decode), needs_draws=True)
