"""The factor on gradients: what rules without one say, and what it does to the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import optgen
from tests.compiler.harness import same_bits


def test_every_product_is_rounded_once_before_the_sum() -> None:
    rule = optgen.load("sgd", "bfloat16", master=True, scales_gradient=True)
    rng = np.random.default_rng(0)
    weight = rng.standard_normal(300).astype("bfloat16")
    grads = [rng.standard_normal(300).astype("bfloat16") for _ in range(2)]
    step = rule.bind([weight], [grads])
    (master,) = step.state.arrays["w"]
    assert step.gradient_factor == 1.0
    step.gradient_factor = 1 / 3
    before, factor = master.copy(), np.float32(1 / 3)
    step(lr=1.0, wd=0.0)
    one, two = (g.astype("float32") * factor for g in grads)
    assert same_bits(master, before - (one + two))


def test_it_stays_when_gradients_come_and_go() -> None:
    weights, grads = [np.zeros(3, "float32"), np.zeros(5, "float32")], [np.ones(3, "float32"), np.ones(5, "float32")]
    rule = optgen.load("sgd", scales_gradient=True, lr=1.0, wd=0.0)

    class Parameter:
        def __init__(self, k: int) -> None:
            self.__array_interface__ = weights[k].__array_interface__
            self.grad: np.ndarray | None = grads[k]

    params = [Parameter(0), Parameter(1)]
    step = rule.bind(params)
    step.gradient_factor = -0.5
    params[0].grad = None
    step()
    params[0].grad = grads[0]
    step()
    assert [w.tolist() for w in weights] == [[0.5] * 3, [1.0] * 5]


def test_a_rule_without_a_factor_says_so() -> None:
    step = optgen.load("sgd").bind([np.zeros(3, "float32")], [np.ones(3, "float32")])
    with pytest.raises(ValueError, match="does not scale gradients; load it with scales_gradient=True"):
        step.gradient_factor = 0.5
