"""Reductions: one number from many. `max` and `min` are also functions of several numbers.

All are computed in doubles: in a norm, the square of a float32 neither overflows nor underflows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen.functions.comparisons import LARGER, SMALLER
from optgen.functions.interval import ALL, NONNEGATIVE, Bounds, hull, sign_of
from optgen.functions.record import (
    Elementwise,
    Fenced,
    ForeignSpelling,
    FunctionRecord,
    Reduction,
    Shown,
    command,
    upright,
)

if TYPE_CHECKING:
    from optgen.functions.builder import Builder, Folding, V


def _itself(b: Builder[V], x: V) -> V:
    return x


def _product(b: Builder[V], x: V, y: V) -> V:
    return b.mul(x, y)


def _sum(b: Folding[V], x: V) -> V:
    return b.fold("sum", x)


def _mean(b: Folding[V], x: V) -> V:
    return b.div(b.fold("sum", x), b.count(x))


def _norm(b: Folding[V], x: V) -> V:
    return b.sqrt(b.fold("sum", b.mul(x, x)))


def _rms(b: Folding[V], x: V) -> V:
    return b.sqrt(_mean(b, b.mul(x, x)))


def _std(b: Folding[V], x: V) -> V:
    return _rms(b, b.sub(x, _mean(b, x)))


def _logsumexp(b: Folding[V], x: V) -> V:
    """With the largest subtracted, unless that is infinite."""
    largest = b.fold("max", x)
    shift = b.select(b.lt(b.abs(largest), b.const(math.inf)), largest, b.const(0.0))
    return b.add(b.math("log", b.fold("sum", b.math("exp", b.sub(x, shift)))), shift)


def _max(b: Folding[V], x: V) -> V:
    return b.fold("max", x)


def _min(b: Folding[V], x: V) -> V:
    return b.fold("min", x)


def _mean_of(x: Any) -> Any:
    with np.errstate(invalid="ignore"):  # 0/0 of none
        return np.sum(x, axis=-1) / np.float64(np.shape(x)[-1])


def _std_of(x: Any) -> Any:
    return np.sqrt(_mean_of((x - np.expand_dims(_mean_of(x), -1)) ** 2))


def _reduction(
    name: str, arguments: tuple[str, ...], doc: str, shown: Shown, what: Reduction, several: Elementwise | None
) -> FunctionRecord:
    """The record of a reduction. `several`: what it is of more than one argument; None if that is an error."""
    call = f"{name}({', '.join(arguments)})"
    own = {call: doc}
    if several is None:
        return FunctionRecord(name, (len(arguments),), False, call, "reductions", own, shown, None, what, None, None)
    size = "larger" if name == "max" else "smaller"
    docs = {f"{name}(a, b)": f"the {size} number, `b` where they are equal", **own}
    usage = f"{name}(a, b), or {call} over the elements of x"
    return FunctionRecord(name, (1, 2), True, usage, "reductions", docs, shown, several, what, None, None)


SUM = _reduction(
    "sum",
    ("x",),
    "the sum",
    upright("sum"),
    Reduction(
        arguments=("x",),
        meaning=lambda x: np.sum(x, axis=-1),
        terms=_itself,
        operations=_sum,
        bounds=lambda x: hull(sign_of(x), Bounds(0.0, 0.0)),
        parity="odd",
        degree="1",
        no_larger=False,
        of_squares=False,
        derivative=("1",),
        spelling=ForeignSpelling(c=None, torch="torch.sum({x}, {axis})", jax="jnp.sum({x}, {axis})"),
    ),
    None,
)
MEAN = _reduction(
    "mean",
    ("x",),
    "the sum divided by the count",
    upright("mean"),
    Reduction(
        arguments=("x",),
        meaning=_mean_of,
        terms=_itself,
        operations=_mean,
        bounds=lambda x: Bounds(x.low, x.high + 0.0),  # a sum starts at 0
        parity="odd",
        degree="1",
        no_larger=True,
        of_squares=False,
        derivative=("1/count",),
        spelling=ForeignSpelling(c=None, torch="torch.mean({x}, {axis})", jax="jnp.mean({x}, {axis})"),
    ),
    None,
)
NORM = _reduction(
    "norm",
    ("x",),
    "the square root of the sum of squares",
    Fenced((r"\lVert ", r" \rVert"), ("‖", "‖")),
    Reduction(
        arguments=("x",),
        meaning=lambda x: np.sqrt(np.sum(x * x, axis=-1)),
        terms=_itself,
        operations=_norm,
        bounds=lambda x: NONNEGATIVE,
        parity="even",
        degree="1",
        no_larger=False,
        of_squares=True,
        derivative=("x/result",),
        spelling=ForeignSpelling(
            c=None,
            torch="torch.linalg.vector_norm({x}, dim={axis})",
            jax="jnp.sqrt(jnp.sum(jnp.square({x}), {axis}))",
        ),
    ),
    None,
)
RMS = _reduction(
    "rms",
    ("x",),
    "the square root of the mean of squares",
    upright("rms"),
    Reduction(
        arguments=("x",),
        meaning=lambda x: np.sqrt(_mean_of(x * x)),
        terms=_itself,
        operations=_rms,
        bounds=lambda x: NONNEGATIVE,
        parity="even",
        degree="1",
        no_larger=True,
        of_squares=True,
        derivative=("x/(count*result)",),
        spelling=ForeignSpelling(
            c=None,
            torch="torch.sqrt(torch.mean(torch.square({x}), {axis}))",
            jax="jnp.sqrt(jnp.mean(jnp.square({x}), {axis}))",
        ),
    ),
    None,
)
STD = _reduction(
    "std",
    ("x",),
    "the standard deviation, `rms(x - mean(x))`",
    upright("std"),
    Reduction(
        arguments=("x",),
        meaning=_std_of,
        terms=_itself,
        operations=_std,
        bounds=lambda x: NONNEGATIVE,
        parity="even",
        degree="1",
        no_larger=True,
        of_squares=False,
        derivative=("(x - mean(x))/(count*result)",),
        spelling=ForeignSpelling(c=None, torch="torch.std({x}, {axis}, correction=0)", jax="jnp.std({x}, {axis})"),
    ),
    None,
)
MAX = _reduction(
    "max",
    ("x",),
    "the largest",
    command("max"),
    Reduction(
        arguments=("x",),
        meaning=lambda x: np.max(x, axis=-1, initial=-math.inf),
        terms=_itself,
        operations=_max,
        bounds=lambda x: Bounds(-math.inf, x.high),
        parity="neither",
        degree="1",
        no_larger=True,
        of_squares=False,
        derivative=("where(x == result, 1, 0)",),
        spelling=ForeignSpelling(c=None, torch="torch.amax({x}, {axis})", jax="jnp.max({x}, {axis})"),
    ),
    LARGER,
)
MIN = _reduction(
    "min",
    ("x",),
    "the smallest",
    command("min"),
    Reduction(
        arguments=("x",),
        meaning=lambda x: np.min(x, axis=-1, initial=math.inf),
        terms=_itself,
        operations=_min,
        bounds=lambda x: Bounds(x.low, math.inf),
        parity="neither",
        degree="1",
        no_larger=True,
        of_squares=False,
        derivative=("where(x == result, 1, 0)",),
        spelling=ForeignSpelling(c=None, torch="torch.amin({x}, {axis})", jax="jnp.min({x}, {axis})"),
    ),
    SMALLER,
)
LOGSUMEXP = _reduction(
    "logsumexp",
    ("x",),
    "`log(sum(exp(x)))`, also where `exp(x)` is no number",
    upright("logsumexp"),
    Reduction(
        arguments=("x",),
        meaning=lambda x: np.logaddexp.reduce(x, axis=-1),
        terms=_itself,
        operations=_logsumexp,
        bounds=lambda x: ALL,
        parity="neither",
        degree=None,
        no_larger=False,
        of_squares=False,
        derivative=("exp(x - result)",),
        spelling=ForeignSpelling(c=None, torch="torch.logsumexp({x}, {axis})", jax="jax.nn.logsumexp({x}, {axis})"),
    ),
    None,
)
DOT = _reduction(
    "dot",
    ("x", "y"),
    "the sum of `x*y`; on the right that of `x*x`",
    upright("dot"),
    Reduction(
        arguments=("x", "y"),
        meaning=lambda x, y: np.sum(x * y, axis=-1),
        terms=_product,
        operations=_sum,
        bounds=lambda x, y: sign_of(hull(x, y)) if x.low >= 0 and y.low >= 0 else ALL,
        parity="even",
        degree="2",
        no_larger=False,
        of_squares=False,
        derivative=("y", "x"),
        spelling=ForeignSpelling(c=None, torch="torch.sum({x}*{y}, {axis})", jax="jnp.sum({x}*{y}, {axis})"),
    ),
    None,
)

FUNCTIONS: tuple[FunctionRecord, ...] = (SUM, MEAN, NORM, RMS, STD, LOGSUMEXP, MAX, MIN, DOT)
