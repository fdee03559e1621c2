"""Activations within kernels that normalize: the bits of the steps apart, and effects once."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.gluon import nn
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


def test_relu_in_the_kernels_that_normalize(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels: list[str] = []
    call = program.Program._call

    def noted(self: program.Program, step: KernelStep) -> tuple[int, int, int]:
        kernels.append(step.kernel.name)
        return call(self, step)

    monkeypatch.setattr(program.Program, "_call", noted)
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
    assert kernels.count("planes_relu") == 3
    assert kernels.count("planes") == 2
    assert kernels.count("planes_back_relu") == 1
