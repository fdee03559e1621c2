"""An 8-bit code of straight pieces, as mu-law has them: evenly spaced in the logarithm of a number and a constant.

A magnitude is V over the largest V, where V = (16 + f) 2^e - 16 has 4 bits of f and 4 of e, or 3 where there is a sign.
So steps are even near 0 and grow to 1/16 of their number, and the largest of a block is kept. 16 + V is a small
floating-point number: an addition and a shift make a code of it, without root, search or choice, which is why this code
is cheaper than the dynamic map.
"""

from __future__ import annotations

from functools import partial

from optgen.ir.builder import Builder, V
from optgen.ir.storage.record import QUANT_BLOCK, Codec, Storage

SIGN = 0x80
FRACTION_BITS = 4
OFFSET = float(1 << FRACTION_BITS)
SHIFT = 23 - FRACTION_BITS
"""Between the fraction of a code and that of a float32."""
FIRST = 0x41800000
"""The bits of OFFSET as a float32, the code 0."""


def largest(signed: bool) -> float:
    """V of the largest code."""
    return (2 * OFFSET - 1) * 2.0 ** (7 if signed else 15) - OFFSET


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """V, with its sign, of an int32 code in [0, 256): a float32."""
    c = b.iand(code, b.iconst32(SIGN - 1)) if signed else code
    z = b.from_bits(b.iadd(b.shl(c, SHIFT), b.iconst32(FIRST)))
    x = b.sub(z, b.const32(OFFSET))
    return b.from_bits(b.ixor(b.bits(x), b.shl(b.iand(code, b.iconst32(SIGN)), 24))) if signed else x


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code whose V is nearest to a float32 no larger than `largest`, but for rounding; of 0 for a NaN.

    Without a sign only 0 becomes 0: a second moment that vanished under a first moment that did not would blow up the
    step, so what is nearer to 0 becomes the least code above it.
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
