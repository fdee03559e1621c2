"""Softmax and cross-entropy, and the operators that end networks: gradients, extremes, lengths, errors."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from runtime.ndarray.nn.softmax import cross_entropy
from tests.ndarray.gradients import Case

RNG = np.random.default_rng(0)
A, CUBE = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4))
LABELS = [3, 0, 9]


def entropy(x: nd.NDArray, axis: int = -1) -> nd.NDArray:
    shape = [n for i, n in enumerate(x.shape) if i != axis % x.ndim]
    return cross_entropy(x, nd.array(np.resize(LABELS, shape)), axis)


GRADIENTS = {
    "softmax": Case(nd.softmax, [A]),
    "softmax axis": Case(lambda x: nd.softmax(x, axis=1, temperature=0.5), [CUBE]),
    "softmax length": Case(lambda x: nd.softmax(x, nd.array([1, 0, 3]), use_length=True), [A]),
    "softmin": Case(lambda x: nd.softmin(x, axis=0), [A]),
    "log_softmax": Case(nd.log_softmax, [A]),
    "log_softmax axis": Case(lambda x: nd.log_softmax(x, axis=1, temperature=2.0), [CUBE]),
    "SoftmaxActivation": Case(lambda x: nd.SoftmaxActivation(x, mode="channel"), [CUBE]),
    "softmax_cross_entropy": Case(lambda x: nd.softmax_cross_entropy(x, nd.array([1, 0, 3])), [A]),
    "log_softmax fused": Case(entropy, [A]),
    "log_softmax fused axis": Case(lambda x: entropy(x, 1), [CUBE]),
}
NO_GRADIENT = {
    "LinearRegressionOutput",  # whose gradients belong to a loss they do not compute
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "Softmax",
    "SoftmaxOutput",
}


def test_extremes_stay_finite() -> None:
    big = nd.array([[1000.0, -1000.0]])
    assert nd.softmax(big).asnumpy().tolist() == [[1, 0]]
    assert nd.log_softmax(big).asnumpy().tolist() == [[0, -2000]]
    assert cross_entropy(big, nd.array([1])).asnumpy().tolist() == [[2000]]


def test_lengths_mask_what_lies_behind() -> None:
    x = nd.array(CUBE)
    length = nd.array([[1, 2, 3, 0], [3, 3, 2, 1]], dtype="int32")
    y = nd.softmax(x, length, axis=1, use_length=True).asnumpy()
    for b, i in np.ndindex(2, 4):
        n = int(length[b, i].asscalar())
        e = np.exp(CUBE[b, :n, i])
        np.testing.assert_allclose(y[b, :, i], [*(e / e.sum()), *[0] * (3 - n)], rtol=1e-5)


def test_types() -> None:
    x = nd.array(A, dtype="float16")
    assert nd.softmax(x).dtype == np.float16
    assert nd.log_softmax(x, dtype="float64").dtype == np.float64
    assert nd.softmin(nd.array(A), dtype="float16").dtype == np.float16
    np.testing.assert_allclose(
        nd.softmax(x, dtype="float64").asnumpy(), nd.softmax(x.astype("float64")).asnumpy(), rtol=1e-12
    )


def test_the_fused_cross_entropy_is_pick_of_log_softmax() -> None:
    for dtype, rtol in (("float64", 1e-12), ("float32", 1e-5), ("float16", 5e-3), ("bfloat16", 3e-2)):
        one, other = nd.array(CUBE, dtype=dtype), nd.array(CUBE, dtype=dtype)
        labels = nd.array(np.resize(LABELS, (2, 4)), dtype="int32")
        for x in (one, other):
            x.attach_grad()
        with autograd.record():
            fused = cross_entropy(one, labels, axis=1)
            steps = -nd.pick(nd.log_softmax(other, axis=1), labels, axis=1, keepdims=True)
        for y in (fused, steps):
            y.backward()
        assert fused._data.dtype == one.grad._data.dtype == one._data.dtype
        pairs = ((fused, steps), (one.grad, other.grad))
        for x, y in pairs:
            np.testing.assert_allclose(
                x.astype("float64").asnumpy(), y.astype("float64").asnumpy(), rtol=rtol, atol=rtol
            )


def test_a_head_ignores_what_flows_into_it_unless_asked() -> None:
    x, label = nd.array(A), nd.array([1, 0, 3])
    x.attach_grad()
    for out_grad, factor in ((False, 1), (True, 7)):
        with autograd.record():
            y = nd.SoftmaxOutput(x, label, out_grad=out_grad)
        y.backward(nd.full(A.shape, 7.0))
        np.testing.assert_allclose(
            x.grad.asnumpy(), factor * (y.asnumpy() - np.eye(4)[[1, 0, 3]]), rtol=1e-5, atol=1e-6
        )


def test_labels_of_a_head_and_what_its_batch_is() -> None:
    """With multi_output labels have one of three shapes; what is divided by are labels, or the samples with it."""
    x = nd.array(CUBE)
    classes = {1: np.resize([0, 2, 1], (2, 4)), 2: np.resize([0, 2, 1], (2, 3))}
    for axis, shapes, count in ((1, [(2, 4), (2, 1, 4)], 2 * 4), (2, [(2, 3)], 2 * 3)):
        onehot = np.moveaxis(np.eye(CUBE.shape[axis])[classes[axis]], -1, axis)
        x.attach_grad()
        for shape in shapes:
            with autograd.record():
                label = nd.array(classes[axis]).reshape(shape)
                y = nd.SoftmaxOutput(x, label, multi_output=axis == 1, preserve_shape=axis == 2, normalization="batch")
            y.backward()
            np.testing.assert_allclose(x.grad.asnumpy(), (y.asnumpy() - onehot) / count, rtol=1e-5, atol=1e-7)


def test_of_nothing_there_is_nothing() -> None:
    for function in (nd.softmax, nd.log_softmax, nd.softmin):
        assert function(nd.empty((2, 0))).shape == (2, 0) and function(nd.empty((0, 2)), axis=0).shape == (0, 2)


def test_errors() -> None:
    x = nd.ones((2, 3))
    for call, words in (
        (lambda: nd.softmax(x, axis=2), r"axis 2 of an array of shape \(2, 3\)"),
        (lambda: nd.softmax(x, temperature=0), "temperature must not be 0"),
        (lambda: nd.softmax(nd.ones(3, dtype="int32")), "must be floats, not int32"),
        (lambda: nd.softmax(x, use_length=True), r"needs length, of shape \(2,\), but none is given"),
        (lambda: nd.softmax(x, nd.ones(3), use_length=True), r"but it has shape \(3,\)"),
        (lambda: nd.SoftmaxActivation(x, mode="channels"), "'instance' or 'channel'"),
        (lambda: cross_entropy(x, nd.ones(3)), r"labels must have shape \(2,\) or \(2, 1\), not \(3,\)"),
        (lambda: nd.softmax_cross_entropy(x, nd.ones(3)), r"not \(2, 3\) and \(3,\)"),
        (lambda: nd.SoftmaxOutput(x, nd.ones(3)), r"label has shape \(3,\), not \(2, 3\)"),
        (lambda: nd.SoftmaxOutput(x, nd.ones(2), normalization="all"), "'null', 'batch' or 'valid'"),
        (lambda: nd.LinearRegressionOutput(x, nd.ones(4)), r"label has shape \(4,\)"),
    ):
        with pytest.raises(mx.MXNetError, match=words):
            call()


@pytest.mark.parametrize("shape", [(3, 2500), (40, 64), (900, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_kernels_take(shape: tuple[int, int], dtype: str) -> None:
    """Beside the formulas in float64; a row without anything finite, one with NaN, and elements that count nothing."""
    rng = np.random.default_rng(0)
    x, g = (rng.normal(size=shape) * 30).astype(dtype), rng.normal(size=shape).astype(dtype)
    x[0, 1] = -np.inf
    wide = x.astype(np.float64)
    e = np.exp(0.5 * (wide - wide.max(1, keepdims=True)))
    p = e / e.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_p = 0.5 * (wide - wide.max(1, keepdims=True)) - np.log(e.sum(1, keepdims=True))
    rtol = 1e-5 if dtype == "float32" else 1e-13
    expected = ((p, 0.5 * p * (g - (g * p).sum(1, keepdims=True))), (log_p, 0.5 * (g - p * g.sum(1, keepdims=True))))
    for function, (value, dx) in zip((nd.softmax, nd.log_softmax), expected, strict=True):
        a = nd.array(x, dtype=dtype)
        a.attach_grad()
        with autograd.record():
            y = function(a, temperature=2.0)
        y.backward(nd.array(g, dtype=dtype))
        np.testing.assert_allclose(y.asnumpy(), value, rtol, rtol)
        np.testing.assert_allclose(a.grad.asnumpy(), dx, 10 * rtol, 10 * rtol)
    x[0], x[1, -1] = -np.inf, np.nan
    y = nd.softmax(nd.array(x, dtype=dtype)).asnumpy()
    assert np.isnan(y[:2]).all() and np.isfinite(y[2:]).all()
