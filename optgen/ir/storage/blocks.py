"""The scale of a block of codes: the largest magnitude among its elements, which the largest code stands for.

A block with an infinity or a NaN decodes to NaN everywhere, so that it does not hide that it diverged.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

from optgen.ir.storage.tools import MAGNITUDE

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V


def magnitude(b: Builder[V], x: V) -> V:
    """The bits of |x| as an int32. They are ordered as the float32 numbers are, with NaN above infinity."""
    return b.iand(b.bits(x), b.iconst32(MAGNITUDE))


def invertible(b: Builder[V], scale: V) -> V:
    """The scale, or NaN above 2^126, where 1/scale is subnormal."""
    return b.select(b.gt(scale, b.const32(2.0**126)), b.const32(nan), scale)


def reciprocal(b: Builder[V], scale: V) -> V:
    """1/scale, by which each element is multiplied before it is encoded, or 0 if that is infinite or NaN.

    All numbers are then encoded as 0: in a block of zeros, and in one whose scale is infinite or NaN.
    """
    inverse = b.div(b.const32(1.0), scale)
    return b.select(b.lt(inverse, b.const32(inf)), inverse, b.const32(0.0))
