"""Executors compute by plans from the second pass of a kind on, to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import nd, sym
from tests.gluon.plans import assert_alike

pytestmark = pytest.mark.cpu_only("plans are made of the CPU's kernels")


def network() -> sym.Symbol:
    x = sym.BatchNorm(sym.Convolution(sym.Variable("data"), kernel=(3, 3), num_filter=4), name="bn", fix_gamma=False)
    x = sym.Pooling(sym.Activation(x, act_type="relu"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = sym.FullyConnected(sym.Dropout(x, p=0.5), num_hidden=3)
    unused = sym.BlockGrad(sym.Variable("unused") * 2)
    return sym.Group([sym.SoftmaxOutput(x, name="softmax", normalization="valid", use_ignore=True), unused])


def bound(planned: bool, request: str):
    mx.random.seed(1)
    shapes = {"data": (4, 2, 8, 8), "unused": (2,), "softmax_label": (4,)}
    names = [name for name in network().list_arguments() if name not in ("data", "softmax_label")]
    executor = network().simple_bind(mx.cpu(), grad_req=dict.fromkeys(names, request), **shapes)
    for name, x in executor.arg_dict.items():
        x[:] = nd.random.normal(scale=0.5, shape=x.shape) if name != "softmax_label" else nd.array([0, 1, -1, 2])
    for x in (*executor.aux_arrays, *[g for g in executor.grad_arrays if g is not None]):
        x[:] = 1
    if not planned:
        executor._plans = executor._computed
    return executor


def passes(executor) -> list[np.ndarray]:
    """What some passes leave: training, prediction, the gradient after a prediction, and twice after one pass."""
    found = []
    for k in range(4):
        outputs = executor.forward(is_train=True, data=nd.random.normal(shape=(4, 2, 8, 8)))
        executor.backward()
        found += [y.asnumpy() for y in outputs] + [g.asnumpy() for g in executor.grad_arrays if g is not None]
        for x, g in zip(executor.arg_arrays, executor.grad_arrays, strict=True):
            if g is not None:
                x -= 0.01 * g
        if k == 2:
            executor.backward()
        found += [x.asnumpy() for x in (*executor.forward(is_train=False), *executor.aux_arrays)]
        executor.backward()
        found += [g.asnumpy() for g in executor.grad_arrays if g is not None]
    return found


@pytest.mark.parametrize("request_", ["write", "add"])
def test_executors_run_plans(request_: str) -> None:
    expected = passes(bound(False, request_))
    planned = bound(True, request_)
    assert_alike(passes(planned), expected)
    kinds = list(planned._plans._plans._entries.values())
    assert len(kinds) == 3
    assert all(kind.compiled is not None for kind in kinds), [kind.refusal for kind in kinds]


def test_arrays_that_share_memory() -> None:
    x, grad = nd.array([[1.0, 2.0], [3.0, 4.0]]), [nd.zeros((2, 2)) for _ in range(2)]
    a, b = sym.Variable("a"), sym.Variable("b")
    executor = sym.dot(sym.tanh(a * 2), sym.relu(b + 1)).bind(mx.cpu(), [x, x], grad)
    for k in range(4):
        x[:] = x + k
        executor.forward(is_train=True)
        executor.backward(nd.ones((2, 2)))
        y, t = x.asnumpy() + 1, np.tanh(2 * x.asnumpy())
        assert_alike([executor.outputs[0].asnumpy()], [t @ y])
        assert_alike([g.asnumpy() for g in grad], [2 * (1 - t * t) * (np.ones((2, 2)) @ y.T), t.T @ np.ones((2, 2))])


def test_labels_are_read_in_each_pass() -> None:
    x, label, grad = nd.array([[1.0, 2, 0], [0.0, 1, 3]]), nd.array([0, 1]), nd.zeros((2, 3))
    for output in (sym.SoftmaxOutput, sym.SVMOutput):
        symbol = output(sym.Variable("x") * 1.5, sym.Variable("label"))
        executor = symbol.bind(mx.cpu(), {"x": x, "label": label}, {"x": grad})
        seen = []
        for classes in ((0, 1), (0, 1), (2, 0), (2, 0)):
            label[:] = nd.array(classes)
            executor.forward(is_train=True)
            executor.backward()
            seen.append(grad.asnumpy())
        np.testing.assert_array_equal(seen[0], seen[1])
        np.testing.assert_array_equal(seen[2], seen[3])
        assert (seen[1] != seen[2]).any()
