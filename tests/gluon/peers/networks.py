"""Small networks and their training, as a script for MXNet writes them: `mx` is that library, or this one.

Everything that is not computed by the library comes from NumPy's RandomState, whose numbers never change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS = 20


@dataclass(frozen=True)
class Case:
    """`make(mx)` is the network; `data` and `label` are the shapes of a batch; `classes` is the number of them in the
    labels, 0 for labels that are real numbers; `vocabulary` that of the words in the data, 0 for real numbers."""

    make: Callable[[Any], Any]
    data: tuple[int, ...]
    label: tuple[int, ...]
    classes: int = 0
    vocabulary: int = 0
    optimizer: str = "sgd"
    arguments: dict[str, Any] = field(default_factory=lambda: {"learning_rate": 0.1, "momentum": 0.9})

    def batches(self) -> Any:
        """The data and labels of each step."""
        random = np.random.RandomState(7)
        for _ in range(STEPS):
            yield _draw(random, self.data, self.vocabulary), _draw(random, self.label, self.classes)


def _draw(random: np.random.RandomState, shape: tuple[int, ...], kinds: int) -> np.ndarray:
    return (random.randint(0, kinds, shape) if kinds else random.standard_normal(shape)).astype(np.float32)


def mlp(mx: Any) -> Any:
    net = mx.gluon.nn.Sequential()
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(16, activation="relu"))
        net.add(mx.gluon.nn.Dense(12, activation="tanh"))
        net.add(mx.gluon.nn.Dense(5))
    return net


def lenet(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(channels=4, kernel_size=5, activation="relu"))
        net.add(nn.MaxPool2D(pool_size=2, strides=2))
        net.add(nn.Conv2D(channels=6, kernel_size=3, padding=1, strides=2, activation="tanh"))
        net.add(nn.AvgPool2D(pool_size=2, strides=1))
        net.add(nn.Flatten())
        net.add(nn.Dense(20, activation="relu"))
        net.add(nn.Dense(5))
    return net


def lstm(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(mx.gluon.nn.Embedding(11, 6))
        net.add(mx.gluon.rnn.LSTM(5, num_layers=2, bidirectional=True))
        net.add(mx.gluon.nn.Dense(11, flatten=False))
    return net


def gru(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(mx.gluon.rnn.GRU(6, num_layers=2, layout="NTC"))
        net.add(mx.gluon.nn.Dense(3))
    return net


def cells(mx: Any) -> Any:
    rnn = mx.gluon.rnn

    class Unrolled(mx.gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.cell = rnn.SequentialRNNCell()
                with self.cell.name_scope():
                    self.cell.add(rnn.LSTMCell(6))
                    self.cell.add(rnn.ResidualCell(rnn.GRUCell(6)))
                    self.cell.add(rnn.BidirectionalCell(rnn.RNNCell(4), rnn.LSTMCell(4)))
                self.out = mx.gluon.nn.Dense(3)

        def forward(self, x: Any) -> Any:
            outputs, _ = self.cell.unroll(x.shape[1], x, layout="NTC", merge_outputs=True)
            return self.out(outputs)

    return Unrolled()


def batch_norm(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(channels=4, kernel_size=3))
        net.add(nn.BatchNorm())
        net.add(nn.Activation("relu"))
        net.add(nn.GlobalAvgPool2D())
        net.add(nn.Dense(8))
        net.add(nn.BatchNorm(scale=False, momentum=0.5, epsilon=1e-3))
        net.add(nn.LeakyReLU(0.1))
        net.add(nn.Dense(3))
    return net


def layer_norm(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(channels=4, kernel_size=3))
        net.add(nn.GroupNorm(num_groups=2))
        net.add(nn.Swish())
        net.add(nn.Conv2DTranspose(channels=3, kernel_size=3, strides=2))
        net.add(nn.InstanceNorm())
        net.add(nn.PReLU())
        net.add(nn.Dense(10))
        net.add(nn.LayerNorm())
        net.add(nn.Dense(3))
    return net


def embedding(mx: Any) -> Any:
    net = mx.gluon.nn.Sequential()
    with net.name_scope():
        net.add(mx.gluon.nn.Embedding(30, 4, sparse_grad=True))
        net.add(mx.gluon.nn.Dense(5))
    return net


CASES = {
    "mlp": Case(mlp, (8, 10), (8,), classes=5),
    "lenet": Case(lenet, (6, 1, 14, 14), (6,), classes=5, optimizer="adam", arguments={"learning_rate": 0.01}),
    "lstm": Case(lstm, (5, 4), (5, 4), classes=11, vocabulary=11, arguments={"learning_rate": 0.5}),
    "gru": Case(gru, (4, 6, 5), (4, 3), optimizer="rmsprop", arguments={"learning_rate": 0.01}),
    "cells": Case(cells, (4, 5, 6), (4, 3), arguments={"learning_rate": 0.1, "wd": 0.01}),
    "batch_norm": Case(batch_norm, (6, 2, 7, 7), (6,), classes=3),
    "layer_norm": Case(layer_norm, (4, 2, 6, 6), (4,), classes=3, optimizer="nag"),
    "embedding": Case(
        embedding, (6, 3), (6,), classes=5, vocabulary=30, optimizer="adagrad", arguments={"learning_rate": 0.1}
    ),
}


def train(mx: Any, case: Case) -> dict[str, np.ndarray]:
    """The loss of each step, the gradients of the first, and the parameters at the end."""
    net = case.make(mx)
    net.initialize()
    batches = list(case.batches())
    net(mx.nd.array(batches[0][0]))
    params = list(net.collect_params().values())
    random = np.random.RandomState(11)
    for p in params:
        if p.grad_req != "null":
            p.set_data(mx.nd.array(0.5 * random.standard_normal(p.shape)))
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss() if case.classes else mx.gluon.loss.L2Loss()
    trainer = mx.gluon.Trainer(net.collect_params(), case.optimizer, case.arguments)
    losses, found = [], {}
    for step, (data, label) in enumerate(batches):
        with mx.autograd.record():
            loss = loss_of(net(mx.nd.array(data)), mx.nd.array(label))
        loss.backward()
        if step == 0:
            found = {f"gradient {i}": p.grad().asnumpy() for i, p in enumerate(params) if p.grad_req != "null"}
        trainer.step(len(data))
        losses.append(loss.mean().asscalar())
    return {"losses": np.array(losses), **found, **{f"final {i}": p.data().asnumpy() for i, p in enumerate(params)}}
