"""The tools that tests written for MXNet are made of."""

from __future__ import annotations

import bz2
import gzip
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import nd
from runtime import test_utils as tools


def test_comparison_by_the_tolerance_of_the_type() -> None:
    a = np.array([1.0, 100.0], np.float32)
    tools.assert_almost_equal(nd.array(a), a * (1 + 9e-5))
    tools.assert_almost_equal(nd.array(a, dtype="float16"), a * 1.009, rtol=None, atol=1e-3)
    tools.assert_almost_equal(a, a + 1, rtol={np.dtype(np.float32): 1.0})
    tools.assert_almost_equal(1, nd.ones((2, 2)))
    tools.assert_almost_equal(np.array([np.nan, 1]), np.array([np.nan, 1]), equal_nan=True)
    tools.assert_almost_equal_ignore_nan(np.array([np.nan, 1]), np.array([3.0, 1]))
    tools.assert_almost_equal_with_err(np.arange(10.0), np.r_[1.0, np.arange(1.0, 10)], etol=0.2)
    for different in (lambda: (nd.array([1, 2]), np.array([1, 2.1])), lambda: (np.array([1]), np.array([2]))):
        with pytest.raises(AssertionError, match="exceeds tolerance"):
            tools.assert_almost_equal(*different())
    with pytest.raises(AssertionError, match=r"a.shape = \(2,\) and b.shape = \(1, 2\)"):
        tools.assert_almost_equal(np.ones(2), np.ones((1, 2)), use_broadcast=False)
    with pytest.raises(AssertionError, match="exceeds"):
        tools.assert_almost_equal_with_err(np.zeros(4), np.array([0, 0, 1, 1.0]), etol=0.2)
    assert tools.same(nd.ones((2,)), np.ones(2)) and not tools.same(np.ones(2), np.ones(3))


def test_the_report_shows_the_worst_places() -> None:
    a = np.zeros((2, 3))
    b = np.array([[0, 1e-3, 0], [np.nan, 0, 5.0]])
    with pytest.raises(AssertionError) as caught:
        tools.assert_almost_equal(a, b, rtol=0, atol=1e-5, names=("mine", "theirs"))
    lines = str(caught.value).strip().split("\n")
    assert lines[0] == "Error inf exceeds tolerance rtol=0.000000e+00, atol=1.000000e-05 (mismatch 50.000000%)."
    assert lines[1] == "Location of maximum error: (1, 0), mine=0.00000000, theirs=nan"
    assert lines[2] == "Location of error: (1, 2), mine=0.00000000, theirs=5.00000000"
    assert lines[3] == "Location of error: (0, 1), mine=0.00000000, theirs=0.00100000"


def test_random_shapes_and_arrays() -> None:
    assert all(1 <= n <= 4 for n in tools.rand_shape_3d(4, 4, 4)) and len(tools.rand_shape_nd(6, 2)) == 6
    assert tools.random_arrays((2, 3)).shape == (2, 3) and len(tools.random_arrays((2,), ())) == 2
    x = tools.rand_ndarray((3, 4), dtype="float64")
    assert x.dtype == np.float64 and x.stype == "default"
    np.testing.assert_array_equal(tools.collapse_sum_like(np.ones((5, 2, 3)), (2, 1)), np.full((2, 1), 15))
    np.testing.assert_array_equal(tools.np_reduce(np.ones((2, 3)), (0, 1), True, np.sum), [[6]])
    np.testing.assert_array_equal(tools.assign_each(np.array([[1, 2]]), lambda v: v * v), [[1, 4]])
    assert sorted(tools.random_sample([1, 2, 3], 3)) == [1, 2, 3]


def test_random_sparse_arrays() -> None:
    rows, (values, indices) = tools.rand_sparse_ndarray((10, 3), "row_sparse", density=0.5)
    assert rows.stype == "row_sparse"
    np.testing.assert_array_equal(rows.asnumpy()[indices], values)
    chosen = tools.create_sparse_array((6, 2), "row_sparse", data_init=2, rsp_indices=[4, 1])
    assert np.flatnonzero(chosen.asnumpy().sum(axis=1)).tolist() == [1, 4]
    assert (tools.create_sparse_array_zd((4, 2), "row_sparse", density=0.5).asnumpy() == 0).all()
    csr, (indptr, columns, data) = tools.rand_sparse_ndarray((8, 16), "csr", density=0.5, distribution="powerlaw")
    assert np.diff(indptr.asnumpy())[:4].tolist() == [2, 4, 8, 16] and len(data) == len(columns) == 64
    assert np.count_nonzero(csr.asnumpy()) == 64
    csr = tools.rand_ndarray((8, 16), "csr", density=0.25, shuffle_csr_indices=True)
    assert np.count_nonzero(csr.asnumpy()) == 32
    with pytest.raises(ValueError, match="too few for a power law"):
        tools.rand_ndarray((8, 16), "csr", density=0.01, distribution="powerlaw")
    with pytest.raises(AssertionError, match="unknown storage type"):
        tools.rand_ndarray((2, 2), "dense")


def test_a_dummy_iterator() -> None:
    batches = tools.DummyIter(mx.io.NDArrayIter(np.arange(6), batch_size=2))
    for _, batch in zip(range(5), batches, strict=False):
        assert batch.data[0].asnumpy().tolist() == [0, 1]
    assert batches.batch_size == 2 and batches.provide_data[0].shape == (2,)


def test_statistics() -> None:
    rng = np.random.default_rng(0)
    buckets, probs = tools.gen_buckets_probs_with_ppf(lambda q: 2 * q, 5)
    assert buckets[1] == (0.4, 0.8) and probs == [0.2] * 5
    good, biased = (lambda n: 2 * rng.random(n)), (lambda n: 2 * rng.random(n) ** 1.1)
    assert len(tools.verify_generator(good, buckets, probs, 10000)) == 5
    with pytest.raises(AssertionError, match="the chi-square test fails"):
        tools.verify_generator(biased, buckets, probs, 10000)
    assert tools.chi_square_check(lambda n: rng.integers(0, 2, n), [0, 1], [0.5, 0.5], 1000)[0] > 1e-3
    assert tools.mean_check(rng.standard_normal, 0, 1, 10000) and not tools.mean_check(rng.standard_normal, 1, 1, 10000)
    assert tools.var_check(rng.standard_normal, 1, 10000)
    # P(chi2 > x) of 1, 2 and 7 degrees of freedom, from tables
    tail = tools.statistics._chi_square_tail
    assert [tail(3.841459, 1), tail(5.991465, 2), tail(14.067140, 7)] == pytest.approx([0.05] * 3, rel=1e-5)


def test_surroundings() -> None:
    with tools.environment({"OPTGEN_TEST_A": "1", "OPTGEN_TEST_B": None}), tools.environment("OPTGEN_TEST_A", "2"):
        assert os.environ["OPTGEN_TEST_A"] == "2"
    assert "OPTGEN_TEST_A" not in os.environ
    before = tools.default_context()
    try:
        tools.set_default_context(mx.cpu(3))
        assert nd.ones((1,)).context == mx.cpu(3)
    finally:
        tools.set_default_context(before)
    assert list(tools.list_gpus()) == list(range(mx.num_gpus())) and tools.is_op_runnable() and not tools.has_tvm_ops()
    calls = []

    @tools.retry(3)
    def flaky() -> None:
        calls.append(1)
        assert len(calls) == 3

    flaky()
    tools.assert_exception(lambda: nd.ones((2,)).asscalar(), ValueError)
    with pytest.raises(AssertionError, match="did not raise ValueError"):
        tools.assert_exception(lambda: None, ValueError)


def test_comparing_optimizers() -> None:

    def sgd(rate: float, **arguments: float) -> mx.optimizer.Optimizer:
        return mx.optimizer.SGD(learning_rate=rate, **arguments)

    tools.compare_optimizer(sgd(0.1, momentum=0.9), sgd(0.1, momentum=0.9), (3, 4), "float32")
    tools.compare_optimizer(sgd(0.1), sgd(0.1), (5, 2), "float32", w_stype="row_sparse", g_stype="row_sparse")
    tools.compare_optimizer(sgd(0.1), sgd(0.1), [(3,), (2, 2)], "float32", ntensors=2)
    with pytest.raises(AssertionError, match="exceeds tolerance"):
        tools.compare_optimizer(sgd(0.1), sgd(0.2), (3, 4), "float32")


def test_matrices() -> None:
    assert (tools.get_identity_mat_batch(3).asnumpy() == np.eye(3)).all() and tools.get_identity_mat(2).shape == (2, 2)
    q = tools.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    symmetric = tools.new_sym_matrix_with_real_eigvals_nd((2, 3, 4, 4))
    np.testing.assert_allclose(symmetric, symmetric.swapaxes(-1, -2), atol=1e-12)
    values = np.linalg.eigvals(tools.new_matrix_with_real_eigvals_nd((5, 4, 4)))
    assert np.isrealobj(values) and (np.abs(values) <= 10).all()


def test_that_hybridized_blocks_agree() -> None:
    x = nd.random.normal(shape=(2, 4))
    tools.check_gluon_hybridize_consistency(_dense, [x])
    tools.check_gluon_hybridize_consistency(_Doubled, [x], lambda a: 2 * a)
    with pytest.raises(AssertionError, match="exceeds tolerance"):
        tools.check_gluon_hybridize_consistency(_Doubled, [x], lambda a: 3 * a)


def _dense(prefix: str) -> mx.gluon.nn.Dense:
    return mx.gluon.nn.Dense(3, prefix=prefix)


class _Doubled(mx.gluon.HybridBlock):
    def hybrid_forward(self, F: object, x: nd.NDArray) -> nd.NDArray:
        return x * 2


def test_data_that_are_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for part in ("train", "t10k"):
        images = struct.pack(">4i", 0x803, 7, 28, 28) + bytes(i % 256 for i in range(7 * 784))
        for name, content in (
            ("images-idx3", images),
            ("labels-idx1", struct.pack(">2i", 0x801, 7) + bytes(range(7))),
        ):
            Path(f"data/{part}-{name}-ubyte").write_bytes(content)
            Path(f"{part}-{name}-ubyte.gz").write_bytes(gzip.compress(content))
    found = tools.get_mnist()
    assert found["train_data"].shape == (7, 1, 28, 28) and found["train_data"].dtype == np.float32
    assert found["test_data"].max() == 1 and found["test_label"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    training, test = tools.get_mnist_iterator(2, (784,), num_parts=2, part_index=1)
    assert [batch.label[0].asnumpy().tolist() for batch in test] == [[3, 4]]
    assert next(training).data[0].shape == (2, 784)
    with pytest.raises(mx.MXNetError, match=r"images of shape \(7,\), but labels of shape \(7,\)"):
        mx.io.MNISTIter(*["data/t10k-labels-idx1-ubyte"] * 2)
    batches = mx.io.MNISTIter("data/t10k-images-idx3-ubyte", "data/t10k-labels-idx1-ubyte", 3, shuffle=False)
    assert batches.provide_data[0] == ("data", (3, 1, 28, 28))
    assert next(batches).data[0][0, 0, 0, :3].asnumpy().tolist() == [0, 1 / 256, 2 / 256]


def test_archives_are_unpacked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("x.zip", "w") as archive:
        archive.writestr("inside/a.txt", "1")
    Path("x.bz2").write_bytes(bz2.compress(b"2"))
    tools.get_zip_data("there", (tmp_path / "x.zip").as_uri(), "x.zip")
    tools.get_bz2_data("there", "b.txt", (tmp_path / "x.bz2").as_uri(), "x.bz2")
    assert sorted(p.name for p in Path("there").rglob("*")) == ["a.txt", "b.txt", "inside", "x.zip"]
