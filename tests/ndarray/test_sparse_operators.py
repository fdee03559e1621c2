"""Operators of sparse arrays: how results are stored, as in MXNet, and gradients, beside those of dense arrays."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import numpy as np
import pytest

import runtime as mx
from runtime import MXNetError, autograd, nd
from runtime.ndarray.sparse import rules
from tests.ndarray import gradients
from tests.ndarray.sparse_arrays import MATRIX, matrix, rows, same

RNG = np.random.default_rng(0)
sparse = nd.sparse


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
