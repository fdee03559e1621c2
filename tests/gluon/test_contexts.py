"""Contexts: names of devices, and the one that is current."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import context, gluon, nd
from runtime.context import Context


def test_contexts_are_values() -> None:
    assert mx.cpu() == mx.cpu(0) == Context("cpu", 0) == Context(mx.cpu()) != mx.cpu(1) != mx.gpu(1)
    assert mx.cpu() != "cpu(0)"
    assert len({mx.cpu(1), Context("cpu", 1), mx.gpu(1)}) == 2
    assert [str(c(2)) for c in (mx.cpu, mx.gpu, mx.cpu_pinned, context.cpu_shared)] == [
        "cpu(2)",
        "gpu(2)",
        "cpu_pinned(2)",
        "cpu_shared(2)",
    ]
    assert {kind: Context(kind).device_typeid for kind in Context.devstr2type} == Context.devstr2type
    assert Context.devtype2str == {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    for duplicate in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert duplicate(mx.gpu(3)) == mx.gpu(3)
    with pytest.raises(ValueError, match="unknown device type 'cpuu'; did you mean 'cpu'"):
        Context("cpuu")


@pytest.mark.cpu_only("the context that is current where none is chosen")
def test_the_current_context() -> None:
    assert mx.current_context() == mx.cpu(0)
    with mx.cpu(1), mx.cpu_pinned(2) as inner:
        assert mx.current_context() is inner
        assert nd.ones(1).context == mx.cpu_pinned(2)
        assert nd.ones(1, ctx=mx.cpu()).as_in_context(mx.cpu(1)).context == mx.cpu(1)
    assert Context.default_ctx == mx.cpu(0)


@pytest.mark.cpu_only("which contexts of the CPU arrays are in")
def test_inputs_of_a_hybridized_block_are_in_one_context() -> None:
    class Sum(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
            return x[0] + y[0]

    net, x, y = Sum(), [mx.nd.ones(1, ctx=mx.cpu(1))], [mx.nd.ones(1, ctx=mx.cpu(2))]
    assert net(x, y).asscalar() == 2
    net.hybridize()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"in one context, and these live in cpu\(1\) and in cpu\(2\): bring"):
            net(x, y)
        assert net(x, x).context == mx.cpu(1)


@pytest.mark.cpu_only("kinds of the CPU's memory")
def test_pinned_and_shared_memory_goes_with_any_other() -> None:
    for other in (mx.cpu_pinned(1), mx.context.cpu_shared(0)):
        x = mx.nd.ones((2,), ctx=other)
        assert (mx.nd.ones((2,)) + x).context == mx.cpu(0)
        assert (x + mx.nd.ones((2,), ctx=mx.cpu(3))).context == mx.cpu(other.device_id)
    samples = gluon.data.ArrayDataset(np.ones((8, 3), np.float32), np.ones(8, np.float32))
    net = gluon.nn.Dense(1)
    net.initialize()
    for x, y in gluon.data.DataLoader(samples, 4, pin_memory=True, pin_device_id=0):
        assert x.context == y.context == mx.cpu_pinned(0)
        with mx.autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y)
        loss.backward()
