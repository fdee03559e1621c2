"""Activations within kernels that normalize or convolve: the bits of the steps apart, and effects once."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
from runtime.native import gathered, winograd
from runtime.plan import program
from runtime.plan.steps import KernelStep

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")


class Block(gluon.HybridBlock):
    """Normalizations with relu, alone, with a sum of which either part was normalized, and of one read twice."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.layers = [nn.BatchNorm(in_channels=4) for _ in range(5)]
            for layer in self.layers:
                self.register_child(layer)

    def hybrid_forward(self, F, x):
        a, b, c, d, e = self.layers
        y = F.relu(a(x * 2))
        y = F.Activation(b(y) + y, act_type="relu")
        y = F.relu(c(x) + d(y))
        twice = e(y)
        return F.relu(twice) + twice * 0.5


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[KernelStep]:
    """The calls of kernels that plans consist of."""
    found: list[KernelStep] = []
    call = program.Program._call

    def noted(self: program.Program, step: KernelStep) -> tuple[int, int, int]:
        found.append(step)
        return call(self, step)

    monkeypatch.setattr(program.Program, "_call", noted)
    return found


def test_relu_in_the_kernels_that_normalize(steps: list[KernelStep]) -> None:
    found = []
    for hybridized in (False, True):
        mx.random.seed(2)
        net, x = Block(), nd.random.normal(shape=(3, 4, 9, 7))
        net.initialize(mx.init.Normal(1))
        for layer in net.layers:
            layer.gamma.set_data(nd.random.normal(shape=(4,)))
        if hybridized:
            net.hybridize()
        x.attach_grad()
        for _ in range(4):
            with autograd.record():
                y = net(x)
            y.backward()
            found.append([z.asnumpy() for z in (y, x.grad, *[p.data() for p in net.collect_params().values()])])
            found[-1] += [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
    for one, other in zip(found[:4], found[4:], strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    kernels = [step.kernel.name for step in steps]
    assert kernels.count("planes_relu") == 3
    assert kernels.count("planes") == 2
    assert kernels.count("planes_back_relu") == 1


class Convolutions(gluon.HybridBlock):
    """relu of convolutions by both kernels, with a bias and without; of the last one something else reads, too."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.tiles = nn.Conv2D(20, 3, padding=1, in_channels=16, activation="relu")
            self.strided = nn.Conv2D(24, 5, strides=2, in_channels=20, use_bias=False)
            self.twice = nn.Conv2D(32, 2, in_channels=24)

    def hybrid_forward(self, F, x):
        y = self.twice(F.relu(self.strided(self.tiles(x))))
        return F.relu(y), y


def test_relu_in_the_kernels_that_convolve(steps: list[KernelStep]) -> None:
    found = []
    for hybridized in (False, True):
        mx.random.seed(2)
        net, x = Convolutions(), nd.random.normal(shape=(5, 16, 19, 18))
        net.initialize(mx.init.Normal(1))
        if hybridized:
            net.hybridize()
        x.attach_grad()
        for _ in range(3):
            with autograd.record():
                y, z = net(x)
            autograd.backward([y, z])
            found.append([a.asnumpy() for a in (y, z, x.grad, net.tiles.weight.grad(), net.strided.weight.grad())])
    for one, other in zip(found[:3], found[3:], strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    kernels = [(step.kernel, step.arguments[5]) for step in steps if step.kernel.name == "convolve"]
    assert kernels[:3] == [(winograd.convolve, 1), (gathered.convolve, 1), (gathered.convolve, 0)]
