"""Steps with several gradients in a Trainer: closures, and phases by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.base import MXNetError
from runtime.gluon import nn

LOSS = gluon.loss.L2Loss()
X, Y = (np.random.default_rng(n).normal(size=(8, n)).astype("float32") for n in (4, 2))


class Training:
    """A dense layer in some contexts, and a closure."""

    def __init__(self, name: str, contexts: int = 1, **trainer: Any) -> None:
        self.ctx = [mx.cpu(i) for i in range(contexts)]
        self.net = nn.Dense(2, in_units=4)
        self.net.initialize(mx.init.One(), ctx=self.ctx)
        self.calls = 0
        self.trainer = gluon.Trainer(self.net.collect_params(), name, {"learning_rate": 0.1}, **trainer)

    def closure(self) -> float:
        self.calls += 1
        n = 8 // len(self.ctx)
        with autograd.record():
            losses = [
                LOSS(self.net(nd.array(X[i * n : (i + 1) * n], ctx)), nd.array(Y[i * n : (i + 1) * n], ctx))
                for i, ctx in enumerate(self.ctx)
            ]
        for loss in losses:
            loss.backward()
        return sum(float(loss.sum().asscalar()) for loss in losses)

    def step(self, **arguments: Any) -> Any:
        return self.trainer.step(8, **arguments)

    @property
    def weight(self) -> np.ndarray:
        return self.net.weight.data(self.ctx[0]).asnumpy()


@pytest.mark.parametrize("name", ["adam with sam(rho=0.1)", "extra_adam"])
def test_closures_phases_and_kvstores_agree(name: str) -> None:
    one, by_name = Training(name), Training(name)
    several = [Training(name, 2, update_on_kvstore=on_store) for on_store in (False, True)]
    for _ in range(3):
        first = one.step(closure=one.closure)
        for phase in by_name.trainer.optimizer.phases:
            loss = by_name.closure()
            by_name.step(phase=phase)
            if phase == by_name.trainer.optimizer.phases[0]:
                assert loss == first
        for other in several:
            other.step(closure=other.closure)
    assert one.calls == 6 and one.trainer.optimizer.num_update == 3
    np.testing.assert_array_equal(one.weight, by_name.weight)
    for other in several:
        np.testing.assert_allclose(other.weight, one.weight, rtol=1e-5)


def test_the_steps_of_sam() -> None:
    one = Training("sgd with sam(rho=0.1)")
    w, b = np.ones((2, 4)), np.zeros(2)
    for _ in range(3):
        start = w, b
        for phase in (0, 1):
            error = X @ w.T + b - Y
            gw, gb = error.T @ X / 16, error.sum(0) / 16
            if not phase:
                scale = 0.1 / np.sqrt((gw**2).sum() + (gb**2).sum())
                w, b = w + scale * gw, b + scale * gb
        w, b = start[0] - 0.1 * gw, start[1] - 0.1 * gb
        one.step(closure=one.closure)
        np.testing.assert_allclose(one.weight, w, rtol=1e-5)


def test_order_and_files(tmp_path: Path) -> None:
    one = Training("adam with sam")
    one.closure()
    with pytest.raises(ValueError, match=r"pass a closure .* or call step\(\.\.\., phase='ascend'\), then"):
        one.step()
    with pytest.raises(ValueError, match="AdamSAM has no phase 'climb'; it has ascend, descend"):
        one.step(phase="climb")
    with pytest.raises(MXNetError, match=r"'dense.*' the phase 'ascend' is due, and not 'descend'"):
        one.step(phase="descend")
    one.step(phase="ascend")
    with pytest.raises(MXNetError, match="the phase 'descend' is due; save states between steps"):
        one.trainer.save_states(tmp_path / "states")
    one.closure()
    one.step(phase="descend")
    one.trainer.save_states(tmp_path / "states")
    other = Training("adam with sam")
    other.closure()
    other.step(phase="ascend")
    other.net.weight.set_data(one.net.weight.data())
    other.net.bias.set_data(one.net.bias.data())
    other.trainer.load_states(tmp_path / "states")  # begins with a first phase
    for training in (one, other):
        training.step(closure=training.closure)
    np.testing.assert_array_equal(one.weight, other.weight)


def test_a_closure_of_an_optimizer_without_phases() -> None:
    one, other = Training("adam"), Training("adam")
    loss = one.step(closure=one.closure)
    assert loss == other.closure() and one.calls == 1
    other.step()
    np.testing.assert_array_equal(one.weight, other.weight)
    with pytest.raises(ValueError, match="Adam has no phase 'ascend'; it has none"):
        one.step(phase="ascend")
