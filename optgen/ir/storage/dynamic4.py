"""The 4-bit dynamic map: decades of which the upper ones are finer, as in that of 8 bits (`dynamic8.py`).

The topmost decade is [0.1, 1). If decades are numbered from the lowest one, 0, number i has 2^i cells of equal width,
and a code stands for the centre of its cell. The signed map has three decades, which are 7 codes for each sign; 0 and 1
are added. The unsigned map has four decades and 1, but no 0: a second moment of 0 under a first moment that is not
would blow up the step (Li, Chen and Zhu 2023, arXiv:2309.01507, whose map without 0 is linear). A code is the index of
its value in ascending order.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from optgen.ir.storage.record import Codec, Storage

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, V

BLOCK = 128
"""Elements that share a scale: half as many as with 8 bits, as one large element leaves the others fewer codes."""


def _map(signed: bool) -> tuple[float, ...]:
    """The 16 numbers that codes stand for."""
    decades = 3 if signed else 4
    cells = [(2**i, 10.0 ** (i - decades + 1)) for i in range(decades)]
    centres = [top * (0.1 + 0.9 * (j + 0.5) / n) for n, top in cells for j in range(n)]
    return (*(-x for x in reversed(centres)), 0.0, *centres, 1.0) if signed else (*centres, 1.0)


def _steps(values: tuple[float, ...]) -> list[tuple[int, tuple[float, ...]]]:
    """The binary search for the code of a number, as steps of 8, 4, 2 and 1 codes. Each has a table, by the code found
    so far, with the number above which the code is larger by the step."""
    middles = [(a + b) / 2 for a, b in pairwise(values)]
    return [(step, tuple(middles[(code & -2 * step) + step - 1] for code in range(16))) for step in (8, 4, 2, 1)]


MAPS = {signed: _map(signed) for signed in (True, False)}
STEPS = {signed: _steps(MAPS[signed]) for signed in (True, False)}


def decode(b: Builder[V], code: V, signed: bool) -> V:
    """The float32 in [-1, 1] or (0, 1] of an int32 code in [0, 16)."""
    return b.lookup(MAPS[signed], code)


def encode(b: Builder[V], x: V, signed: bool) -> V:
    """The int32 code of the value nearest to a float32, the lower one of two; 0 for NaN."""
    (first, table), *steps = STEPS[signed]
    code = b.select(b.gt(x, b.const32(table[0])), b.iconst32(first), b.iconst32(0))
    for step, table in steps:
        above = b.gt(x, b.lookup(table, code))
        code = b.select(above, b.iadd(code, b.iconst32(step)), code)
    return code


STORAGE = Storage(
    "int4_dynamic",
    4,
    "uint8",
    Codec(partial(encode, signed=True), partial(decode, signed=True)),
    block=BLOCK,
    unsigned=Codec(partial(encode, signed=False), partial(decode, signed=False)),
)
