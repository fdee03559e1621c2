"""A piecewise linear 8-bit code, like mu-law: nearly even steps in the logarithm of a number plus a constant.

A code stands for V = (16 + f) 2^e - 16, relative to the largest V. f has 4 bits; e has 4, or 3 in the signed code.
Steps are even near 0 and grow to 1/16 of the number; the largest number of a block is kept. 16 + V is a small
floating-point number, so an addition and a shift encode it, without root, search or choice. That makes this code
cheaper than the dynamic map.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from optgen.ir.storage.record import QUANT_BLOCK, Codec, Storage

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V

SIGN = 0x80
FRACTION_BITS = 4
OFFSET = float(1 << FRACTION_BITS)
SHIFT = 23 - FRACTION_BITS
"""The shift between the fraction of a code and that of a float32."""
FIRST = 0x41800000
"""The bits of OFFSET as a float32. They have the code 0."""


def largest(signed: bool) -> float:
    """V of the largest code."""
    return (2 * OFFSET - 1) * 2.0 ** (7 if signed else 15) - OFFSET


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """V, with its sign, of an int32 code in [0, 256): a float32."""
    if not signed:
        return b.sub(b.from_bits(b.iadd(b.shl(code, SHIFT), b.iconst32(FIRST))), b.const32(OFFSET))
    extended = b.isub(b.ixor(code, b.iconst32(SIGN)), b.iconst32(SIGN))  # the sign in all bits above the code
    placed = b.iand(b.shl(extended, SHIFT), b.iconst32((SIGN - 1) << SHIFT))
    x = b.sub(b.from_bits(b.iadd(placed, b.iconst32(FIRST))), b.const32(OFFSET))
    return b.from_bits(b.ixor(b.bits(x), b.iand(extended, b.iconst32(-(2**31)))))


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code whose V is nearest to a float32 no larger than `largest`, up to rounding; the code of 0 for NaN.

    In the unsigned code only 0 becomes 0. A second moment that vanished under a first moment that did not would blow up
    the step, so numbers nearer to 0 become the smallest positive V.
    """
    z = b.add(b.abs(x) if signed else x, b.const32(OFFSET))
    half = 1 << (SHIFT - 1)
    c = b.shr(b.iadd(b.bits(z), b.iconst32(half - FIRST)), SHIFT)
    none = b.iconst32(0)
    if signed:
        number = b.select(b.eq(x, x), c, none)
        return b.ior(number, b.select(b.lt(x, b.const32(0.0)), b.iconst32(SIGN), none))
    least = b.iconst32(1)
    return b.select(b.gt(x, b.const32(0.0)), b.select(b.gt(c, least), c, least), none)


STORAGE = Storage(
    "int8_linear",
    8,
    "uint8",
    Codec(partial(encode, signed=True), partial(decode, signed=True), largest(signed=True)),
    block=QUANT_BLOCK,
    unsigned=Codec(partial(encode, signed=False), partial(decode, signed=False), largest(signed=False)),
)
