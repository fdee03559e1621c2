"""Rates that follow the learning rate: with schedulers, multipliers and state files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon

SPEC = """\
optimizer TwoRates
param slow_lr per param = 0.01 follows lr
flag matrix = rank == 2
update:
  w' = w - lr*g       if matrix
  w' = w - slow_lr*g  otherwise
"""


@pytest.fixture
def net() -> gluon.nn.Dense:
    mx.optimizer.register_spec(SPEC)
    net = gluon.nn.Dense(2, in_units=2, prefix="a_")
    net.initialize(mx.init.Zero())
    return net


def test_in_a_trainer(net: gluon.nn.Dense) -> None:
    """With a scheduler, with `set_learning_rate`, with multipliers; state files have what the rates follow."""
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.2)
    trainer = gluon.Trainer(net.collect_params(), "tworates", {"lr_scheduler": schedule, "slow_lr": 0.1})
    other = gluon.Trainer(net.collect_params(), "tworates", {"learning_rate": 0.4, "slow_lr": 0.8})
    net.bias.lr_mult = 0.5
    assert [step(net, trainer) for _ in range(3)] == [(0.2, 0.05), (0.1, 0.025), (0.05, 0.0125)]
    assert step(net, other) == (0.4, 0.4)
    other.set_learning_rate(0.1)
    assert step(net, other) == (0.1, 0.1)
    other.optimizer.slow_lr = 0.8
    assert step(net, other) == (0.1, 0.4)
    other.set_learning_rate(0.2)
    assert step(net, other) == (0.2, 0.8)


def step(net: Any, trainer: gluon.Trainer) -> tuple[float, float]:
    before = [p.data().asnumpy() for p in (net.weight, net.bias)]
    with autograd.record():
        loss = net(mx.nd.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)
    after = [p.data().asnumpy() for p in (net.weight, net.bias)]
    return tuple(round(float(np.ravel(a - b)[0]), 6) for a, b in zip(before, after, strict=True))  # type: ignore[return-value]


def test_a_state_file_has_the_rates(net: gluon.nn.Dense, tmp_path: Any) -> None:
    trainer = gluon.Trainer(net.collect_params(), "tworates", {"learning_rate": 0.4, "slow_lr": 0.8}, kvstore=None)
    trainer.set_learning_rate(0.1)
    assert step(net, trainer) == (0.1, 0.2)
    trainer.save_states(str(tmp_path / "states"))
    other = gluon.Trainer(net.collect_params(), "tworates", {"learning_rate": 7, "slow_lr": 1}, kvstore=None)
    other.load_states(str(tmp_path / "states"))
    other.set_learning_rate(0.2)
    assert step(net, other) == (0.2, 0.4)
