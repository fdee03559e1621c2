"""The 8-bit dynamic map (Dettmers 2016, arXiv:1511.04561; 2022, arXiv:2110.02861): seven decades, the upper ones finer.

Decade i = 0..6 is [10^(i-7), 10^(i-6)). It has n = 2^i cells of equal width (twice as many in the unsigned map); a
code stands for the centre of its cell, 10^(i-6) (0.1 + 0.9 (j + 1/2)/n). The values 0 and 1 are added, and in the
signed map the negative centres. A code is the index of its value among all 256 in ascending order: 0 has code 127 in
the signed map, 0 in the unsigned one.

If the cells of a decade are numbered from its power of two, u = n + j, the map is continuous and piecewise linear in u:
the exponent of u is the decade, the significand the place in it. Decoding is accurate to 1.5 units in the last place of
the centre. Encoding finds the nearest value, up to a few units in the last place of x, which was rounded when it was
divided by the scale of its block.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from optgen.ir.storage.record import QUANT_BLOCK, Codec, Storage
from optgen.ir.storage.tools import EXPONENT, copy_sign

if TYPE_CHECKING:
    from optgen.ir.builder import Builder, V

ZERO = 127
"""The code of 0 in the signed map."""


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """The float32 in [-1, 1] or [0, 1] of an int32 code in [0, 256)."""
    if signed:
        place = b.to_float(b.iadd(b.shl(code, 1), b.iconst32(-2 * ZERO)))
        u, half_cell = b.abs(place), b.const32(9.0)  # twice the cell, so that 2^(i+1) <= u for both maps
    else:
        u, half_cell = b.to_float(b.iadd(code, b.iconst32(1))), b.const32(4.5)
    bits = b.bits(u)
    power = b.from_bits(b.iand(bits, b.iconst32(EXPONENT)))
    # 10^(i-6) (0.9 (u + 1/2 cell)/2^(i+1) - 0.8) = (9u + half_cell - 8 2^(i+1)) 5^i 5e-8
    centre = b.sub(b.add(b.mul(u, b.const32(9.0)), half_cell), b.mul(power, b.const32(8.0)))

    def factor(bit: int, if_set: float, otherwise: float) -> V:
        """A factor chosen by a bit of i, whose three bits are the lowest of the exponent field."""
        is_set = b.ne(b.iand(bits, b.iconst32(1 << 23 + bit)), b.iconst32(0))
        return b.select(is_set, b.const32(if_set), b.const32(otherwise))

    power_of_25 = b.mul(factor(2, 625.0, 1.0), factor(1, 25.0, 1.0))
    value = b.mul(b.mul(centre, power_of_25), factor(0, 25e-8, 5e-8))
    one = b.const32(1.0)
    value = b.select(b.lt(value, one), value, one)
    value = b.select(b.eq(code, b.iconst32(ZERO if signed else 0)), b.const32(0.0), value)
    return copy_sign(b, value, place) if signed else value


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code of the value nearest to a float32 in [-1, 1] or [0, 1], which rounding may exceed; the code of 0
    for NaN.

    In the unsigned map only 0 becomes 0. A second moment that vanished under a first moment that did not would blow up
    the step, so numbers nearer to 0 become the smallest positive value.
    """
    a = b.abs(x) if signed else x
    y = _cell(b, a, signed)
    # Between decades the nearest value changes 1/5 of a cell after the decade does.
    before = b.sub(y, b.const32(0.2))
    power = b.from_bits(b.iand(b.bits(y), b.iconst32(EXPONENT)))
    y = b.select(b.lt(before, power), before, y)
    first, least = (1.0, 5.5e-7 / 2) if signed else (2.0, 0.0)
    y = b.select(b.gt(y, b.const32(first)), y, b.const32(first))
    y = b.select(b.gt(a, b.const32(least)), y, b.const32(first - 1.0))
    most = 1.0 - 0.45 / 2 / (64 if signed else 128)  # halfway from the last centre to 1
    y = b.select(b.gt(x, b.const32(most)), b.const32(128 * first), y)
    if signed:
        return b.iadd(b.to_int(copy_sign(b, y, x)), b.iconst32(ZERO))
    return b.iadd(b.to_int(y), b.iconst32(-1))


def _cell(b: Builder[V], a: V, signed: bool) -> V:
    """The cell of a magnitude and the place in it, n (a 10^(6-i)/0.9 + 8/9).

    Lower decades are first scaled to one of the top two. There it is the minimum of two lines, which saves a comparison
    with 1/10.
    """
    very_small = b.lt(a, b.const32(1e-4))
    a = b.select(very_small, b.mul(a, b.const32(1e4)), a)
    small = b.lt(a, b.const32(1e-2))
    a = b.select(small, b.mul(a, b.const32(1e2)), a)
    one = b.const32(1.0)
    scale = b.mul(b.select(very_small, b.const32(1 / 16), one), b.select(small, b.const32(1 / 4), one))
    n = 64 if signed else 128
    upper = b.add(b.mul(a, b.const32(n / 0.9)), b.const32(n * 8 / 9))
    lower = b.add(b.mul(a, b.const32(n / 2 * 10 / 0.9)), b.const32(n / 2 * 8 / 9))
    return b.mul(b.select(b.lt(lower, upper), lower, upper), scale)


STORAGE = Storage(
    "int8_dynamic",
    8,
    "uint8",
    Codec(partial(encode, signed=True), partial(decode, signed=True)),
    block=QUANT_BLOCK,
    unsigned=Codec(partial(encode, signed=False), partial(decode, signed=False)),
)
