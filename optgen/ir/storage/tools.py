"""Operations that several codecs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V


EXPONENT, MAGNITUDE, SIGN = 0x7F800000, 0x7FFFFFFF, -0x80000000
"""Masks of the parts of a float32."""


def flushed(b: Builder[V], x: V) -> V:
    """A float32 that may be subnormal, or a zero of its sign instead."""
    return b.from_bits(b.bits(x))


def copy_sign(b: Builder[V], magnitude: V, x: V) -> V:
    """A float32 `magnitude`, which has no sign, with the sign of x."""
    return b.from_bits(b.ior(b.bits(magnitude), b.iand(b.bits(x), b.iconst32(SIGN))))
