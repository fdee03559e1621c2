"""Optimizers through the Trainer: against plain formulas, with schedules and multipliers, by registration, with their
errors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime import autograd, gluon, nd, optimizer
from runtime.core.binding import Binding
from runtime.gluon import nn
from runtime.lr_scheduler import FactorScheduler
from tests.compiler.test_degenerate import FREEZING

SHAPES = ((3, 4), (4,), (1,))
STEPS, BATCH = 8, 4

HALVING = """\
optimizer Halving "Gradient descent at half the rate"
param lr = 0.25
param boost = 2 in [1, 4]
flag fast = false
update:
  w' = w - lr*boost*g if fast
  w' = w - lr/2*g otherwise
"""


def parameters() -> list[gluon.Parameter]:
    rng = np.random.default_rng(1)
    params = []
    for i, shape in enumerate(SHAPES):
        param = gluon.Parameter(f"p{i}_weight", shape=shape)
        param.initialize("zeros")
        param.set_data(rng.normal(size=shape).astype(np.float32))
        params.append(param)
    return params


def backward(params: list[gluon.Parameter], step: int) -> list[np.ndarray]:
    """Give each parameter a gradient that depends on its value and the step; also returned."""
    with autograd.record():
        losses = [(p.data() * p.data() * float(step + 1)).sum() for p in params]
    autograd.backward(losses)
    return [p.grad().asnumpy() for p in params]


def train(
    optimizer_or_name: Any, arguments: dict[str, Any] | None = None, prepare: Callable | None = None
) -> list[np.ndarray]:
    """The parameters after a few steps."""
    params = parameters()
    if prepare:
        prepare(params)
    trainer = gluon.Trainer(params, optimizer_or_name, arguments)
    for step in range(STEPS):
        backward(params, step)
        trainer.step(BATCH)
    return [p.data().asnumpy() for p in params]


def expected(update: Callable, lr_mult: tuple = (1, 1, 1), wd_mult: tuple = (1, 1, 1)) -> list[np.ndarray]:
    """The same in NumPy and float64: `update(w, g, state, t, lr_mult, wd_mult)` gives the new w; state is a dict to
    keep things in.
    """
    weights, states = [p.data().asnumpy().astype(float) for p in parameters()], [{} for _ in SHAPES]
    for step in range(STEPS):
        gradients = [2 * (step + 1) * w / BATCH for w in weights]
        weights = [
            update(w, g, state, step + 1, *mults)
            for w, g, state, *mults in zip(weights, gradients, states, lr_mult, wd_mult, strict=True)
        ]
    return weights


def sgd(lr: float, momentum: float = 0, wd: float = 0, clip: float = np.inf) -> Callable:
    def update(w: np.ndarray, g: np.ndarray, state: dict, t: int, lr_mult: float, wd_mult: float) -> np.ndarray:
        step = lr * lr_mult * (np.clip(g, -clip, clip) + wd * wd_mult * w)
        state["mom"] = momentum * state.get("mom", 0) - step
        return w + state["mom"]

    return update


def adam(lr: float, wd: float = 0, beta1: float = 0.9, beta2: float = 0.999) -> Callable:
    def update(w: np.ndarray, g: np.ndarray, state: dict, t: int, lr_mult: float, wd_mult: float) -> np.ndarray:
        g = g + wd * wd_mult * w
        state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
        state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g * g
        rate = lr * lr_mult * np.sqrt(1 - beta2**t) / (1 - beta1**t)
        return w - rate * state["m"] / (np.sqrt(state["v"]) + 1e-8)

    return update


def assert_close(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for f, w in zip(found, wanted, strict=True):
        assert f.dtype == np.float32
        np.testing.assert_allclose(f, w, rtol=2e-5, atol=1e-6)


# ---------------------------------------------------------------- trajectories


@pytest.mark.parametrize(
    ("name", "arguments", "update"),
    [
        ("sgd", {"learning_rate": 0.05}, sgd(0.05)),
        ("sgd", {}, sgd(0.01)),
        ("SGD", {"learning_rate": 0.02, "momentum": 0.9, "wd": 0.1}, sgd(0.02, 0.9, 0.1)),
        ("sgd", {"learning_rate": 0.05, "clip_gradient": 0.3}, sgd(0.05, clip=0.3)),
        ("sgd", {"learning_rate": 0.05, "rescale_grad": 0.5}, lambda w, g, *rest: sgd(0.05)(w, g / 2, *rest)),
        ("adam", {"learning_rate": 0.1}, adam(0.1)),
        ("adam", {}, adam(0.001)),
        ("adam", {"learning_rate": 0.1, "wd": 0.1, "beta1": 0.5, "beta2": 0.9}, adam(0.1, 0.1, 0.5, 0.9)),
    ],
)
def test_trajectory(name: str, arguments: dict[str, Any], update: Callable) -> None:
    assert_close(train(name, arguments), expected(update))


def test_multipliers_of_parameters() -> None:
    def prepare(params: list[gluon.Parameter]) -> None:
        params[0].lr_mult, params[1].wd_mult = 0.5, 0

    mults = {"lr_mult": (0.5, 1, 1), "wd_mult": (1, 0, 1)}
    assert_close(train("adam", {"learning_rate": 0.1, "wd": 0.2}, prepare), expected(adam(0.1, 0.2), **mults))


def test_schedule_decides_the_rate() -> None:
    def update(w: np.ndarray, g: np.ndarray, state: dict, t: int, lr_mult: float, wd_mult: float) -> np.ndarray:
        return w - 0.1 * 0.5 ** ((t - 1) // 3) * g

    assert_close(train("sgd", {"lr_scheduler": FactorScheduler(3, 0.5, base_lr=0.1)}), expected(update))
    assert_close(train("sgd", {"learning_rate": 0.1, "lr_scheduler": FactorScheduler(3, 0.5)}), expected(update))
    opt = optimizer.create("adam", lr_scheduler=FactorScheduler(3))
    with pytest.raises(UserWarning, match="lr_scheduler decides"):
        opt.set_learning_rate(1)


def test_float64_and_float32_side_by_side() -> None:
    a, b = gluon.Parameter("a_weight", shape=(3,)), gluon.Parameter("b_weight", shape=(3,), dtype="float64")
    for p in (a, b):
        p.initialize("ones")
    trainer = gluon.Trainer([a, b], "adam", {"learning_rate": 0.1})
    for _ in range(3):
        with autograd.record():
            losses = [(p.data() * p.data()).sum() for p in (a, b)]
        autograd.backward(losses)
        trainer.step(1)
    assert b.data().dtype == np.float64
    np.testing.assert_allclose(a.data().asnumpy(), b.data().asnumpy(), rtol=1e-6)
    assert abs(b.data().asnumpy()[0] - 0.7) < 0.01


def test_one_native_call_for_all_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, binds = [], []
    call, init = Binding.__call__, Binding.__init__
    monkeypatch.setattr(Binding, "__call__", lambda self, *a: (calls.append(len(self._counts)), call(self, *a))[1])
    monkeypatch.setattr(Binding, "__init__", lambda self, *a, **k: (binds.append(1), init(self, *a, **k))[1])
    train("adam", {"wd": 0.1})
    assert calls == [len(SHAPES)] * STEPS
    assert len(binds) == 1


def test_a_changed_hyper_parameter_counts_from_the_next_step() -> None:
    params = parameters()
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    backward(params, 0)
    trainer.step(1)
    trainer.optimizer.momentum = 0.5
    state = trainer._updaters[0].states[0].asnumpy()
    grads, before = backward(params, 1), params[0].data().asnumpy()
    trainer.step(1)
    np.testing.assert_allclose(params[0].data().asnumpy(), before + 0.5 * state - 0.1 * grads[0], rtol=1e-5)
    trainer.optimizer.momentum = 0  # would need the kernel without momentum
    backward(params, 2)
    with pytest.raises(ValueError, match="flag 'heavy'"):
        trainer.step(1)


def test_update_counts_belong_to_parameters() -> None:
    """A parameter that was left out of a step is one update behind, in the bias correction too."""
    params = parameters()
    trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.1})
    backward(params[:2], 0)
    trainer.step(1, ignore_stale_grad=True)
    before = params[2].data().asnumpy()
    backward(params, 0)
    trainer.step(1)
    np.testing.assert_allclose(np.abs(params[2].data().asnumpy() - before), 0.1, rtol=1e-5)  # a first step of Adam
    assert trainer.optimizer._index_update_count == {0: 2, 1: 2, 2: 1}
    assert trainer.optimizer.num_update == 2


# ---------------------------------------------------------------- optimizers of the user's own


def test_register_spec_from_text_and_file(tmp_path: Path) -> None:
    cls = optimizer.register_spec(HALVING)
    assert cls.__name__ == "Halving"
    assert_close(train("halving", {"learning_rate": 0.1}), expected(sgd(0.05)))
    path = tmp_path / "mine.opt"
    path.write_text(HALVING)
    optimizer.register_spec(path)
    assert_close(train("mine", {"learning_rate": 0.02, "boost": 3, "fast": True}), expected(sgd(0.06)))
    with pytest.raises(ValueError, match=r"'boost' must be in \[1, 4\], not 5"):
        optimizer.create("mine", boost=5)
    with pytest.raises(ValueError, match="does not use 'wd'"):
        optimizer.create("mine", wd=0.1)


@pytest.mark.parametrize("arguments", [{}, {"multi_precision": True}, {"storage": "int8_dynamic"}], ids=str)
def test_a_spec_that_freezes_some_parameters(arguments: dict[str, Any], tmp_path: Path) -> None:
    optimizer.register_spec(FREEZING)
    net = nn.HybridSequential()
    net.add(nn.Embedding(100, 64, sparse_grad=True), nn.Dense(8))
    net.cast("float16" if "multi_precision" in arguments else "float32")
    net.initialize()
    frozen = ("bias", net[0].weight.name)
    trainer = gluon.Trainer(net.collect_params(), "freezing", {"frozen": frozen, **arguments})
    tokens = nd.array([[1, 2], [3, 4]])
    net(tokens)
    before = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    for _ in range(2):
        with autograd.record():
            loss = net(tokens).sum()
        loss.backward()
        trainer.step(1)
        trainer.save_states(tmp_path / "states")
        trainer.load_states(tmp_path / "states")
    moved = [name for name, p in net.collect_params().items() if (p.data().asnumpy() != before[name]).any()]
    assert moved == [net[1].weight.name]


@optimizer.register
class ByHand(optimizer.Optimizer):
    """Momentum, written in Python."""

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: int, weight: nd.NDArray) -> nd.NDArray:
        return nd.zeros(weight.shape, weight.context, weight.dtype)

    def update(self, index: int, weight: nd.NDArray, grad: nd.NDArray, state: nd.NDArray) -> None:
        self._update_count(index)
        state *= self.momentum
        state -= self._get_lr(index) * (grad * self.rescale_grad + self._get_wd(index) * weight)
        weight += state


def test_a_class_written_by_hand() -> None:
    arguments = {"learning_rate": 0.02, "momentum": 0.9, "wd": 0.1}
    assert_close(train("byhand", arguments), expected(sgd(0.02, 0.9, 0.1)))
    assert_close(train(ByHand(**arguments)), expected(sgd(0.02, 0.9, 0.1)))


def test_names_decide_what_decays() -> None:
    opt = ByHand(param_idx2name={0: "a_weight", 1: "a_bias", 2: "a_gamma"}, learning_rate=1, wd=0.5)
    assert opt._get_wds([0, 1, 2]) == [0.5, 0, 0.5]
    opt.set_wd_mult({"a_weight": 2})
    opt.set_lr_mult({"a_weight": 3, 1: 5})
    assert opt._get_wds([0, 1, 2]) == [1, 0, 0.5]
    assert opt._get_lrs([0, 1, 2]) == [3, 5, 1]


def test_updates_begin_where_asked() -> None:
    opt = optimizer.create("sgd", begin_num_update=10, lr_scheduler=FactorScheduler(5, 0.5, base_lr=1))
    weight = nd.ones(1)
    optimizer.get_updater(opt)(0, nd.ones(1), weight)
    assert opt.num_update == 11
    assert weight.asscalar() == 1 - 0.25
