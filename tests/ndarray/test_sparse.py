"""Sparse arrays: what they are, and what comes out of operators, beside dense arrays and numbers from MXNet."""

from __future__ import annotations

import copy
import inspect
import itertools
import operator
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import runtime as mx
from runtime import MXNetError, autograd, nd
from runtime.ndarray.sparse import products, rules
from tests.ndarray import gradients

RNG = np.random.default_rng(0)
sparse = nd.sparse


def example(dtype: str | None = None) -> sparse.RowSparseNDArray:
    """Rows 1 and 3 of five, given in another order."""
    x = sparse.row_sparse_array(([[3, 4], [1, 2]], [3, 1]), shape=(5, 2), dtype=dtype)
    x.asnumpy()
    return x


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

MATRIX = np.float32([[0, 1, 0, 2], [0, 0, 0, 0], [-3, 0, 4, 0]])


def matrix(dtype: str = "float32") -> sparse.CSRNDArray:
    return nd.array(MATRIX, dtype=dtype).tostype("csr")


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


@settings(max_examples=100, deadline=None)
@given(
    x=arrays(
        "float32", array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5), elements=st.sampled_from([0, 0, 1, -2])
    ),
    data=st.data(),
)
def test_csr_arrays_read_as_the_dense_ones(x: np.ndarray, data: st.DataObject) -> None:
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


# ---------------------------------------------------------------- how results are stored

KINDS = {"C": "csr", "R": "row_sparse", "D": "default"}
BINARY = {  # the storage of results, from MXNet: of csr, row_sparse and dense with each of them
    "add": "CDDDRDDDD",
    "subtract": "CDDDRDDDD",
    "multiply": "CDCDRRCRD",
    "elemwise_add": "CDDDRDDDD",
    "elemwise_mul": "CDCDRRCRD",
    "elemwise_div": "DDDDDDDDD",
    "broadcast_add": "DDDDDDDDD",
    "broadcast_mul": "DDCDDDDDD",
    "maximum": "DDDDDDDDD",
    "add_n": "DDDDRDDDD",
}


@pytest.mark.parametrize("name", BINARY)
def test_storage_of_two(name: str) -> None:
    function = getattr(sparse if name in ("add", "subtract", "multiply") else nd, name)
    for expected, (a, b) in zip(BINARY[name], itertools.product(KINDS.values(), repeat=2), strict=True):
        left, right = nd.array(MATRIX), nd.array(MATRIX + 1)
        found = function(left.tostype(a), right.tostype(b))
        same(found, KINDS[expected], getattr(nd, name)(left, right).asnumpy())


NUMBERS = {  # the storage of results with 0, 2 and -2, from MXNet; S: that of the array
    "x + a": "SDD", "a + x": "SDD", "x - a": "SDD", "a - x": "DDD", "x * a": "SSS", "a * x": "SSS", "x / a": "SSS",
    "a / x": "DDD", "x ** a": "DDD", "x == a": "DSS", "x != a": "SDD", "x > a": "SSD", "a > x": "SDS", "x >= a": "DSD",
    "x < a": "SDS", "x <= a": "DDS", "a <= x": "DSD",
}  # fmt: skip


@pytest.mark.parametrize("formula", NUMBERS)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_storage_with_numbers(formula: str, stype: str) -> None:
    dense = nd.array(MATRIX)
    for expected, a in zip(NUMBERS[formula], (0, 2, -2), strict=True):
        x = dense.tostype(stype)
        found = eval(formula, {"x": x, "a": a})
        assert found.stype == (stype if expected == "S" else "default")
        if a or "/" not in formula:  # x / 0 leaves the zeros of x
            np.testing.assert_array_equal(found.asnumpy(), eval(formula, {"x": dense, "a": a}).asnumpy())
            if formula in ("x + a", "x - a", "x * a", "x / a"):
                sign = formula[2]
                exec(f"x {sign}= a", {"x": x, "a": a})
                same(x, stype, found.asnumpy())


KEEP = """
abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p negative radians relu rint round sign sin sinh
sqrt square tan tanh trunc zeros_like identity stop_gradient BlockGrad make_loss
""".split()  # noqa: SIM905
DROP = "arccos cos cosh exp gamma gammaln log log10 log2 sigmoid softsign reciprocal ones_like".split()  # noqa: SIM905


@pytest.mark.parametrize("name", KEEP + DROP)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_storage_of_functions(name: str, stype: str) -> None:
    dense = nd.array(MATRIX / 8)
    function = getattr(nd, name)
    for found in (function(dense.tostype(stype)), function(data=dense.tostype(stype))):
        same(found, stype if name in KEEP else "default", function(dense).asnumpy())


def test_storage_of_the_rest() -> None:
    for stype in ("csr", "row_sparse"):
        x = nd.array(MATRIX).tostype(stype)
        same(x.clip(-1, 1), stype, MATRIX.clip(-1, 1))
        same(x.clip(1, 2), "default", MATRIX.clip(1, 2))
        same(nd.where(x, x, x + 1), "default", np.where(MATRIX, MATRIX, 1))
        same(nd.FullyConnected(x, nd.ones((2, 4)), no_bias=True), "default", MATRIX @ np.ones((4, 2)))
        same(x.reshape((2, 6)), "default", MATRIX.reshape(2, 6))
        assert nd.zeros_like(x).stype == stype and nd.zeros_like(x).data.shape[0] == 0
        same(nd.contrib.gradientmultiplier(x, 3), stype, MATRIX)
        same(nd.contrib.sign_ste(x), stype, np.sign(MATRIX))
        out = nd.zeros((3, 4), stype=stype)
        assert nd.broadcast_add(nd.array(MATRIX), nd.array(MATRIX), out=out) is out
        same(out, stype, 2 * MATRIX)
    gamma, ones = nd.array([5, 5, 5, 5]).tostype("row_sparse"), nd.ones(4)
    same(nd.BatchNorm(nd.array(MATRIX), gamma, ones, 0 * ones, ones, 0, fix_gamma=False), "default", 5 * MATRIX + 1)
    with pytest.raises(mx.MXNetError, match="sets gamma to 1, not one of stype 'row_sparse': make it dense"):
        nd.BatchNorm(nd.array(MATRIX), gamma, ones, 0 * ones, ones)
    for left, ta, tb, right, stype in (
        ("csr", 0, 0, "csr", "default"),
        ("csr", 0, 1, "default", "default"),
        ("default", 0, 0, "csr", "csr"),
        ("default", 1, 0, "csr", "default"),
        ("row_sparse", 1, 0, "default", "default"),
    ):
        a, b = (MATRIX.T if ta else MATRIX), (MATRIX if tb else MATRIX.T)
        found = nd.dot(nd.array(a).tostype(left), nd.array(b).tostype(right), transpose_a=ta, transpose_b=tb)
        same(found, stype, MATRIX @ MATRIX.T)
    same(
        nd.dot(matrix(), nd.ones((3, 1)), transpose_a=True, forward_stype="default"), "default", MATRIX.sum(0)[:, None]
    )
    for stype in ("csr", "row_sparse"):
        same(nd.dot(nd.array(MATRIX), nd.array(MATRIX.T), forward_stype=stype), stype, MATRIX @ MATRIX.T)
    assert nd.contrib.getnnz(matrix()).asscalar() == 4
    assert nd.contrib.getnnz(matrix(), axis=1).asnumpy().tolist() == [2, 0, 2]


def test_rules_take_the_arguments_of_their_functions() -> None:
    for name, rule in rules.RULES.items():
        function = inspect.unwrap(getattr(nd, name, None) or getattr(nd.contrib, name))
        taken = list(inspect.signature(rule).parameters.values())[1:]
        if not any(p.kind is p.VAR_KEYWORD for p in taken):
            parameters = inspect.signature(function).parameters.values()
            assert [(p.name, p.default) for p in taken] == [(p.name, p.default) for p in parameters], name


def test_sparse_head_gradients_of_dense_outputs_count_everywhere() -> None:
    x = nd.array([[0.5, 2]])
    x.attach_grad()
    with autograd.record():
        y = nd.arccosh(x)
    y.backward(nd.array([[0, 0]]).tostype("row_sparse"))
    assert np.isnan(x.grad.asnumpy()).tolist() == [[True, False]]  # 0 times NaN, as of a dense gradient


def test_scipy() -> None:
    spsp = pytest.importorskip("scipy.sparse")
    given = spsp.csr_matrix((np.array([1, 2, 3, 4]), np.array([2, 0, 2, 1]), np.array([0, 2, 2, 4])), (3, 3))
    given.data = given.data.astype("float64")
    for x in (nd.array(given), sparse.array(given), sparse.csr_matrix(given), sparse.csr_matrix(given.tocoo())):
        same(x, "csr", given.toarray())
        assert x.dtype == np.float64
        x.check_format()
        np.testing.assert_array_equal(x.asscipy().toarray(), given.toarray())


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


# ---------------------------------------------------------------- gradients

VALUES = np.where(RNG.random((5, 4)) < 0.5, RNG.normal(size=(5, 4)) + 3, 0)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize(
    "function",
    [
        lambda s, x: nd.dot(s, x.T),
        lambda s, x: nd.dot(s, x, transpose_a=True),
        lambda s, x: nd.dot(x.tostype("csr"), x, transpose_a=True),
        lambda s, x: (s * x).square(),
        lambda s, x: nd.square(x.tostype(s.stype)) * 2 + s,
        lambda s, x: s * x.tostype(s.stype) - x.tostype(s.stype) / 3,
        lambda s, x: nd.sum(x.tostype("csr"), axis=0) + nd.norm(x.tostype(s.stype)),
        lambda s, x: nd.slice(x.tostype("csr"), (1, 1), (4, 3)) * 2,
        lambda s, x: nd.add_n(s, x.tostype(s.stype)),
        lambda s, x: x.tostype("csr")[2].copy().astype("float64") + 1,
    ],
)
def test_gradients(function: Callable, stype: str) -> None:
    """Through the storage and what is computed with it; again, and twice."""
    fixed = nd.array(VALUES, dtype="float64").tostype(stype)
    gradients.check(lambda x: function(fixed, x), RNG.normal(size=VALUES.shape) + 3, order=2)


@pytest.mark.parametrize("stype", ["csr", "row_sparse", "default", None])
def test_gradient_of_a_sparse_array(stype: str | None) -> None:
    for own in ("csr", "row_sparse"):
        x = nd.array(MATRIX).tostype(own)
        x.attach_grad(stype=stype)
        assert x.grad.stype == (stype or own)
        for _ in range(2):
            with autograd.record():
                y = nd.square(x) * 3
            assert y.stype == own
            y.backward()
        same(x.grad, stype or own, 6 * MATRIX)
        with autograd.record(), pytest.raises(MXNetError, match="cannot be written to inside"):
            x[:] = 0


def test_gradient_of_a_product_has_the_columns_that_are_there() -> None:
    w = nd.ones((4, 2))
    for stype in ("row_sparse", "default"):
        w.attach_grad(stype=stype)
        with autograd.record():
            y = nd.dot(matrix()[:1], w)
        y.backward()
        same(w.grad, stype, [[0, 0], [1, 1], [0, 0], [2, 2]])
    w.attach_grad("add", stype="row_sparse")
    for _ in range(2):
        with autograd.record():
            y = nd.dot(matrix()[:1], w)
        y.backward()
    assert rows(w.grad) == ([1, 3], [[2, 2], [4, 4]])
