"""The 8-bit dynamic map (Dettmers 2016, arXiv:1511.04561; 2022, arXiv:2110.02861): seven decades, the upper ones finer.

Decade i = 0..6 is [10^(i-7), 10^(i-6)). It has n = 2^i cells of equal width (twice as many in the unsigned map); a
code stands for the centre of its cell, 10^(i-6) (0.1 + 0.9 (j + 1/2)/n). The values 0 and 1 are added, and in the
signed map the negative centres. A code is the index of its value among all 256 in ascending order: 0 has code 127 in
the signed map, 0 in the unsigned one.

If the cells of a decade are numbered from its power of two, u = n + j, the exponent of u is the decade. So tables by
exponents hold what differs between decades. Decoding is accurate to 1.2 units in the last place of the centre. Encoding
finds the nearest value, up to a few units in the last place of x, which was rounded when it was divided by the scale of
its block.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optgen.ir.storage.record import QUANT_BLOCK, Codec, Storage
from optgen.ir.storage.tools import SIGN, copy_sign

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V

ZERO = 127
"""The code of 0 in the signed map."""
DECADES = range(7)
FRACTION_BITS = 23
TINY = 2.0**-25
"""Less than everything that thresholds separate. From here to 2 there are 13 pairs of octaves [4^k/2, 2 4^k)."""
PAIR_BITS = FRACTION_BITS + 1
"""Below the number of a pair of octaves in the bits of a float32."""
PAIRS = 16
NORMAL = 0x30000000
"""The bits of a float32 that is not subnormal; a multiple of 2^PAIR_BITS PAIRS, so that no number of a pair changes."""


class Decoding(NamedTuple):
    """Tables by the lowest 4 bits of the exponent of a cell: centre = (step cell - offset) factor."""

    offsets: tuple[float, ...]
    factors: tuple[float, ...]


class Encoding(NamedTuple):
    """Tables by the lowest 4 bits of the number of a magnitude's pair of octaves.

    In a pair there is one threshold at most where the decade changes, for rounding. The bits of `carries` added to
    those of the magnitude carry into the number of the next pair if it is above the threshold. The other tables are for
    numbers below the threshold, and those of the next pair for numbers above: the code is the integer part of
    a slope + intercept, or of `last` if that is less.
    """

    carries: tuple[float, ...]
    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]
    lasts: tuple[float, ...]


def _decoding(signed: bool) -> Decoding:
    """For cells |code - 127| + 1/2, in the unsigned map code + 1."""
    offsets, factors = [0.0] * 16, [0.0] * 16
    step, first = (18, 0) if signed else (9, 1)  # of cells, and their exponent in decade 0
    for i in DECADES:
        # 10^(i-6) (0.1 + 0.9 (u + 1/2 - n)/n), where n = 2^(i + first), is (9 (u + 1/2) - 8n) 10^(i-7)/n.
        n = 2 ** (i + first)
        scale = 2 if signed else 1
        offsets[(127 + first + i) % 16] = scale * 8 * n - (0 if signed else 4.5)
        factors[(127 + first + i) % 16] = 10.0 ** (i - 7) / (n * scale)
    one = (127 + first + len(DECADES)) % 16
    offsets[one], factors[one] = step * (128.5 if signed else 256.0) - 1, 1.0
    return Decoding(tuple(offsets), tuple(factors))


def _encoding(signed: bool) -> Encoding:
    """What the thresholds between decades separate, from that of 0 (1 in the unsigned map) to that of the number 1."""
    first = 0 if signed else 1
    cells = [2 ** (i + first) for i in DECADES]
    widths = [0.9 * 10.0 ** (i - 6) / n for i, n in zip(DECADES, cells, strict=True)]
    # From one decade to the next, the nearest value changes a cell of the lower one behind the power of ten.
    thresholds = [10.0 ** (i - 7) + widths[i - 1] for i in DECADES[1:]]
    # In the unsigned map the lowest line begins where it has reached the code 1, which all smaller numbers have.
    thresholds = [5.5e-7 / 2 if signed else 2.0**-22, *thresholds, 1.0 - widths[-1] / 4]
    lines = [(0.0, float(first), first + 1.0)]
    for i, n, width in zip(DECADES, cells, widths, strict=True):
        code = n - first
        lines.append((1 / width, code - 10.0 ** (i - 7) / width, code + n))
    greatest = 255.0 - ZERO * signed
    lines.append((0.0, greatest, greatest + 1))
    tables = np.zeros((4, PAIRS), np.float32)
    for exponent in range(-25, 2, 2):
        low, high = np.float32(2.0**exponent), np.float32(2.0 ** (exponent + 2))
        inside = [np.float32(x) for x in thresholds if low < x < high]
        carry = _bits(high) - (_bits(inside[0]) + 1) if inside else 0
        slope, intercept, end = lines[sum(x <= low for x in thresholds)]
        last = np.nextafter(np.float32(end), np.float32(0))
        carried = np.int32(NORMAL + carry).view(np.float32)
        tables[:, (_bits(low) >> PAIR_BITS) % PAIRS] = carried, slope, intercept, last
    return Encoding(*(tuple(map(float, row)) for row in tables))


def _bits(x: np.float32) -> int:
    return int(x.view(np.int32))


DECODING = {signed: _decoding(signed) for signed in (True, False)}
ENCODING = {signed: _encoding(signed) for signed in (True, False)}


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """The float32 in [-1, 1] or [0, 1] of an int32 code in [0, 256)."""
    offsets, factors = DECODING[signed]
    if signed:
        place = b.sub(b.to_float(code), b.const32(float(ZERO)))
        cell, step = b.add(b.abs(place), b.const32(0.5)), 18.0
    else:
        cell, step = b.to_float(b.iadd(code, b.iconst32(1))), 9.0
    decade = b.shr(b.bits(cell), FRACTION_BITS)
    centre = b.sub(b.mul(cell, b.const32(step)), b.lookup(offsets, decade))
    value = b.mul(centre, b.lookup(factors, decade))
    return copy_sign(b, value, place) if signed else value


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code of the value nearest to a float32 in [-1, 1] or [0, 1], which rounding may exceed; the code of 0
    for NaN.

    In the unsigned map only 0 becomes 0. A second moment that vanished under a first moment that did not would blow up
    the step, so numbers nearer to 0 become the smallest positive value.
    """
    carries, slopes, intercepts, lasts = ENCODING[signed]
    a, tiny, none = b.abs(x) if signed else x, b.const32(TINY), b.iconst32(0)
    a = b.select(b.gt(a, tiny), a, tiny)
    bits = b.bits(a)
    pair = b.shr(b.iadd(bits, b.bits(b.lookup(carries, b.shr(bits, PAIR_BITS)))), PAIR_BITS)
    y = b.bits(b.add(b.mul(a, b.lookup(slopes, pair)), b.lookup(intercepts, pair)))
    last = b.bits(b.lookup(lasts, pair))
    y = b.select(b.lt(y, last), y, last)  # integers are ordered as the floats, which have no sign
    if signed:
        sign = b.iand(b.bits(x), b.iconst32(SIGN))
        code = b.iadd(b.to_int(b.from_bits(b.ior(y, sign))), b.iconst32(ZERO))
        return b.select(b.gt(code, none), code, none)  # the map has no -1
    return b.select(b.gt(x, b.const32(0.0)), b.to_int(b.from_bits(y)), none)


STORAGE = Storage(
    "int8_dynamic",
    8,
    "uint8",
    Codec(partial(encode, signed=True), partial(decode, signed=True)),
    block=QUANT_BLOCK,
    unsigned=Codec(partial(encode, signed=False), partial(decode, signed=False)),
)
