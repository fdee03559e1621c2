"""Hybridized blocks compute what they compute when they are not, whatever they are made of."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from runtime.plan import program
from runtime.plan.steps import PythonStep
from tests.gluon.plans import assert_alike, entries

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")


class Net(gluon.HybridBlock):
    """`function(F, block, x, ...)`, with a matrix `w` and a layer `d`."""

    def __init__(self, function, **kwargs) -> None:
        super().__init__(**kwargs)
        self._function = function
        with self.name_scope():
            self.w = self.params.get("w", shape=(4, 4), init=mx.init.Uniform(1))
            self.d = nn.Dense(4, in_units=4)

    def hybrid_forward(self, F, x, *others, w):
        return self._function(F, self, x, *others, w=w)


def listed(y) -> list:
    return list(y) if isinstance(y, (list, tuple)) else [y]


def trained(function, hybridized: bool, inputs: int = 1, steps: int = 4) -> tuple[list[np.ndarray], Net]:
    """Outputs and gradients of some steps, and of predictions in between."""
    mx.random.seed(1)
    net = Net(function)
    net.initialize()
    if hybridized:
        net.hybridize()
    found = []
    for _ in range(steps):
        data = [nd.random.normal(shape=(3, 4)) for _ in range(inputs)]
        for x in data:
            x.attach_grad()
        with autograd.record():
            outputs = listed(net(*[x * 2 for x in data]))
            loss = sum((y.astype("float32") ** 2).sum() for y in outputs)
        loss.backward()
        found += [y.asnumpy() for y in outputs] + [x.grad.asnumpy() for x in data]
        found += [p.grad().asnumpy() for p in net.collect_params().values()]
        found += [y.asnumpy() for y in listed(net(*data))]
    return found, net


def paused(F, net, x, w):
    with autograd.pause():
        m = F.tanh(net.d(x)) * 2
    return m * x + F.dot(x, w)


def in_place(F, net, x, w):
    y = net.d(x) * 2 + 1
    with autograd.pause():
        y[0] = 0
    return y * 1


PLANNED = {
    "chain": lambda F, net, x, w: F.tanh(net.d(F.dot(x, w))) * F.sigmoid(x) + 1,
    "two outputs": lambda F, net, x, w: [F.dot(x, w) + 1, F.relu(net.d(x)) * 2 - x],
    "one output twice": lambda F, net, x, w: [F.relu(net.d(x)) * 2 - x] * 2,
    "an input": lambda F, net, x, w: [x, x.reshape((4, 3)), F.flatten(x), F.relu(net.d(x)) * 2],
    "views": lambda F, net, x, w: (lambda y: [y.reshape((-1,)), y, y[0:2], y[1]])(F.relu(net.d(x)) * 2 - x),
    "broadcast": lambda F, net, x, w: F.broadcast_mul(net.d(x).expand_dims(0), x.mean(axis=1, keepdims=True)) + w[0],
    "constants": lambda F, net, x, w: net.d(x + F.zeros((3, 4))) * F.arange(4).reshape((1, 4)) + F.ones((3, 4)) * 2,
    "dropout": lambda F, net, x, w: F.Dropout(F.Dropout(net.d(x), p=0.5) + x, p=0.2) * 3,
    "blocked": lambda F, net, x, w: F.BlockGrad(net.d(x)) * x + F.tanh(x) * 3,
    "paused": paused,
    "choices": lambda F, net, x, w: F.maximum(net.d(x), x) + F.minimum(x, 0.3) * F.clip(x, -0.5, 0.5),
    "where": lambda F, net, x, w: F.where(x > 0, net.d(x), -x) * 2,
    "softmax": lambda F, net, x, w: F.softmax(net.d(x)) + F.log_softmax(x) * F.LayerNorm(x, w[0], w[1]),
    "slices": lambda F, net, x, w: F.concat(net.d(x)[:, :2], x[:, 2:], dim=1) + F.stack(*[x[:, 0]] * 4, axis=1),
    "matrices": lambda F, net, x, w: F.dot(net.d(x).T, x) + F.batch_dot(x.expand_dims(2), x.expand_dims(1)).sum(axis=0),
    "rows": lambda F, net, x, w: F.Embedding(F.argmax(x, axis=1), w, input_dim=4, output_dim=4) * net.d(x) + x,
    "picked": lambda F, net, x, w: F.pick(net.d(x), F.argmax(x, axis=1)).expand_dims(1) * x,
    "float64": lambda F, net, x, w: (F.tanh(x.astype("float64")) * 2 + 1).astype("float32") * net.d(x),
    "other sums": lambda F, net, x, w: [(net.d(x) * x).sum(), x.sum(axis=1) * 2, (x * w[1]).sum(axis=0)],
    "normalized": lambda F, net, x, w: F.broadcast_div(x, F.sqrt(F.square(net.d(x)).mean(axis=1, keepdims=True) + 1)),
    "loop": lambda F, net, x, w: F.contrib.foreach(
        lambda a, s: (F.tanh(F.dot(a.expand_dims(0), w)) + s, s * 2), x, F.ones((1, 4))
    )[0],
}  # fmt: skip

REFUSED = {
    "values": (lambda F, net, x, w: net.d(x) * float(x.sum().asscalar()) + x, "reads the values"),
    "choice in Python": (lambda F, net, x, w: net.d(x) * (2 if x.sum() > 0 else 3) + x, "reads the values"),
    "in place": (in_place, "writes to an array"),
    "draws": (lambda F, net, x, w: net.d(x) + F.random.normal(shape=(3, 4)) * x, "no operator has computed"),
    "places": (lambda F, net, x, w: F.take(w, F.topk(x, k=1, axis=1).reshape((-1,))) * net.d(x) + x, "no operator"),
    "coordinates": (lambda F, net, x, w: F.gather_nd(net.d(x) * 2, (x[0:2, 0:2] > 0)), "values of an array"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_computes_what_the_operators_do(name: str) -> None:
    expected, _ = trained(PLANNED[name], hybridized=False)
    found, net = trained(PLANNED[name], hybridized=True)
    assert all(entry.compiled is not None for entry in entries(net)), [entry.refusal for entry in entries(net)]
    assert_alike(found, expected)


def test_parts_along_an_axis_are_kernels() -> None:
    """Forwards and backwards, contiguous or not."""

    def function(F, net, x, w):
        y = net.d(x) * 2
        return [F.slice_axis(y, axis=0, begin=-1, end=None) * 3, F.slice(y, begin=(None, 1), end=(None, 3)) + 1]

    expected, _ = trained(function, hybridized=False)
    found, net = trained(function, hybridized=True)
    assert_alike(found, expected)
    programs = [p for entry in entries(net) for p in (entry.compiled._forward, entry.compiled._backward)]
    assert not [part for program in programs for part in program.parts if isinstance(part, PythonStep)]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_computed_by_operators(name: str) -> None:
    function, reason = REFUSED[name]
    expected, _ = trained(function, hybridized=False)
    found, net = trained(function, hybridized=True)
    assert all(reason in entry.refusal for entry in entries(net)), [entry.refusal for entry in entries(net)]
    assert_alike(found, expected)


@pytest.mark.parametrize("after", range(5))
def test_interrupted_between_two_addresses(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is interrupted while a plan is given its arrays leaves nothing behind that the next one takes."""
    net = Net(lambda F, block, x, w: F.tanh(block.d(F.dot(F.exp(x), w))) * 2)
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 4))
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward(retain_graph=True)
    call = y._node.operator
    compiled, memory, inputs = call._compiled, call._memory, [*call._inputs, np.ones((2, 4), np.float32)]

    def places() -> list[np.ndarray]:
        return [np.zeros(g.shape, g.dtype) for g in compiled.gradients]

    expected = compiled.backward(inputs, [y._data], places(), memory)
    found, address, addresses = places(), program.address, iter(range(1000))

    def interrupted(array: np.ndarray) -> int:
        if next(addresses) == after:
            raise KeyboardInterrupt
        return address(array)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(program, "address", interrupted)
        compiled.backward(inputs, [y._data], found, memory)
    compiled.backward(inputs, [y._data], found, memory)
    for gradient, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(gradient, other)
