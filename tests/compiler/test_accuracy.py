"""One float32 step against its formula in float64: the error of every spec, in units of the largest term of each sum.

The formula is the model's own expression tree, so none is written twice, and nothing of the compiler takes part in its
evaluation. Beside each value goes a magnitude: what its rounding errors are measured against. That of a sum is its
largest term's, and products, quotients and roots hand it on as they hand on an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.axes import Kind
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, children
from optgen.ir import Variant
from tests.compiler.features import FEATURES
from tests.compiler.harness import KERNELS, TORCH, Array, Case, Shape, arrays_of, is_of_one_gradient
from tests.conftest import Golden

TABLE = Path(__file__).parents[2] / "docs" / "accuracy.md"
LIMIT, LONG_LIMIT = 4.0, 6.0
LONG = {"AdamP", "Adan", "AdEMAMix", "CAME", "CautiousAdamW", "DCASGD", "FTML", "MARS", "QHAdam"}
"""Specs of so many roundings in a row that, counted in spacings, their weights pass the limit of the others."""
NORMAL = float(np.finfo(np.float32).tiny)
SHAPES: tuple[Shape, ...] = ((160, 125), (20_000,))

REDUCTIONS = ("sum", "mean", "norm", "rms", "max", "min")
AXES = {"row": 1, "col": 0}


@dataclass(frozen=True)
class Measured:
    """A value in float64, the magnitude its error is measured against, and where rounding may turn a comparison.

    Arrays have the shape of the matrix view, 1 where they do not vary. `precise`: a double computed from nothing but
    doubles that are the same on both sides, whose rounding errors are as nothing.
    """

    value: Any
    scale: Any
    unsure: Any = False
    precise: bool = False


class Formula:
    """The equations of one variant for one tensor, evaluated in float64."""

    def __init__(self, case: Case, variant: Variant, arrays: Mapping[str, Array], hyper: Mapping[str, Any]) -> None:
        self.names: dict[str, Measured] = {}
        for name, x in arrays.items():
            wide = x.astype(np.float64)
            self.names[name] = exact(wide) if wide.ndim else precise(wide[()])
        for name, x in hyper.items():
            self.names[name] = precise(math.nan if x is None else np.float64(x))
        with np.errstate(all="ignore"):
            rescaled = times(self.names["rescale_grad"], self.names["grad"])
            self.names["g"] = clip(rescaled, self.names["clip_gradient"])
            for equation in case.spec.program(variant.flags).equations:
                self.names[equation.target.key] = self.evaluate(equation.value)

    def evaluate(self, expr: Expr) -> Measured:
        match expr:
            case Number(value=x):
                return precise(np.float64(x))
            case Name():
                return self.names[expr.key]
        args = [self.evaluate(x) for x in children(expr)]
        result = combine(expr, args)
        return precise(result.value) if all(x.precise for x in args) else result


def combine(expr: Expr, args: list[Measured]) -> Measured:
    match expr, args:
        case Unary(op="-"), [x]:
            return negative(x)
        case Unary(op="not"), [x]:
            return Measured(np.logical_not(x.value), 0.0, x.unsure)
        case Binary(op="^", right=Number(value=2)), [x, _]:
            return times(x, x)
        case Binary(op=op), [a, b]:
            return binary(op, a, b)
        case Call(function=name, scope=scope), [x] if name in REDUCTIONS:
            return reduce(name, scope, x)
        case Call(function=name), _:
            return call(name, args)
    raise AssertionError(expr)


def binary(op: str, a: Measured, b: Measured) -> Measured:
    unsure = np.logical_or(a.unsure, b.unsure)
    match op:
        case "+" | "-":
            value = a.value + b.value if op == "+" else a.value - b.value
            return Measured(value, np.maximum(np.maximum(a.scale, b.scale), np.abs(value)), unsure)
        case "*":
            return times(a, b)
        case "/":
            value = a.value / b.value
            scale = np.maximum(a.scale / np.abs(b.value), np.abs(value) * b.scale / np.abs(b.value))
            return rounded(value, scale, unsure)
        case "^":
            assert a.precise and b.precise, "only scalars are raised to powers here"
            return exact(a.value**b.value)
        case "and" | "or":
            return Measured((np.logical_and if op == "and" else np.logical_or)(a.value, b.value), 0.0, unsure)
    compare = {"<": np.less, ">": np.greater, "==": np.equal, "<=": np.less_equal, ">=": np.greater_equal}
    compare["!="] = np.not_equal
    return Measured(compare[op](a.value, b.value), 0.0, unsure | near(a, b))


def call(name: str, args: list[Measured]) -> Measured:
    match name, args:
        case "sqrt", [x]:
            value = np.sqrt(x.value)
            return Measured(value, np.where(x.scale > 0, np.maximum(value, x.scale / (2 * value)), 0.0), x.unsure)
        case "abs", [x]:
            return Measured(np.abs(x.value), x.scale, x.unsure)
        case "sign", [x]:
            value = np.sign(x.value)
            return Measured(value, np.abs(value), x.unsure | near(x, precise(0.0)))
        case (("exp" | "log" | "floor"), [x]):
            assert x.precise, f"only scalars have a {name} here"
            return exact(getattr(np, name)(x.value))
        case "clip", [x, *bounds]:
            return clip(x, *bounds)
        case (("max" | "min"), [a, b]):
            first = (a.value != a.value) | (a.value > b.value if name == "max" else a.value < b.value)
            return choose(Measured(first, 0.0, near(a, b)), a, b, exclude=False)
        case "where", [condition, a, b]:
            return choose(condition, a, b, exclude=True)
    raise AssertionError(name)


def reduce(name: str, scope: str | None, x: Measured) -> Measured:
    """Sums are double: their terms alone have errors."""
    along: dict[str, Any] = {"axis": AXES[scope], "keepdims": True} if scope in AXES else {}
    scale = np.broadcast_to(x.scale, np.shape(x.value))
    unsure = np.any(np.broadcast_to(x.unsure, np.shape(x.value)), **along)
    if name in ("max", "min"):
        return Measured(getattr(np, name)(x.value, **along), np.max(scale, **along), unsure)
    power = 2 if name in ("norm", "rms") else 1
    count = np.size(x.value) / np.size(unsure) if name in ("mean", "rms") else 1
    value, magnitude = (np.sum(y**power, **along) / count for y in (x.value, scale))
    return Measured(value, magnitude, unsure) if power == 1 else Measured(np.sqrt(value), np.sqrt(magnitude), unsure)


def clip(x: Measured, *bounds: Measured) -> Measured:
    low, high = bounds if len(bounds) == 2 else (negative(bounds[0]), bounds[0])
    x = choose(Measured(x.value > high.value, 0.0, near(x, high)), high, x, exclude=False)
    return choose(Measured(x.value < low.value, 0.0, near(x, low)), low, x, exclude=False)


def negative(x: Measured) -> Measured:
    return Measured(-x.value, x.scale, x.unsure, x.precise)


def exact(x: Any) -> Measured:
    return Measured(x, np.abs(x))


def precise(x: Any) -> Measured:
    return Measured(x, np.abs(x), precise=True)


def rounded(value: Any, scale: Any, unsure: Any) -> Measured:
    """The result of an operation that may be subnormal: those numbers are as far apart as the least normal ones."""
    return Measured(value, np.where(value != 0, np.maximum(scale, NORMAL), scale), unsure)


def times(a: Measured, b: Measured) -> Measured:
    scale = np.maximum(a.scale * np.abs(b.value), np.abs(a.value) * b.scale)
    return rounded(a.value * b.value, scale, np.logical_or(a.unsure, b.unsure))


def near(a: Measured, b: Measured) -> Any:
    """Whether rounding may turn the comparison of a and b."""
    if a.precise and b.precise:
        return False
    return (np.abs(a.value - b.value) <= 2.0**-20 * np.maximum(a.scale, b.scale)) & (a.scale + b.scale > 0)


def choose(condition: Measured, a: Measured, b: Measured, *, exclude: bool) -> Measured:
    """a or b. Where rounding may turn the choice, either is right if they are as near (`max`), else none is judged."""
    scale = np.where(condition.value, a.scale, b.scale)
    if exclude:
        sides = np.where(condition.value, a.unsure, b.unsure)
        return Measured(np.where(condition.value, a.value, b.value), scale, np.logical_or(sides, condition.unsure))
    scale = np.where(condition.unsure, np.maximum(a.scale, b.scale), scale)
    return Measured(np.where(condition.value, a.value, b.value), scale, np.logical_or(a.unsure, b.unsure))


# ---------------------------------------------------------------- what is measured

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"wd": 0.01, "rescale_grad": 1 / 3, "lr": 0.37},
    {"wd": 0.1, "clip_gradient": 1.5},
)
LEFT_OUT = {"SGLD": "its noise is the larger part of a step, and is not a function of its inputs"}
MEASURED = {
    symbol.removeprefix("optgen_").removesuffix("_f32"): (case, variant)
    for symbol, (case, variant) in KERNELS.items()
    if case.spec not in (*FEATURES, *TORCH.values()) and case.spec.name not in LEFT_OUT
    if is_of_one_gradient(case.spec)
}


class Steps:
    """One variant, bound to one tensor, and what its formula needs to know before a step."""

    def __init__(self, case: Case, variant: Variant, shapes: tuple[Shape, ...], w: Array, **changes: Any) -> None:
        read = case.spec.reads | {"lr", "rescale_grad"}
        self.case, self.variant = case, variant
        self.rule = case.load(**{name: x for name, x in changes.items() if name in read})
        flags = {name: [variant.flags[name]] for name in case.own}
        own = {name: x for name, (x,) in flags.items()}
        fits = [s for s in case.shapes(*shapes) if self.rule.variant(s, own).flags == variant.flags]
        self.w = w.reshape(fits[0])
        self.grad = np.zeros_like(self.w)
        self.inputs = {i.name: np.zeros_like(self.w) for i in case.spec.inputs}
        self.state = self.rule.init([self.w], flags=flags)
        inputs = {name: [x] for name, x in self.inputs.items()}
        self.step = self.rule.bind([self.w], [self.grad], self.state, inputs, flags=flags)

    def arrays(self) -> dict[str, Array]:
        """Copies of the weight and the states, and of what a step reads, as matrices."""
        found = {"w": self.w} | arrays_of(self.state, 0) | {"grad": self.grad} | self.inputs
        return {name: self.matrix(name, x).copy() for name, x in found.items()}

    def matrix(self, name: str, x: Array) -> Array:
        rows = self.w.shape[0]
        kind = next((s.kind for s in self.case.spec.states if s.name == name), Kind.ELEM)
        if kind in (Kind.ELEM, Kind.ROW):
            return x.reshape(rows, -1)
        return x.reshape(1, -1) if kind is Kind.COL else x

    def formula(self, before: Mapping[str, Array]) -> Formula:
        """Of the step that was just done."""
        rows, cols = self.w.shape[0], self.w.size // self.w.shape[0]
        t = int(self.state.t[0])
        known = {"rank": self.w.ndim, "size": self.w.size, "rows": rows, "cols": cols, "t": t, "step": t}
        return Formula(self.case, self.variant, before, {**self.rule.values, **known})

    def after(self) -> dict[str, Array]:
        """The weight and the states."""
        return {name: x for name, x in self.arrays().items() if name != "grad" and name not in self.inputs}


LEAST = {"Prodigy": 1e-10}
"""The smallest gradients of specs that divide by less than others: averages of smaller squares vanish below 2^-126."""


def wide(rng: np.random.Generator, shape: Shape, least: float = 1e-16) -> Array:
    """Log-uniform in 1e-18..1e18, but at least `least`, of both signs, one in twenty a zero."""
    x = np.maximum(10.0 ** rng.uniform(-18, 18, shape), least) * rng.choice([-1.0, 1.0], shape)
    return np.where(rng.random(shape) < 0.05, 0.0, x).astype(np.float32)


def errors(case: Case, variant: Variant, *, history: int) -> dict[str, tuple[float, float]]:
    """Of the weight and of each state, in the step after `history` others, over all settings: the largest error in
    units of 2^-23 times its magnitude, and in units of 2^-23 times the power of two at or below its magnitude.
    """
    rng = np.random.default_rng(history)
    worst: dict[str, tuple[float, float]] = {}
    for changes in SETTINGS:
        steps = Steps(case, variant, SHAPES, rng.standard_normal(math.prod(SHAPES[0])).astype(np.float32), **changes)
        for k in range(history + 1):
            if k:
                steps.w[...] = rng.standard_normal(steps.w.shape)
            steps.w.reshape(-1)[: steps.w.size // 10] = 0
            for x in (steps.grad, *steps.inputs.values()):
                x[...] = wide(rng, x.shape, LEAST.get(case.spec.name, 1e-16))
            before = steps.arrays()
            steps.step()
        formula = steps.formula(before)
        for name, ours in steps.after().items():
            theirs = formula.names.get(name + "'", formula.names[name])
            assert np.all(np.isfinite(ours)), name
            judged = ~np.broadcast_to(theirs.unsure, ours.shape)
            assert judged.mean() > 0.9, f"too few elements of {name} can be judged"
            scale = np.maximum(np.broadcast_to(theirs.scale, ours.shape), NORMAL)
            error = np.abs(ours - theirs.value)
            off = np.where(error < 4 * NORMAL, 0, error * 2.0**23)[judged]
            units = scale[judged], np.exp2(np.floor(np.log2(scale)))[judged]
            here = (float((off / units[0]).max()), float((off / units[1]).max()))
            worst[name] = tuple(map(max, worst.get(name, here), here))  # type: ignore[assignment]
    return worst


HEAD = """\
# Accuracy of a step

In short: a step in float32 changes weights as the exact equations do, up to errors of at most {limit:g} units in the
last place of the largest term, in its seventh digit. The rest of this page says how that is measured.

This page compares one float32 step of specs, in every variant, with the same equations in float64, whose own errors
are negligible here. Specs are left out whose operations all occur in others. Each figure is the largest error over a
parameter of 20,000 elements: a matrix, unless the variant is for vectors. It is also the largest over three settings,
applied as far as the spec reads them: the defaults; wd 0.01, rescale_grad 1/3 and lr 0.37; wd 0.1 and clip_gradient
1.5. Gradients and further inputs are log-uniform in 1e-18..1e18, but at least 1e-16, with both signs and some zeros.
Averages of smaller squares vanish below 2^-126. Prodigy divides by sqrt(v) + 1e-14 at first, where this changes an
update by up to 1e-5 of it; its gradients are at least 1e-10. Weights are normal, and one in ten is 0. The step called
`first` starts from the initial state, and the one called `sixth` follows five steps with such gradients.

Errors are in ULPs of the largest term of each sum. The ULP of a magnitude is 2^-23 times that magnitude. So the error
of a difference is measured against the larger of its terms, even if the difference is small. Products, quotients, roots
and reductions carry this measure over to their results as they carry over errors. An element is left out if rounding
could change the outcome of a comparison that chooses between different values, such as the sign of a sum near 0 or the
threshold of FTRL. Errors below 2^-124 are not counted, as terms below 2^-126 vanish. The limit is {limit:g} for all
specs.

The figures in brackets are the same errors in spacings of float32 at that magnitude. A spacing is between one half and
one of these ULPs, and a single operation errs by at most half a spacing. The error of the weight is also below
{limit:g} spacings, except for these optimizers, where it is below {long_limit:g}:
{long}.

Not in the table: {left_out}.

`python -m pytest -m stress tests/compiler/test_accuracy.py --update-golden` writes the table anew. Without the option,
the test asserts the limits, and that the table holds the measured figures; `make test` does so for one variant of each
spec.

| variant | step | w | states |
|---|---|---|---|
"""


def rows(variants: Iterable[str]) -> Iterator[str]:
    """The lines of the table for some variants: at most LIMIT ULPs in the first step and in a later one."""
    for variant in variants:
        spec = MEASURED[variant][0].spec
        for history, step in ((0, "first"), (5, "sixth")):
            found = errors(*MEASURED[variant], history=history)
            assert max(error for error, _ in found.values()) <= LIMIT, (variant, step, found)
            spacings = LONG_LIMIT if spec.name in LONG else LIMIT
            assert found["w"][1] <= spacings, (variant, step, found)
            cells = {name: f"{error:.2f} ({spacings:.2f})" for name, (error, spacings) in found.items()}
            states = ", ".join(f"{name} {cell}" for name, cell in cells.items() if name != "w")
            yield f"| {variant} | {step} | {cells['w']} | {states} |\n"


FIRST = list({case.spec.name: variant for variant, (case, _) in reversed(MEASURED.items())}.values())


def test_a_variant_of_every_spec() -> None:
    """docs/accuracy.md holds the figures."""
    table = TABLE.read_text("utf-8").splitlines(keepends=True)
    assert [row for row in rows(FIRST) if row not in table] == []


@pytest.mark.stress
def test_every_variant(golden: Golden) -> None:
    left_out = "; ".join(f"{name}, because {reason}" for name, reason in LEFT_OUT.items())
    head = HEAD.format(limit=LIMIT, long_limit=LONG_LIMIT, long=", ".join(sorted(LONG)), left_out=left_out)
    golden(TABLE, head + "".join(rows(MEASURED)))


# ---------------------------------------------------------------- beyond that range


def is_elementwise(case: Case, variant: Variant) -> bool:
    kinds = {i.result.type.kind for i in pipeline.build(case.spec, variant).instrs() if i.result is not None}
    return kinds <= {Kind.UNIFORM, Kind.HOST, Kind.ELEM}


ELEMENTWISE = [name for name, loaded in MEASURED.items() if is_elementwise(*loaded)]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_infinities_and_nan(name: str) -> None:
    """Where the formula gives NaN, an infinity or a number, so does the step."""
    strange = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0], np.float32)
    first, second = (x.ravel() for x in np.meshgrid(strange, strange))
    case, variant = MEASURED[name]
    for bound in (None, 0.5):
        steps = Steps(case, variant, ((len(first),),), first.copy(), wd=0.01, clip_gradient=bound)
        steps.grad[...] = second
        for x in steps.inputs.values():
            x[...] = second[::-1]
        for _ in range(2):
            before = steps.arrays()
            steps.step()
            formula = steps.formula(before)
            for key, ours in steps.after().items():
                with np.errstate(all="ignore"):
                    value = formula.names.get(key + "'", formula.names[key]).value.astype(np.float32)
                theirs = np.broadcast_to(value, ours.shape)
                assert np.array_equal(np.isnan(ours), np.isnan(theirs)), key
                assert np.array_equal(np.isinf(ours), np.isinf(theirs)), key
                assert np.array_equal(np.signbit(ours[np.isinf(ours)]), np.signbit(theirs[np.isinf(theirs)])), key


def test_lamb_poisoned_by_one_infinity() -> None:
    """An infinite weight makes both norms infinite and their ratio NaN: every weight shows it."""
    rule = optgen.load("lamb")
    w = np.array([np.inf, 1, 2], np.float32)
    rule.bind([w], [np.ones(3, np.float32)], rule.init([w]))(wd=0.1)
    assert np.isnan(w).all()
