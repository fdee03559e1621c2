"""bfloat16, the upper half of a float32, as an int32 of 16 bits; a subnormal code is read as 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optgen.ir.storage.record import Codec, Storage

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V

NAN = 0x7FC0


def decode(b: Builder[V], code: V) -> V:
    """The float32 that a code in [0, 65536) stands for."""
    return b.from_bits(b.shl(code, 16))


def encode_nearest(b: Builder[V], x: V) -> V:
    """The code nearest to a float32, the even one of two; infinite from halfway to 2^128; every NaN becomes 0x7FC0."""
    bits = b.bits(x)
    even = b.iand(b.shr(bits, 16), b.iconst32(1))
    rounded = b.shr(b.iadd(b.iadd(bits, b.iconst32(0x7FFF)), even), 16)
    return b.select(b.ne(x, x), b.iconst32(NAN), rounded)


def encode_stochastic(b: Builder[V], x: V, random: V) -> V:
    """One of the two codes next to a float32: the one farther from 0 if the low 16 bits of x plus `random` carry.

    `random` is in [0, 65536). If it is uniform, the expected value is x. A number that a code stands for is kept;
    infinities and NaN are encoded as by `encode_nearest`. Above the largest finite code the neighbour is infinity. A
    state that large has diverged, and clamping it would only hide that.
    """
    rounded = b.shr(b.iadd(b.bits(x), random), 16)
    return b.select(b.ne(x, x), b.iconst32(NAN), rounded)


NEAREST = Storage("bfloat16", 16, "bfloat16", Codec(encode_nearest, decode))
STOCHASTIC = Storage("bfloat16_stochastic", 16, "bfloat16", Codec(encode_stochastic, decode), needs_draws=True)
