"""The scale of a block of codes: the largest magnitude among its elements, which the largest code stands for.

A block with an infinity or a NaN decodes to NaN everywhere: its scale shows, and does not hide, that it diverged.
"""

from __future__ import annotations

from math import inf

from optgen.ir.builder import Builder, V
from optgen.ir.storage.tools import MAGNITUDE


def magnitude(b: Builder[V], x: V) -> V:
    """|x| of a float32 as int32 bits, which order as the numbers do, NaN above infinity."""
    return b.iand(b.bits(x), b.iconst32(MAGNITUDE))


def reciprocal(b: Builder[V], scale: V) -> V:
    """What each element is multiplied with before it is encoded: 1/scale, or 0 where that is infinite or NaN.

    So the codes of a block of zeros, or of numbers whose scale is at most 2^-128, or of one that holds an infinity or a
    NaN, are all that of 0.
    """
    inverse = b.div(b.const32(1.0), scale)
    return b.select(b.lt(inverse, b.const32(inf)), inverse, b.const32(0.0))
