"""What training with `runtime` takes: steps of a Trainer, forward and backward passes of hybridized networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from tests.counts.measure import Row, report


def trainer_rows() -> Iterator[Row]:
    """`trainer.step`, whose gradients a backward pass has written before."""
    for layers in (2, 10):
        for scheduled in (False, True):
            net = perceptron(layers)
            schedule = {"lr_scheduler": mx.lr_scheduler.PolyScheduler(1000)} if scheduled else {}
            trainer = gluon.Trainer(net.collect_params(), "adam", schedule)
            words = f"Trainer.step, adam, {2 * layers} parameters{', new rates' * scheduled}"
            yield Row(words, lambda trainer=trainer: trainer.step(8), lambda net=net: backward(net, nd.ones((8, 20))))


def network_rows() -> Iterator[Row]:
    """A pass of a perceptron and of a small convolutional network."""
    convolutional = nn.HybridSequential()
    convolutional.add(nn.Conv2D(8, 3, activation="relu"), nn.MaxPool2D(), nn.BatchNorm(), nn.Dense(2))
    for what, net, x in (
        ("perceptron", perceptron(2), nd.ones((8, 20))),
        ("convolutional network", convolutional, nd.ones((8, 1, 8, 8))),
    ):
        net.initialize()
        net.hybridize()
        yield Row(f"{what}, forward", lambda net=net, x=x: net(x))
        yield Row(f"{what}, forward and backward", lambda net=net, x=x: backward(net, x))


def perceptron(layers: int) -> Any:
    """A network of 20 inputs, hidden layers of 64 units, and 2 outputs."""
    net = nn.HybridSequential()
    for _ in range(layers - 1):
        net.add(nn.Dense(64, activation="relu"))
    net.add(nn.Dense(2))
    net.initialize()
    return net


def backward(net: Any, x: Any) -> None:
    with autograd.record():
        y = net(x)
    y.backward()


if __name__ == "__main__":
    report([*trainer_rows(), *network_rows()])
