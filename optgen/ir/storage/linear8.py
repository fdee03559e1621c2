"""An 8-bit code of evenly spaced roots, cheaper than the dynamic map: companding by a square, or by a fourth power.

Signed numbers are q |q| with q = -127/127..127/127, numbers that are never negative q^4 with q = 0..255/255: as these
are means of squares, both put the same relative spacing on the quantity whose moments they are. Of the powers 1 to 4,
these give the least error of Adam's step where the elements of a block differ by orders of magnitude.
"""

from __future__ import annotations

from optgen.ir.math.builder import Builder, V
from optgen.ir.storage.tools import copy_sign

ZERO = 127
"""The code of 0 for signed numbers."""


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """The float32 in [-1, 1] or [0, 1] of an int32 code in [0, 255) or [0, 256)."""
    if signed:
        steps = b.to_float(b.isub(code, b.iconst32(ZERO)))
        return b.mul(b.mul(steps, b.abs(steps)), b.const32(1 / 127**2))
    steps = b.to_float(code)
    root = b.mul(b.mul(steps, steps), b.const32(1 / 255**2))
    return b.mul(root, root)


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code whose root is nearest to that of a float32 in [-1, 1] or [0, 1], or past it by rounding; of 0 for
    a NaN. Without a sign only 0 becomes 0, as in `dynamic8.encode`."""
    zero, half = b.const32(0.0), b.const32(0.5)
    if signed:
        a = b.abs(x)
        steps = b.add(b.mul(b.sqrt(a), b.const32(127.0)), half)
        steps = b.select(b.gt(a, zero), steps, zero)
        return b.iadd(b.to_int(copy_sign(b, steps, x)), b.iconst32(ZERO))
    steps = b.add(b.mul(b.sqrt(b.sqrt(x)), b.const32(255.0)), half)
    one = b.const32(1.0)
    steps = b.select(b.gt(steps, one), steps, one)
    return b.to_int(b.select(b.gt(x, zero), steps, zero))
