"""Training loops without PyTorch: in NumPy, whose products are OpenBLAS's, and with Gluon's Trainer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import loop_ceiling
import numpy as np
from threadpoolctl import threadpool_limits

import optgen
import runtime as mx
from runtime import autograd, gluon

CEILING, EXPRESSIONS, OURS = "ceiling", "expressions", "optgen"
BATCH, LR, WD, MOMENTUM, BETA1, BETA2, EPS = 64, 1e-4, 0.01, 0.9, 0.9, 0.999, 1e-8
Arrays = Sequence[Any]
Step = Callable[[], object]

SIZES: Mapping[str, Sequence[int]] = {"mlp": (784, 128, 64, 10), "wide": (784, 2048, 2048, 10)}
SPECS: Mapping[str, tuple[str, dict[str, float], int]] = {
    "AdamW": ("adamw", {"wd": WD}, 2),
    "SGD momentum": ("sgd", {"momentum": MOMENTUM}, 1),
}
"""The specs of the optimizers, their arguments beside the rate, and how many states they have."""


class Loop(NamedTuple):
    """What an iteration does before the step, and the step."""

    passes: Callable[[], object]
    step: Step


def set_threads(n: int) -> None:
    """Have OpenBLAS and our kernels use so many threads."""
    threadpool_limits(n)
    optgen.set_num_threads(n)


class _Perceptron:
    """A network in NumPy, with gradients that are new arrays in each iteration."""

    def __init__(self, sizes: Sequence[int]) -> None:
        rng = np.random.default_rng(0)
        self.weights = [rng.normal(size=(a, b)).astype("f") * a**-0.5 for a, b in itertools.pairwise(sizes)]
        self.x = rng.normal(size=(BATCH, sizes[0])).astype("f")
        self.target = np.eye(sizes[-1], dtype="f")[np.arange(BATCH) % sizes[-1]]
        self.grads = [np.zeros_like(w) for w in self.weights]

    def passes(self) -> None:
        """Forward and backward, of a softmax and its cross entropy."""
        inputs = [self.x]
        for w in self.weights[:-1]:
            inputs.append(np.maximum(inputs[-1] @ w, 0))
        z = inputs[-1] @ self.weights[-1]
        p = np.exp(z - z.max(1, keepdims=True))
        d = (p / p.sum(1, keepdims=True) - self.target) / BATCH
        grads = []
        for w, x in zip(self.weights[::-1], inputs[::-1], strict=True):
            grads.append(x.T @ d)
            d = (d @ w.T) * (x > 0)
        self.grads = grads[::-1]


def numpy_loop(network: str, optimizer: str, contender: str, threads: int) -> Loop:
    """A network in NumPy; the step by `expressions` of NumPy, by ours, or the ceiling."""
    net = _Perceptron(SIZES[network])
    spec, values, states = SPECS[optimizer]
    if contender == OURS:
        bound = optgen.load(spec, lr=LR, **values).bind(net.weights, net.grads)

        def step() -> None:
            bound.rebind(net.grads)
            bound()

        return Loop(net.passes, step)
    if contender == EXPRESSIONS:
        return Loop(net.passes, {"AdamW": _adamw, "SGD momentum": _momentum}[optimizer](net))
    return Loop(net.passes, loop_ceiling.bind([w.shape for w in net.weights], states, threads))


def trainer_loop(network: str, optimizer: str, contender: str, threads: int) -> Loop:
    """A network of Gluon, hybridized; the step by a Trainer, or the ceiling."""
    *hidden, last = SIZES[network][1:]
    net = gluon.nn.HybridSequential()
    net.add(*(gluon.nn.Dense(n, activation="relu") for n in hidden), gluon.nn.Dense(last))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    x, labels = mx.nd.random.normal(shape=(BATCH, SIZES[network][0])), mx.nd.array(np.arange(BATCH) % last)
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()

    def passes() -> None:
        with autograd.record():
            loss = criterion(net(x), labels)
        loss.backward()

    passes()
    params, (spec, values, states) = net.collect_params(), SPECS[optimizer]
    if contender == CEILING:
        shapes = [p.shape for p in params.values()]
        return Loop(passes, loop_ceiling.bind(shapes, states, threads))
    trainer = gluon.Trainer(params, spec, {"learning_rate": LR, **values})
    return Loop(passes, lambda: trainer.step(BATCH))


def _adamw(net: _Perceptron) -> Step:
    ms, vs, count = [np.zeros_like(w) for w in net.weights], [np.zeros_like(w) for w in net.weights], itertools.count(1)

    def step() -> None:
        t = next(count)
        for w, g, m, v in zip(net.weights, net.grads, ms, vs, strict=True):
            m *= BETA1
            m += (1 - BETA1) * g
            v *= BETA2
            v += (1 - BETA2) * g * g
            w *= 1 - LR * WD
            w -= (LR / (1 - BETA1**t)) * m / (np.sqrt(v / (1 - BETA2**t)) + EPS)

    return step


def _momentum(net: _Perceptron) -> Step:
    moments = [np.zeros_like(w) for w in net.weights]

    def step() -> None:
        for w, g, m in zip(net.weights, net.grads, moments, strict=True):
            m *= MOMENTUM
            m -= LR * g
            w += m

    return step


LOOPS: Mapping[str, tuple[str, str, Callable[[str, str, str, int], Loop]]] = {
    "NumPy mlp": ("mlp", "the MLP without biases in NumPy", numpy_loop),
    "NumPy wide": ("wide", "the 3 layers without biases in NumPy", numpy_loop),
    "Trainer mlp": ("mlp", "the MLP in Gluon, hybridized", trainer_loop),
    "Trainer wide": ("wide", "the 3 layers in Gluon, hybridized", trainer_loop),
}
"""Whose layers each has, what it is, and what makes it."""
