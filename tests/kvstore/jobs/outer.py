"""Workers of a Trainer that average weights every third step: each with gradients of its own, beside all in NumPy."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from common import RANK, RANKS, STORE

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.base import ArgumentError, MXNetError

H, STEPS = 3, 8
NAME = f"sgd with diloco(h={H}, outer_lr=0.7, outer_momentum=0.9)"


def gradient(rank: int, t: int) -> np.ndarray:
    return np.random.default_rng([rank, t]).normal(size=(4, 5))


def expected() -> list[np.ndarray]:
    """The weights of this rank after each step."""
    slow, velocity = np.ones((4, 5)), np.zeros((4, 5))
    fast, found = [slow] * RANKS, []
    for t in range(1, STEPS + 1):
        fast = [w - 0.1 * gradient(k, t) for k, w in enumerate(fast)]
        if t % H == 0:
            delta = slow - sum(fast) / RANKS
            velocity = 0.9 * velocity + delta
            slow = slow - 0.7 * (delta + 0.9 * velocity)
            fast = [slow] * RANKS
        found.append(fast[RANK])
    return found


def trainer(**options: object) -> tuple[gluon.Parameter, gluon.Trainer]:
    w = gluon.Parameter("w", shape=(4, 5), dtype="float64")
    w.initialize(mx.init.One())
    arguments = {"kvstore": STORE, **options}
    return w, gluon.Trainer([w], NAME, {"learning_rate": 0.1}, **arguments)


w, own = trainer()
for t, after in enumerate(expected(), 1):
    with autograd.record():
        loss = (w.data() * nd.array(gradient(RANK, t), dtype="float64")).sum()
    loss.backward()
    with mock.patch.object(STORE, "pushpull", wraps=STORE.pushpull) as pushpull:
        own.step(1)
    assert pushpull.call_count == (t % H == 0)
    np.testing.assert_allclose(w.data().asnumpy(), after, rtol=1e-12, atol=1e-13)
for method in (own.allreduce_grads, lambda: own.update(1, ignore_stale_grad=True)):
    with pytest.raises(ArgumentError, match="not possible where workers average weights"):
        method()
with pytest.raises(ArgumentError, match="that does not go with update_on_kvstore=True"):
    trainer(update_on_kvstore=True)
with pytest.raises(MXNetError, match="is of float16, and workers average weights of float32 and float64"):
    half = gluon.Parameter("h", shape=(2,), dtype="float16")
    half.initialize()
    small = gluon.Trainer([half], "sgd with diloco(h=1)", kvstore=mx.kv.create("dist_sync"))
    with autograd.record():
        loss = half.data().sum()
    loss.backward()
    small.step(1)
with pytest.raises(MXNetError, match="each of which trains for itself: use gluon"):
    mx.kv.create("dist_sync").set_optimizer(mx.optimizer.create(NAME))
STORE.barrier()
