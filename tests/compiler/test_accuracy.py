"""One float32 step against its formula in float64: the error of every spec, in units of the largest term of each sum.

The formula is the model's own expression tree, so none is written twice, and nothing of the compiler takes part in its
evaluation. Beside each value goes a magnitude: what its rounding errors are measured against. That of a sum is its
largest term's, and products, quotients and roots hand it on as they hand on an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.model import Binary, Call, Expr, Name, Number, Unary
from tests.compiler.harness import VARIANTS, Array, Variant
from tests.conftest import Golden

TABLE = Path(__file__).parents[2] / "docs" / "accuracy.md"
LIMIT = 4.0
NORMAL = float(np.finfo(np.float32).tiny)
SIZE = 20_000


@dataclass(frozen=True)
class Measured:
    """A value in float64, the magnitude its error is measured against, and where rounding may turn a comparison."""

    value: Any
    scale: Any
    unsure: Any = False


class Formula:
    """The equations of one variant for one tensor, evaluated in float64."""

    def __init__(self, variant: Variant, tensors: dict[str, Array], hyper: dict[str, Any], t: int) -> None:
        self.names: dict[str, Measured] = {}
        for name, x in tensors.items():
            self.names[name] = exact(x.astype(np.float64))
        for name, x in hyper.items():
            self.names[name] = exact(math.nan if x is None else x)
        self.names["t"] = exact(float(t))
        self.names["g"] = self.clip(times(self.names["rescale_grad"], self.names["grad"]), self.names["clip_gradient"])
        with np.errstate(all="ignore"):
            for equation in variant.spec.program(variant.flags).equations:
                self.names[equation.target.key] = self.evaluate(equation.value)

    def evaluate(self, expr: Expr) -> Measured:
        match expr:
            case Number(value=x):
                return exact(x)
            case Name():
                return self.names[expr.key]
            case Unary(op="-", operand=x):
                inner = self.evaluate(x)
                return Measured(-inner.value, inner.scale, inner.unsure)
            case Binary(op=op, left=x, right=y):
                return self.binary(op, self.evaluate(x), self.evaluate(y))
            case Call(function=name, args=args):
                return self.call(name, [self.evaluate(a) for a in args])
        raise AssertionError(expr)

    def binary(self, op: str, a: Measured, b: Measured) -> Measured:
        unsure = np.logical_or(a.unsure, b.unsure)
        if op in "+-":
            value = a.value + b.value if op == "+" else a.value - b.value
            if np.ndim(value) == 0 and a.scale == abs(a.value) and b.scale == abs(b.value):
                return exact(value)  # of doubles, whose rounding errors are as nothing
            return Measured(value, np.maximum(np.maximum(a.scale, b.scale), np.abs(value)), unsure)
        if op == "*":
            return times(a, b)
        if op == "/":
            value = a.value / b.value
            scale = np.maximum(a.scale / np.abs(b.value), np.abs(value) * b.scale / np.abs(b.value))
            return rounded(value, scale, unsure)
        if op == "^":
            if isinstance(b.value, float) and b.value == 2:
                return times(a, a)
            assert np.ndim(a.value) == 0 and np.ndim(b.value) == 0, "only scalars are raised to powers here"
            return exact(a.value**b.value)
        if op == "or":
            return Measured(np.logical_or(a.value, b.value), 0.0, unsure)
        compare = {"<": np.less, ">": np.greater, "==": np.equal, "<=": np.less_equal, ">=": np.greater_equal}[op]
        return Measured(compare(a.value, b.value), 0.0, unsure | near(a, b))

    def call(self, name: str, args: list[Measured]) -> Measured:
        match name, args:
            case "sqrt", [x]:
                value = np.sqrt(x.value)
                return Measured(value, np.where(x.scale > 0, np.maximum(value, x.scale / (2 * value)), 0.0), x.unsure)
            case "abs", [x]:
                return Measured(np.abs(x.value), x.scale, x.unsure)
            case "sign", [x]:
                return Measured(np.sign(np.nan_to_num(x.value)), 1.0, x.unsure | near(x, exact(0.0)))
            case "clip", [x, *bounds]:
                return self.clip(x, *bounds)
            case (("max" | "min"), [a, b]):
                first = (a.value != a.value) | (a.value > b.value if name == "max" else a.value < b.value)
                return choose(Measured(first, 0.0, near(a, b)), a, b, exclude=False)
            case "where", [condition, a, b]:
                return choose(condition, a, b, exclude=True)
            case "norm", [x]:
                scale = np.sqrt(np.sum(np.square(np.broadcast_to(x.scale, np.shape(x.value)))))
                return Measured(np.sqrt(np.sum(np.square(x.value))), scale)
        raise AssertionError(name)

    def clip(self, x: Measured, *bounds: Measured) -> Measured:
        low, high = bounds if len(bounds) == 2 else (Measured(-bounds[0].value, bounds[0].scale), bounds[0])
        x = choose(Measured(x.value > high.value, 0.0, near(x, high)), high, x, exclude=False)
        return choose(Measured(x.value < low.value, 0.0, near(x, low)), low, x, exclude=False)


def exact(x: Any) -> Measured:
    return Measured(x, np.abs(x))


def rounded(value: Any, scale: Any, unsure: Any) -> Measured:
    """The result of an operation that may be subnormal: those numbers are as far apart as the least normal ones."""
    return Measured(value, np.where(value != 0, np.maximum(scale, NORMAL), scale), unsure)


def times(a: Measured, b: Measured) -> Measured:
    scale = np.maximum(a.scale * np.abs(b.value), np.abs(a.value) * b.scale)
    return rounded(a.value * b.value, scale, np.logical_or(a.unsure, b.unsure))


def near(a: Measured, b: Measured) -> Any:
    """Whether rounding may turn the comparison of a and b."""
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


def wide(rng: np.random.Generator) -> Array:
    """Log-uniform in 1e-18..1e18, of both signs, one in twenty a zero."""
    x = 10.0 ** rng.uniform(-18, 18, SIZE) * rng.choice([-1.0, 1.0], SIZE)
    return np.where(rng.random(SIZE) < 0.05, 0.0, x).astype(np.float32)


def errors(variant: Variant, *, history: int) -> dict[str, tuple[float, float]]:
    """Of the weight and of each state, in the step after `history` others, over all settings: the largest error in
    units of 2^-23 times its magnitude, and in units of 2^-23 times the power of two at or below its magnitude.
    """
    rng = np.random.default_rng(history)
    worst: dict[str, tuple[float, float]] = {}
    for changes in SETTINGS:
        rule = variant.load("float32", **changes)
        w, g = np.empty(SIZE, np.float32), np.empty(SIZE, np.float32)
        state = rule.init([w])
        step = rule.bind([w], [g], state)
        for _ in range(history + 1):
            w[:] = rng.standard_normal(SIZE)
            w[: SIZE // 10] = 0
            g[:] = wide(rng)
            before = {"w": w.copy(), "grad": g, **{name: x[0].copy() for name, x in state.arrays.items()}}
            step()
        formula = Formula(variant, before, rule.values, int(state.t[0]))
        for name, ours in {"w": w, **{name: x[0] for name, x in state.arrays.items()}}.items():
            theirs = formula.names[name + "'"]
            judged = ~np.broadcast_to(theirs.unsure, ours.shape)
            assert judged.mean() > 0.9, f"{variant}: too few elements of {name} can be judged"
            assert np.all(np.isfinite(ours))
            scale = np.maximum(np.broadcast_to(theirs.scale, ours.shape), NORMAL)
            off = (np.abs(ours - theirs.value) * 2.0**23)[judged]
            units = scale[judged], np.exp2(np.floor(np.log2(scale)))[judged]
            here = (float((off / units[0]).max()), float((off / units[1]).max()))
            worst[name] = tuple(map(max, worst.get(name, here), here))  # type: ignore[assignment]
    return worst


HEAD = """\
# Accuracy of a step

One float32 step of every spec and variant against the same equations in float64, which for this purpose are exact. Each
figure is the largest error over 20 000 elements in each of three settings: the defaults; wd 0.01, rescale_grad 1/3 and
lr 0.37; wd 0.1 and clip_gradient 1.5. Gradients are log-uniform in 1e-18..1e18, with both signs and with zeros among
them; weights are normal, one in ten 0; the first step is from the initial state, the sixth from what five steps with
such gradients leave behind.

Errors are in ULPs of the largest term of each sum, an ULP of a magnitude being 2^-23 times it. What cancels in a
difference is measured against what it cancelled from, and products, quotients and roots hand that measure on as they
hand on an error. Where rounding may turn a comparison that chooses between different values (the sign of a sum around
0, FTRL's threshold) an element is left out. The limit is {limit:g} for all of them. In brackets are the same errors in
spacings of float32 at that magnitude, which are between one half and one of these ULPs; a single operation errs by at
most half a spacing. The weight stays below {limit:g} of them too.

`python -m pytest tests/compiler/test_accuracy.py --update-golden` reproduces the table; without the option the test
asserts the limit and that the table is what is measured.

| variant | step | w | states |
|---|---|---|---|
"""


def test_every_spec(golden: Golden) -> None:
    """At most LIMIT ULPs in the first step and in a later one; docs/accuracy.md holds the figures."""
    rows = []
    for variant in VARIANTS:
        for history, step in ((0, "first"), (5, "sixth")):
            found = errors(variant, history=history)
            assert max(*found["w"], *(error for error, _ in found.values())) <= LIMIT, (str(variant), step, found)
            cells = {name: f"{error:.2f} ({spacings:.2f})" for name, (error, spacings) in found.items()}
            states = ", ".join(f"{name} {cell}" for name, cell in cells.items() if name != "w")
            rows.append(f"| {variant} | {step} | {cells['w']} | {states} |\n")
    golden(TABLE, HEAD.format(limit=LIMIT) + "".join(rows))


# ---------------------------------------------------------------- beyond that range


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.spec.name != "LAMB"], ids=str)
def test_infinities_and_nan(variant: Variant) -> None:
    """Where the formula gives NaN, an infinity or a number, so does the step."""
    strange = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0], np.float32)
    first, second = (x.ravel() for x in np.meshgrid(strange, strange))
    for clip in (None, 0.5):
        rule = variant.load("float32")
        w, g = first.copy(), second.copy()
        state = rule.init([w])
        step = rule.bind([w], [g], state)
        for _ in range(2):
            before = {"w": w.copy(), "grad": g, **{name: x[0].copy() for name, x in state.arrays.items()}}
            step(wd=0.01, clip_gradient=clip)
            values = {**rule.values, "wd": 0.01, "clip_gradient": clip}
            formula = Formula(variant, before, values, int(state.t[0]))
            for name, ours in {"w": w, **{name: x[0] for name, x in state.arrays.items()}}.items():
                with np.errstate(all="ignore"):
                    theirs = formula.names[name + "'"].value.astype(np.float32)
                assert np.array_equal(np.isnan(ours), np.isnan(theirs)), name
                assert np.array_equal(np.isinf(ours), np.isinf(theirs)), name
                assert np.array_equal(np.signbit(ours[np.isinf(ours)]), np.signbit(theirs[np.isinf(theirs)])), name


def test_nan_reaches_the_weight() -> None:
    """A NaN gradient is not hidden: not by clipping, nor by a maximum; sign(NaN) is 0 by definition."""
    for variant in VARIANTS:
        rule = variant.load("float32")
        w = np.ones(3, np.float32)
        state = rule.init([w])
        rule.bind([w], [np.array([1, np.nan, 1], np.float32)], state)(clip_gradient=0.1, lr=0.1)
        expected = [False, variant.spec.name not in ("Signum", "Ftrl"), False]
        assert np.isnan(w).tolist() == ([True] * 3 if variant.spec.name == "LAMB" else expected), str(variant)
        assert all(np.isnan(x[1]) for (x,) in state.arrays.values()), str(variant)


def test_lamb_poisoned_by_one_infinity() -> None:
    """An infinite weight makes both norms infinite and their ratio NaN: every weight shows it."""
    rule = optgen.load("lamb")
    w = np.array([np.inf, 1, 2], np.float32)
    rule.bind([w], [np.ones(3, np.float32)], rule.init([w]))(wd=0.1)
    assert np.isnan(w).all()
