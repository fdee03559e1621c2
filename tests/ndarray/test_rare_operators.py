"""Operators that few networks have, beside those of which `tests/symbol/rare_cases.py` has MXNet's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from tests.ndarray.gradients import Case, check

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(2, 2, 4, 5))

STATISTICS = nd.zeros(2, dtype="float64"), nd.ones(2, dtype="float64")
GRADIENTS = {
    "BatchNorm_v1": Case(
        lambda x, a, b: nd.BatchNorm_v1(x, a, b, *STATISTICS, fix_gamma=False),
        [IMAGES, *RNG.normal(size=(2, 2))], atol=1e-6,
    ),
    "Convolution_v1": Case(
        lambda x, w, b: nd.Convolution_v1(x, w, b, kernel=(2, 3), num_filter=3),
        [IMAGES, RNG.normal(size=(3, 2, 2, 3)), RNG.normal(size=3)],
    ),
    "Pooling_v1": Case(lambda x: nd.Pooling_v1(x, (2, 2), "avg", pad=(1, 1), stride=(2, 2)) ** 2, [IMAGES]),
}  # fmt: skip
NO_GRADIENT = {"IdentityAttachKLSparseReg"}  # it is that of a penalty; MXNet's numbers are in tests/symbol


def test_gradients_of_contrib() -> None:
    places, signs = nd.array([2, 0, 2]), nd.array([1, -1, -1])
    check(lambda x: nd.contrib.count_sketch(x, places, signs, 4) ** 2, RNG.normal(size=(2, 3)), order=2)
    lags, end, state = (nd.array(x, dtype="float64") for x in ([[0.5, 1, 2]], [5], [[0.5, 1]]))
    check(
        lambda a, b, c: nd.contrib.hawkesll(a, b, c, state, lags, nd.array([[1, 0, 0]]), nd.array([2]), end)[0],
        *(RNG.uniform(0.5, 1, shape) for shape in ((1, 2), 2, 2)), order=2, atol=1e-6,
    )  # fmt: skip


@pytest.mark.cpu_only("the stand-in for CuPy has no Fourier transforms")
def test_fourier_transforms() -> None:
    check(lambda x: nd.contrib.fft(x) ** 2, RNG.normal(size=(2, 5)), order=2, atol=1e-7)
    check(lambda x: nd.contrib.ifft(x) ** 2, RNG.normal(size=(2, 6)), order=2, atol=1e-7)
    x = RNG.normal(size=(2, 5)).astype("float32")
    found = nd.contrib.fft(nd.array(x)).asnumpy()
    np.testing.assert_allclose(found[:, ::2] + 1j * found[:, 1::2], np.fft.fft(x), 1e-5, 1e-5)
    np.testing.assert_allclose(nd.contrib.ifft(nd.contrib.fft(nd.array(x))).asnumpy() / 5, x, 1e-5, 1e-5)


def test_count_sketch() -> None:
    sketch = nd.contrib.count_sketch(nd.array([[1, 2, 4]]), nd.array([2, 0, 2]), nd.array([1, -1, -1]), out_dim=4)
    assert sketch.asnumpy().tolist() == [[-2, 0, -3, 0]]
    with pytest.raises(mx.MXNetError, match="not below out_dim, 2"):
        nd.contrib.count_sketch(nd.array([[1, 2, 4]]), nd.array([2, 0, 2]), nd.ones(3), out_dim=2)


@pytest.mark.cpu_only("csr arrays of SciPy's kind")
def test_edges_of_a_graph() -> None:
    graph = nd.sparse.csr_matrix(([7, 8, 9], [1, 0, 2], [0, 1, 3, 3]), shape=(3, 3))
    found = nd.contrib.edge_id(graph, nd.array([0, 0, 1, 1, 2]), nd.array([1, 2, 2, 0, 0]))
    assert found.asnumpy().tolist() == [7, -1, 9, 8, -1]


def test_a_penalty_moves_its_average_when_the_gradient_is_computed() -> None:
    x, average = nd.array([[0.5, 0.25], [0.5, 0.75]]), nd.array([0.25, 0.5])
    x.attach_grad()
    with autograd.record():
        y = nd.IdentityAttachKLSparseReg(x, average, sparseness_target=0.5, penalty=2, momentum=0.5)
    assert average.asnumpy().tolist() == [0.25, 0.5]
    y.backward()
    assert average.asnumpy().tolist() == [0.375, 0.5]
    np.testing.assert_allclose(x.grad.asnumpy(), [[1 + 2 * (0.5 / 0.625 - 0.5 / 0.375), 1]] * 2, 1e-6)


def test_every_operator_of_graphs_is_one_of_arrays() -> None:
    internal, x = nd._internal, nd.array([[1, 2], [3, 4]])
    assert internal._plus_scalar(x, 2).asnumpy().tolist() == internal._PlusScalar(x, scalar=2).asnumpy().tolist()
    assert internal._full(shape=(2,), value=3).asnumpy().tolist() == [3, 3]
    assert internal._square_sum(x, axis=1, out=(y := nd.zeros(2))) is y and y.asnumpy().tolist() == [5, 25]
    with autograd.record():
        x.attach_grad()
        internal._mul_scalar(x, scalar=3).backward()
    assert x.grad.asnumpy().tolist() == [[3, 3], [3, 3]]
    with pytest.raises(mx.MXNetError, match="_plus_scalar has no argument 'scaler'; did you mean 'scalar'"):
        internal._plus_scalar(x, scaler=2)
    with pytest.raises(AttributeError, match="no attribute '_plus_scaler'"):
        internal._plus_scaler  # noqa: B018


def test_classes_are_drawn_once_in_a_row() -> None:
    mx.random.seed(3)
    added = nd._internal._backward_gather_nd(nd.array([1, 2, 3]), nd.array([[0, 0, 1], [1, 1, 0]]), shape=(2, 2))
    assert added.asnumpy().tolist() == [[0, 3], [3, 0]]
    classes, tries = nd._internal._sample_unique_zipfian(30, shape=(3, 20))
    rows = classes.asnumpy()
    assert all(len(set(row)) == 20 for row in rows.tolist()) and rows.min() >= 0 and rows.max() < 30
    assert (tries.asnumpy() >= 20).all() and classes.dtype == np.int64


def test_8_bits() -> None:
    """What MXNet cannot be asked: it fails to multiply elements, and its statistics are rounded on the way."""
    contrib, one, two = nd.contrib, nd.array([1]), nd.array([2])
    x, y = nd.array([[100, -120]], dtype="int8"), nd.array([[10, 20]], dtype="uint8")
    level = 1 / 127.5 * 2 / 255.5
    floats = contrib.quantized_elemwise_mul(x, y, -one, one, nd.zeros(1), two, enable_float_output=True)
    np.testing.assert_allclose(floats.asnumpy(), [[1000 * level, -2400 * level]], 1e-6)
    whole, low, high = contrib.quantized_elemwise_mul(x, y, -one, one, nd.zeros(1), two)
    assert whole.asnumpy().tolist() == [[1000, -2400]] and low.asscalar() == -high.asscalar()
    np.testing.assert_allclose(high.asscalar(), level * (2**31 - 1), 1e-6)
    small, *_ = contrib.quantized_elemwise_mul(
        x, y, -one, one, nd.zeros(1), two, min_calib_range=-0.25, max_calib_range=0.1
    )
    np.testing.assert_array_equal(small.asnumpy(), np.rint(np.array([[1000, -2400]]) * level * 127.5 / 0.25))
    images = RNG.normal(size=(2, 3, 4)).astype("float32")
    statistics = [nd.array(a) for a in ([1.5, 1, 2], [0.5, 0, -1], [0.1, 0, -0.2], [0.8, 1, 1.5])]
    stored = contrib.quantize_v2(nd.array(images), min_calib_range=-3, max_calib_range=3)
    found = contrib.dequantize(
        *contrib.quantized_batch_norm(stored[0], *statistics, *stored[1:], min_calib_range=-6, max_calib_range=6)
    )
    expected = nd.BatchNorm(nd.array(images), *statistics, fix_gamma=False, use_global_stats=True)
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), atol=0.08)
    sums = contrib.quantized_elemwise_add(y, x, nd.zeros(1), two, -one, one)
    np.testing.assert_allclose(sums[0].asnumpy() * (3 / (2**31 - 1)), [[0.862596, -0.784623]], 1e-5)
    for call, message in (
        (lambda: contrib.quantized_act(x, one, one, act_type="tanh"), "'relu' alone"),
        (lambda: contrib.dequantize(nd.ones(2), one, one), "int8 or uint8 is expected, not float32"),
        (lambda: contrib.quantize(nd.ones(2), one, one, out_type="int4"), "out_type is 'int8' or 'uint8', not 'int4'"),
        (lambda: contrib.quantized_fully_connected(x, x, one, one, num_hidden=1, no_bias=True), "not 2 arrays"),
        (lambda: contrib.quantized_batch_norm(x, one, one, one, one, one, one), "must be given"),
    ):
        with pytest.raises(mx.MXNetError, match=message):
            call()
