"""FullyConnected and Dropout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, gluon, nd
from runtime.core.generator import generator
from runtime.ndarray.nn.fully_connected import linear
from tests.ndarray.gradients import Case

RNG = np.random.default_rng(0)
CUBE = RNG.normal(size=(2, 3, 4))

GRADIENTS = {
    "FullyConnected": Case(nd.FullyConnected, [CUBE, RNG.normal(size=(5, 12)), RNG.normal(size=5)]),
    "FullyConnected last axis": Case(
        lambda x, w, b: nd.FullyConnected(x, w, b, flatten=False),
        [CUBE, RNG.normal(size=(5, 4)), RNG.normal(size=5)],
    ),
    "FullyConnected relu": Case(
        lambda x, w, b: linear(x, w, b, 5, True, relu=True), [CUBE, RNG.normal(size=(5, 12)), RNG.normal(size=5)]
    ),
    "FullyConnected no bias": Case(
        lambda x, w: nd.FullyConnected(x, w, no_bias=True), [CUBE[0], RNG.normal(size=(5, 4))]
    ),
}
NO_GRADIENT = {"Dropout"}  # it draws anew for each difference; its gradient is checked below


def test_dropout_scales_what_it_keeps_and_its_gradient_has_the_same_holes() -> None:
    x = nd.ones((100, 100))
    x.attach_grad()
    with autograd.record():
        y = nd.Dropout(x, 0.25)
        rows = nd.Dropout(x, 0.5, axes=(1,))
    y.backward()
    assert set(np.unique(y.asnumpy())) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(y.mean().asscalar() - 1) < 0.05
    np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())
    assert (rows.asnumpy() == rows.asnumpy()[:, :1]).all()
    assert rows.asnumpy().std() > 0.9


def test_dropout_outside_of_training() -> None:
    x = nd.ones((100,))
    y = nd.Dropout(x, 0.5)
    assert (y.asnumpy() == 1).all()
    y[:] = 3
    assert x.asnumpy().max() == 1  # a copy
    assert nd.Dropout(x, 0.5, mode="always").asnumpy().min() == 0
    assert np.isnan(nd.Dropout(x, 1.0, mode="always").asnumpy()).all()  # as in MXNet


def test_dropout_follows_the_seed() -> None:
    def draw() -> list:
        mx.random.seed(5)
        return nd.Dropout(nd.ones((50,)), mode="always").asnumpy().tolist()

    assert draw() == draw()


@pytest.mark.cpu_only("GPUs draw other masks")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_draws_the_words_of_numpy(dtype: str) -> None:
    """Many are computed by a kernel, from wherever the generator is, which then is where NumPy's would be."""
    mx.random.seed(7)
    numpy = np.random.Generator(np.random.Philox(1))
    numpy.bit_generator.state = generator.bit_generator.state
    for n in (20001, 16384, 3, 16387, 65536, 20002, 16390):
        y = nd.Dropout(nd.ones(n, dtype=dtype), 0.3, mode="always").asnumpy()
        words = numpy.bit_generator.random_raw(-(-n // 2)).view(np.uint32)[:n]
        np.testing.assert_array_equal(y, np.where(words < round(0.3 * 2**32), 0, y.dtype.type(1 / 0.7)))
        assert generator.random(2).tolist() == numpy.random(2).tolist()


def test_errors() -> None:
    x, w = nd.ones((2, 3)), nd.ones((5, 3))
    for call, words in (
        (
            lambda: nd.FullyConnected(x, nd.ones((5, 4)), no_bias=True),
            r"has 3 values a sample, weight \(5, 4\) takes 4",
        ),
        (lambda: nd.FullyConnected(x, w, nd.ones(4)), r"bias of shape \(4,\) does not fit"),
        (lambda: nd.FullyConnected(x, w), "there is no bias"),
        (lambda: nd.FullyConnected(x, w, no_bias=True, num_hidden=4), "num_hidden is 4"),
        (lambda: nd.FullyConnected(x, nd.ones(3), no_bias=True), r"not of shape \(3,\)"),
        (lambda: nd.FullyConnected(x, w.astype("float64"), no_bias=True), "data is float32, weight float64"),
        (lambda: nd.Dropout(x, 1.5), "a probability"),
        (lambda: nd.Dropout(x, mode="never"), "'training' or 'always'"),
        (lambda: nd.Dropout(x, mode="always", axes=(2,)), "axis 2"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()


def test_dense_layers_with_relu_are_those_with_relu_behind_them() -> None:
    """Also where somebody looks on, and relu is therefore an operator of its own."""
    layer = gluon.nn.Dense(7, activation="relu", in_units=5)
    layer.initialize()
    x = nd.array(RNG.normal(size=(4, 5)))
    x.attach_grad()
    found = []
    for _ in range(2):
        with autograd.record():
            y = layer(x)
        y.backward()
        found.append((y.asnumpy(), x.grad.asnumpy().copy(), layer.weight.grad().asnumpy().copy()))
        seen = []
        layer.act.register_forward_hook(lambda block, inputs, output, seen=seen: seen.append(output))
    layer(x)
    assert len(seen) == 1
    for one, two in zip(*found, strict=True):
        assert (one == two).all()


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_weight_that_many_small_products_share(req: str, create_graph: bool) -> None:
    """Its gradient, one product, is that of the calls one by one, also where other operators add to it."""
    w, b = (nd.array(RNG.normal(size=shape), dtype="float64") for shape in ((9, 300), (9,)))
    rows = [nd.array(RNG.normal(size=(n, 300)), dtype="float64") for n in (1, 2, 1, 40)]
    for x in (w, b, *rows):
        x.attach_grad(req)
    heads = [nd.array(RNG.normal(size=(len(x), 9)), dtype="float64") for x in rows]
    for turn in (1, 2):
        with autograd.record():
            products = [linear(x, w, b, 9, True, relu=k == 1) for k, x in enumerate(rows)]
            loss = nd.add_n(*((y * g).sum() for y, g in zip(products, heads, strict=True))) + (w * w).sum()
            found = autograd.grad(loss, [w, b, *rows], create_graph=create_graph, retain_graph=True)
        loss.backward()
        flows = [
            g.asnumpy() * (y.asnumpy() > 0) if k == 1 else g.asnumpy()
            for k, (g, y) in enumerate(zip(heads, products, strict=True))
        ]
        wanted = [sum(g.T @ x.asnumpy() for g, x in zip(flows, rows, strict=True)) + 2 * w.asnumpy()]
        wanted += [sum(g.sum(axis=0) for g in flows), *(g @ w.asnumpy() for g in flows)]
        for x, dx, exact in zip((w, b, *rows), found, wanted, strict=True):
            np.testing.assert_allclose(dx.asnumpy(), exact, rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(x.grad.asnumpy(), exact * (turn if req == "add" else 1), rtol=1e-11, atol=1e-11)


IMAGE = nd.ones((1, 3, 8, 8))


@pytest.mark.parametrize("exponent", [40, 70])
@pytest.mark.parametrize(
    "name, call",
    {
        "Convolution": lambda n: nd.Convolution(IMAGE, nd.ones((4, 3, 3, 3)), kernel=(3, 3), num_filter=4, pad=(n, n),
                                                no_bias=True),
        "Deconvolution": lambda n: nd.Deconvolution(IMAGE, nd.ones((3, 4, 3, 3)), kernel=(3, 3), num_filter=4,
                                                    dilate=(n, n)),
        "Pooling": lambda n: nd.Pooling(IMAGE, kernel=(2, 2), pad=(n, n)),
        "tile": lambda n: nd.tile(IMAGE, reps=(n, n)),
        "UpSampling": lambda n: nd.UpSampling(IMAGE, scale=n, sample_type="nearest"),
    }.items(),
)  # fmt: skip
def test_sizes_that_no_array_has(name: str, call: Callable[[int], nd.NDArray], exponent: int) -> None:
    with pytest.raises(mx.MXNetError, match=f"^{name}: "):
        call(1 << exponent)
