"""Functions that take or make matrices as a whole.

This file imports nothing but records: a bound step asks it for names (`is_of_matrices`) while nothing is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from optgen.expressions import Binary, Call, Expr, Transpose
from optgen.functions.interval import ALL, Bounds
from optgen.functions.record import Axes, FunctionRecord, Need, OfMatrices, Parity, upright

_EIGENVECTORS = 9
"""n^3 times this are the operations of eigenvalues and eigenvectors of a symmetric matrix, and a third of 4 those of
eigenvalues alone (Golub and Van Loan, Matrix Computations, 8.3)."""


def _inverse_root(a: Any, p: float) -> Any:
    values, vectors = np.linalg.eigh(a)
    return (vectors * values ** (-1 / p)) @ vectors.T


def _orthonormal(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    return q * np.where(np.diag(r) < 0, -1, 1)


def _positive(vectors: Any) -> Any:
    """Columns whose largest elements, in magnitude, are positive."""
    return vectors * _signs(vectors)


def _signs(vectors: Any) -> Any:
    return np.sign(vectors[np.abs(vectors).argmax(axis=0), range(vectors.shape[1])])


def _right(a: Any) -> Any:
    left, _, rows = np.linalg.svd(a, full_matrices=False)
    return rows.T * _signs(left)


def _same(a: Axes, *others: Axes) -> Axes:
    return a


def _qr(m: float, n: float) -> float:
    """The operations of a QR factorization and its Q: twice 2(m n^2 - n^3/3)."""
    return 4 * (m * n**2 - n**3 / 3)


def _svd(m: float, n: float) -> float:
    """The operations of singular vectors of one side, as many as of both (Golub and Van Loan, 8.6)."""
    return 14 * m * n**2 + 8 * n**3


def _of_matrix(
    name: str,
    arguments: str,
    doc: str,
    needs: tuple[Need, ...],
    meaning: Callable[..., Any],
    axes: Callable[..., Axes],
    *,
    bounds: Bounds,
    of_zeros: float | None,
    parity: Parity,
    degree: str | None,
    flops: Callable[[float, float], float] | None,
    is_tall: bool,
    may_fail: bool,
) -> FunctionRecord:
    """The record of a function of matrices that has one way to be called."""
    call = f"{name}({arguments})"
    what = OfMatrices(needs, meaning, axes, bounds, of_zeros, parity, degree, flops, is_tall, may_fail)
    return FunctionRecord(
        name, (len(needs),), False, call, "products", {call: doc}, upright(name), None, None, None, what
    )


TRACE = _of_matrix(
    "trace",
    "A",
    "the sum of the diagonal of a square matrix",
    ("a square matrix",),
    np.trace,
    lambda a: (),
    bounds=ALL,
    of_zeros=0.0,
    parity="odd",
    degree="1",
    flops=None,
    is_tall=False,
    may_fail=False,
)
DIAG = _of_matrix(
    "diag",
    "A",
    "the diagonal of a square matrix, as a vector; of a vector, the square matrix with that diagonal",
    ("a square matrix or a vector",),
    np.diag,
    lambda a: (a[0], *a[: 2 - len(a)]),
    bounds=ALL,
    of_zeros=0.0,
    parity="odd",
    degree="1",
    flops=None,
    is_tall=False,
    may_fail=False,
)
IDENTITY = FunctionRecord(
    name="identity",
    counts=(1, 2),
    takes_more=False,
    usage="identity(rows) or identity(rows x r)",
    section="products",
    doc={
        "identity(n)": "the square matrix with ones on its diagonal; n is `rows`, `cols` or an int param",
        "identity(n x r)": "the n x r matrix with ones on its diagonal; `A@identity(n x r)` has the first r columns "
        "of A",
    },
    shown=upright("identity"),
    elementwise=None,
    reduction=None,
    draw=None,
    matrices=OfMatrices(
        needs=("a dimension", "a dimension"),
        meaning=np.eye,
        axes=lambda a, b: (*a, *b),
        bounds=Bounds(0.0, 1.0),
        of_zeros=None,
        parity="even",
        degree="0",
        flops=None,
        is_tall=False,
        may_fail=False,
    ),
)
INVERSE_ROOT = _of_matrix(
    "inverse_root",
    "A, p",
    "A^(-1/p) of a symmetric matrix that has no negative eigenvalue; p is a number that is known before the step",
    ("a square matrix", "a number that is known before the step"),
    _inverse_root,
    _same,
    bounds=ALL,
    of_zeros=None,
    parity="neither",
    degree=None,
    flops=lambda m, n: (_EIGENVECTORS + 1) * n**3,
    is_tall=False,
    may_fail=True,
)
ORTHONORMAL = _of_matrix(
    "orthonormal",
    "A",
    "orthonormal columns that span those of A, which has no more columns than rows: Q of A = QR, where the diagonal of "
    "R is positive",
    ("a matrix",),
    _orthonormal,
    _same,
    bounds=Bounds(-1.0, 1.0),
    of_zeros=None,
    parity="neither",
    degree="0",
    flops=_qr,
    is_tall=True,
    may_fail=True,
)
EIGENVECTORS = _of_matrix(
    "eigenvectors",
    "A",
    "the eigenvectors of a symmetric matrix as columns, by ascending eigenvalues",
    ("a square matrix",),
    lambda a: _positive(np.linalg.eigh(a)[1]),
    _same,
    bounds=Bounds(-1.0, 1.0),
    of_zeros=None,
    parity="neither",
    degree="0",
    flops=lambda m, n: _EIGENVECTORS * n**3,
    is_tall=False,
    may_fail=True,
)
EIGENVALUES = _of_matrix(
    "eigenvalues",
    "A",
    "the eigenvalues of a symmetric matrix, ascending",
    ("a square matrix",),
    np.linalg.eigvalsh,
    lambda a: (a[0],),
    bounds=ALL,
    of_zeros=0.0,
    parity="neither",
    degree="1",
    flops=lambda m, n: 4 / 3 * n**3,
    is_tall=False,
    may_fail=True,
)
SOLVE = _of_matrix(
    "solve",
    "A, B",
    "A^-1 B of a square matrix A",
    ("a square matrix", "as many rows as the first matrix"),
    np.linalg.solve,
    lambda a, b: b,
    bounds=ALL,
    of_zeros=None,
    parity="neither",
    degree=None,
    flops=None,
    is_tall=False,
    may_fail=True,
)
SINGULAR_VALUES = _of_matrix(
    "singular_values",
    "A",
    "the singular values of a matrix that has no more columns than rows, descending: one for each column",
    ("a matrix",),
    lambda a: np.linalg.svd(a, compute_uv=False),
    lambda a: (a[1],),
    bounds=Bounds(-0.0, math.inf),  # LAPACK may give -0
    of_zeros=0.0,
    parity="even",
    degree="1",
    flops=_qr,
    is_tall=True,
    may_fail=True,
)
LEFT_SINGULAR_VECTORS = _of_matrix(
    "left_singular_vectors",
    "A",
    "the columns u of A = sum of s u v^T, in their order; the largest element of each, in magnitude, is positive",
    ("a matrix",),
    lambda a: _positive(np.linalg.svd(a, full_matrices=False)[0]),
    _same,
    bounds=Bounds(-1.0, 1.0),
    of_zeros=None,
    parity="neither",
    degree="0",
    flops=_svd,
    is_tall=True,
    may_fail=True,
)
RIGHT_SINGULAR_VECTORS = _of_matrix(
    "right_singular_vectors",
    "A",
    "the columns v",
    ("a matrix",),
    _right,
    lambda a: (a[1], a[1]),
    bounds=Bounds(-1.0, 1.0),
    of_zeros=None,
    parity="neither",
    degree="0",
    flops=_svd,
    is_tall=True,
    may_fail=True,
)

FUNCTIONS: tuple[FunctionRecord, ...] = (
    TRACE,
    DIAG,
    IDENTITY,
    INVERSE_ROOT,
    ORTHONORMAL,
    EIGENVECTORS,
    EIGENVALUES,
    SOLVE,
    SINGULAR_VALUES,
    LEFT_SINGULAR_VECTORS,
    RIGHT_SINGULAR_VECTORS,
)
MATRIX_FUNCTIONS: Mapping[str, OfMatrices] = {f.name: f.matrices for f in FUNCTIONS if f.matrices is not None}
"""What they are, by their names."""


def is_of_matrices(expr: Expr) -> bool:
    """Whether a node is a product, a transpose, or a call of a function of matrices."""
    match expr:
        case Binary(op="@") | Transpose():
            return True
        case Call(function=function):
            return function in MATRIX_FUNCTIONS
    return False
