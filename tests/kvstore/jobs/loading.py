"""Parameters and states that are loaded after the Trainer was made: all ranks go on from what rank 0 has loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import runtime as mx
from runtime import autograd, gluon, nd

kv = mx.kv.create("dist_sync")
folder = Path(sys.argv[1])


def made() -> tuple[gluon.nn.Dense, gluon.Trainer]:
    net = gluon.nn.Dense(70, in_units=90)
    net.initialize(mx.init.Normal(1 + kv.rank))
    return net, gluon.Trainer(net.collect_params(), "adam", kvstore=mx.kv.create("dist_sync"))


def train(net: gluon.nn.Dense, trainer: gluon.Trainer, steps: range) -> list[np.ndarray]:
    for step in steps:
        x = nd.array(np.random.default_rng([step, kv.rank]).normal(size=(8, 90)))
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(8 * kv.num_workers)
    return [p.data().asnumpy() for p in net.collect_params().values()]


net, trainer = made()
train(net, trainer, range(3))
if kv.rank == 0:
    net.save_parameters(folder / "net.params")
trainer.save_states(folder / "net.states")
wanted = train(net, trainer, range(3, 6))
for used in (False, True):
    other, its = made()
    if used:
        train(other, its, range(2))
    other.load_parameters(folder / "net.params")
    its.load_states(folder / "net.states")
    found = train(other, its, range(3, 6))
    assert all(map(np.array_equal, found, wanted)), used
    if kv.rank:  # what rank 0 has counts
        other.weight.set_data(nd.zeros((70, 90)))
    else:
        other.weight.set_data(nd.ones((70, 90)))
    train(other, its, range(6, 7))
    assert abs(other.weight.data().asnumpy() - 1).max() < 0.01
