"""Trainer(groups=, no_decay=): settings of parameters by patterns over their names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.base import ArgumentError
from runtime.gluon import nn

SPEC = """\
optimizer Named
param eta per param = 1
flag  flipped per param = false
update:
  w' = w + lr*(eta*g + wd*w) if flipped
  w' = w - lr*(eta*g + wd*w) otherwise
"""


@pytest.fixture
def net() -> nn.HybridSequential:
    mx.optimizer.register_spec(SPEC)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for k in range(12):
            net.add(nn.Dense(2, in_units=2, prefix=f"block{k}_"))
    net.initialize(mx.init.One())
    return net


def changes(net: nn.HybridSequential, trainer: gluon.Trainer) -> dict[str, float]:
    """What one step adds to the first element of each parameter, whose gradient is 1."""
    params = net.collect_params()
    before = {name: p.data().asnumpy() for name, p in params.items()}
    with autograd.record():
        loss = sum((p.data().sum() for p in params.values()), nd.zeros(1))
    loss.backward()
    trainer.step(1)
    return {name: round(float((p.data().asnumpy() - before[name]).flat[0]), 6) for name, p in params.items()}


def test_rates_and_decays(net: nn.HybridSequential) -> None:
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.5)
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"lr_scheduler": schedule, "wd": 0.5},
        groups=[
            ("net_block{i}_*", {"lr": lambda i: 0.5 * 0.5**i}),
            ("net_block11_*", {"lr": 0.0}),
            ("*block0_weight", {"wd": 0.25}),
        ],
        no_decay="1d",
    )
    for factor in (1, 0.5):
        before = {name: float(p.data().asnumpy().flat[0]) for name, p in net.collect_params().items()}
        for name, change in changes(net, trainer).items():
            number = int(re.findall(r"\d+", name)[0])
            rate = factor * 0.5 * 0.5**number * (number < 11)
            decay = 0.0 if name.endswith("bias") else 0.25 if number == 0 else 0.5
            assert change == pytest.approx(-rate * (1 + decay * before[name]), abs=2e-6), name


def test_params_and_flags_of_a_spec(net: nn.HybridSequential) -> None:
    trainer = gluon.Trainer(
        net.collect_params(),
        "named",
        {"learning_rate": 1.0, "eta": {"bias": 5}},
        groups=[("net_block1?_weight", {"eta": 2, "flipped": True}), ("net_block3_weight", {"eta": 4})],
    )
    found = changes(net, trainer)
    expected = dict.fromkeys(found, -1.0) | {name: -5.0 for name in found if name.endswith("bias")}
    expected |= {"net_block10_weight": 2.0, "net_block11_weight": 2.0, "net_block3_weight": -4.0}
    assert found == expected


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("sgd", {"groups": [("*", {"momentum": 0.5})]}, "groups: 'momentum' of SGD is the same for all parameters"),
        ("sgd", {"groups": [("*", {"wd": 0.5})]}, "groups: wd=0.5 is no multiple of the optimizer's, which is 0"),
        ("sgd", {"groups": [("nt_*", {"lr": 0.5})]}, "groups: 'nt_*' is for none of the parameters"),
        ("named", {"groups": [("*", {"eta": -1.0}), ("*bias", {"flipped": 2})]}, "flipped: True or False, not 2"),
        ("named", {"groups": [("*", {"lr": "much"})]}, "lr: a number, not 'much'"),
        ("adam", {"no_decay": "bias"}, "no_decay: 'bias' is for none of the parameters"),
    ],
)
def test_wrong_rules_are_told(net: nn.HybridSequential, name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        gluon.Trainer(net.collect_params(), name, **arguments)
    assert all(p.lr_mult == p.wd_mult == 1.0 for p in net.collect_params().values())


def test_a_flag_that_ends_of_names_cannot_tell() -> None:
    mx.optimizer.register_spec(SPEC)
    params = [gluon.Parameter(name, shape=(2,)) for name in ("weight", "a_weight")]
    for p in params:
        p.initialize()
    with pytest.raises(ArgumentError, match="'flipped' of 'a_weight' cannot differ"):
        gluon.Trainer(params, "named", groups=[("weight", {"flipped": True})])
    trainer = gluon.Trainer(params, "named", {"learning_rate": 1.0}, groups=[("weight", {"eta": np.float32(3)})])
    assert trainer.optimizer.eta == (("a_weight", 1.0), ("weight", 3.0))
