"""Memory does not grow, and goes without the garbage collector: what training leaves behind has no cycles."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd
from runtime.gluon import nn, rnn
from tests.compiler.test_step import mappings

Step = Callable[[], object]

SLACK = 16 << 10
"""Bytes that may be taken by what is made once in a while; anything kept at each step is more."""


def _variable() -> nd.NDArray:
    x = nd.array(np.arange(1, 65).reshape(8, 8))
    x.attach_grad()
    return x


def _training(net: gluon.HybridBlock, data: nd.NDArray, optimizer: str) -> Step:
    """One iteration, with its metric."""
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), optimizer)
    criterion, accuracy = gluon.loss.SoftmaxCrossEntropyLoss(), mx.metric.Accuracy()
    labels = nd.array(np.arange(len(data)) % 3)

    def step() -> None:
        with autograd.record():
            scores = net(data)
            loss = criterion(scores, labels)
        loss.backward()
        trainer.step(len(data))
        accuracy.update(labels, scores)
        accuracy.reset()

    return step


def perceptron() -> Step:
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.Dropout(0.5), nn.Dense(3))
    return _training(net, nd.random.normal(shape=(8, 12)), "sgd")


class _Reader(nn.HybridBlock):
    """An image read row by row."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.features = nn.HybridSequential()
            self.features.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
            self.recurrent = rnn.LSTM(6)
            self.output = nn.Dense(3)

    def hybrid_forward(self, F: object, x: nd.NDArray) -> nd.NDArray:
        rows = F.transpose(self.features(x), axes=(2, 0, 1, 3)).reshape((0, 0, -1))  # type: ignore[attr-defined]
        return self.output(self.recurrent(rows)[-1])


def convolutional_and_recurrent() -> Step:
    return _training(_Reader(), nd.random.normal(shape=(4, 2, 8, 8)), "adam")


def sparse_embedding() -> Step:
    net = nn.HybridSequential()
    net.add(nn.Embedding(20, 6, sparse_grad=True), nn.LayerNorm(), nn.Dense(3))
    return _training(net, nd.array([[1, 2], [3, 2], [7, 1]]), "sgd")


def recorded_without_backward() -> Step:
    x = _variable()

    def step() -> None:
        with autograd.record():
            nd.concat(*nd.split(nd.softmax(x * x), 2), dim=0).sum()

    return step


def backward_of_a_kept_graph() -> Step:
    x = _variable()

    def step() -> None:
        with autograd.record():
            y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()

    return step


def gradient_of_a_gradient() -> Step:
    x = _variable()

    def step() -> None:
        with autograd.record():
            y = nd.log_softmax(nd.tanh(x) * x)
            (dx,) = autograd.grad(y, x, create_graph=True)
            penalty = (dx * dx).sum()
        penalty.backward()

    return step


def exception_while_recording() -> Step:
    net, x = nn.Dense(3, in_units=8), _variable()
    net.initialize()

    def step() -> None:
        with contextlib.suppress(MXNetError), autograd.record():
            y = net(x)
            y + nd.zeros((5, 5))

    return step


class _Cube(autograd.Function):
    def forward(self, x: nd.NDArray) -> nd.NDArray:
        self.save_for_backward(x)
        return x * x * x

    def backward(self, dy: nd.NDArray) -> nd.NDArray:
        (x,) = self.saved_tensors
        return 3 * x * x * dy


def function_of_the_user() -> Step:
    x = _variable()

    def step() -> None:
        with autograd.record():
            y = _Cube()(x) + _Cube()(x)
        y.backward()

    return step


class _Double(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: list, in_data: list, out_data: list, aux: list) -> None:
        self.assign(out_data[0], req[0], 2 * in_data[0])

    def backward(self, req: list, out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list) -> None:
        self.assign(in_grad[0], req[0], 2 * out_grad[0])


@mx.operator.register("double_for_test_memory")
class _DoubleProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: mx.Context, in_shapes: list, in_dtypes: list) -> _Double:
        return _Double()


def operator_of_the_user() -> Step:
    x = _variable()

    def step() -> None:
        with autograd.record():
            y = nd.Custom(x, op_type="double_for_test_memory")
        y.backward()

    return step


TRAINED = (perceptron, convolutional_and_recurrent, sparse_embedding)
STEPS = (
    *TRAINED,
    recorded_without_backward,
    backward_of_a_kept_graph,
    gradient_of_a_gradient,
    exception_while_recording,
    function_of_the_user,
    operator_of_the_user,
)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """What is there already is frozen: it does not count, and collections that are asked for need not look at it."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize("make", STEPS)
def test_nothing_is_left_behind(make: Callable[[], Step]) -> None:
    make()()  # imports and compiles
    with _without_collector():
        tracemalloc.start()
        try:
            step = make()
            for _ in range(10):
                step()
            gc.collect()
            for _ in range(90):
                step()
            before = _traced()
            for _ in range(200):
                step()
            assert _traced() - before < SLACK
        finally:
            tracemalloc.stop()


def _traced() -> int:
    """Bytes of Python's heap. There is nothing to collect; that empties Python's lists of tuples to use again."""
    assert gc.collect() == 0, "there are cycles"
    return tracemalloc.get_traced_memory()[0]


def test_a_network_and_its_trainer_go_when_they_are_let_go_of() -> None:
    with _without_collector():
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Dense(3, in_units=8))
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        held = [weakref.ref(x) for x in (net, net[0].weight, trainer)]
        del net, trainer
        assert [ref() for ref in held] == [None] * 3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts mappings in /proc")
def test_trainers_link_identical_code_once() -> None:
    """A process may have 65,530 mappings."""

    def use() -> None:
        param = gluon.Parameter("weight", shape=(5,))
        param.initialize(mx.init.One())
        param.data()._node.fresh = True
        gluon.Trainer({"weight": param}, "adam").step(1)

    use()
    before = mappings()
    for _ in range(100):
        use()
    assert mappings() - before < 20


@pytest.mark.stress
@pytest.mark.parametrize("make", STEPS)
def test_ten_thousand_iterations(make: Callable[[], Step]) -> None:
    """Also of what Python does not count: the memory of compiled code and of libraries."""
    step = make()
    for _ in range(1000):
        step()
    with _without_collector():
        before = _resident()
        for _ in range(10_000):
            step()
        assert _resident() - before < 2 << 20


def _resident() -> int:
    """Bytes of the process's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
