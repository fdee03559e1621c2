"""Row-sparse arrays, and the gradients of embeddings that they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, gluon, nd
from runtime.gluon import nn
from tests.runtime.test_operators import differences, weighted

RNG = np.random.default_rng(0)
sparse = nd.sparse


def example(dtype: str | None = None) -> sparse.RowSparseNDArray:
    """Rows 1 and 3 of five."""
    return sparse.row_sparse_array(([[3, 4], [1, 2]], [3, 1]), shape=(5, 2), dtype=dtype)


DENSE = np.float32([[0, 0], [1, 2], [0, 0], [3, 4], [0, 0]])


def rows(x: sparse.RowSparseNDArray) -> tuple[list, list]:
    return x.indices.asnumpy().tolist(), x.data.asnumpy().tolist()


def same(x: nd.NDArray, stype: str, values: object) -> None:
    assert x.stype == stype
    np.testing.assert_array_equal(x.asnumpy(), values)


# ---------------------------------------------------------------- the array


def test_what_it_is() -> None:
    x = example()
    assert isinstance(x, nd.NDArray) and nd.ones(1).stype == "default"
    assert rows(x) == ([1, 3], [[1, 2], [3, 4]])  # sorted
    assert (x.shape, x.size, x.ndim, len(x), x.dtype, x.stype) == ((5, 2), 10, 2, 5, np.float32, "row_sparse")
    assert x.indices.dtype == np.int64
    assert repr(x) == "\n<RowSparseNDArray 5x2 @cpu(0)>"
    x.wait_to_read()
    for part in (x.data, x.indices, nd.array(x.asnumpy())):  # copies
        part[:] = 9
    same(x, "row_sparse", DENSE)


def test_ways_to_make_one() -> None:
    for x in (
        sparse.row_sparse_array(DENSE),
        sparse.row_sparse_array(DENSE.tolist()),
        sparse.row_sparse_array(nd.array(DENSE), shape=(5, 2)),
        sparse.row_sparse_array((nd.array([[1, 2], [3, 4]]), nd.array([1, 3])), shape=(5, 2)),
        sparse.row_sparse_array((np.float32([[1, 1], [1, 2], [2, 2], [0, 1]]), np.int32([3, 1, 3, 3])), (5, 2)),
        sparse.array(example()),
        nd.array(example()),
        nd.array(DENSE).tostype("row_sparse"),
    ):
        same(x, "row_sparse", DENSE)
        assert rows(x) == rows(example())
    assert sparse.row_sparse_array(([[1.0]], [3])).shape == (4, 1)
    assert sparse.row_sparse_array(DENSE.astype("float64")).dtype == np.float64  # of NumPy arrays too
    assert sparse.row_sparse_array(DENSE, dtype="float16", ctx=mx.cpu(1)).context == mx.cpu(1)
    for x in (
        sparse.zeros("row_sparse", (5, 2)),
        nd.zeros((5, 2), stype="row_sparse"),
        sparse.row_sparse_array((5, 2)),
    ):
        assert (x.data.shape, x.indices.shape) == ((0, 2), (0,))
        same(x, "row_sparse", np.zeros((5, 2)))
    assert sparse.zeros("default", 3).stype == "default"
    assert sparse.row_sparse_array(([1, 2, 3], [0, 2, 2]), shape=4).asnumpy().tolist() == [1, 0, 5, 0]


def test_copies_and_conversions() -> None:
    x = example()
    same(x.tostype("default"), "default", DENSE)
    for y in (x.copy(), x.tostype("row_sparse"), x.astype("float16"), x.copyto(mx.cpu(1))):
        same(y, "row_sparse", DENSE)
        y[:] = 0
    assert x.astype("float32", copy=False) is x.as_in_context(mx.cpu(0)) is x
    assert x.astype("bfloat16").dtype == nd.ones(1, dtype="bfloat16").dtype
    dense = nd.ones((5, 2))
    assert x.copyto(dense) is dense
    same(dense, "default", DENSE)
    target = sparse.zeros("row_sparse", (5, 2), dtype="float64")
    for source in (x, dense, DENSE, DENSE.tolist()):
        target[:] = 0
        assert rows(target) == ([], [])
        target[:] = source
        assert rows(target) == rows(x) and target.dtype == np.float64
    same(x, "row_sparse", DENSE)


def test_arithmetic() -> None:
    x, y = example(), sparse.row_sparse_array(([[10, 10], [5, 5]], [3, 0]), shape=(5, 2))
    total = DENSE + y.asnumpy()
    for z, values in ((x * 2, 2 * DENSE), (2 * x, 2 * DENSE), (x / 2, DENSE / 2), (x + y, total)):
        same(z, "row_sparse", values)
    assert rows(sparse.add(x, y)) == ([0, 1, 3], [[5, 5], [1, 2], [13, 14]])
    for z, values in (
        (x + 1, DENSE + 1),
        (nd.ones((5, 2)) - x, 1 - DENSE),
        (sparse.elemwise_add(x, nd.ones((5, 2))), DENSE + 1),
        (x * nd.array(DENSE), DENSE**2),
        (nd.square(x), DENSE**2),
        (x[1:2], DENSE[1:2]),
        (x.sum(axis=0), DENSE.sum(0)),
    ):
        same(z, "default", values)
    z = x
    z += y
    z *= 4
    z[:] /= 2
    assert z is x
    same(x, "row_sparse", 2 * total)


def test_retain() -> None:
    x = sparse.retain(example(), nd.array([3, 0, 3]))
    assert rows(x) == ([0, 3], [[0, 0], [3, 4]])
    assert rows(example().retain([])) == ([], [])


def test_many_duplicates_are_summed_pairwise() -> None:
    indices, data = RNG.integers(0, 50, 3000), RNG.normal(size=(3000, 4))
    expected = np.zeros((50, 4))
    np.add.at(expected, indices, data)
    x = sparse.row_sparse_array((data, indices), shape=(50, 4))
    np.testing.assert_allclose(x.asnumpy(), expected, rtol=1e-12, atol=1e-12)
    ones = sparse.row_sparse_array((np.ones(3000), np.zeros(3000)), shape=1, dtype="bfloat16")
    assert ones.asnumpy() == 3008  # the nearest bfloat16: added in float32


ROW = [[1, 2]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sparse.row_sparse_array((ROW, [5]), shape=(5, 2)), "row 5 is none of the rows 0 to 4 of an array"),
        (lambda: sparse.row_sparse_array((ROW, [-1]), shape=(5, 2)), "row -1 is none of the rows 0 to 4"),
        (lambda: sparse.row_sparse_array((ROW, [1.5]), shape=(5, 2)), "must be integers, not 1.5"),
        (lambda: sparse.row_sparse_array((ROW, [float("nan")]), shape=(5, 2)), "must be integers, not nan"),
        (lambda: sparse.row_sparse_array((ROW, ["a"]), shape=(5, 2)), "must be integers, not <U1"),
        (lambda: sparse.row_sparse_array((ROW, [[1]]), shape=(5, 2)), "must be one-dimensional, not of shape (1, 1)"),
        (lambda: sparse.row_sparse_array((ROW, [0, 1]), shape=(5, 2)), "data has shape (1, 2); 2 indices and shape"),
        (lambda: sparse.row_sparse_array((ROW, [0]), shape=(5, 3)), "ask for (1, 3)"),
        (lambda: sparse.row_sparse_array((np.zeros((0, 2)), [])), "without rows, give the shape"),
        (lambda: sparse.row_sparse_array((ROW, [0], 2)), "takes (data, indices), not a tuple of 3"),
        (lambda: sparse.row_sparse_array(DENSE, shape=(2, 5)), "of shape (5, 2) was given, and shape (2, 5) asked for"),
        (lambda: sparse.zeros("row_sparse", (-1, 2)), "(-1, 2) is not the shape of a row-sparse array"),
        (lambda: sparse.zeros("row-sparse", (1, 2)), "unknown storage type 'row-sparse'; did you mean 'row_sparse'?"),
        (lambda: sparse.array(DENSE), "for ndarray use nd.array"),
        (lambda: example().retain([7]), "row 7 is none of the rows"),
        (lambda: example() + example("float64"), "one has type float32, the other float64"),
        (lambda: example() + example().copyto(mx.cpu(1)), "one has context cpu(0), the other cpu(1)"),
        (lambda: example() + sparse.zeros("row_sparse", (4, 2)), "one has shape (5, 2), the other (4, 2)"),
        (lambda: example().__setitem__(0, 1), "x[:] = value, not at 0"),
        (lambda: example().__setitem__(slice(None), nd.ones((2, 2))), "value of shape (2, 2) to an array of shape"),
        (lambda: example()[1].__setitem__(slice(None), 7), "read-only"),
        (lambda: example().attach_grad(), "cannot have a gradient"),
        (lambda: gluon.Parameter("w", stype="row_sparse"), "values are stored as 'default'"),
        (lambda: gluon.Parameter("w", grad_stype="csr"), "grad_stype must be one of"),
    ],
)
def test_errors(call: Callable[[], object], words: str) -> None:
    with pytest.raises((ValueError, TypeError, MXNetError)) as caught:
        call()
    assert words in str(caught.value)


# ---------------------------------------------------------------- gradients

INDEX = np.array([[4, 0, 4], [1, 4, 0]])


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("sparse_grad", [False, True])
def test_gradient_of_embedding(sparse_grad: bool, stype: str) -> None:
    """Against differences, whichever way the gradient is computed and kept."""
    values = RNG.normal(size=(6, 3))
    w, index = nd.array(values, dtype="float64"), nd.array(INDEX)
    w.attach_grad(stype=stype)
    with autograd.record():
        y = nd.Embedding(index, w, sparse_grad=sparse_grad)
        (y * nd.array(weighted(y.asnumpy()), dtype="float64")).sum().backward()
    np.testing.assert_array_equal(y.asnumpy(), values[INDEX])
    expected = differences(lambda w: w[INDEX], (values,), 0)
    assert w.grad.stype == stype
    np.testing.assert_allclose(w.grad.asnumpy(), expected, rtol=1e-6, atol=1e-8)
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
    with pytest.raises(MXNetError, match="has grad_stype 'row_sparse', but is shared as 'default'"):
        nn.Embedding(10, 3, "bfloat16", params=layer.params)


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
