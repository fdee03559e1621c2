"""Each record of a function against what it means in NumPy: operations, bounds, and derivatives."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.bounds import bounds_of
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary
from optgen.functions.interval import ALL, Bounds, is_within
from optgen.functions.record import Elementwise, OfMatrices, Parity, Reduction
from optgen.functions.table import FUNCTIONS, elementwise_of, reduction_of
from optgen.ir import Variant
from optgen.ir.interp import TensorUpdate, interpret
from optgen.lang.numeric import first_step_faults
from optgen.pipeline import build
from optgen.symbolic.latex import latex
from optgen.symbolic.mathml import mathml
from optgen.symbolic.unicode import unicode
from tests.functions.values import (
    OF_NUMBERS,
    REDUCTIONS,
    Array,
    meaning,
    random_values,
    special_values,
)

OPERATORS: Mapping[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.float_power, "<": np.less,
    "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def _derivative(text: str, what: Elementwise | Reduction, names: Mapping[str, Any]) -> Array:
    """A derivative at some values, as the parser reads it."""
    conditions = {x for x, d in zip(what.arguments, what.derivative, strict=True) if d is None}
    lines = [f"{x} = {'g > 0' if x in conditions else 'g'}" for x in (*what.arguments, "result", "count")]
    body = "\n  ".join([*lines, f"d = {text}", "w' = w - lr*d"])
    optimizer = optgen.parse(f'optimizer D\nrequire rank == 2 "of matrices"\nupdate:\n  {body}\n')
    (value,) = [e.value for e in optimizer.update if e.target.id == "d"]
    with np.errstate(all="ignore"):
        return np.asarray(_value(value, names), float)


def _value(expr: Expr, names: Mapping[str, Any]) -> Any:
    match expr:
        case Number(value=value):
            return value
        case Name(id=name):
            return math.pi if name == "pi" else names[name]
        case Unary(operand=x):
            return -_value(x, names)
        case Binary(op=op, left=a, right=b):
            return OPERATORS[op](_value(a, names), _value(b, names))
        case Call(args=args):
            known = elementwise_of(expr) or reduction_of(expr)
            assert known is not None
            return known.meaning(*(_value(x, names) for x in args))
    raise TypeError(expr)


# ---------------------------------------------------------------- records


def test_a_record_that_lacks_a_field_does_not_load() -> None:
    for cls in (Elementwise, Reduction, OfMatrices, type(FUNCTIONS["exp"])):
        assert all(
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
            for f in dataclasses.fields(cls)
        )
    record = FUNCTIONS["exp"]
    with pytest.raises(ValueError, match="function exp: 0 kinds of function"):
        dataclasses.replace(record, elementwise=None)
    assert record.elementwise is not None
    with pytest.raises(ValueError, match="function exp: 2 derivatives"):
        dataclasses.replace(record, elementwise=dataclasses.replace(record.elementwise, derivative=("1", "1")))


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_what_analyses_are_told(name: str) -> None:
    """Bounds, domain, parity, degree and size hold at random and special values."""
    what = OF_NUMBERS[name]
    args = [np.concatenate(x) for x in zip(random_values(what), special_values(what), strict=True)]
    is_number = [x.dtype != bool for x in args]
    result = meaning(what, *args)
    known = result[~np.isnan(result)]
    wide = what.bounds(*(ALL for _ in args))
    assert wide.low <= known.min() and known.max() <= wide.high
    few = [np.broadcast_to(x, 100) for x in random_values(what, 100)]
    narrow = what.bounds(*(Bounds(float(x.min()), float(x.max())) for x in few))
    inner = meaning(what, *few)
    if what.rounds == "no" and not np.isnan(inner).all():
        assert narrow.low <= np.nanmin(inner) and np.nanmax(inner) <= narrow.high
    if len(args) == 1:
        finite = args[0][np.isfinite(args[0])]
        outside = (finite < what.domain.low) | (finite > what.domain.high)
        assert np.array_equal(np.isnan(meaning(what, finite)), outside)
    usable = np.logical_and.reduce([np.isfinite(x) for x in args if x.dtype != bool])
    x = [a[usable] for a in args]
    if all(is_number):
        _has_parity(lambda *a: meaning(what, *a), x, what.parity)
    tolerance = {"no": 1e-12, "a little": 1e-6, "much": 1e-2}[what.rounds]
    if what.degree is not None:
        left, right = meaning(what, *(7.3 * a for a in x)), 7.3 ** float(Fraction(what.degree)) * meaning(what, *x)
        away = np.abs(right - np.roll(right, 1)) >= 0 if name != "mod" else np.abs(left - right) < 0.5
        np.testing.assert_allclose(left[away], right[away], rtol=tolerance, atol=1e-12)
    if what.no_larger:
        most = np.maximum.reduce([np.abs(a) for a in x])
        assert np.all(~(np.abs(meaning(what, *x)) > most * (1 + tolerance)))


def _has_parity(function: Any, args: list[Array], parity: Parity) -> None:
    plain, flipped = function(*args), function(*(-x for x in args))
    is_odd, is_even = (np.allclose(flipped, sign * plain, rtol=1e-12, atol=1e-12, equal_nan=True) for sign in (-1, 1))
    assert {"odd": is_odd, "even": is_even, "neither": not (is_odd or is_even)}[parity]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_analyses_are_told_of_reductions(name: str) -> None:
    what = REDUCTIONS[name]
    args = [x.reshape(20, 10) for x in random_values(what)]
    result = meaning(what, *args)
    bounds = what.bounds(*(Bounds(float(x.min()), float(x.max())) for x in args))
    of_none = meaning(what, *(x[:, :0] for x in args))
    for x in (result, of_none[~np.isnan(of_none)]):
        assert np.all(bounds.low <= x) and np.all(x <= bounds.high)
    _has_parity(lambda *a: meaning(what, *a), args, what.parity)
    if what.degree is not None:
        np.testing.assert_allclose(
            meaning(what, *(7.3 * a for a in args)), 7.3 ** float(Fraction(what.degree)) * result
        )
    if what.no_larger:
        assert np.all(np.abs(result) <= np.abs(args[0]).max(axis=-1) * (1 + 1e-12))
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 10)))[0]
    if len(args) == 1:
        assert what.of_squares == np.allclose(meaning(what, args[0] @ rotation), result)
        assert what.is_linear == np.allclose(
            meaning(what, args[0] + args[0] ** 2), result + meaning(what, args[0] ** 2)
        )


@pytest.mark.parametrize(
    "name", [name for name, f in FUNCTIONS.items() if f.matrices is not None and len(f.counts) == 1]
)
def test_what_analyses_are_told_of_matrices(name: str) -> None:
    what = FUNCTIONS[name].matrices
    assert what is not None
    a = np.random.default_rng(0).normal(size=(5, 5))
    a = a @ a.T + np.eye(5)
    other = {"inverse_root": [2.0], "solve": [np.eye(5)[:, :2]]}.get(name, [])
    result = what.meaning(a, *other)
    axes = what.axes(("rows", "rows"), *(("rows", "k") if np.ndim(x) else () for x in other))
    assert np.shape(result) == tuple({"rows": 5, "k": 2}[x] for x in axes)
    assert np.min(result) >= what.bounds.low - 1e-12 and np.max(result) <= what.bounds.high + 1e-12
    if what.degree is not None:
        np.testing.assert_allclose(what.meaning(4 * a, *other), 4.0 ** float(Fraction(what.degree)) * result, atol=1e-9)
    if what.of_zeros is not None:
        assert np.all(what.meaning(np.zeros((5, 5))) == what.of_zeros)


# ---------------------------------------------------------------- derivatives


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_derivatives_are_those_of_differences(name: str) -> None:
    """At random points, which are not at kinks. What rounds has the derivative of what it rounds."""
    what = OF_NUMBERS[name]
    args, step = random_values(what), 1e-6
    for k, text in enumerate(what.derivative):
        if text is None:
            assert args[k].dtype == bool
            continue
        width = step if what.rounds == "no" else 1.0
        sides = [[x + sign * width if i == k else x for i, x in enumerate(args)] for sign in (-1, 1)]
        low, high = (meaning(what, *side) for side in sides)
        found = _derivative(text, what, dict(zip(what.arguments, args, strict=True)))
        tolerance = {"no": 1e-5, "a little": 1e-5, "much": 0.02}[what.rounds]
        expected = (high - low) / (2 * width)
        smooth = np.abs(expected) < 1e4  # not across a jump
        assert smooth.mean() > 0.98
        np.testing.assert_allclose(
            np.broadcast_to(found, expected.shape)[smooth], expected[smooth], rtol=tolerance, atol=tolerance
        )


def test_derivatives_of_clip_with_bounds_that_are_unset_or_cross() -> None:
    clip, step = OF_NUMBERS["clip"], 1e-6
    args = [
        np.array(x) for x in zip(*product((-2.0, 0.3, 2.0), (math.nan, -1.0, 1.5), (math.nan, -1.5, 1.0)), strict=True)
    ]
    for k, text in enumerate(clip.derivative):
        low, high = (meaning(clip, *(x + sign * step if i == k else x for i, x in enumerate(args))) for sign in (-1, 1))
        found = _derivative(str(text), clip, dict(zip(clip.arguments, args, strict=True)))
        np.testing.assert_allclose(found, (high - low) / (2 * step), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_derivatives_of_reductions_are_those_of_differences(name: str) -> None:
    what, step = REDUCTIONS[name], 1e-6
    args = [x[:10] for x in random_values(what)]
    names = dict(zip(what.arguments, args, strict=True))
    known = {"result": meaning(what, *args), "count": 10}
    for k, text in enumerate(what.derivative):
        found = np.broadcast_to(_derivative(text, what, {**names, **known}), 10)
        for at in range(10):
            sides = [
                [x + sign * step * (np.arange(10) == at) if i == k else x for i, x in enumerate(args)]
                for sign in (-1, 1)
            ]
            low, high = (meaning(what, *side) for side in sides)
            assert found[at] == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=1e-6)


# ---------------------------------------------------------------- kernels


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_kernels_compute_what_it_means(name: str) -> None:
    """In float64, at random and special values; `tests.ir.test_math` has the errors of expansions."""
    what = OF_NUMBERS[name]
    args = [np.concatenate(x).astype(float) for x in zip(random_values(what), special_values(what), strict=True)]
    given = [f"in{i} > 0" if derivative is None else f"in{i}" for i, derivative in enumerate(what.derivative)]
    computed = _computed(f"{name}({', '.join(given)})", args)
    expected = meaning(what, *(a > 0 if d is None else a for a, d in zip(args, what.derivative, strict=True)))
    if name == "clip":  # a bound that is NaN is unset
        assert np.array_equal(computed, expected, equal_nan=True)
    np.testing.assert_allclose(computed, expected, rtol=1e-13, atol=1e-300)


def _computed(expr: str, args: Sequence[Array]) -> Array:
    """What the kernel of an expression over `in0`, `in1`, ... computes of float64 vectors."""
    size = len(args[0])
    declared = "".join(f"input in{i}\n" for i in range(len(args)))
    kernel = build(optgen.parse(f"optimizer F\n{declared}update:\n  w' = {expr}\n"), Variant({}, "float64"))
    buffers = {"w": np.zeros(size), "grad": np.zeros(size), **{f"in{i}": x for i, x in enumerate(args)}}
    hyper = {"lr": 1.0, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": math.nan}
    sizes = {"rank": 1.0, "size": float(size), "rows": float(size), "cols": 1.0, "step": 1.0}
    given = {b.name: buffers[b.name] for b in kernel.buffers}
    interpret(kernel, [TensorUpdate(given, hyper | sizes, 1)])
    return buffers["w"]


# ---------------------------------------------------------------- bounds


ENDS = (-math.inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, math.inf)


@pytest.mark.parametrize("name", [*OF_NUMBERS, *"+-*/"])
def test_bounds_hold_what_kernels_compute_of_zeros(name: str) -> None:
    """Of all numbers between all ends, where -0 is below 0."""
    count = 2 if name in "+-*/" else len(OF_NUMBERS[name].arguments)
    ends = ENDS if count < 3 else ENDS[3:7]
    names = [f"in{i}" for i in range(count)]
    given = ["in0 > 0", *names[1:]] if name == "where" else names
    text = f" {name} ".join(given) if name in "+-*/" else f"{name}({', '.join(given)})"
    grid = [x.ravel() for x in np.meshgrid(*[np.array(ends)] * count, indexing="ij")]
    places = [x.ravel() for x in np.meshgrid(*[np.arange(len(ends))] * count, indexing="ij")]
    result = _computed(text, grid)
    expr = optgen.parse("optimizer B\n" + "".join(f"input {x}\n" for x in names) + f"update:\n  w' = {text}\n")
    [value] = [e.value for e in expr.update if e.target.id == "w"]
    for intervals in product(combinations_with_replacement(range(len(ends)), 2), repeat=count):
        inside = np.logical_and.reduce([(a <= x) & (x <= b) for (a, b), x in zip(intervals, places, strict=True)])
        known = {x: Bounds(ends[a], ends[b]) for x, (a, b) in zip(names, intervals, strict=True)}
        found = bounds_of(value, known)
        for x in {str(y): float(y) for y in result[inside & ~np.isnan(result)]}.values():
            assert is_within(Bounds(x, x), found), (known, found, x)


# ---------------------------------------------------------------- how it is shown


def test_every_function_is_shown() -> None:
    """In LaTeX, Unicode and MathML: none is left as an error, or empty."""
    for name, f in FUNCTIONS.items():
        for call in f.doc:
            text = _a_spec_of(call, name)
            optimizer = optgen.parse(text)
            for shown in (latex(optimizer), unicode(optimizer), mathml(optimizer)):
                assert shown.strip()


def _a_spec_of(call: str, name: str) -> str:
    """A spec that computes a call of documentation."""
    f = FUNCTIONS[name]
    inside = call.partition("(")[2][:-1]
    given = inside.replace(" x ", ", ").split(", ") if inside else []
    if f.takes_dimensions:
        args = (
            ", ".join("rows" for _ in given)
            if f.draw is None and len(given) == 1
            else " x ".join(["rows", "cols"][: len(given)])
        )
    elif f.matrices is not None or (f.elementwise is not None and f.elementwise.takes_matrix):
        args = ", ".join({"p": "2", "B": "g"}.get(x, "g@g^T") for x in given)
    else:
        args = ", ".join("g > 0" if x == "condition" else "g" for x in given)
    return f'optimizer S\nrequire rank == 2 "of matrices"\nupdate:\n  x = {name}({args})\n  w\' = w - lr*g\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("g/cosh(g)", []),
        ("g/(cosh(g) - 1)", ["0/0"]),
        ("1/softplus(-1e6 - abs(g))", ["0.01/0"]),
        ("logsumexp(g)", []),
        ("1/sigmoid(g)", []),
        ("log(g)", ["log(0)"]),
    ],
)
def test_warnings_have_the_values_of_records(text: str, found: list[str]) -> None:
    optimizer = optgen.parse(f"optimizer W\nupdate:\n  w' = w - lr*{text}\n")
    assert [x.what for x in first_step_faults(optimizer, {}) if x.case in ("the gradient is zero", "")] == found
