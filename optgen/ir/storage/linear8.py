"""An 8-bit code of straight pieces, as A-law has them: a small floating-point number, cheaper than the dynamic map.

It has 4 bits of fraction and 4 of exponent, or 3 and a sign: a number is V over the largest V, where V = f below the
first octave and (16 + f) 2^(e-1) from there on. So the largest of a block is kept, no step is wider than 1/16 of its
number down to 3 10^-5 of the largest (8 10^-3 with a sign), and below that steps are even. Shifts, additions and a
multiplication do: there is no root and no search.
"""

from __future__ import annotations

from optgen.ir.math.builder import Builder, V

SIGN = 0x80
FRACTION_BITS = 4
OCTAVE = 1 << FRACTION_BITS
SHIFT = 23 - FRACTION_BITS
"""Between the fraction of a code and that of a float32."""
EXPONENT = 127 + FRACTION_BITS - 1
"""The exponent field of a float32 in [8, 16), one octave below the first."""


def _largest(signed: bool) -> float:
    """V of the largest code."""
    return float((2 * OCTAVE - 1) << (6 if signed else 14))


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """The float32 in [-1, 1] or [0, 1] of an int32 code in [0, 256)."""
    c = b.iand(code, b.iconst32(SIGN - 1)) if signed else code
    octaves = b.from_bits(b.iadd(b.shl(c, SHIFT), b.iconst32(EXPONENT << 23)))
    steps = b.select(b.lt(c, b.iconst32(OCTAVE)), b.to_float(c), octaves)
    x = b.mul(steps, b.const32(1 / _largest(signed)))
    return b.from_bits(b.ixor(b.bits(x), b.shl(b.iand(code, b.iconst32(SIGN)), 24))) if signed else x


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code nearest to a float32 in [-1, 1] or [0, 1], or past it by rounding; of 0 for a NaN.

    Without a sign only 0 becomes 0: a second moment that vanished under a first moment that did not would blow up the
    step, so what is nearer to 0 becomes the least code above it.
    """
    steps = b.mul(b.abs(x) if signed else x, b.const32(_largest(signed)))
    half = b.iconst32(1 << (SHIFT - 1))
    first = b.iconst32(-(EXPONENT << FRACTION_BITS))
    octaves = b.iadd(b.shr(b.iadd(b.bits(steps), half), SHIFT), first)
    linear = b.add(steps, b.const32(0.5))
    if not signed:
        one = b.const32(1.0)
        linear = b.select(b.gt(linear, one), linear, one)
    zero = b.const32(0.0)
    linear = b.select(b.gt(steps, zero), linear, zero)
    wide = b.gt(steps, b.const32(float(OCTAVE)))
    small = b.to_int(b.select(wide, zero, linear))
    c = b.select(wide, octaves, small)
    return b.ior(c, b.select(b.lt(x, zero), b.iconst32(SIGN), b.iconst32(0))) if signed else c
