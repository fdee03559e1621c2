"""Row-sparse gradients of embeddings: the same numbers as dense ones, wherever they meet, and what learns from them."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd
from runtime.gluon import nn
from tests.ndarray import gradients
from tests.ndarray.sparse_arrays import rows

RNG = np.random.default_rng(0)


INDEX = np.array([[4, 0, 4], [1, 4, 0]])


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("sparse_grad", [False, True])
def test_gradient_of_embedding(sparse_grad: bool, stype: str) -> None:
    """Against differences, whichever way the gradient is computed and kept."""
    values, index = RNG.normal(size=(6, 3)), nd.array(INDEX)
    gradients.check(lambda w: nd.Embedding(index, w, sparse_grad=sparse_grad), values, order=2)
    w = nd.array(values, dtype="float64")
    w.attach_grad(stype=stype)
    with autograd.record():
        y = nd.Embedding(index, w, sparse_grad=sparse_grad)
        y.backward()
    np.testing.assert_array_equal(y.asnumpy(), values[INDEX])
    assert w.grad.stype == stype
    np.testing.assert_array_equal(w.grad.asnumpy()[:, 0], np.bincount(INDEX.ravel(), minlength=6))
    if stype == "row_sparse":
        assert w.grad.indices.asnumpy().tolist() == [0, 1, 4]


def test_gradients_meet_on_their_way() -> None:
    """Sparse with sparse, sparse with dense, sparse into an operator: always the same numbers."""
    values = RNG.normal(size=(6, 3))

    def gradients(sparse_grad: bool) -> list[np.ndarray]:
        found = []
        for f in (
            lambda e, w: e(0) + e(5),
            lambda e, w: e(0) + (w * w)[1],
            lambda e, w: (e(0) * w[2]).exp(),
        ):
            w = nd.array(values, dtype="float64")
            w.attach_grad(stype="row_sparse" if sparse_grad else None)
            with autograd.record():
                for operand in (w, w * 2):  # of a variable, and of what is computed from it
                    y = f(lambda i, x=operand: nd.Embedding(nd.array([i]), x, sparse_grad=sparse_grad), operand)
            y.backward()
            found.append(w.grad.asnumpy())
        return found

    for a, b in zip(gradients(True), gradients(False), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_the_gradient_of_embedding_is_made_of_operators() -> None:
    g = nd.array([[1, 2], [3, 4], [5, 6]])
    g.attach_grad()
    w = nd.zeros((4, 2))
    w.attach_grad()
    with autograd.record():
        y = nd.Embedding(nd.array([2, 0, 2]), w, sparse_grad=True)
        ((_, dw),) = y._node.operator.pull(y._node, g)
        (dw * dw).backward()
    np.testing.assert_array_equal(g.grad.asnumpy(), [[12, 16], [6, 8], [12, 16]])


def test_parameter_with_a_sparse_gradient() -> None:
    layer = nn.Embedding(10, 3, sparse_grad=True)
    assert repr(layer) == "Embedding(10 -> 3, float32)"
    layer.initialize()
    weight = layer.weight
    assert weight.grad().stype == "row_sparse" and rows(weight.grad()) == ([], [])

    def backward(*index: int) -> None:
        with autograd.record():
            y = layer(nd.array(index))
        y.backward()

    backward(7, 2, 7)
    assert rows(weight.grad()) == ([2, 7], [[1] * 3, [2] * 3])
    backward(3)
    assert rows(weight.grad()) == ([3], [[1] * 3])
    weight.grad_req = "add"
    backward(3, 9)
    backward(3, 0)
    assert rows(weight.grad()) == ([0, 3, 9], [[1] * 3, [2] * 3, [1] * 3])
    layer.cast("bfloat16")
    assert weight.dtype == weight.data().dtype == weight.grad().dtype == nd.ones(1, dtype="bfloat16").dtype
    assert rows(weight.grad())[0] == [0, 3, 9]
    layer.collect_params().zero_grad()
    assert rows(weight.grad()) == ([], [])
    with pytest.raises(MXNetError, match="cannot be shared with grad_stype default"):
        nn.Embedding(10, 3, "bfloat16", params=layer.params)


def test_gradient_of_retained_rows() -> None:
    x = nd.array([[1, 2], [0, 0], [3, 4], [5, 6]]).tostype("row_sparse")
    x.attach_grad(stype="default")
    with autograd.record():
        y = nd.sparse.retain(x, nd.array([3, 1]))
        z = y * y
    z.backward()
    assert rows(y) == ([1, 3], [[0, 0], [5, 6]])
    assert x.grad.asnumpy().tolist() == [[0, 0], [0, 0], [0, 0], [10, 12]]


@pytest.mark.parametrize("recorded", [False, True])
def test_operators_that_leave_zeros_alone(recorded: bool) -> None:
    """MXNet's internal ones, of row-sparse symbols."""
    ops = mx.symbol._internal
    x, y = mx.sym.var("x", stype="row_sparse"), mx.sym.var("y")
    args = {"x": nd.array([[0, 0], [1, 2], [0, 0]]).tostype("row_sparse"), "y": nd.ones((3, 2)) * 4}
    grads = {"x": nd.zeros((3, 2)), "y": nd.zeros((3, 2))} if recorded else None
    outputs = [
        ops._scatter_plus_scalar(x, scalar=3),
        ops._scatter_minus_scalar(x, scalar=1),
        ops._scatter_elemwise_div(x, y),
        ops._square_sum(x, axis=1, keepdims=True),
    ]
    expected = [[[0, 0], [4, 5], [0, 0]], [[0, 0], [0, 1], [0, 0]], [[0, 0], [0.25, 0.5], [0, 0]], [[0], [5], [0]]]
    gradients = [np.ones((3, 2)), np.ones((3, 2)), np.full((3, 2), 0.25), [[0, 0], [2, 4], [0, 0]]]
    for output, value, gradient in zip(outputs, expected, gradients, strict=True):
        names = output.list_arguments()
        given = None if grads is None else {name: grads[name] for name in names}
        executor = output.bind(mx.current_context(), {name: args[name] for name in names}, given)
        (found,) = executor.forward(is_train=recorded)
        assert found.asnumpy().tolist() == value and (recorded or found.stype == "row_sparse")
        if grads is not None:
            executor.backward([nd.ones(found.shape)])
            np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), gradient)


def test_quadratic_of_csr() -> None:
    x = nd.array([[0, 2], [3, 0]]).tostype("csr")
    y = nd.contrib.quadratic(x, a=2, b=-1)
    assert y.stype == "csr" and y.asnumpy().tolist() == [[0, 6], [15, 0]]
    assert nd.contrib.quadratic(x, c=1).asnumpy().tolist() == [[1, 1], [1, 1]]


def test_embedding_clips_and_checks() -> None:
    w = nd.array([[1], [2], [3]])
    assert nd.Embedding(nd.array([-5, 1.9, 7]), w).asnumpy().ravel().tolist() == [1, 2, 3]
    with pytest.raises(MXNetError, match=r"weight has shape \(3, 1\) and type float32, not \(4, 1\) and float16"):
        nd.Embedding(nd.array([0]), w, input_dim=4, output_dim=1, dtype="float16")


def test_a_classifier_learns_from_sparse_gradients() -> None:
    """A bag of words, of which some speak for the class; what was not in a batch is not touched."""
    words, length = 200, 8
    text = RNG.integers(0, words - 1, (512, length))  # the last word never occurs
    label = (text < words // 3).sum(1) > length // 3
    mx.random.seed(0)
    embedding, output = nn.Embedding(words, 8, sparse_grad=True), nn.Dense(2, in_units=8)
    for layer in (embedding, output):
        layer.initialize(mx.init.Normal(0.1))
    unused = embedding.weight.data()[words - 1].asnumpy()
    loss_function, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for step in range(160):
        part = slice(step * 64 % 512, step * 64 % 512 + 64)
        with autograd.record():
            scores = output(embedding(nd.array(text[part])).mean(axis=1))
            loss = loss_function(scores, nd.array(label[part])).mean()
        loss.backward()
        losses.append(loss.asscalar())
        grad, weight = embedding.weight.grad(), embedding.weight.data()
        assert grad.indices.asnumpy().tolist() == np.unique(text[part]).tolist()
        weight[grad.indices] = weight[grad.indices] - 20 * grad.data
        for p in (output.weight, output.bias):
            p.data()[:] -= p.grad()
    assert np.mean(losses[-8:]) < 0.2 < 0.6 < losses[0]
    np.testing.assert_array_equal(embedding.weight.data()[words - 1].asnumpy(), unused)
