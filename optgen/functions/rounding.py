"""Functions that round: to whole numbers, to multiples, and to numbers with fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen.functions.interval import ALL, Bounds, sign_of
from optgen.functions.record import (
    Elementwise,
    Expanded,
    Fenced,
    ForeignSpelling,
    FunctionRecord,
    Inline,
    Symbolic,
    elementwise,
    upright,
)

if TYPE_CHECKING:
    from optgen.functions.builder import Lowering, V


LARGEST_QUOTIENT = 2.0**48
"""The quotients from which on `mod` has no value."""


def _whole(x: Bounds) -> Bounds:
    """Whole numbers between bounds, and the next one beyond each."""
    return Bounds(float(np.floor(x.low)), -float(np.floor(-x.high)))


def _round(b: Lowering[V], x: V) -> V:
    """The nearest whole number, the even one of two: from 2^52 (2^23 for f32) on there are whole numbers alone."""
    wide = b.is_double(x)
    x, large = b.meet(x, b.const(2.0**52 if wide else 2.0**23))
    size = b.abs(x)
    rounded = b.sub(b.add(size, large), large)
    mask = b.sign_mask(x)
    sign = b.iand(b.bits(x), mask)
    signed = b.from_bits(b.ior(b.bits(rounded), sign))
    return b.select(b.lt(size, large), signed, x)


def _to_float32(b: Lowering[V], x: V) -> V:
    return b.convert(b.convert(x)) if b.is_double(x) else x


def to_bfloat16(b: Lowering[V], x: V) -> V:
    """The float32 nearest to x, and the bfloat16 nearest to that, which is its upper half; a NaN stays."""
    if b.is_double(x):
        return b.convert(to_bfloat16(b, b.convert(x)))
    bits = b.bits(x)
    even = b.iand(b.shr(bits, 16), b.iconst32(1))
    moved = b.iadd(b.iadd(bits, b.iconst32(0x7FFF)), even)
    rounded = b.from_bits(b.iand(moved, b.iconst32(-1 << 16)))
    return b.select(b.ne(x, x), x, rounded)


def to_stored(b: Lowering[V], x: V) -> V:
    """x rounded to nearest to the dtype of the weight that equations read."""
    if b.weight == "bfloat16":
        return to_bfloat16(b, x)
    if b.weight == "float64" or (b.weight == "float32" and not b.is_double(x)):
        return x
    if b.is_double(x):
        return b.convert(to_stored(b, b.convert(x)))
    return b.to_float16(x)


def _mod(a: Any, b: Any) -> Any:
    return np.where(np.abs(np.divide(a, b)) < LARGEST_QUOTIENT, np.remainder(a, b), np.nan)


def _mod_bounds(a: Bounds, b: Bounds) -> Bounds:
    return Bounds(min(b.low, 0.0), max(b.high, 0.0))


def _float32(x: Any) -> Any:
    """Rounded to float32, and to a zero of its sign where that is subnormal."""
    rounded = np.asarray(x).astype(np.float32)
    return np.where(np.abs(rounded) < 2.0**-126, np.copysign(np.float32(0), rounded), rounded).astype(np.float64)


def _bfloat16(x: Any) -> Any:
    """Rounded to float32, and that to its upper half, to the even one of two."""
    bits = np.atleast_1d(_float32(x).astype(np.float32)).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), x, rounded.reshape(np.shape(x)).astype(np.float64))


def _to_whole(
    name: str, doc: str, shown: Fenced, meaning: Callable[[Any], Any], operations: Inline, form: Symbolic | None,
    parity: bool, spelling: ForeignSpelling,
) -> FunctionRecord:  # fmt: skip
    """A function whose results are whole numbers."""
    return elementwise(
        name,
        doc,
        shown,
        Elementwise(
            arguments=("x",),
            meaning=meaning,
            operations=operations,
            bounds=_whole,
            domain=ALL,
            takes_matrix=False,
            parity="odd" if parity else "neither",
            degree=None,
            no_larger=False,
            rounds="no",
            symbolic=form,
            derivative=("0",),
            spelling=spelling,
        ),
    )


FLOOR = _to_whole(
    "floor",
    "the largest whole number that is not above x",
    Fenced((r"\lfloor ", r" \rfloor"), ("⌊", "⌋")),
    np.floor,
    Inline(lambda b, x: b.floor(x)),
    Symbolic(lambda sp, x: sp.floor(x), of_numbers=False),
    False,
    ForeignSpelling(c="floor({x})", torch="torch.floor({x})", jax="jnp.floor({x})"),
)
CEIL = _to_whole(
    "ceil",
    "the smallest whole number that is not below x",
    Fenced((r"\lceil ", r" \rceil"), ("⌈", "⌉")),
    np.ceil,
    Inline(lambda b, x: b.neg(b.floor(b.neg(x)))),
    Symbolic(lambda sp, x: sp.ceiling(x), of_numbers=False),
    False,
    ForeignSpelling(c="ceil({x})", torch="torch.ceil({x})", jax="jnp.ceil({x})"),
)
ROUND = _to_whole(
    "round",
    "the nearest whole number; of two, the even one",
    Fenced((r"\lfloor ", r" \rceil"), ("⌊", "⌉")),
    np.rint,
    Inline(_round),
    None,
    True,
    ForeignSpelling(c="nearbyint({x})", torch="torch.round({x})", jax="jnp.round({x})"),
)
MOD = elementwise(
    "mod",
    "`a - b*floor(a/b)` without rounding errors: the remainder with the sign of `b`; NaN if `a/b` has no whole part "
    "below 2^48",
    upright("mod"),
    Elementwise(
        arguments=("a", "b"),
        meaning=_mod,
        operations=Expanded("remainder", "mod"),
        bounds=_mod_bounds,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree="1",
        no_larger=False,
        rounds="no",
        symbolic=None,
        derivative=("1", "-floor(a/b)"),
        spelling=ForeignSpelling(
            c="copysign(fmod({a}, {b}) + (fmod({a}, {b}) != 0 && (fmod({a}, {b}) < 0) != ({b} < 0) ? {b} : 0.0), {b})",
            torch="torch.copysign(torch.remainder({a}, {b}), {b})",
            jax="jnp.copysign(jnp.remainder({a}, {b}), {b})",
        ),
    ),
)
FLOAT32 = elementwise(
    "float32",
    "x rounded to the nearest float32, or to 0 [below 2^-126](#smallest-numbers), of any kind; elements that are "
    "float32 stay as they are",
    upright("float32"),
    Elementwise(
        arguments=("x",),
        meaning=_float32,
        operations=Inline(_to_float32),
        bounds=sign_of,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree="1",
        no_larger=True,
        rounds="a little",
        symbolic=Symbolic(lambda sp, x: x, of_numbers=True),
        derivative=("1",),
        spelling=ForeignSpelling(
            c="(double)(float)({x})",
            torch="({x}).to(torch.float32).to(torch.float64)",
            jax="({x}).astype(jnp.float32).astype({x}.dtype)",
        ),
    ),
)
BFLOAT16 = elementwise(
    "bfloat16",
    "x rounded to float32, and that to the nearest bfloat16, of any kind",
    upright("bfloat16"),
    Elementwise(
        arguments=("x",),
        meaning=_bfloat16,
        operations=Inline(to_bfloat16),
        bounds=sign_of,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree="1",
        no_larger=False,
        rounds="much",
        symbolic=Symbolic(lambda sp, x: x, of_numbers=True),
        derivative=("1",),
        spelling=ForeignSpelling(
            c=None,
            torch="({x}).to(torch.float32).to(torch.bfloat16).to(torch.float64)",
            jax="({x}).astype(jnp.float32).astype(jnp.bfloat16).astype({x}.dtype)",
        ),
    ),
)
STORED = elementwise(
    "stored",
    "x rounded to the nearest number of the type that the weight has: of float32 with a `master`, of float16 and "
    "bfloat16 by way of float32; elements of float32 and float64 stay as they are",
    upright("stored"),
    Elementwise(
        arguments=("x",),
        meaning=lambda x: np.asarray(x, float),  # of a weight in float64
        operations=Inline(to_stored),
        bounds=sign_of,
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree="1",
        no_larger=False,
        rounds="much",
        symbolic=Symbolic(lambda sp, x: x, of_numbers=True),
        derivative=("1",),
        spelling=ForeignSpelling(c="({x})", torch="({x})", jax="({x})"),
    ),
)

FUNCTIONS: tuple[FunctionRecord, ...] = (FLOOR, CEIL, ROUND, MOD, FLOAT32, BFLOAT16, STORED)
