"""The closed form of the first step: its text, and that it is the equations' own value at random points."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline, specfiles
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, walk
from optgen.model import Optimizer
from optgen.symbolic.algebra import NoClosedForm, first_step
from optgen.symbolic.unicode import Unicode
from tests.compiler.harness import interpret_step


def shown(text: str, **flags: bool) -> str:
    optimizer = optgen.parse(text)
    return Unicode(optimizer).render(first_step(optimizer, flags)).text


def spec(name: str) -> str:
    return specfiles.spec_path(name).read_text("utf-8")


def test_adam_moves_by_the_learning_rate() -> None:
    assert shown(spec("adam"), amsgrad=False) == "−lr·√(1 − β₂)·gₜ/(ε + √(1 − β₂)·|gₜ|)"
    assert shown(spec("adam"), amsgrad=True) == shown(spec("adam"), amsgrad=False)


def test_conditions_and_norms_stay() -> None:
    text = "optimizer X\nupdate:\n  n = norm(g)\n  w' = w - lr*where(n > 1 and n != 2, g/n, g)\n"
    assert shown(text) == "−lr·({gₜ/‖gₜ‖ if ‖gₜ‖ ≠ 2 and ‖gₜ‖ > 1; gₜ otherwise})"


def test_of_the_sign_of_a_sum_nothing_is_known() -> None:
    assert shown("optimizer X\nupdate:\n  w' = w - lr*g/max(mean(g), 0.5)\n") == "−lr·gₜ/max(1/2, mean(gₜ))"


def test_a_bound_that_may_be_none_is_unset_and_another_is_not() -> None:
    text = "optimizer X\nparam b = 2\nparam c = none\nupdate:\n  w' = w - clip(clip(g, c), b)\n"
    assert shown(text) == "−min(b, max(−b, gₜ))"


@pytest.mark.parametrize(
    "value", ["g/0", "g/where(t > 1, 1, 0)*0", "mean(g, per row)", "log(t - 1)*g", "exp(tanh(g^2) + 1)^g*(w + 1)^(1/g)"]
)
def test_no_closed_form_or_one(value: str) -> None:
    optimizer = optgen.parse(
        f"optimizer X\nstate r: row = 0\nupdate:\n  r' = r + mean(g, per row)\n  w' = w - {value}\n"
    )
    with pytest.raises(NoClosedForm):
        first_step(optimizer, {})


def extreme(pairwise: Any, of_all: Any) -> Any:
    return lambda *args: pairwise(*args) if len(args) == 2 else of_all(*args)


def rms(x: Any) -> Any:
    return np.sqrt(np.mean(x**2))


FUNCTIONS = {"sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log, "floor": np.floor}
FUNCTIONS |= {"tanh": np.tanh}
FUNCTIONS |= {"max": extreme(np.maximum, np.max), "min": extreme(np.minimum, np.min)}
FUNCTIONS |= {"atan2": np.arctan2, "norm": np.linalg.norm, "sum": np.sum, "mean": np.mean, "rms": rms}
OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power, "==": np.equal}
OPERATIONS |= {"<": np.less, ">": np.greater, "or": np.logical_or, "and": np.logical_and, "!=": np.not_equal}
OPERATIONS |= {"<=": np.less_equal, ">=": np.greater_equal}
SHAPE = (10, 5)


def evaluate(expr: Expr, values: Mapping[str, Any]) -> Any:
    match expr:
        case Number(value=x):
            return x
        case Name(key=key):
            return values[key]
        case Unary(operand=x):
            return -evaluate(x, values)
        case Binary(op=op, left=a, right=b):
            return OPERATIONS[op](evaluate(a, values), evaluate(b, values))
        case Call(function="where", args=(c, a, b)):
            return np.where(*(evaluate(x, values) for x in (c, a, b)))
        case Call(function=name, args=args):
            return FUNCTIONS[name](*(evaluate(x, values) for x in args))
    raise TypeError(expr)


WITHOUT = {"adashift", "lans", "lars", "lbsgd", "novograd", "sophia"}  # conditions on norms, long ones, floor
WITHOUT |= {"adopt", "optax/adopt", "optax/sophia", "schedulefree_radam"}  # powers of t - 1, floor, a sum that is 0
WITHOUT |= {"gravity", "spam", "stablespam"}  # a start that is drawn, remainders
"""Those that have no closed form in some variant, beside those that draw, or reduce rows, columns or all parameters."""


def has_scope_or_draw(optimizer: Optimizer) -> bool:
    calls = [x for e in optimizer.update for x in walk(e.value) if isinstance(x, Call)]
    return any(x.scope is not None or x.function in ("normal", "uniform") for x in calls)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.stress)], ids=["some", "every"])
@pytest.mark.parametrize("name", specfiles.all_available())
def test_it_is_what_the_equations_do(name: str, every: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variants of every spec in which some flag has a value for the first time, or every one; long closed forms too, in
    float64. The interpreter computes the step: kernels are compared with it elsewhere."""
    monkeypatch.setattr("optgen.symbolic.algebra._READABLE", 1000)
    optimizer = optgen.parse(spec(name))
    rng = np.random.default_rng(1)
    w, g, *others = rng.normal(size=(2 + len(optimizer.inputs), *SHAPE))
    inputs = dict(zip((i.name for i in optimizer.inputs), others, strict=True))
    derived = {"momentum": "heavy", "beta1": "averaged"}
    known = {"rank": 2.0, "size": 50.0, "rows": 10.0, "cols": 5.0}
    seen = set[tuple[str, Any]]()
    for flags in optimizer.variants():
        if not every and flags and flags.items() <= seen:
            continue
        chosen = {f.name: flags[f.name] for f in optimizer.flags if f.condition is None and not f.per_param}
        chosen |= {p: 0.5 if flags[f] else 0.0 for p, f in derived.items() if f in flags and p in optimizer.reads}
        chosen |= {"wd": 0.0} if "wd" in optimizer.reads else {}
        chosen |= {"r": 4} if name in ("matrix/apollo", "matrix/dion", "matrix/galore") else {}  # of SHAPE
        rule = optgen.load(optimizer, "float64", **chosen)
        each = {f.name: [flags[f.name]] for f in optimizer.flags if f.per_param}
        if dict(rule.variant(SHAPE, {name: x for name, (x,) in each.items()}).flags) != flags:
            continue  # of another rank, or for other parameters than these
        try:
            form = first_step(optimizer, flags)
        except NoClosedForm:
            assert name in WITHOUT or has_scope_or_draw(optimizer) or optimizer.has_stages
            if optimizer.has_stages:
                seen |= flags.items()
            continue
        seen |= flags.items()
        if name == "optax/rmsprop" and flags["centered"] and flags["bias_correction"]:
            continue  # it divides by a variance that is 0 but for rounding
        moved = w.copy()
        state = rule.init([moved], flags=each or None)
        values = {**rule.values, **dict.fromkeys(optimizer.given, 1.0)}
        given = {n: [x] for n, x in inputs.items()}
        interpret_step(rule, [moved], [g.copy()], state, values, build=pipeline.build, inputs=given, flags=each)
        rounding = 1e-7 if flags.get("single") else 1e-9  # closed forms round no number to float32
        values = {"w": w, "g": g, "grad": g, **inputs, **known, **rule.values}
        np.testing.assert_allclose(moved - w, evaluate(form, values), rtol=rounding, atol=1e-13)


@pytest.mark.parametrize(
    "value",
    [
        "2^1e9*g",
        "g*pow(10, 1e300)",
        "floor(exp(1e9))*g",
        "exp(exp(exp(40)))*g",
        "(1 + g)^1000000",
        "*".join(f"(g + {i})" for i in range(60)),
        "sqrt(-1)*g",
        "where(sqrt(-1) > g, 1, 2)",
        "g/1e-300^40",
    ],
)
def test_it_ends(value: str) -> None:
    """What could keep SymPy busy for ever, or make it raise, is answered or refused at once."""
    optimizer = optgen.parse(f"optimizer X\nupdate:\n  w' = w - {value}\n")
    begin = time.thread_time()
    try:
        assert first_step(optimizer, {})
    except NoClosedForm as error:
        assert str(error).startswith("no closed form")
    assert time.thread_time() - begin < 5
