"""Values that follow from counts and hyper-parameters: the same whether tensors are updated together or alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import optgen

N = 19
"""Tensors: more than the words that are copied at once, and no multiple of them."""
ALTERNATING = [0.01 if i % 2 else 0.0 for i in range(N)]
RISING = [1e-3 * (i + 1) for i in range(N)]
BETAS = [0.9 if i < 7 else 0.8 for i in range(N)]


@pytest.mark.parametrize("spec", ["adam", "lamb", "sgd", "nadam", "radam"])
@pytest.mark.parametrize("counts", ["equal", "different"])
@pytest.mark.parametrize(
    "values", [{}, {"wd": ALTERNATING}, {"lr": RISING}, {"beta1": BETAS}], ids=["same", "wd", "lr", "beta1"]
)
def test_together_or_alone(spec: str, counts: str, values: dict[str, Sequence[float]]) -> None:
    rule = optgen.load(spec)
    values = {name: x for name, x in values.items() if name in rule.spec.reads}
    rng = np.random.default_rng(0)
    params, grads = ([rng.standard_normal(i + 1).astype(np.float32) for i in range(N)] for _ in range(2))
    state = rule.init(params)
    state.t[...] = [5 if counts == "equal" else i // 3 for i in range(N)]
    alone = []
    for i in range(N):
        own: list[Any] = [params[i].copy()]
        own_state = rule.init(own)
        own_state.t[...] = state.t[i]
        step = rule.bind(own, [grads[i]], own_state)
        for _ in range(3):
            step(**{name: x[i] for name, x in values.items()})
        alone.append(own[0])
    step = rule.bind(params, grads, state)
    for _ in range(3):
        step(**{name: list(x) for name, x in values.items()})
    for together, single in zip(params, alone, strict=True):
        np.testing.assert_array_equal(together.view(np.int32), single.view(np.int32))
    assert state.t.tolist() == [(5 if counts == "equal" else i // 3) + 3 for i in range(N)]


@pytest.mark.parametrize("rates", [[0.5] * N, RISING], ids=["same", "different"])
def test_means_over_params(rates: list[float]) -> None:
    """The number of parameters is a sum of ones, of which there is one for each."""
    spec = optgen.parse(
        "optimizer Means\nupdate:\n  r = mean(lr, over params) + mean(1.0*t, over params)\n  w' = w - r*g\n"
    )
    params, grads = ([np.ones(i + 1, np.float32) for i in range(N)] for _ in range(2))
    step = optgen.load(spec).bind(params, grads)
    for t in (1, 2):
        before = [w.copy() for w in params]
        step(lr=rates)
        for w, old in zip(params, before, strict=True):
            np.testing.assert_allclose(old - w, np.mean(rates) + t, rtol=1e-6)
