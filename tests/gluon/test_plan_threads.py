"""Plans that threads make and share, and children that are forked meanwhile."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from runtime import autograd, nd
from tests.compiler.harness import python
from tests.gluon.plans import network, perceptron

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
