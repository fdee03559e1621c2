"""Random networks, hybridized and not: the same bits of outputs, gradients and parameters, step after step.

A seed says everything of a network: inputs of several types, layers that are used twice, losses inside, parameters that
are written to in place, and batches whose sizes change, the first ones of one class or one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")

WIDTH = 6
"""The columns of what flows between the parts of a network, whose rows are samples."""
CHUNK, CHUNKS = 100, 50
"""Networks of a test of `make stress`, and tests."""


class Network(gluon.HybridBlock):
    """A network of a few random parts, each of which takes what earlier ones have computed."""

    def __init__(self, seed: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self._choices = np.random.default_rng(seed)
        self._parts = [self._choices.choice(PARTS) for _ in range(self._choices.integers(2, 7))]
        self._picks = self._choices.integers(0, 1 << 30, size=(len(self._parts), 4)).tolist()
        self._end = self._choices.choice(ENDS)
        self._in_place, self._several = self._choices.random(2) < (0.15, 0.3)
        with self.name_scope():
            self.w = self.params.get("w", shape=(WIDTH, WIDTH), init=mx.init.Uniform(0.5))
            self.moving = self.params.get("moving", shape=(WIDTH,), init="zeros", grad_req="null")
            self.shared = nn.Dense(WIDTH, in_units=WIDTH, activation=self._choices.choice(["relu", "tanh", "sigmoid"]))
            self.norm = self._choices.choice([nn.BatchNorm, nn.LayerNorm])(in_channels=WIDTH)
            self.words = nn.Embedding(5, WIDTH)

    def hybrid_forward(self, F, x, label, mask, double, w, moving):
        known = [x]
        for part, picks in zip(self._parts, self._picks, strict=True):
            a, b = (known[pick % len(known)] for pick in picks[:2])
            known.append(part(F, self, a, b, label, mask, double, w, picks[2] % 4))
        y = known[-1] + known[0] * 0.5
        if self._in_place:
            with autograd.pause():
                self.moving.data()[:] = moving * 0.5 + y.mean(axis=0)
        loss = self._end(F, y, label)
        return [loss, y * 2, known[-1]] if self._several else loss


def _row(x: Any) -> Any:
    return x.expand_dims(1)


PARTS = [
    lambda F, net, a, b, label, mask, double, w, k: net.shared(a),
    lambda F, net, a, b, label, mask, double, w, k: net.norm(a),
    lambda F, net, a, b, label, mask, double, w, k: F.dot(a, w, transpose_b=k > 1),
    lambda F, net, a, b, label, mask, double, w, k: net.words(label) * a + b,
    lambda F, net, a, b, label, mask, double, w, k: F.tanh(a) * F.sigmoid(b),
    lambda F, net, a, b, label, mask, double, w, k: (a + b, a - b, a * b, a / (F.abs(b) + 1))[k],
    lambda F, net, a, b, label, mask, double, w, k: (F.maximum(a, b), F.relu(a), F.clip(a, -1, 0.5), F.square(b))[k],
    lambda F, net, a, b, label, mask, double, w, k: F.LeakyReLU(a, act_type=("leaky", "elu", "gelu", "selu")[k]),
    lambda F, net, a, b, label, mask, double, w, k: F.Activation(a, ("softrelu", "softsign", "tanh", "sigmoid")[k]),
    lambda F, net, a, b, label, mask, double, w, k: (F.softmax(a), F.log_softmax(a), F.softmin(a), F.exp(-a * a))[k],
    lambda F, net, a, b, label, mask, double, w, k: F.where(mask, a, b),
    lambda F, net, a, b, label, mask, double, w, k: F.where(a > 0, a, b * 0.1),
    lambda F, net, a, b, label, mask, double, w, k: a * mask.astype("float32") + k,
    lambda F, net, a, b, label, mask, double, w, k: a + (double * 2 - k).astype("float32"),
    lambda F, net, a, b, label, mask, double, w, k: a * _row(label.astype("float32")) + label.astype("float32").sum(),
    lambda F, net, a, b, label, mask, double, w, k: a - _row(F.pick(b, label)),
    lambda F, net, a, b, label, mask, double, w, k: a * F.one_hot(label, WIDTH) + b,
    lambda F, net, a, b, label, mask, double, w, k: F.concat(a[:, : k + 1], b[:, k + 1 :], dim=1),
    lambda F, net, a, b, label, mask, double, w, k: F.stack(a, b, axis=1).reshape((-1, 2 * WIDTH))[:, k : k + WIDTH],
    lambda F, net, a, b, label, mask, double, w, k: a - (a.mean(), a.sum(axis=0), a.max(axis=0), a.min())[k],
    lambda F, net, a, b, label, mask, double, w, k: a / (_row((a * a).sum(axis=1)) + 1),
    lambda F, net, a, b, label, mask, double, w, k: F.Dropout(a, p=0.2 * (k + 1)),
    lambda F, net, a, b, label, mask, double, w, k: F.BlockGrad(a) * b + w[k],
    lambda F, net, a, b, label, mask, double, w, k: F.dot(F.dot(a, b, transpose_b=True), b) * 0.1,
    lambda F, net, a, b, label, mask, double, w, k: F.transpose(F.transpose(a) * 2) + F.cumsum(b, axis=1),
    lambda F, net, a, b, label, mask, double, w, k: a * F.argmax(b, axis=1, keepdims=True) + F.argsort(a, axis=1) * k,
    lambda F, net, a, b, label, mask, double, w, k: F.FullyConnected(a, w, w[0], num_hidden=WIDTH),
    lambda F, net, a, b, label, mask, double, w, k: F.LayerNorm(a, w[0], w[1]),
]
"""From two arrays (samples, WIDTH) to another; `k` is a number from 0 to 3."""

ENDS = [
    lambda F, y, label: gluon.loss.SoftmaxCrossEntropyLoss()(y, label),
    lambda F, y, label: F.softmax_cross_entropy(y, label),
    lambda F, y, label: gluon.loss.L2Loss()(y, F.one_hot(label, WIDTH)),
    lambda F, y, label: gluon.loss.HuberLoss()(y, F.zeros_like(y)) + label.astype("float32"),
    lambda F, y, label: F.SoftmaxOutput(y, label.astype("float32")),
    lambda F, y, label: F.LogisticRegressionOutput(y, F.one_hot(label, WIDTH)),
    lambda F, y, label: (y * y).sum() - F.pick(y, label).sum(),
]


def batches(seed: int) -> Iterator[list[nd.NDArray]]:
    """Two of one class and one number, and others; some have another size."""
    rng = np.random.default_rng(seed)
    size, other = rng.integers(1, 7, 2)
    for i, n in enumerate((size, size, size, other, size, other)):
        x, label = rng.normal(size=(n, WIDTH)), rng.integers(0, 5, n)
        mask, double = rng.random((n, WIDTH)) < 0.5, rng.normal(size=(n, WIDTH))
        if i < 2:
            x[:], label[:], mask[:], double[:] = x.flat[0], label[0], mask.flat[0], double.flat[0]
        dtype = ("int32", "int64", "uint8")[seed % 3]
        yield [nd.array(x), nd.array(label, dtype=dtype), nd.array(mask, dtype=bool), nd.array(double, dtype="float64")]


def trained(seed: int, hybridized: bool) -> Iterator[tuple[str, np.ndarray]]:
    """What a few steps, and predictions in between, compute."""
    mx.random.seed(seed)
    net = Network(seed, prefix="net_")
    net.initialize()
    if hybridized:
        net.hybridize(static_alloc=bool(seed % 2))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for step, batch in enumerate(batches(seed)):
        batch[0].attach_grad()
        with autograd.record():
            outputs = net(*batch)
            outputs = outputs if isinstance(outputs, list) else [outputs]
        autograd.backward(outputs)
        trainer.step(len(batch[0]), ignore_stale_grad=True)
        predicted = net(*batch)
        predicted = predicted if isinstance(predicted, list) else [predicted]
        arrays = {f"output {i}": y for i, y in enumerate(outputs)} | {
            f"prediction {i}": y for i, y in enumerate(predicted)
        }
        arrays |= {"gradient": batch[0].grad} | {name: p.data() for name, p in net.collect_params().items()}
        yield from ((f"step {step}: {name}", x.asnumpy()) for name, x in arrays.items())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(25))
def test_a_network(seed: int) -> None:
    check(seed)


@pytest.mark.stress
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_networks(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        check(seed)


def check(seed: int) -> None:
    expected, found = list(trained(seed, hybridized=False)), list(trained(seed, hybridized=True))
    for (name, x), (_, y) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y, f"network {seed}, {name}")
