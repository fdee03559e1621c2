"""Steps under a constant gradient: limits that are known, and every limit that is proved beside a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optgen import specfiles
from optgen.analysis import Verdict
from optgen.analysis.constant import constant_gradient, followed, gradient_of
from optgen.functions.table import FUNCTIONS
from optgen.symbolic import steady
from optgen.symbolic.written import expression
from tests.analysis.subjects import subject
from tests.sweeps import swept

KNOWN = [
    ("sgd", {"momentum": 0.9}, "-(lr*g/(1 - momentum))"),
    ("sgd", {"rescale_grad": 10.0}, "-(lr*rescale_grad*g)"),
    ("rmsprop", {}, "-(lr*g/sqrt(epsilon + g^2))"),
    ("adam", {}, "-(lr*g/(epsilon + abs(g)))"),
    ("lion", {}, "-(lr*sign(g))"),
    ("adabelief", {}, None),  # its variance keeps epsilon alone
    ("adagrad", {}, "0"),
    ("adamax", {}, "-(lr*sign(g))"),
]


@pytest.mark.parametrize(("name", "values", "limit"), KNOWN)
def test_known_limits_are_found(name: str, values: dict[str, Any], limit: str | None) -> None:
    found = constant_gradient(subject(name, **values))[0]
    assert found.verdict is Verdict.PROVED and found.formula is not None
    assert limit is None or expression(found.formula) == limit


@pytest.mark.parametrize("name", swept(specfiles.all_available(), ("adam", "rmsprop", "qhm", "adabelief", "ftml")))
def test_proved_limits_are_those_of_a_run(name: str) -> None:
    one = subject(name)
    slow = [x for x, value in one.values.items() if value and 0.99 < value < 1 and not name.startswith("accsgd")]
    one = one.with_values(**dict.fromkeys(slow, 0.97))
    found = constant_gradient(one)[0]
    if found.verdict is not Verdict.PROVED or found.claim == "zero":
        return
    assert found.formula is not None
    meanings = {name: f.elementwise.meaning for name, f in FUNCTIONS.items() if f.elementwise is not None}
    names = {**one.values, **meanings, "g": gradient_of(one)}
    limit = eval(expression(found.formula).replace("^", "**"), {}, names)  # of our own tree
    last = followed(one)[-1]
    assert np.abs(last - limit).max() <= 0.03 * np.abs(limit).max(), (found.text, last, limit)


def test_how_soon_and_how_fast() -> None:
    heavy, adagrad = constant_gradient(subject("sgd", momentum=0.9)), constant_gradient(subject("adagrad"))
    assert [s.claim for s in heavy] == ["limit", "updates 44"]  # 0.9^44 < 1 % < 0.9^43
    assert [s.claim for s in adagrad] == ["zero", "power -0.5"]


def test_a_limit_without_a_closed_form_is_what_a_run_shows() -> None:
    found = constant_gradient(subject("lars"))[0]
    assert found.verdict is not Verdict.PROVED
    assert "in a run of 4096 updates" in found.text or "a run of 4096 updates" in found.text


def test_a_clipped_gradient_has_no_limit_of_unclipped_ones() -> None:
    found = constant_gradient(subject("sgd", clip_gradient=0.1))[0]
    assert (found.claim, found.verdict) == ("settled", Verdict.RUN)
    assert "of RMS 0.1·lr" in found.text


def test_a_limit_that_a_run_does_not_come_near_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    one = subject("rmsprop")
    wrong = steady.steady_step(subject("sgd").spec, subject("sgd").phases, subject("sgd").values)
    monkeypatch.setattr(steady, "steady_step", lambda *_: wrong)
    assert all(found.verdict is not Verdict.PROVED for found in constant_gradient(one))
