"""Bounds of steps and limit cycles: what is known, what the worst gradients reach, and what no run exceeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optgen import specfiles
from optgen.analysis import Verdict
from optgen.analysis.averages import largest_step
from optgen.analysis.bound import bound
from optgen.analysis.cycle import limit_cycle
from optgen.analysis.run import Run
from tests.analysis.subjects import subject
from tests.sweeps import swept

KNOWN = [
    ("sgd", {}, "unbounded", Verdict.PROVED),
    ("lion", {}, "bounded 1", Verdict.PROVED),
    ("adam", {}, "bounded 7.27", Verdict.PROVED),
    ("adagrad", {}, "bounded 1", Verdict.PROVED),
    ("rmsprop", {}, "bounded 3.162", Verdict.PROVED),  # 1/sqrt(1 - 0.9)
    ("nsgd", {}, "norm 1", Verdict.RUN),
    ("lars", {}, "relative 0.001", Verdict.RUN),  # eta
    ("matrix/polar_muon", {}, "singular-values 1 1.3", Verdict.RUN),
    ("adafactor", {}, "undecided", Verdict.UNDECIDED),
]


@pytest.mark.parametrize(("name", "values", "claim", "verdict"), KNOWN)
def test_known_bounds_are_found(name: str, values: dict[str, Any], claim: str, verdict: Verdict) -> None:
    (found,) = bound(subject(name, **values))
    assert (found.claim, found.verdict) == (claim, verdict)


def _largest(name: str, gradients: list[float]) -> float:
    """The largest step under these gradients."""
    run, found = Run(subject(name), [np.zeros(1)]), 0.0
    for gradient in gradients:
        before = float(run.weights[0][0])
        run.step(lambda *_, g=gradient: [np.full(1, g)])
        found = max(found, abs(float(run.weights[0][0]) - before))
    return found


WORST = {
    "adam": [0.0] * 8000 + [(0.999 / 0.9) ** k for k in range(400)],  # proportional to a_i/b_i
    "rmsprop": [0.0] * 9 + [1e9],
    "adagrad": [1e9],
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_gradients_reach_the_bound(name: str) -> None:
    size = largest_step(subject(name)).size
    assert 0.98 * size < _largest(name, WORST[name]) <= size * (1 + 1e-9)


@pytest.mark.parametrize("name", swept(specfiles.all_available(), ("adam", "qhadam", "adabound")))
def test_no_run_exceeds_a_proved_bound(name: str) -> None:
    one = subject(name)
    size = largest_step(one.with_values(wd=0.0) if one.values["wd"] and "wd" in one.reads else one).size
    if not np.isfinite(size) or one.spec.inputs or one.spec.given or one.values["wd"]:
        return
    rng = np.random.default_rng(0)
    run = Run(one, [rng.normal(size=one.shape)])
    for _ in range(200):
        before = run.weights[0].copy()
        gradient = rng.normal(size=one.shape) * 10 ** rng.uniform(-6, 6, size=one.shape)
        run.step(lambda *_, g=gradient: [g])
        assert np.abs(run.weights[0] - before).max() <= size * (1 + 1e-9)


def test_limit_cycles() -> None:
    (signum,) = limit_cycle(subject("signum", momentum=0))
    assert signum.verdict is Verdict.RUN and signum.claim.startswith("cycle ")
    assert float(signum.claim.removeprefix("cycle ")) <= 1  # a sign step from within [-lr, lr] ends there
    assert limit_cycle(subject("sgd")) == limit_cycle(subject("adam")) == []
    (lars,) = limit_cycle(subject("lars"))
    assert lars.claim == "undecided"
