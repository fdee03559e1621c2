"""Plans that threads make and share, and children that are forked meanwhile."""

from __future__ import annotations

import concurrent.futures
import os
import threading

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from tests.compiler.harness import python
from tests.gluon.plans import entries, network, perceptron

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")


def test_threads_compile_and_differentiate() -> None:
    net, errors = network(True), []
    expected = []
    for n in range(1, 5):
        x = nd.ones((n, 2, 8, 8))
        x.attach_grad()
        with autograd.record(train_mode=False):
            y = net(x).sum()
        y.backward()
        expected.append(x.grad.asnumpy())
    net.hybridize()

    def run(k: int) -> None:
        for i in range(24):
            x = nd.ones(((k + i) % 4 + 1, 2, 8, 8))
            x.attach_grad()
            with autograd.record(train_mode=False):
                y = net(x).sum()
            y.backward()
            if not np.allclose(x.grad.asnumpy(), expected[len(x) - 1], 1e-5, 1e-6):
                errors.append(len(x))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_threads_share_plans() -> None:
    net, x = network(True), nd.random.normal(shape=(4, 2, 8, 8))
    expected = [net(x * k).asnumpy() for k in range(4)]
    wrong = []

    def run(k: int) -> None:
        for _ in range(50):
            if not np.array_equal(net(x * k).asnumpy(), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _read(F, block, x):
    return float(x.asnumpy().sum())


def _summed(F, block, x):
    return float((x * 2).sum())


def _intermediate(F, block, x):
    return float(x.detach()[0:1].sum())


def _own_block(F, block, x):
    return float(block.inner(x).asnumpy()[0, 0])


def _weight(F, block, x):
    return float(block.inner[0].weight.data().asnumpy().sum())


def _written(F, block, x):
    x[:] = x * 3
    return 1.0


class OnAnotherThread(gluon.HybridBlock):
    """A factor that another thread computes."""

    def __init__(self, read, start) -> None:
        super().__init__()
        self._read, self._start = read, start
        with self.name_scope():
            self.inner = nn.HybridSequential()
            self.inner.add(nn.Dense(3, in_units=4), nn.Activation("tanh"))

    def hybrid_forward(self, F, x):
        y, found = self.inner(x) * 2 + 1, []
        self._start(lambda: found.append(self._read(F, self, y if self._read in (_intermediate, _written) else x)))
        return y * found[0]


def in_new_thread(function) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("read", [_read, _summed, _intermediate, _own_block, _weight, _written])
def test_values_that_another_thread_reads_are_no_constants(read, pooled: bool) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # the thread is there before the block is called
        start = (lambda function: pool.submit(function).result()) if pooled else in_new_thread
        eager, net = OnAnotherThread(read, start), OnAnotherThread(read, start)
        for block in (eager, net):
            mx.random.seed(3)
            block.initialize(mx.init.Xavier())
        net.hybridize()
        for k in range(5):
            x = nd.array(np.arange(8).reshape(2, 4) * (k + 1))
            np.testing.assert_array_equal(net(x.copy()).asnumpy(), eager(x).asnumpy())
            for block in (eager, net):
                weight = block.inner[0].weight
                weight.set_data(weight.data() * 1.5)


def test_what_other_threads_read_of_their_own_refuses_no_plan() -> None:
    """Neither of the results of the same network, nor for good if the values were the traced ones."""
    net, stop, x = network(True), threading.Event(), nd.random.normal(shape=(4, 2, 8, 8))

    def reads() -> None:
        while not stop.is_set():
            (net(nd.ones((3, 2, 8, 8))).sum() * 2).asnumpy()

    thread = threading.Thread(target=reads)
    thread.start()
    try:
        for _ in range(3):
            net(x)
    finally:
        stop.set()
        thread.join()
    for like in (x, nd.ones((3, 2, 8, 8))):  # a thread may have made one call, and a plan takes two
        for _ in range(3):
            net(like)
    assert all(entry.compiled is not None for entry in entries(net))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_runs_plans() -> None:
    net = perceptron()
    x = nd.random.normal(shape=(256, 512))
    expected, *_ = (net(x).asnumpy() for _ in range(3))
    child = os.fork()
    if child == 0:
        os._exit(0 if all(np.allclose(net(x).asnumpy(), expected, 1e-5, 1e-6) for _ in range(3)) else 1)
    assert os.waitpid(child, 0)[1] == 0


FORKS = """
import os, signal, threading
from runtime import nd
from tests.gluon.plans import perceptron

net, stop, rows = perceptron(), threading.Event(), iter(range(1, 1_000_000))

def compiles():
    while not stop.is_set():
        x = nd.ones((next(rows), 32))
        net(x), net(x)

net(nd.ones((1, 32)))
thread = threading.Thread(target=compiles)
thread.start()
for _ in range(15):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        x = nd.ones((7, 32))
        net(x), net(x), net(x)
        perceptron()(x)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_forked_while_a_thread_makes_plans() -> None:
    done = python(FORKS, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
