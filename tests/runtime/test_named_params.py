"""Hyper-parameters that are numbers by the ends of names (`param eta per param` in a spec)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from runtime import autograd, gluon, nd, optimizer
from runtime.base import MXNetError
from runtime.gluon import nn
from runtime.optimizer import serialization

SPEC = """\
optimizer NamedRates
param eta per param = 1 in [0, inf)
state k: host = eta
state n: shared = 0
update:
  q  = sum((eta*g)^2, over params)
  n' = n + q
  k' = 0.5*k + eta
  w' = w - lr*eta*g/sqrt(1 + n')*k'
eval:
  w' = eta*w
"""


@pytest.fixture
def net() -> nn.HybridSequential:
    optimizer.register_spec(SPEC)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=4, prefix="a_"), nn.Dense(2, in_units=3, prefix="b_"))
    net.initialize()
    return net


def step(net: nn.HybridSequential, trainer: gluon.Trainer, seed: int) -> None:
    x = nd.array(np.random.default_rng(seed).standard_normal((5, 4)))
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(1)


def values(net: nn.HybridSequential) -> list[Any]:
    return [p.data().asnumpy() for p in net.collect_params().values()]


def test_the_bits_of_lists(net: nn.HybridSequential) -> None:
    params = net.collect_params()
    trainer = gluon.Trainer(params, "namedrates", {"eta": {"a_bias": 2, net[1]: 0.5, "bias": 7}, "learning_rate": 0.1})
    assert trainer.optimizer.eta == (("a_bias", 2), ("net_b_weight", 0.5), ("net_b_bias", 0.5), ("bias", 7))
    etas = {"net_a_weight": 1.0, "net_a_bias": 2.0, "net_b_weight": 0.5, "net_b_bias": 0.5}
    names = list(params)
    weights, grads = values(net), [np.zeros(p.shape, np.float32) for p in params.values()]
    bound = optgen.load(optgen.parse(SPEC), lr=0.1, eta=[etas[name] for name in names]).bind(weights, grads)
    for k in range(4):
        if k == 2:
            trainer.optimizer.eta = {"weight": 3}
            bound.prepare(eta=[3.0 if name.endswith("weight") else 1.0 for name in names])
        elif k == 3:
            trainer.optimizer.eta = 0.25
            bound.prepare(eta=0.25)
        step(net, trainer, k)
        for grad, p in zip(grads, params.values(), strict=True):
            grad[...] = p.grad().asnumpy()
        bound()
        assert all(map(np.array_equal, values(net), weights))
    trainer.optimizer.eta = {"bias": 0}
    with trainer.evaluating():
        assert [not x.any() for x in values(net)] == [name.endswith("bias") for name in names]


def test_they_are_in_files_and_travel(net: nn.HybridSequential, tmp_path: Path) -> None:
    given = {"bias": 2.0, "a_weight": 0.5}
    trainer = gluon.Trainer(net.collect_params(), "namedrates", {"eta": given})
    step(net, trainer, 0)
    trainer.save_states(str(tmp_path / "states"))
    before = values(net)
    step(net, trainer, 1)
    after = values(net)
    for p, x in zip(net.collect_params().values(), before, strict=True):
        p.set_data(nd.array(x))
    other = gluon.Trainer(net.collect_params(), "namedrates", {"eta": 4})
    other.load_states(str(tmp_path / "states"))
    assert other.optimizer.eta == tuple(given.items())
    step(net, other, 1)
    assert all(map(np.array_equal, values(net), after))

    there = serialization.loads(serialization.dumps(trainer.optimizer))
    assert there.eta == tuple(given.items())  # type: ignore[attr-defined]
    serialization.apply(there, {"eta": [["bias", 3]]})
    assert there.eta == (("bias", 3.0),)  # type: ignore[attr-defined]
    for wrong in ([["bias", -1]], [["bias", None]], [[1, 1]], ["bias"], {"bias": "1"}, [["bias", float("nan")]]):
        with pytest.raises(MXNetError, match="'eta'"):
            serialization.apply(there, {"eta": wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bias": -1}, r"'eta' must be in \[0, inf\), not -1"),
        ({"bias": "1"}, r"'eta' must be a number, or a dict of numbers by the ends of names, not \{'bias': '1'\}"),
        ([1, 2], r"'eta' must be a number, or a dict of numbers by the ends of names, not \[1, 2\]"),
        ({3: 1}, r"'eta': 3 is no end of the names of parameters, and no block of them"),
        ("bias", r"'eta' must be a number, not 'bias'"),
    ],
)
def test_what_is_refused(net: nn.HybridSequential, wrong: Any, message: str) -> None:
    made = optimizer.create("namedrates", eta={"bias": 2})
    for refused in (lambda: optimizer.create("namedrates", eta=wrong), lambda: setattr(made, "eta", wrong)):
        with pytest.raises((TypeError, ValueError), match=message):
            refused()
    assert made.eta == (("bias", 2),)  # type: ignore[attr-defined]
