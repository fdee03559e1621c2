"""A rate of 0, with which schedules begin: no spec refuses it, and no first update with it moves a weight."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.harness import EVERY, Case, Shape, cases

NO_RATE = ("AdaDelta", "COCOB", "MADGRAD", "Rprop", "Test")
"""Those whose steps are no multiples of the rate: a gradient moves their weights whatever it is."""
SAMPLED = ("IVON", "MeZO")
"""Those whose weights are a sample, which each step draws anew, or are one within a step, so that they are rounded."""

ALL = tuple(case for case in cases(*EVERY.values()) if case.spec.name not in SAMPLED)
GRADIENTS = [(case, scale) for case in ALL for scale in (0, 1) if not (scale and case.spec.name in NO_RATE)]


@pytest.mark.parametrize(("case", "scale"), GRADIENTS, ids=str)
def test_the_first_update_moves_no_weight(case: Case, scale: int) -> None:
    rng = np.random.default_rng(3)
    rule = case.load(lr=0.0)
    same_rank: tuple[tuple[Shape, ...], ...] = (((4, 3), (7, 2)), ((5,), (1,)), ((),))
    for shapes in filter(None, (case.shapes(*shapes) for shapes in same_rank)):
        params, grads = ([np.array(rng.standard_normal(s), np.float32) for s in shapes] for _ in range(2))
        grads = [np.array(scale * g, np.float32) for g in grads]
        before = [p.copy() for p in params]
        step = rule.bind(params, grads, inputs={i.name: [np.array(abs(p)) for p in before] for i in case.spec.inputs})
        given = dict.fromkeys(case.spec.given, 1.0)
        for phase in case.spec.phases or ("__call__",):
            getattr(step, phase)(**given)
        for new, old in zip(params, before, strict=True):
            assert np.array_equal(new, old)
        for name, arrays in step.state.arrays.items():
            assert all(np.isfinite(x).all() for x in arrays if x is not None), name
