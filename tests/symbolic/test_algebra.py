"""The closed form of the first step: its text, and that it is the equations' own value at random points."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import specfiles
from optgen.model import Binary, Call, Expr, Name, Number, Unary
from optgen.symbolic.algebra import NoClosedForm, first_step
from optgen.symbolic.unicode import Unicode


def shown(text: str, **flags: bool) -> str:
    optimizer = optgen.parse(text)
    return Unicode(optimizer).piece(first_step(optimizer, flags)).text


def spec(name: str) -> str:
    return specfiles.spec_path(name).read_text("utf-8")


def test_adam_moves_by_the_learning_rate() -> None:
    assert shown(spec("adam"), amsgrad=False) == "−lr·√(1 − β₂)·gₜ/(ε + √(1 − β₂)·|gₜ|)"
    assert shown(spec("adam"), amsgrad=True) == shown(spec("adam"), amsgrad=False)


def test_conditions_and_norms_stay() -> None:
    text = "optimizer X\nupdate:\n  n = norm(g)\n  w' = w - lr*where(n > 1 and n != 2, g/n, g)\n"
    assert shown(text) == "−lr·({gₜ/‖gₜ‖ if ‖gₜ‖ ≠ 2 and ‖gₜ‖ > 1; gₜ otherwise})"


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


FUNCTIONS = {"sqrt": np.sqrt, "abs": np.abs, "sign": np.sign, "max": np.maximum, "norm": np.linalg.norm}
OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power, "==": np.equal}
OPERATIONS |= {"<": np.less, ">": np.greater, "or": np.logical_or}


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


@pytest.mark.parametrize("name", specfiles.available())
def test_it_is_what_the_kernel_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variant of every spec, long closed forms too, in float64."""
    monkeypatch.setattr("optgen.symbolic.algebra._READABLE", 1000)
    optimizer = optgen.parse(spec(name))
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=(2, 50))
    for flags in optimizer.variants():
        chosen = {f.name: flags[f.name] for f in optimizer.flags if f.condition is None}
        heavy = {"momentum": 0.5 if flags["heavy"] else 0.0} if "heavy" in flags else {}
        kernel = optgen.load(optimizer, "float64", **chosen, **heavy)
        assert dict(kernel.flags) == flags
        moved = w.copy()
        kernel.bind([moved], [g.copy()], kernel.init([moved]))()
        values = {"w": w, "g": g, **kernel.values}
        np.testing.assert_allclose(moved - w, evaluate(first_step(optimizer, flags), values), rtol=1e-9, atol=1e-13)


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
    begin = time.perf_counter()
    try:
        assert first_step(optimizer, {})
    except NoClosedForm as error:
        assert str(error).startswith("no closed form")
    assert time.perf_counter() - begin < 5
