"""Functions that compare: sizes, signs, bounds and choices; and those that keep a part of a matrix.

All are exact: a result is an argument, its negative, or a small whole number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen.functions.interval import ALL, Bounds, has_no_sign, hull, least, most
from optgen.functions.record import (
    Elementwise,
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


def _sign(b: Lowering[V], x: V) -> V:
    """1 with the sign of x, but +0 for both zeros, and NaN for NaN."""
    x, zero = b.meet(x, b.const(0.0))
    wide = b.is_double(x)
    mask = b.sign_mask(x)
    one = b.iconst(0x3FF << 52) if wide else b.iconst32(0x7F << 23)
    unit = b.from_bits(b.ior(b.iand(b.bits(x), mask), one))
    nonzero = b.gt(b.abs(x), zero)
    return b.select(nonzero, unit, b.add(x, zero))  # -0 + 0 is +0


def larger(b: Lowering[V], *several: V) -> V:
    """where(a != a or a > b, a, b), of the first two, and then of that and the next one: a NaN stays."""
    return _chosen(b, b.gt, several)


def smaller(b: Lowering[V], *several: V) -> V:
    """where(a != a or a < b, a, b), as `larger`."""
    return _chosen(b, b.lt, several)


def _chosen(b: Lowering[V], is_kept: Callable[[V, V], V], several: tuple[V, ...]) -> V:
    def of_two(x: V, y: V) -> V:
        first, second = b.meet(x, y)
        nan = b.ne(first, first)
        return b.select(b.or_(nan, is_kept(first, second)), first, second)

    return functools.reduce(of_two, several)


def clip(b: Lowering[V], x: V, *bounds: V) -> V:
    """x between -bound and bound, or low and high. NaN stays NaN, a bound that is NaN (unset) clips nothing, and if
    low > high, every number becomes low."""
    low, high = bounds if len(bounds) == 2 else (b.neg(bounds[0]), bounds[0])
    x, low, high = b.meet(x, low, high)
    capped = b.select(b.gt(x, high), high, x)
    return b.select(b.lt(capped, low), low, capped)


def _clip(x: Any, *bounds: Any) -> Any:
    low, high = bounds if len(bounds) == 2 else (np.negative(bounds[0]), bounds[0])
    capped = np.where(np.greater(x, high), high, x)
    return np.where(np.less(capped, low), low, capped)


def _clip_bounds(x: Bounds, *bounds: Bounds) -> Bounds:
    """Either bound may be unset, so it counts only where it reaches beyond x."""
    low, high = bounds if len(bounds) == 2 else (-bounds[0], bounds[0])
    return Bounds(least(x.low, high.low), most(x.high, low.high))


def _larger_bounds(a: Bounds, b: Bounds) -> Bounds:
    """Of two zeros, max is the second one."""
    low, high = most(a.low, b.low), most(a.high, b.high)
    return Bounds(-0.0 if low == 0 and not has_no_sign(b) else low, high)


def _triangle(is_kept: Callable[[Lowering[V], V, V], V]) -> Callable[[Lowering[V], V], V]:
    def kept(b: Lowering[V], x: V) -> V:
        row, column = b.meet(b.row_number(), b.column_number())
        inside = is_kept(b, row, column)
        return b.select(inside, b.element(x), b.element(b.const(0.0)))

    return kept


ABS = elementwise(
    "abs",
    "the absolute value",
    Fenced((r"\lvert ", r" \rvert"), ("|", "|")),
    Elementwise(
        arguments=("x",),
        meaning=np.abs,
        operations=Inline(lambda b, x: b.abs(x)),
        bounds=lambda x: Bounds(0.0, most(-x.low, x.high)),
        domain=ALL,
        takes_matrix=False,
        parity="even",
        degree="1",
        no_larger=True,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.Abs(x), of_numbers=True),
        derivative=("sign(x)",),
        spelling=ForeignSpelling(c="fabs({x})", torch="torch.abs({x})", jax="jnp.abs({x})"),
    ),
)
SIGN = elementwise(
    "sign",
    "-1, 0 or 1",
    upright("sign"),
    Elementwise(
        arguments=("x",),
        meaning=lambda x: np.sign(x) + 0.0,  # -0 + 0 is +0
        operations=Inline(_sign),
        bounds=lambda x: Bounds(-1.0, 1.0),
        domain=ALL,
        takes_matrix=False,
        parity="odd",
        degree="0",
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, x: sp.sign(x), of_numbers=True),
        derivative=("0",),
        spelling=ForeignSpelling(
            c="({x} > 0 ? 1.0 : {x} < 0 ? -1.0 : {x} + 0.0)",
            torch="torch.where({x} != {x}, {x}, torch.sign({x}))",
            jax="jnp.sign({x}) + 0.0",
        ),
    ),
)
CLIP = FunctionRecord(
    name="clip",
    counts=(2, 3),
    takes_more=False,
    usage="clip(x, bound) or clip(x, low, high)",
    section="functions",
    doc={
        "clip(x, bound)": "`clip(x, -bound, bound)`",
        "clip(x, low, high)": "x, or `high` if x is above it; of that, `low` if it is below `low`",
    },
    shown=upright("clip"),
    elementwise=Elementwise(
        arguments=("x", "low", "high"),
        meaning=_clip,
        operations=Inline(clip),
        bounds=_clip_bounds,
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree="1",
        no_larger=True,
        rounds="no",
        symbolic=Symbolic(lambda sp, x, low, high: sp.Min(high, sp.Max(low, x)), of_numbers=True),
        derivative=(
            "where(x > high or x < low, 0, 1)",  # no comparison holds of a bound that is unset
            "where(where(x > high, high, x) < low, 1, 0)",
            "where(x > high, where(high < low, 0, 1), 0)",
        ),
        spelling=ForeignSpelling(
            c="(({x} > {high} ? {high} : {x}) < {low} ? {low} : ({x} > {high} ? {high} : {x}))",
            torch="torch.maximum(torch.minimum({x}, {high}), {low})",
            jax="jnp.maximum(jnp.minimum({x}, {high}), {low})",
        ),
    ),
    reduction=None,
    draw=None,
    matrices=None,
)
WHERE = elementwise(
    "where",
    "`a` where the condition holds, else `b`; both are evaluated",
    upright("where"),
    Elementwise(
        arguments=("condition", "a", "b"),
        meaning=np.where,
        operations=Inline(lambda b, condition, x, y: b.select(condition, *b.sides(condition, x, y))),
        bounds=lambda condition, a, b: hull(a, b),
        domain=ALL,
        takes_matrix=False,
        parity="neither",
        degree=None,
        no_larger=False,
        rounds="no",
        symbolic=Symbolic(lambda sp, c, a, b: sp.Piecewise((a, c), (b, True)), of_numbers=True),
        derivative=(None, "where(condition, 1, 0)", "where(condition, 0, 1)"),
        spelling=ForeignSpelling(
            c="({condition} ? {a} : {b})",
            torch="torch.where({condition}, {a}, {b})",
            jax="jnp.where({condition}, {a}, {b})",
        ),
    ),
)
LARGER = Elementwise(
    arguments=("a", "b"),
    meaning=lambda *several: functools.reduce(np.maximum, several),
    operations=Inline(larger),
    bounds=lambda *several: functools.reduce(_larger_bounds, several),
    domain=ALL,
    takes_matrix=False,
    parity="neither",
    degree="1",
    no_larger=True,
    rounds="no",
    symbolic=Symbolic(lambda sp, *several: sp.Max(*several), of_numbers=True),
    derivative=("where(a > b, 1, where(a == b, 0.5, 0))", "where(b > a, 1, where(a == b, 0.5, 0))"),
    spelling=ForeignSpelling(
        c="({a} != {a} || {a} > {b} ? {a} : {b})", torch="torch.maximum({a}, {b})", jax="jnp.maximum({a}, {b})"
    ),
)
"""`max` of several values; its record is in `reductions`."""
SMALLER = Elementwise(
    arguments=("a", "b"),
    meaning=lambda *several: functools.reduce(np.minimum, several),
    operations=Inline(smaller),
    bounds=lambda *several: -functools.reduce(_larger_bounds, [-x for x in several]),
    domain=ALL,
    takes_matrix=False,
    parity="neither",
    degree="1",
    no_larger=True,
    rounds="no",
    symbolic=Symbolic(lambda sp, *several: sp.Min(*several), of_numbers=True),
    derivative=("where(a < b, 1, where(a == b, 0.5, 0))", "where(b < a, 1, where(a == b, 0.5, 0))"),
    spelling=ForeignSpelling(
        c="({a} != {a} || {a} < {b} ? {a} : {b})", torch="torch.minimum({a}, {b})", jax="jnp.minimum({a}, {b})"
    ),
)
"""`min` of several values; its record is in `reductions`."""
TRIU = elementwise(
    "triu",
    "the elements of a matrix on its diagonal and above; the others are 0",
    upright("triu"),
    Elementwise(
        arguments=("A",),
        meaning=np.triu,
        operations=Inline(_triangle(lambda b, row, column: b.le(row, column))),
        bounds=lambda x: hull(x, Bounds(0.0, 0.0)),
        domain=ALL,
        takes_matrix=True,
        parity="odd",
        degree="1",
        no_larger=True,
        rounds="no",
        symbolic=None,
        derivative=("triu(1)",),
        spelling=ForeignSpelling(c=None, torch="torch.triu({A})", jax="jnp.triu({A})"),
    ),
)
TRIL = elementwise(
    "tril",
    "those on the diagonal and below",
    upright("tril"),
    Elementwise(
        arguments=("A",),
        meaning=np.tril,
        operations=Inline(_triangle(lambda b, row, column: b.ge(row, column))),
        bounds=lambda x: hull(x, Bounds(0.0, 0.0)),
        domain=ALL,
        takes_matrix=True,
        parity="odd",
        degree="1",
        no_larger=True,
        rounds="no",
        symbolic=None,
        derivative=("tril(1)",),
        spelling=ForeignSpelling(c=None, torch="torch.tril({A})", jax="jnp.tril({A})"),
    ),
)

FUNCTIONS: tuple[FunctionRecord, ...] = (ABS, SIGN, CLIP, WHERE, TRIU, TRIL)
