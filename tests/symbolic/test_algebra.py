"""The closed form of the first step: its text, and that it is the equations' own value at random points."""

from __future__ import annotations

import pytest

import optgen
from optgen import specfiles
from optgen.model import Expr, Kind
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
    assert shown(text) == "−lr·({gₜ/‖gₜ‖ if ‖gₜ‖ > 1 and ‖gₜ‖ ≠ 2; gₜ otherwise})"


def test_a_bound_that_may_be_none_is_unset_and_another_is_not() -> None:
    text = "optimizer X\nparam b = 2\nparam c = none\nupdate:\n  w' = w - clip(clip(g, c), b)\n"
    assert shown(text) == "−max(−b, min(b, gₜ))"


@pytest.mark.parametrize(
    "value", ["g/0", "g/where(t > 1, 1, 0)*0", "mean(g, per row)", "log(t - 1)*g", "exp(tanh(g^2) + 1)^g*(w + 1)^(1/g)"]
)
def test_no_closed_form_or_one(value: str) -> None:
    optimizer = optgen.parse(f"optimizer X\nstate r: row = 0\nupdate:\n  r' = r + mean(g, per row)\n  w' = w - {value}\n")
    with pytest.raises(NoClosedForm):
        first_step(optimizer, {})
