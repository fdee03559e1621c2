"""What a step is timed beside: the ceiling of a spec's own sweeps, and the step that is given its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import pipeline
from optgen.ir.cost import sweeps
from optgen.ir.verify import verify

SHAPES = [(70, 130), (5,)]
Module = Callable[[str], Any]


@pytest.mark.parametrize("name", ["lamb", "lans", "adafactor", "mars", "adam"])
def test_the_same_sweeps(name: str, module: Module) -> None:
    rule = optgen.load(name)
    kernel = pipeline.plan(pipeline.build(rule.spec, rule.variant(SHAPES[0])))
    additions = module("own_ceiling").additions_only(kernel)
    verify(additions)
    assert sweeps(additions) == sweeps(kernel)


def test_a_step_changes_nothing(module: Module) -> None:
    step = module("own_ceiling").bind(module("workloads").OPTIMIZERS["lamb"], SHAPES)
    step()
    assert not any(x.any() for arrays in step.state.arrays.values() for x in arrays)


def test_gradients_given_away(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is there where it differs from the ordinary one, and it can be called again and again."""
    workloads, measure = module("workloads"), module("measure")
    made = []
    monkeypatch.setattr(workloads, "make", lambda *args, make=workloads.make: made.append(make(*args)) or made[-1])
    for name, differs in (("lamb", True), ("adam", False)):
        rule = workloads.OPTIMIZERS[name]
        step = measure.donated(rule.load(), rule, SHAPES)
        assert (step is not None) == differs
        if step is not None:
            before = [w.copy() for w in made[0].weights]
            step()
            step()
            assert not any(np.array_equal(x, y) for x, y in zip(before, made[0].weights, strict=True))
