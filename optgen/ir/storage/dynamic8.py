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
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optgen.ir.storage.record import QUANT_BLOCK, Codec, Storage
from optgen.ir.storage.tools import copy_sign

if TYPE_CHECKING:
    from optgen.ir.builder import Builder, V

ZERO = 127
"""The code of 0 in the signed map."""
DECADES = range(7)
FRACTION_BITS = 23
TINY = 2.0**-25
"""Less than everything that thresholds separate. Numbers from here to 2 have exponents that differ in 5 bits."""


class Decoding(NamedTuple):
    """Tables by the lowest 4 bits of the exponent of a cell: centre = (step cell - offset) factor."""

    offsets: tuple[float, ...]
    factors: tuple[float, ...]


class Encoding(NamedTuple):
    """Tables by the lowest 5 bits of the exponent of a magnitude a.

    Between two powers of two there is one `threshold` at most where the decade changes, for rounding. The other tables
    are for the numbers below it, and those of the next power for the numbers above: the code is the integer part of
    a slope + intercept, or of `last` if that is less.
    """

    thresholds: tuple[float, ...]
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
    lines = [(0.0, float(first), float(first))]
    for i, n, width in zip(DECADES, cells, widths, strict=True):
        code = n - first
        lines.append((1 / width, code - 10.0 ** (i - 7) / width, code + n))
    lines.append((0.0, 255.0 - ZERO * signed, inf))
    tables = np.full((4, 32), inf)
    for exponent in range(-25, 1):
        low, high, k = 2.0**exponent, 2.0 ** (exponent + 1), (127 + exponent) % 32
        tables[0, k] = next((x for x in thresholds if low < x < high), inf)
        slope, intercept, end = lines[sum(x <= low for x in thresholds)]
        tables[1:, k] = slope, intercept, np.nextafter(np.float32(end), np.float32(0)) if slope else inf
    tables[1:, 0] = 0.0
    return Encoding(*(tuple(map(float, row)) for row in tables))


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
    thresholds, slopes, intercepts, lasts = ENCODING[signed]
    a, tiny = b.abs(x) if signed else x, b.const32(TINY)
    a = b.select(b.gt(a, tiny), a, tiny)
    power = b.shr(b.bits(a), FRACTION_BITS)
    next_power = b.iadd(power, b.iconst32(1))
    power = b.select(b.gt(a, b.lookup(thresholds, power)), next_power, power)
    y = b.add(b.mul(a, b.lookup(slopes, power)), b.lookup(intercepts, power))
    last = b.lookup(lasts, power)
    y = b.select(b.lt(y, last), y, last)
    if signed:
        code, none = b.iadd(b.to_int(copy_sign(b, y, x)), b.iconst32(ZERO)), b.iconst32(0)
        return b.select(b.gt(code, none), code, none)  # the map has no -1
    return b.select(b.gt(x, b.const32(0.0)), b.to_int(y), b.iconst32(0))


STORAGE = Storage(
    "int8_dynamic",
    8,
    "uint8",
    Codec(partial(encode, signed=True), partial(decode, signed=True)),
    block=QUANT_BLOCK,
    unsigned=Codec(partial(encode, signed=False), partial(decode, signed=False)),
)
