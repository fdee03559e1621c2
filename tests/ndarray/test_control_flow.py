"""Loops and branches of `nd.contrib`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import check

A = np.random.default_rng(0).normal(size=(4, 3))


def test_foreach_is_a_loop() -> None:
    outputs, state = nd.contrib.foreach(lambda x, s: (x + s, x + s), nd.arange(4), nd.zeros(1))
    assert outputs.asnumpy().ravel().tolist() == [0, 1, 3, 6] and state.asscalar() == 6
    outputs, states = nd.contrib.foreach(
        lambda xs, ss: ([xs[0], (xs[1], ss[0])], [ss[0] + 1, ss[1]]),
        [nd.ones((2, 3)), nd.zeros((2, 1))],
        [nd.zeros(1), nd.ones(2)],
    )
    assert (
        outputs[0].shape == (2, 3) and outputs[1][0].shape == (2, 1) and outputs[1][1].asnumpy().tolist() == [[0], [1]]
    )
    assert states[0].asscalar() == 2 and states[1].shape == (2,)


def test_gradients_flow_through_loops() -> None:
    check(lambda x, s: nd.contrib.foreach(lambda row, state: (row * state, state + row), x, s), A, A[0], order=2)

    def power(x: nd.NDArray) -> nd.NDArray:
        return nd.contrib.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (y * 2, (i + 1, y * x)),
            [nd.zeros(1, dtype="float64"), x],
            max_iterations=5,
        )[1][1]

    check(power, A, order=2)
    check(lambda x: nd.contrib.cond(x.sum() > 1e9, lambda: x, lambda: x * x), A, order=2)


def test_while_loop() -> None:
    def step(i: nd.NDArray, s: nd.NDArray) -> tuple:
        return i, (i + 1, s + i)

    start = [nd.array([1], dtype="int64"), nd.array([0], dtype="int64")]
    outputs, (i, s) = nd.contrib.while_loop(lambda i, s: i <= 5, step, start, max_iterations=10)
    assert i.asscalar() == 6 and s.asscalar() == 15
    assert outputs.shape == (10, 1) and outputs.asnumpy().ravel()[:6].tolist() == [1, 2, 3, 4, 5, 0]
    assert nd.contrib.while_loop(lambda i, s: i < 0, step, start, max_iterations=10) == ([], start)
    outputs, i = nd.contrib.while_loop(lambda i: i < 9, lambda i: (None, i + 1), nd.zeros(1), max_iterations=3)
    assert outputs == [] and i.asscalar() == 3


def test_cond() -> None:
    one, two = nd.ones(1), nd.ones(2)
    for pred, chosen in ((nd.ones(1), one), (nd.zeros(1), two), (True, one)):
        assert nd.contrib.cond(pred, lambda: one, lambda: two) is chosen


def test_blocks_name_loops_for_graphs() -> None:
    x = nd.array([1, 2])
    outputs, state = nd.contrib.foreach(lambda row, s: (row + s, s), x, nd.array([1]), name="a")
    assert outputs.asnumpy().tolist() == [[2], [3]] and state.asscalar() == 1
    assert nd.contrib.while_loop(lambda i: i < 2, lambda i: ([], [i + 1]), [x[:1]], 3, name="b")[1][0].asscalar() == 2
    assert nd.contrib.cond(x[:1], lambda: x, lambda: -x, name="c") is x


def test_wrong_loops() -> None:
    x = nd.ones((2, 3))
    with pytest.raises(mx.MXNetError, match="max_iterations must be given"):
        nd.contrib.while_loop(lambda x: x, lambda x: (x, x), x)
    with pytest.raises(ValueError, match="given 1 loop_vars, and returned 2"):
        nd.contrib.while_loop(lambda x: True, lambda x: (x, (x, x)), x, max_iterations=2)
    with pytest.raises(ValueError, match="the result of cond cannot be taken as bool"):
        nd.contrib.while_loop(lambda x: x, lambda x: (x, x), x, max_iterations=2)
    with pytest.raises(AssertionError, match="not int"):
        nd.contrib.foreach(lambda x, s: (x, s), 3, x)
    with pytest.raises(ValueError, match="arrays of one length"):
        nd.contrib.foreach(lambda x, s: (x[0], s), [x, nd.ones(3)], x)


def test_small_functions() -> None:
    check(lambda x: nd.contrib.quadratic(x, a=2, b=3, c=4), A, order=2)
    check(nd.contrib.div_sqrt_dim, A)
    assert nd.contrib.quadratic(nd.array([1, 2]), a=1, b=2, c=3).asnumpy().tolist() == [6, 11]
    with autograd.pause():
        assert nd.contrib.div_sqrt_dim(nd.ones((2, 4))).asnumpy().tolist() == [[0.5] * 4] * 2


@pytest.mark.cpu_only("blocks are traced for plans, which are of the CPU")
def test_subgraphs_are_named_in_graphs_and_in_traces_of_hybridized_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubled(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.contrib.cond(x > 0.5, lambda: x * 2, lambda: x * 3, name="c")

    monkeypatch.setattr(mx.AttrScope, "_subgraph_names", defaultdict(int))
    block = Doubled()
    block(nd.ones(1))
    assert not mx.AttrScope._subgraph_names
    block.hybridize()
    block(nd.ones(1))
    graph = block(mx.sym.var("x"))
    assert mx.AttrScope._subgraph_names == {"c_pred": 2, "c_then": 2, "c_else": 2}
    assert '"__subgraph_name__": "c_then1"' in graph.tojson()
    nested = mx.sym.contrib.foreach(lambda x, s: (block(x), s + x), mx.sym.var("x"), mx.sym.var("s"), name="loop")
    assert '"__subgraph_name__": "loop0$c_then0"' in nested[0].tojson()
