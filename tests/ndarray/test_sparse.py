"""Sparse arrays: what they are, and errors."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import runtime as mx
from runtime import MXNetError, nd
from runtime.ndarray.sparse import products
from tests.ndarray.sparse_arrays import DENSE, MATRIX, example, matrix, rows, same

RNG = np.random.default_rng(0)
sparse = nd.sparse


# ---------------------------------------------------------------- the array


def test_what_it_is() -> None:
    x = example()
    assert isinstance(x, nd.NDArray) and nd.ones(1).stype == "default"
    assert rows(x) == ([1, 3], [[1, 2], [3, 4]])  # sorted
    assert (x.shape, x.size, x.ndim, len(x), x.dtype, x.stype) == ((5, 2), 10, 2, 5, np.float32, "row_sparse")
    assert x.indices.dtype == np.int64
    assert repr(x) == f"\n<RowSparseNDArray 5x2 @{mx.current_context()}>"
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
        x.check_format()
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
    assert x.astype("float32", copy=False) is x.as_in_context(mx.current_context()) is x
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
    for z, values in (
        (x * 2, 2 * DENSE),
        (2 * x, 2 * DENSE),
        (x / 2, DENSE / 2),
        (x + y, total),
        (x * nd.array(DENSE), DENSE**2),
        (nd.square(x), DENSE**2),
        (x - y, DENSE - y.asnumpy()),
        (-x, -DENSE),
        (x * y, DENSE * y.asnumpy()),
    ):
        same(z, "row_sparse", values)
    assert rows(sparse.add(x, y)) == ([0, 1, 3], [[5, 5], [1, 2], [13, 14]])
    for z, values in (
        (x + 1, DENSE + 1),
        (nd.ones((5, 2)) - x, 1 - DENSE),
        (sparse.elemwise_add(x, nd.ones((5, 2))), DENSE + 1),
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


# ---------------------------------------------------------------- csr


def test_what_a_csr_array_is() -> None:
    x = matrix()
    assert (x.shape, x.size, x.ndim, len(x), x.dtype, x.stype) == ((3, 4), 12, 2, 3, np.float32, "csr")
    parts = x.data, x.indices, x.indptr
    assert [p.asnumpy().tolist() for p in parts] == [[1, 2, -3, 4], [1, 3, 0, 2], [0, 2, 2, 4]]
    assert x.indices.dtype == x.indptr.dtype == np.int64
    unordered = sparse.csr_matrix(([2, 1, 4, -1, -2], [3, 1, 2, 0, 0], [0, 2, 2, 5]), (3, 4))
    with pytest.raises(MXNetError, match="ascending"):
        unordered.check_format()
    unordered.check_format(full_check=False)
    for y in (
        sparse.csr_matrix(MATRIX),
        sparse.csr_matrix(([1, 2, -3, 4], [1, 3, 0, 2], [0, 2, 2, 4])),
        sparse.csr_matrix((np.float32([4, 2, 1, -1, -2]), ([2, 0, 0, 2, 2], [2, 3, 1, 0, 0]))),
        unordered,
        x.copy(),
        x.tostype("row_sparse").tostype("csr"),
        pickle.loads(pickle.dumps(x)),
        copy.deepcopy(x),
        x[:],
        nd.concat(x[:1], x[1:], dim=0),
        nd.take(x, nd.array([0, 1, 9])),
    ):
        same(y, "csr", MATRIX)
        y.check_format()
        assert y._parts[1].tolist() == x._parts[1].tolist()


@pytest.mark.parametrize(
    ("indices", "indptr", "basic"),
    [
        ([0, 2, 1], [0, 5, 2, 3], True),
        ([2, 1, 1], [0, 2, 2, 3], True),
        ([1, 1, 1], [0, 2, 2, 3], True),
        ([1, 2, 1], [0, 2, 2, 4], True),
        ([1, 2, 1], [1, 2, 2, 3], True),
        ([0, 2, 1], [0, -2, 2, 3], True),
        ([0, -2, 1], [0, 2, 2, 3], True),
        ([0, 9, 1], [0, 2, 2, 3], True),
        ([0, 2, 1], [0, 2, 3], False),
        ([0, 2, 1], [0, 1, 2, 2, 3], False),
    ],
)
def test_check_format_tells_what_csr_matrix_takes(indices: list, indptr: list, basic: bool) -> None:
    """`basic`: whether check_format(full_check=False) lets it pass, as MXNet 1.9.1 does; computing never does."""
    x = sparse.csr_matrix(([7, 8, 9], indices, indptr), shape=(3, 4))
    for check in (x.check_format, lambda: x.check_format(True), lambda: x.check_format(full_check=True)):
        with pytest.raises(MXNetError, match="csr array"):
            check()
    if basic:
        x.check_format(full_check=False)
    else:
        with pytest.raises(MXNetError, match="in indptr"):
            x.check_format(full_check=False)
    if sorted(set(indices)) != [1, 2] and indices != [1, 1, 1]:  # those are put in order
        with pytest.raises(MXNetError, match="csr array"):
            x.asnumpy()


MATRICES = given(
    x=arrays(
        "float32", array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5), elements=st.sampled_from([0, 0, 1, -2])
    ),
    data=st.data(),
)


@settings(max_examples=40, deadline=None)
@MATRICES
def test_csr_arrays_read_as_the_dense_ones(x: np.ndarray, data: st.DataObject) -> None:
    check_csr(x, data)


@pytest.mark.stress
@settings(max_examples=2000, deadline=None)
@MATRICES
def test_many_csr_arrays_read_as_the_dense_ones(x: np.ndarray, data: st.DataObject) -> None:
    check_csr(x, data)


def check_csr(x: np.ndarray, data: st.DataObject) -> None:
    m, n = x.shape
    y = nd.array(x).tostype("csr")
    a, b = (sorted(data.draw(st.tuples(st.integers(0, k), st.integers(0, k)))) for k in x.shape)
    same(y[a[0] : a[1]], "csr", x[slice(*a)])
    if a[0] < a[1] and b[0] < b[1]:
        same(nd.slice(y, (a[0], b[0]), (a[1], b[1])), "csr", x[slice(*a), slice(*b)])
    other = nd.array(data.draw(arrays("float32", (n, 3), elements=st.integers(-3, 3))))
    same(nd.dot(y, other), "default", x @ other.asnumpy())
    for right in (nd.ones((m, 2)), nd.ones((m, 2)).tostype("row_sparse")):
        z = nd.dot(y, right, transpose_a=True)
        same(z, "row_sparse", x.T @ np.ones((m, 2)))
        assert z.indices.asnumpy().tolist() == np.flatnonzero(x.any(0)).tolist()
    for axis in (None, 0, 1, -1):
        for keepdims in (False, True):
            for name in ("sum", "mean", "norm"):
                found, dense = (getattr(v, name)(axis=axis, keepdims=keepdims) for v in (y, nd.array(x)))
                np.testing.assert_allclose(found.asnumpy(), dense.asnumpy(), rtol=1e-6, atol=1e-6)
                assert found.shape == dense.shape
    z = nd.array(np.roll(x, 1, 1)).tostype("csr")
    for symbol in (operator.add, operator.sub, operator.mul):
        same(symbol(y, z), "csr", symbol(x, z.asnumpy()))
    vector = nd.array(np.arange(n))
    same(y * vector, "csr", x * np.arange(n))
    same(y / (vector + 1), "csr", np.float32(x / np.arange(1, n + 1, dtype="f")))
    same(y + vector, "default", x + np.arange(n))


def test_a_product_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever number of products is held at once."""
    x = np.where(RNG.random((30, 20)) < 0.3, RNG.normal(size=(30, 20)), 0)
    other = nd.array(RNG.normal(size=(20, 4)), dtype="float64")
    for held in (1, 17, 64, 1 << 20):
        monkeypatch.setattr(products, "_MAX_PRODUCTS", held)
        y = nd.dot(nd.array(x, dtype="float64").tostype("csr"), other)
        np.testing.assert_allclose(y.asnumpy(), x @ other.asnumpy(), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- errors

ROW = [[1, 2]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: sparse.row_sparse_array((ROW, [5]), shape=(5, 2)).asnumpy(),
            "row 5 is none of the rows 0 to 4 of an array",
        ),
        (lambda: sparse.row_sparse_array((ROW, [-1]), shape=(5, 2)) * 2, "row -1 is none of the rows 0 to 4"),
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
        (
            lambda: sparse.zeros("row-sparse", (1, 2)),
            "unknown storage type 'row-sparse': it is 'default', or one of 'row_sparse', 'csr'",
        ),
        (lambda: sparse.array(DENSE), "for ndarray use nd.array"),
        (lambda: sparse.row_sparse_array(5), "() is not the shape of a row-sparse array"),
        (lambda: example().retain([7]), "row 7 is none of the rows"),
        (lambda: example() + example("float64"), "one has type float32, the other float64"),
        (
            lambda: example() + sparse.zeros("row_sparse", (4, 2)),
            "shapes (5, 2) and (4, 2) cannot be broadcast together",
        ),
        (lambda: example().__setitem__(0, 1), "x[:] = value, not at 0"),
        (lambda: example().__setitem__(slice(None), nd.ones((2, 2))), "value of shape (2, 2) to an array of shape"),
        pytest.param(
            lambda: example()[1].__setitem__(slice(None), 7),
            "read-only",
            marks=pytest.mark.cpu_only("arrays of NumPy that cannot be written to"),
        ),
        (
            lambda: sparse.csr_matrix(([1], [0], [0, 1]), shape=(2, 2)) * 2,
            "2 numbers in indptr in a csr array of 2",
        ),
        (lambda: sparse.csr_matrix(([1], [0, 1], [0, 1, 2]), shape=(2, 2)), "data has shape (1,) and indices (2,)"),
        (
            lambda: sparse.csr_matrix(([1, 2], [0, 1], [0, 3]), shape=(1, 2)).asnumpy(),
            "indptr of a csr array goes from 0 to 3",
        ),
        (
            lambda: sparse.csr_matrix(([1, 2], [0, 7], [0, 2]), shape=(1, 2)) + 1,
            "column 7 is none of the columns 0 to 1",
        ),
        (lambda: sparse.csr_matrix(([1], ([0], [4])), shape=(1, 2)), "column 4 is none of the 2 of shape (1, 2)"),
        (lambda: sparse.csr_matrix((1, 2, 3)), "(1, 2, 3) is not the shape of a csr array, which has two axes"),
        (lambda: sparse.csr_matrix((2**32, 2**32)), "is not the shape of a csr array"),
        (lambda: nd.ones((2, 2, 2)).tostype("csr"), "a csr array is a matrix"),
        (lambda: matrix()[5], "index 5 is out of bounds for 3 rows"),
        (lambda: matrix()[1, 2], "indexed by a number or x[i:j], not by (1, 2)"),
        (
            lambda: nd.dot(matrix(), nd.ones((5, 2))),
            "dot: a csr array of shape (3, 4) takes a matrix of 4 rows, not shape (5, 2)",
        ),
        (lambda: nd.dot(matrix(), nd.ones((4, 2), dtype="float64")), "dot: types differ, float32 and float64"),
        (lambda: nd.sqrt(matrix(), axis=1), "sqrt has no argument 'axis'"),
    ],
)
def test_errors(call: Callable[[], object], words: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError, MXNetError)) as caught:
        call()
    assert words in str(caught.value)
