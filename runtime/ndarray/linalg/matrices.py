"""Linear algebra on matrices and stacks of them, float32 or float64: `nd.linalg.gemm2`, or `nd.linalg_gemm2`.

A stack has shape (..., m, n); what is said of a matrix holds for each. Functions of one matrix are square-checked, and
errors name them as `linalg_gemm2`. Most are made of others, and so are their gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import MXNetError, count
from runtime.core.backend import array_module, is_host
from runtime.ndarray.elementwise import log
from runtime.ndarray.linalg.diagonals import (
    check_matrix,
    diag,
    linalg_extractdiag,
    linalg_extracttrian,
    linalg_makediag,
    linalg_maketrian,
)
from runtime.ndarray.linalg.products import _matmul, multiply_matrices
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, ignore_fp_errors, on_own_device
from runtime.ndarray.reduce.reductions import sum as sum_
from runtime.ndarray.shape.reshape import moveaxis, swapaxes

__all__ = [
    "diag",
    "linalg_det",
    "linalg_extractdiag",
    "linalg_extracttrian",
    "linalg_gelqf",
    "linalg_gemm",
    "linalg_gemm2",
    "linalg_inverse",
    "linalg_makediag",
    "linalg_maketrian",
    "linalg_potrf",
    "linalg_potri",
    "linalg_slogdet",
    "linalg_sumlogdiag",
    "linalg_syevd",
    "linalg_syrk",
    "linalg_trmm",
    "linalg_trsm",
]
METHODS = ("diag",)

_FAILURES = {"linalg_potrf": "Matrix is not positive definite", "linalg_syevd": "Eigenvalues did not converge"}
"""In NumPy's words, which CuPy does not use; what is not here fails of a singular matrix."""


def _factorization(forward: Callable) -> Operator:
    """An operator over a LAPACK routine, whose failure is an MXNetError."""
    name = f"linalg{forward.__name__}"

    @functools.wraps(forward)
    @ignore_fp_errors
    def call(*arrays: np.ndarray, **attrs: Any) -> Any:
        try:
            if is_host(arrays[0]):
                return forward(*arrays, **attrs)
            import cupyx

            with cupyx.errstate(linalg="raise"):  # else CuPy, not to wait for the device, is silent
                return forward(*arrays, **attrs)
        except np.linalg.LinAlgError:
            failure = _FAILURES.get(name, "Singular matrix")
            raise MXNetError(f"{name}: {failure} (a matrix of shape {arrays[0].shape[-2:]})") from None

    operator = Operator(call)
    operator.name = name
    return operator


def _transposed(A: NDArray) -> NDArray:
    return swapaxes(A, A.ndim - 2, A.ndim - 1)


# ---------------------------------------------------------------- products


def linalg_gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> NDArray:
    """`alpha A B`, where `transpose_a` and `transpose_b` transpose a factor; `axis` is that of the matrices' rows."""
    return _gemm("linalg_gemm2", A, B, transpose_a, transpose_b, alpha, axis)


def linalg_gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> NDArray:
    """`alpha A B + beta C`; see `gemm2`."""
    product = _gemm("linalg_gemm", A, B, transpose_a, transpose_b, alpha, axis)
    if C.shape != product.shape:
        raise MXNetError(f"linalg_gemm: C must have the shape of the product, {product.shape}, not {C.shape}")
    return product + C * beta


def _gemm(name: str, A: NDArray, B: NDArray, ta: bool, tb: bool, alpha: float, axis: int) -> NDArray:
    axis = count(f"{name}: axis", axis, None)
    for x in (A, B):
        check_matrix(name, x, square=False)
        if not -x.ndim <= axis < x.ndim - 1 or axis == -1:
            raise MXNetError(f"{name}: axis {axis} of an array of shape {x.shape} cannot be that of the rows")
    rows_last = axis in (-2, A.ndim - 2)
    if not rows_last:
        A, B = moveaxis(A, axis, -2), moveaxis(B, axis, -2)
    product = multiply_matrices(name, A, B, bool(ta), bool(tb))
    product = product if alpha == 1 else product * alpha
    return product if rows_last else moveaxis(product, -2, axis)


def linalg_syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0) -> NDArray:
    """`alpha A A^T`, or with `transpose` `alpha A^T A`."""
    check_matrix("linalg_syrk", A, square=False)
    return _matmul(A, A, ta=bool(transpose), tb=not transpose) * alpha


def linalg_trmm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> NDArray:
    """`alpha A B`, or with `rightside` `alpha B A`, where A is triangular and transposed if asked.

    Of A only the triangle `lower` names is read.
    """
    check_matrix("linalg_trmm", A)
    T = _triangle(A, lower=bool(lower))
    if rightside:
        return multiply_matrices("linalg_trmm", B, T, tb=bool(transpose)) * alpha
    return multiply_matrices("linalg_trmm", T, B, ta=bool(transpose)) * alpha


# ---------------------------------------------------------------- triangular systems


@Operator
def _triangle(A: np.ndarray, *, lower: bool, strict: bool = False) -> np.ndarray:
    """The matrix with 0 beyond its diagonal, and on it if `strict`."""
    return np.tril(A, -strict) if lower else np.triu(A, strict)


@_triangle.gradient
def _(g: NDArray, y: NDArray, A: NDArray, *, lower: bool, strict: bool = False) -> NDArray:
    return _triangle(g, lower=lower, strict=strict)


@_factorization
def _solve(A: np.ndarray, B: np.ndarray, *, ta: bool) -> np.ndarray:
    """X in `A X = B`, or `A^T X = B` with `ta`."""
    return np.linalg.solve(A.swapaxes(-1, -2) if ta else A, B)


@_solve.joint_gradient
def _(g: NDArray, X: NDArray, A: NDArray, B: NDArray, *, ta: bool) -> tuple[NDArray, NDArray]:
    dB = _solve(A, g, ta=not ta)
    return -(_matmul(X, dB, tb=True) if ta else _matmul(dB, X, tb=True)), dB


def linalg_trsm(
    A: NDArray,
    B: NDArray,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> NDArray:
    """X in `A X = alpha B`, or with `rightside` in `X A = alpha B`, where A is triangular and transposed if asked.

    Of A only the triangle `lower` names is read. MXNetError if it is singular.
    """
    check_matrix("linalg_trsm", A)
    check_matrix("linalg_trsm", B, square=False)
    if A.shape[:-2] != B.shape[:-2] or A.shape[-1] != B.shape[-1 if rightside else -2]:
        raise MXNetError(f"linalg_trsm: A of shape {A.shape} and B of shape {B.shape} do not fit")
    T = _triangle(A, lower=bool(lower))
    if rightside:
        return _transposed(_solve(T, _transposed(B), ta=not transpose)) * alpha
    return _solve(T, B, ta=bool(transpose)) * alpha


# ---------------------------------------------------------------- Cholesky


@_factorization
def _potrf(A: np.ndarray) -> np.ndarray:
    return np.linalg.cholesky(A)


@_potrf.gradient
def _(g: NDArray, L: NDArray, A: NDArray) -> NDArray:
    # Murray, "Differentiation of the Cholesky decomposition" (2016)
    P = _triangle(_matmul(L, _triangle(g, lower=True), ta=True), lower=True)
    P = (P + _triangle(P, lower=True, strict=True)) * 0.5
    S = _solve(L, _transposed(_solve(L, _transposed(P), ta=True)), ta=True)  # L^-T P L^-1
    return (S + _transposed(S)) * 0.5


def linalg_potrf(A: NDArray, lower: bool = True) -> NDArray:
    """The lower triangular L with `A = L L^T`, of a symmetric positive-definite A; MXNetError if A is not.

    Without `lower`, the upper triangular U with `A = U^T U`.
    """
    check_matrix("linalg_potrf", A)
    return _potrf(A) if lower else _transposed(_potrf(A))


def linalg_potri(A: NDArray, lower: bool = True) -> NDArray:
    """The inverse of `A A^T`, of a lower triangular A: of what `potrf` took apart; of `A^T A`, if A is not `lower`."""
    check_matrix("linalg_potri", A)
    if not lower:
        A = _transposed(A)
    inverse = _solve(_triangle(A, lower=True), _identity_like(A), ta=False)
    return _matmul(inverse, inverse, ta=True)


@on_own_device
def _identity_like(A: NDArray) -> NDArray:
    eye = array_module(A._data).eye(A.shape[-1], dtype=A.dtype)
    return NDArray(np.broadcast_to(eye, A.shape).copy(), A._ctx)


def linalg_sumlogdiag(A: NDArray) -> NDArray:
    """The sum of the logarithms of the diagonal, of shape (...), or (1,) of one matrix."""
    check_matrix("linalg_sumlogdiag", A)
    return sum_(log(linalg_extractdiag(A)), axis=-1)


# ---------------------------------------------------------------- other factorizations


@_factorization
def _gelqf(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    Q, R = np.linalg.qr(A.swapaxes(-1, -2))
    return Q.swapaxes(-1, -2).copy(), R.swapaxes(-1, -2).copy()


@_gelqf.gradient
def _(g: list, y: list, A: NDArray) -> NDArray:
    # Seeger et al., "Auto-differentiating linear algebra" (2017)
    Q, L = y
    dQ, dL = (h.zeros_like() if d is None else d for d, h in zip(g, y, strict=True))
    M = _matmul(L, dL, ta=True) - _matmul(dQ, Q, tb=True)
    below = _triangle(M, lower=True, strict=True)
    symmetric = _triangle(M, lower=True) + _transposed(below)
    return _solve(L, dQ + _matmul(symmetric, Q), ta=True)


def linalg_gelqf(A: NDArray) -> list[NDArray]:
    """`[Q, L]` with `A = L Q`: Q, (m, n), has orthonormal rows, L, (m, m), is lower triangular; `m <= n`."""
    check_matrix("linalg_gelqf", A, square=False)
    if A.shape[-2] > A.shape[-1]:
        raise MXNetError(f"linalg_gelqf: a matrix must not have more rows than columns, as those of {A.shape} do")
    return _gelqf(A)


@_factorization
def _syevd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(A)
    U = vectors.swapaxes(-1, -2)
    largest = np.take_along_axis(U, np.abs(U).argmax(-1)[..., None], -1)
    return np.where(largest < 0, -U, U).copy(), values


@_syevd.gradient
def _(g: list, y: list, A: NDArray) -> NDArray:
    U, values = y
    dU, dvalues = (h.zeros_like() if d is None else d for d, h in zip(g, y, strict=True))
    gaps = values.expand_dims(-2) - values.expand_dims(-1)
    apart = gaps != 0  # vectors of one value can turn in their plane: no gradient says how
    S = linalg_makediag(dvalues) + _matmul(U, dU, tb=True) * apart / (gaps + (1 - apart))
    S = _matmul(U, _matmul(S, U), ta=True)
    return (S + _transposed(S)) * 0.5


def linalg_syevd(A: NDArray) -> list[NDArray]:
    """`[U, values]` with `A = U^T diag(values) U`, of a symmetric A: orthonormal eigenvectors as the rows of U, the
    eigenvalues ascending. The largest component of each vector is positive.
    """
    check_matrix("linalg_syevd", A)
    return _syevd(A)


# ---------------------------------------------------------------- inverse and determinant


@_factorization
def _inverse(A: np.ndarray) -> np.ndarray:
    return np.linalg.inv(A)


@_factorization
def _inverse_or_zero(A: np.ndarray) -> np.ndarray:
    """The inverse; zeros for a singular matrix."""
    singular = (np.linalg.slogdet(A)[0] == 0)[..., None, None]
    inverse = np.linalg.inv(np.where(singular, array_module(A).eye(A.shape[-1], dtype=A.dtype), A))
    return np.where(singular, A.dtype.type(0), inverse)


@_inverse.gradient
@_inverse_or_zero.gradient
def _(g: NDArray, y: NDArray, A: NDArray) -> NDArray:
    return -_matmul(_matmul(y, g, ta=True), y, tb=True)


def linalg_inverse(A: NDArray) -> NDArray:
    """The inverse; MXNetError of a singular matrix."""
    check_matrix("linalg_inverse", A)
    return _inverse(A)


def _stretch(x: NDArray, A: NDArray) -> NDArray:
    """One number for each matrix of A, in a shape to be broadcast against A."""
    return x.reshape((*A.shape[:-2], 1, 1))


@_factorization
def _det(A: np.ndarray) -> np.ndarray:
    return np.atleast_1d(np.linalg.det(A)).astype(A.dtype, copy=False)


@_det.gradient
def _(g: NDArray, y: NDArray, A: NDArray) -> NDArray:
    return _transposed(_inverse_or_zero(A)) * _stretch(g * y, A)


def linalg_det(A: NDArray) -> NDArray:
    """The determinant, of shape (...), or (1,) of one matrix. Of a singular matrix the gradient is 0."""
    check_matrix("linalg_det", A)
    return _det(A)


@_factorization
def _slogdet(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign, logarithm = np.linalg.slogdet(A)
    return np.atleast_1d(sign).astype(A.dtype, copy=False), np.atleast_1d(logarithm).astype(A.dtype, copy=False)


@_slogdet.gradient
def _(g: list, y: list, A: NDArray) -> NDArray | None:
    return None if g[1] is None else _transposed(_inverse_or_zero(A)) * _stretch(g[1], A)


def linalg_slogdet(A: NDArray) -> list[NDArray]:
    """`[sign, log|det|]`, of shapes (...), or (1,) of one matrix. Of a singular matrix the gradient is 0."""
    check_matrix("linalg_slogdet", A)
    return _slogdet(A)
