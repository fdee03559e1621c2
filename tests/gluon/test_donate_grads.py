"""Trainer(donate_grads=True): the numbers of ordinary steps, and gradients that cannot be read afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.base import ArgumentError, MXNetError
from runtime.gluon import nn


def network(dtype: str = "float32") -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(90, in_units=70), nn.Dense(4, in_units=90))
    net.initialize()
    net.cast(dtype)
    rng = np.random.default_rng(0)
    for param in net.collect_params().values():
        param.set_data(nd.array(rng.normal(size=param.shape), dtype=dtype))
    return net


def backward(net: nn.HybridSequential, k: int = 0) -> None:
    rng = np.random.default_rng(k)
    x = nd.array(rng.normal(size=(3, 70)), dtype=net[0].weight.dtype)
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()


def values(net: nn.HybridSequential) -> list[Any]:
    return [param.data().asnumpy() for param in net.collect_params().values()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["lamb", "cautious_adamw", "sgd"])
def test_the_same_bits(name: str, dtype: str) -> None:
    """With an optimizer that two trainers share, of which one donates gradients."""
    shared = mx.optimizer.create(name, learning_rate=0.01)
    results = []
    for optimizer in (name, shared):
        net, other = network(dtype), network(dtype)
        arguments = {"learning_rate": 0.01} if optimizer is name else None
        trainer = gluon.Trainer(net.collect_params(), optimizer, arguments, donate_grads=optimizer is shared)
        plain = gluon.Trainer(other.collect_params(), mx.optimizer.create(name, learning_rate=0.01))
        for k in range(3):
            for x, of in ((net, trainer), (other, plain)):
                backward(x, k)
                of.step(3)
            assert np.isfinite(other[0].weight.grad().asnumpy()).all()
        results.append(values(net))
        assert all(map(np.array_equal, results[-1], values(other)))
    assert all(map(np.array_equal, *results))


def test_gradients_are_read_before_a_step() -> None:
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "lamb", donate_grads=True)
    weight = net[0].weight
    backward(net)
    held = weight.grad()
    before = held.asnumpy()
    trainer.step(1)
    assert not np.array_equal(before, held.asnumpy())  # its memory was used
    for read in (weight.grad, weight.list_grad, lambda: weight.data().grad):
        with pytest.raises(
            MXNetError, match=r"shape \(90, 70\) was used up by the last step, as its Trainer has donate"
        ):
            read()
    with pytest.raises(MXNetError, match="used up"):
        weight.data()._fresh_grad = True
    now = values(net)
    with pytest.raises(UserWarning, match="was not computed since the last step"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    assert all(map(np.array_equal, now, values(net)))
    net.collect_params().zero_grad()
    assert not weight.grad().asnumpy().any()
    backward(net)
    trainer.step(1)
    backward(net)
    assert np.isfinite(weight.grad().asnumpy()).all()


def test_a_stale_gradient_keeps_its_values() -> None:
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "lamb", donate_grads=True)
    with autograd.record():
        loss = net[1](nd.ones((2, 90))).sum()
    loss.backward()
    trainer.step(1, ignore_stale_grad=True)
    assert not net[0].weight.grad().asnumpy().any()
    with pytest.raises(MXNetError, match="used up"):
        net[1].weight.grad()


def test_what_is_refused() -> None:
    def make(net: Any, optimizer: Any = "lamb", **how: Any) -> gluon.Trainer:
        return gluon.Trainer(net.collect_params(), optimizer, donate_grads=True, **how)

    net = network()
    trainer = make(net)
    for param in net.collect_params().values():
        param.grad_req = "add"
    with pytest.raises(ArgumentError, match=r"donate_grads: parameter 'dense\d+_\w+' has grad_req='add', which adds"):
        make(net)
    backward(net)
    with pytest.raises(ArgumentError, match="grad_req='add'"):
        trainer.step(1)
    with pytest.raises(
        ArgumentError, match=r"parameter 'dense\d+_bias': donate_grads: gradients are float16, and a step"
    ):
        make(network("float16"))
    with pytest.raises(ArgumentError, match=r"gradient of parameter 'embedding.*' is row-sparse"):
        table = nn.Embedding(5, 3, sparse_grad=True)
        table.initialize()
        make(table)

    class Own(mx.optimizer.Optimizer):
        """Written by hand."""

    with pytest.raises(ArgumentError, match="donate_grads: Own is written by hand"):
        make(network(), Own())


@pytest.mark.parametrize("on_store", [None, False])
def test_a_kvstore_needs_the_values(on_store: bool | None) -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer(net.collect_params(), "lamb", update_on_kvstore=on_store, donate_grads=True)
    with autograd.record():
        losses = [net(nd.ones((1, 3), ctx)).sum() for ctx in (mx.cpu(0), mx.cpu(1))]
    autograd.backward(losses)
    before = net.weight.data(mx.cpu(0)).asnumpy()
    with pytest.raises(
        ArgumentError, match="donate_grads: gradients go through a kvstore of type 'device', which needs"
    ):
        trainer.step(2)
    assert np.array_equal(before, net.weight.data(mx.cpu(0)).asnumpy())
