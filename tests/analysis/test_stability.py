"""Stable rates: bounds that are known, and every closed form beside the weights that grow just above it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optgen import specfiles
from optgen.analysis import Statement, Verdict
from optgen.analysis.frozen import measures_of_size
from optgen.analysis.run import Run
from optgen.analysis.stability import stability
from optgen.analysis.subject import Subject
from optgen.symbolic.algebra import NoClosedForm
from optgen.symbolic.recurrence import largest_curvature
from optgen.symbolic.written import expression
from tests.analysis.subjects import subject
from tests.sweeps import swept

KNOWN = [
    ("sgd", {}, "2/lr"),
    ("sgd", {"momentum": 0.9}, "2*(1 + momentum)/lr"),  # heavy ball: Polyak 1964
    ("sgd", {"rescale_grad": 10.0}, "2/(lr*rescale_grad)"),
    ("sgd", {"wd": 1.0}, "(2 - lr*wd)/lr"),
    ("nag", {"momentum": 0.9}, "2*(1 + momentum)/(lr*(1 + 2*momentum))"),
    ("qhm", {}, "2*(1 + beta)/(lr*(1 + beta - 2*beta*nu))"),  # Gitman et al. 2019, arXiv:1910.13962
    ("extragradient", {}, "1/lr"),
    ("optimistic_sgd", {}, "2/(lr*(alpha + 2*beta))"),
    ("adam", {}, "2*(1 + beta1)/(lr*(1 - beta1))"),  # of preconditioned curvature: Cohen et al. 2022, arXiv:2207.14484
    ("rmsprop", {}, "2/lr"),
]


def _only(one: Subject) -> Statement:
    (found,) = stability(one)
    return found


@pytest.mark.parametrize(("name", "values", "bound"), KNOWN)
def test_known_bounds_are_found(name: str, values: dict[str, Any], bound: str) -> None:
    found = _only(subject(name, **values))
    assert (found.claim, found.verdict) == ("closed-form", Verdict.PROVED)
    assert found.formula is not None and expression(found.formula) == bound


def test_the_sentences() -> None:
    heavy, adam = _only(subject("sgd", momentum=0.9)), _only(subject("adam"))
    assert heavy.text == "Steps on hw²/2 are stable for lr·h < 2·(1 + momentum): h < 380."
    expected = "With v frozen, steps on hw²/2 are stable for h/(ε + √v) < 2·(1 + β₁)/(lr·(1 − β₁)) = 38000."
    assert adam.text == expected


RESERVED = [{"rescale_grad": 10.0}, {"wd": 20.0}, {"wd": 20.0, "momentum": 0.9, "rescale_grad": 0.5}]


@pytest.mark.parametrize("values", RESERVED, ids=str)
def test_gradients_are_rescaled_and_weights_decay(values: dict[str, float]) -> None:
    one = subject("sgd", **values)
    bound = largest_curvature(one.spec, one.phases, (), one.values).value
    for factor in (0.99, 1.01):
        run = Run(one, [np.ones(one.shape)])
        for _ in range(1000):
            run.step(lambda _, weights, h=factor * bound: [h * weights[0]])
        assert (float(np.abs(run.weights[0]).max()) > 1) == (factor > 1)


def test_no_closed_form_is_of_clipped_gradients() -> None:
    assert _only(subject("sgd", clip_gradient=0.1)).verdict is not Verdict.PROVED


LINEAR = ("nag", "qhm", "optimistic_sgd", "accsgd", "aggmo", "extragradient", "pnm", "sgd", "sgdw")


@pytest.mark.parametrize("name", swept(specfiles.all_available(), LINEAR[:3]))
def test_weights_grow_above_a_closed_form_and_not_below(name: str) -> None:
    one = subject(name)
    if not one.is_straight or measures_of_size(one):
        return
    try:
        found = largest_curvature(one.spec, one.phases, (), one.values)
    except NoClosedForm:
        assert name not in LINEAR
        return
    sizes = []
    for factor in (0.2, 0.7, 0.98, 1.02):
        run = Run(one, [np.ones(one.shape)])
        with np.errstate(all="ignore"):
            for _ in range(3000):
                run.step(lambda _, weights, h=factor * found.value: [h * weights[0]])
        sizes.append(float(np.abs(run.weights[0]).max()))
    assert max(sizes[:3]) < 1 and not sizes[3] < 1, sizes


FROZEN = [("adam", "beta2", "v"), ("adabelief", "beta2", "s"), ("adan", "beta3", "n"), ("rmsprop", "gamma1", "n")]


@pytest.mark.parametrize(("name", "decay", "state"), FROZEN)
def test_bounds_with_frozen_states_hold_where_these_hardly_change(name: str, decay: str, state: str) -> None:
    """A state of 4 that forgets next to nothing, long after the start: what is divided by is 2. Weights start small."""
    one = subject(name, **{decay: 1 - 1e-9}, lr=0.01)
    frozen = measures_of_size(one)
    found = largest_curvature(one.spec, one.phases, frozen, one.values)
    assert frozen == (state,)
    for factor in (0.98, 1.02):
        w, g, sizes = np.full(1, 1e-6), np.zeros(1), []
        step: Any = one.rule.bind([w], [g])
        step.state.arrays[state][0][...] = 4.0
        step.state.t[...] = 1 << 50
        for _ in range(1500):
            g[...] = 2 * factor * found.value * w
            step()
            sizes.append(abs(float(w[0])))
        largest = max(sizes)  # weights that grow make the state grow, which ends it
        assert largest > 1e-2 if factor > 1 else largest < 1e-5


def test_a_rate_without_a_closed_form_is_found_by_running() -> None:
    found = _only(subject("sgd with lookahead"))
    assert (found.claim, found.verdict) == ("found", Verdict.RUN)
    exact = 1 + 3 ** (1 / 5)  # of k = 5 steps and alpha = 1/2: |1 - alpha + alpha*(1 - lr*h)^k| = 1
    assert found.curve is not None
    assert all(abs(rate * h - exact) < 0.02 * exact for rate, h in found.curve)


def test_what_is_not_decided_says_why() -> None:
    assert stability(subject("lion")) == []  # its steps do not shrink: `limit-cycle` has the answer
    found = _only(subject("lamb"))
    assert (found.claim, found.verdict) == ("undecided", Verdict.UNDECIDED)
    assert "no linear map" in found.text
