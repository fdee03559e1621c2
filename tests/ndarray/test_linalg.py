"""Products of matrices, and linear algebra."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runtime import autograd, nd
from tests.ndarray.gradients import Case

RNG = np.random.default_rng(0)
A, B, CUBE, VECTOR = (RNG.normal(size=shape) for shape in ((2, 3), (3, 2), (2, 2, 3), (3,)))
SQUARE, STACK = RNG.normal(size=(3, 3)), RNG.normal(size=(2, 3, 3))
LOWER = np.tril(STACK, -1) + 2 * np.eye(3)


def positive(x: nd.NDArray) -> nd.NDArray:
    """A positive-definite matrix for every x: gradients of functions of symmetric matrices are asked for through it."""
    eye = nd.array(np.broadcast_to(np.eye(x.shape[-1]), x.shape), dtype=x.dtype)
    return nd.linalg.syrk(x) + eye


GRADIENTS = {
    "dot": Case(nd.dot, [A, B]),
    "dot vectors": Case(nd.dot, [VECTOR, 2 * VECTOR]),
    "dot cube": Case(nd.dot, [CUBE, B]),
    "dot transpose_a": Case(lambda a, b: nd.dot(a, b, transpose_a=True), [A, CUBE]),
    "dot transpose_b": Case(lambda a, b: nd.dot(a, b, transpose_b=True), [A, CUBE]),
    "dot both": Case(lambda a, b: nd.dot(a, b, True, True), [A, RNG.normal(size=(4, 2))]),
    "batch_dot": Case(nd.batch_dot, [CUBE, RNG.normal(size=(2, 3, 2))]),
    "batch_dot transpose_a": Case(lambda a, b: nd.batch_dot(a, b, transpose_a=True), [CUBE, CUBE]),
    "batch_dot transpose_b": Case(lambda a, b: nd.batch_dot(a, b, transpose_b=True), [CUBE, CUBE]),
    "batch_dot both": Case(lambda a, b: nd.batch_dot(a, b, True, True), [CUBE, RNG.normal(size=(2, 1, 2))]),
    "khatri_rao": Case(nd.khatri_rao, [A, SQUARE, RNG.normal(size=(2, 3))]),
    "diag": Case(nd.diag, [SQUARE]),
    "diag vector": Case(lambda x: nd.diag(x, k=-1), [VECTOR]),
    "diag axes": Case(lambda x: nd.diag(x, k=1, axis1=2, axis2=0), [CUBE]),
    "linalg_gemm": Case(lambda a, b, c: nd.linalg.gemm(a, b, c, alpha=2, beta=3), [A, B, RNG.normal(size=(2, 2))]),
    "linalg_gemm2": Case(lambda a, b: nd.linalg.gemm2(a, b, True, True, alpha=0.5), [A, RNG.normal(size=(2, 2))]),
    "linalg_gemm2 axis": Case(lambda a, b: nd.linalg.gemm2(a, b, axis=0), [CUBE, RNG.normal(size=(3, 2, 2))]),
    "linalg_syrk": Case(nd.linalg.syrk, [CUBE]),
    "linalg_syrk transpose": Case(lambda a: nd.linalg.syrk(a, transpose=True, alpha=2), [A]),
    "linalg_trmm": Case(lambda a, b: nd.linalg.trmm(a, b, alpha=2), [SQUARE, B]),
    "linalg_trmm right": Case(lambda a, b: nd.linalg.trmm(a, b, True, True, lower=False), [STACK, CUBE]),
    "linalg_trsm": Case(lambda a, b: nd.linalg.trsm(a, b, alpha=2), [LOWER, STACK]),
    "linalg_trsm transpose": Case(lambda a, b: nd.linalg.trsm(a, b, transpose=True), [LOWER[0], B]),
    "linalg_trsm right": Case(lambda a, b: nd.linalg.trsm(a, b, rightside=True), [LOWER, CUBE]),
    "linalg_trsm upper": Case(lambda a, b: nd.linalg.trsm(a, b, True, True, lower=False), [LOWER[0].T, A]),
    "linalg_potrf": Case(lambda x: nd.linalg.potrf(positive(x)), [STACK]),
    "linalg_potri": Case(nd.linalg.potri, [LOWER]),
    "linalg_sumlogdiag": Case(nd.linalg.sumlogdiag, [np.abs(STACK) + 0.5]),
    "linalg_gelqf": Case(nd.linalg.gelqf, [CUBE], rtol=1e-5),
    "linalg_gelqf square": Case(nd.linalg.gelqf, [SQUARE], rtol=1e-5),
    "linalg_syevd": Case(lambda x: nd.linalg.syevd(positive(x)), [STACK], rtol=1e-5, atol=1e-7),
    "linalg_inverse": Case(nd.linalg.inverse, [STACK]),
    "linalg_det": Case(nd.linalg.det, [STACK]),
    "linalg_det one": Case(nd.linalg.det, [SQUARE]),
    "linalg_slogdet": Case(nd.linalg.slogdet, [STACK]),
    "linalg_extractdiag": Case(lambda x: nd.linalg.extractdiag(x, offset=-1), [STACK]),
    "linalg_makediag": Case(lambda x: nd.linalg.makediag(x, offset=1), [A]),
    "linalg_extracttrian": Case(lambda x: nd.linalg.extracttrian(x, offset=-1), [STACK]),
    "linalg_maketrian": Case(lambda x: nd.linalg.maketrian(x, lower=False), [A]),
}
NO_GRADIENT: set[str] = set()


def array(x: np.ndarray | list) -> nd.NDArray:
    return nd.array(x, dtype="float64")


def near(result: nd.NDArray, expected: np.ndarray | list) -> None:
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dot_sums_over_the_last_axis_of_one_and_the_first_of_the_other(dtype: str) -> None:
    a, b, v = (np.arange(n).reshape(shape) % 5 for n, shape in ((24, (2, 3, 4)), (40, (4, 2, 5)), (4, (4,))))
    x, y, w = (nd.array(z, dtype=dtype) for z in (a, b, v))
    near(nd.dot(x, y).astype("float64"), np.tensordot(a, b, 1))
    near(nd.dot(w, w).astype("float64"), [v @ v])
    near(nd.dot(x, w).astype("float64"), a @ v)
    near(nd.dot(w, y, transpose_a=True).astype("float64"), np.tensordot(v, b, 1))
    near(nd.dot(y, w, transpose_a=True).astype("float64"), np.tensordot(b.transpose(1, 2, 0), v, 1))
    near(nd.dot(w, x, transpose_b=True).astype("float64"), np.tensordot(v, a.transpose(2, 0, 1), 1))


def test_khatri_rao() -> None:
    result = nd.khatri_rao(nd.array([[1, 2], [3, 4]]), nd.array([[1, 2], [3, 4], [5, 6]]))
    np.testing.assert_array_equal(result.asnumpy(), [[1, 4], [3, 8], [5, 12], [3, 8], [9, 16], [15, 24]])


def test_factors_multiply_to_what_they_were_taken_from() -> None:
    x = array(STACK)
    S = positive(x)
    L = nd.linalg.potrf(S)
    near(nd.linalg.syrk(L), S.asnumpy())
    near(nd.linalg.potri(L), np.linalg.inv(S.asnumpy()))
    near(nd.linalg.sumlogdiag(L) * 2, np.linalg.slogdet(S.asnumpy())[1])
    near(nd.linalg.potrf(S, lower=False), np.swapaxes(L.asnumpy(), -1, -2))
    near(nd.linalg.potri(nd.linalg.potrf(S, lower=False), lower=False), np.linalg.inv(S.asnumpy()))
    U, values = nd.linalg.syevd(S)
    near(nd.linalg.gemm2(U, values.expand_dims(-1) * U, transpose_a=True), S.asnumpy())
    assert (np.take_along_axis(U.asnumpy(), np.abs(U.asnumpy()).argmax(-1)[..., None], -1) > 0).all()
    wide = array(CUBE)
    Q, L = nd.linalg.gelqf(wide)
    near(nd.linalg.gemm2(L, Q), CUBE)
    near(nd.linalg.syrk(Q), np.broadcast_to(np.eye(2), (2, 2, 2)))
    near(nd.linalg.gemm2(x, nd.linalg.inverse(x)), np.broadcast_to(np.eye(3), STACK.shape))
    sign, logarithm = nd.linalg.slogdet(x)
    near(sign * nd.exp(logarithm), nd.linalg.det(x).asnumpy())


def test_triangular_products_and_systems() -> None:
    """Of A only one triangle is read; figures of the real library."""
    M, B = array([[1, 9], [2, 3]]), array([[1, 2], [3, 4]])
    near(nd.linalg.trmm(M, B, transpose=True, rightside=True, alpha=2), [[2, 16], [6, 36]])
    near(nd.linalg.trmm(M, B, lower=False), [[28, 38], [9, 12]])
    near(nd.linalg.trsm(M, B, alpha=2), [[2, 4], [2 / 3, 0]])
    near(nd.linalg.trsm(M, B, rightside=True, transpose=True, lower=False), [[-5, 2 / 3], [-9, 4 / 3]])


def test_triangles_and_diagonals() -> None:
    """The upper triangle is taken column by column; figures of the real library."""
    M = array(np.arange(16).reshape(4, 4))
    for offset, lower, expected in (
        (-1, True, [4, 8, 9, 12, 13, 14]),
        (0, True, [0, 4, 5, 8, 9, 10, 12, 13, 14, 15]),
        (0, False, [0, 1, 5, 2, 6, 10, 3, 7, 11, 15]),
        (1, True, [1, 2, 6, 3, 7, 11]),
        (2, False, [2, 3, 7]),
    ):
        elements = nd.linalg.extracttrian(M, offset=offset, lower=lower)
        near(elements, expected)
        back = nd.linalg.maketrian(elements, offset=offset, lower=lower)
        upper = offset > 0 or (offset == 0 and not lower)
        near(back, np.triu(M.asnumpy(), offset) if upper else np.tril(M.asnumpy(), offset))
    for k in (-3, -1, 0, 2):
        near(nd.diag(M, k=k), np.diag(M.asnumpy(), k))
        near(nd.linalg.extractdiag(M, offset=k), np.diag(M.asnumpy(), k))
        near(nd.diag(array([1, 2]), k=k), np.diag([1, 2], k))
        near(nd.linalg.makediag(array([1, 2]), offset=k), np.diag([1, 2], k))
    near(nd.diag(array(np.arange(24).reshape(2, 3, 4))), [[0, 16], [1, 17], [2, 18], [3, 19]])


def test_a_singular_matrix_has_a_determinant() -> None:
    x = array(np.stack([np.ones((2, 2)), np.eye(2)]))
    x.attach_grad()
    near(nd.linalg.det(x), [0, 1])
    with autograd.record():
        y = nd.linalg.det(x)
    y.backward()
    near(x.grad, np.stack([np.zeros((2, 2)), np.eye(2)]))
    sign, logarithm = nd.linalg.slogdet(x[0])
    assert sign.asscalar() == 0 and logarithm.asscalar() == -np.inf


def test_flat_names_and_out() -> None:
    out = nd.zeros((2, 2))
    assert nd.linalg_gemm2(nd.ones((2, 3)), nd.ones((3, 2)), out=out) is out
    assert (out.asnumpy() == 3).all()
    assert nd.linalg.gemm2 is nd.linalg_gemm2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3))), "dot: shapes (2, 3) and (2, 3) do not fit: 3 against 2"),
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3)), True, True), "(2, 3)^T and (2, 3)^T"),
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((3, 2), dtype="float64")), "dot: types differ"),
        (lambda: nd.batch_dot(nd.ones((2, 3)), nd.ones((3, 2))), "batch_dot: three axes or more"),
        (lambda: nd.batch_dot(nd.ones((2, 2, 3)), nd.ones((1, 3, 2))), "batch_dot: matrices of shapes (2, 2, 3) and"),
        (lambda: nd.khatri_rao(nd.ones((2, 3)), nd.ones((3, 2))), "khatri_rao: matrices with equally many columns"),
        (lambda: nd.diag(nd.ones((2, 2)), k=2), "diag: a matrix of 2 rows and 2 columns has no diagonal 2"),
        (
            lambda: nd.diag(nd.ones((2, 2)), axis1=1, axis2=-1),
            "diag: (1, -1) names an axis of an array of shape (2, 2) twice",
        ),
        (lambda: nd.linalg.potrf(-nd.ones((2, 2))), "linalg_potrf: Matrix is not positive definite"),
        (lambda: nd.linalg.inverse(nd.zeros((2, 2))), "linalg_inverse: Singular matrix"),
        (lambda: nd.linalg.inverse(nd.ones((2, 3))), "linalg_inverse: square matrices are needed"),
        (lambda: nd.linalg.inverse(nd.ones((2, 2), dtype="float16")), "only float32 and float64 matrices"),
        (lambda: nd.linalg.gelqf(nd.ones((3, 2))), "linalg_gelqf: a matrix must not have more rows than columns"),
        (lambda: nd.linalg.gemm2(nd.ones((2, 3)), nd.ones((2, 3))), "linalg_gemm2: matrices of shapes"),
        (lambda: nd.linalg.gemm2(nd.ones((2, 3)), nd.ones((3, 2)), axis=1), "cannot be that of the rows"),
        (lambda: nd.linalg.gemm(nd.ones((2, 3)), nd.ones((3, 2)), nd.ones((1, 2))), "C must have the shape"),
        (lambda: nd.linalg.trsm(nd.ones((2, 2)), nd.ones((3, 2))), "linalg_trsm: A of shape (2, 2) and B"),
        (lambda: nd.linalg.maketrian(nd.ones(2)), "linalg_maketrian: no triangle has 2 elements"),
        (lambda: nd.linalg.extractdiag(nd.ones((2, 2)), offset=-2), "has no diagonal -2"),
    ],
)
def test_errors(call: Callable, words: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)
