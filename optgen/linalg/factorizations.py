"""Factorizations by LAPACK, or by `np.linalg` where NumPy's BLAS comes with no LAPACK that can be called.

Functions take lists of arrays of any shapes, whose matrices the threads share, one to a thread. So the bits do not
depend on the number of threads. For a matrix with a NaN or an infinity, or without the factorization, they raise
FactorizationError, and nothing is written to `out`.

Memory is row-major and LAPACK's matrices are column-major: it sees the transpose of each matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from optgen.linalg import lapack
from optgen.linalg.lapack import LapackCall, Work, routine
from optgen.linalg.matrices import Matrices
from optgen.linalg.stacks import Member, Outputs, members, outputs
from optgen.loops import numpy_blas

BLOCK = 64
"""The most columns that LAPACK takes at once, for which it needs memory."""
Array = np.ndarray[Any, Any]
Results = tuple[Array, ...]


def eigenvalues(arrays: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """The eigenvalues of symmetric matrices, (..., n), in ascending order. What is above the diagonal is not read."""
    found = members("eigenvalues", arrays, square=True)
    to = outputs(out, arrays, lambda m, n: (n,))
    for member, (values, _) in zip(found, eigen(found, "N"), strict=True):
        member.of(to)[...] = values
    return to


def eigenvectors(arrays: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """The eigenvectors of symmetric matrices, (..., n, n), as columns of length 1, by ascending eigenvalues.

    The element of a vector with the largest absolute value, the first of several, is positive. What is above the
    diagonal is not read.
    """
    found = members("eigenvectors", arrays, square=True)
    to = outputs(out, arrays, lambda m, n: (n, n))
    for member, (_, rows) in zip(found, eigen(found), strict=True):
        member.of(to)[...] = (rows * signs(rows)).T
    return to


def eigh(arrays: Sequence[Matrices]) -> tuple[list[Matrices], list[Matrices]]:
    """Both `eigenvalues` and `eigenvectors`."""
    found = members("eigh", arrays, square=True)
    values = outputs(None, arrays, lambda m, n: (n,))
    vectors = outputs(None, arrays, lambda m, n: (n, n))
    for member, (w, rows) in zip(found, eigen(found), strict=True):
        member.of(values)[...], member.of(vectors)[...] = w, (rows * signs(rows)).T
    return values, vectors


def singular_values(arrays: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """The singular values of matrices of (m, n), (..., min(m, n)), in descending order."""
    found = members("singular_values", arrays)
    to = outputs(out, arrays, lambda m, n: (min(m, n),))
    for member, (_, s, _) in zip(found, _gesdd(found, "N"), strict=True):
        member.of(to)[...] = s
    return to


def svd(arrays: Sequence[Matrices]) -> tuple[list[Matrices], list[Matrices], list[Matrices]]:
    """The singular vectors and values of matrices a of (m, n), with r = min(m, n): u of (..., m, r), s of (..., r) in
    descending order, v of (..., n, r), so that a = u diag(s) v^T.

    The element of a column of u with the largest absolute value, the first of several, is positive.
    """
    shapes = lambda m, n: (m, min(m, n)), lambda m, n: (min(m, n),), lambda m, n: (n, min(m, n))
    to = [outputs(None, arrays, shape) for shape in shapes]
    for member, found in _svd("svd", arrays):
        for array, x in zip(to, found, strict=True):
            member.of(array)[...] = x
    return to[0], to[1], to[2]


def left_singular_vectors(arrays: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """u of `svd`, (..., m, r)."""
    to = outputs(out, arrays, lambda m, n: (m, min(m, n)))
    for member, (u, _, _) in _svd("left_singular_vectors", arrays):
        member.of(to)[...] = u
    return to


def right_singular_vectors(arrays: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """v of `svd`, (..., n, r)."""
    to = outputs(out, arrays, lambda m, n: (n, min(m, n)))
    for member, (_, _, v) in _svd("right_singular_vectors", arrays):
        member.of(to)[...] = v
    return to


def _svd(operation: str, arrays: Sequence[Matrices]) -> Iterator[tuple[Member, Results]]:
    """u, s and v of each matrix."""
    found = members(operation, arrays)
    for member, (u, s, rows) in zip(found, _gesdd(found, "S"), strict=True):
        turn = signs(u.T)
        yield member, (u * turn.T, s, (rows * turn).T)


def orthonormal(arrays: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """Q of a = Q R, (..., m, n) with n <= m: columns of length 1, orthogonal to each other.

    The diagonal of R is not negative, so Q is unique where the columns of a are independent.

    ValueError where there are more columns than rows.
    """
    found = members("orthonormal", arrays)
    for a in arrays:
        if a.shape[-1] > a.shape[-2]:
            raise ValueError(f"orthonormal takes no more columns than rows, not shape {a.shape}")
    to = outputs(out, arrays, lambda m, n: (m, n))
    for member, q in zip(found, _qr([scaled(member.matrix)[0] for member in found]), strict=True):
        member.of(to)[...] = q
    return to


def solve(arrays: Sequence[Matrices], right: Sequence[Matrices], out: Outputs = None) -> list[Matrices]:
    """x of (..., n, k) so that a x = b, for each a of (..., n, n) and b of (..., n, k); by LU with pivoting.

    FactorizationError where a pivot is 0.
    """
    found, sides = members("solve", arrays, square=True), members("solve", right)
    to = outputs(out, right, lambda n, k: (n, k))
    for a, b in zip(arrays, right, strict=True):
        if a.shape[:-1] != b.shape[:-1] or a.dtype != b.dtype:
            raise ValueError(f"a of {a.dtype} and shape {a.shape} does not fit b of {b.dtype} and shape {b.shape}")

    def start(k: int, a: Array) -> tuple[LapackCall, Results]:
        n, x = len(a), sides[k].matrix.T.astype(a.dtype, order="C")
        gesv = routine("gesv", a.dtype)
        pivots, stored = np.empty(n, gesv.integer), np.ascontiguousarray(a.T)
        return LapackCall(gesv, n**3, n, len(x), stored, max(1, n), pivots, x, max(1, n)), (x,)

    def by_numpy(k: int, a: Array) -> Results:
        return (np.linalg.solve(a, sides[k].matrix).T,)

    for member, (x,) in zip(found, _each(found, start, by_numpy, "is singular"), strict=True):
        member.of(to)[...] = x.T
    return to


# ---------------------------------------------------------------- by LAPACK


def eigen(found: Sequence[Member], wanted: str = "V") -> list[Results]:
    """The eigenvalues of each matrix, ascending, and the eigenvectors as rows; these unless only "N" is wanted."""

    def start(k: int, a: Array) -> tuple[LapackCall, Results]:
        n, rows, syevd = len(a), a.copy(), routine("syevd", a.dtype)
        values = np.empty(n, a.dtype)
        size, integers = (1 + 6 * n + 2 * n * n, 3 + 5 * n) if wanted == "V" else (1 + 2 * n, 1)
        work = Work(size, a.dtype), size, Work(integers, syevd.integer), integers
        return LapackCall(syevd, n**3, wanted, "U", n, rows, max(1, n), values, *work), (values, rows)

    def by_numpy(k: int, a: Array) -> Results:
        values, vectors = np.linalg.eigh(a)
        return values, np.ascontiguousarray(vectors.T)

    return _each(found, start, by_numpy, "has eigenvalues that did not converge")


def _gesdd(found: Sequence[Member], wanted: str) -> list[Results]:
    """Left singular vectors as columns, singular values, right singular vectors as rows; the vectors if "S" is wanted,
    and not "N"."""

    def start(k: int, a: Array) -> tuple[LapackCall, Results]:
        (m, n), r, gesdd = a.shape, min(a.shape), routine("gesdd", a.dtype)
        u, s, rows = (np.empty(shape, a.dtype) for shape in ((m, r), (r,), (r, n)))
        size = 4 * r * r + 7 * r + BLOCK * (m + n) + 1
        work = Work(size, a.dtype), size, Work(8 * r, gesdd.integer)
        edge = max(1, n)
        return LapackCall(gesdd, m * n * r, wanted, n, m, a.copy(), edge, s, rows, edge, u, max(1, r), *work), (
            u,
            s,
            rows,
        )

    def by_numpy(k: int, a: Array) -> Results:
        return tuple(np.linalg.svd(a, full_matrices=False))

    return _each(found, start, by_numpy, "has singular values that did not converge")


def _qr(matrices: Sequence[Array]) -> list[Array]:
    """Q of each matrix. LAPACK sees a^T = L Q."""
    if not lapack.available():
        with numpy_blas.single:
            return [q * signs(np.diagonal(r)[:, None]).T for q, r in map(np.linalg.qr, matrices)]
    made = [(x, np.empty(x.shape[1], x.dtype)) for x in map(np.copy, matrices)]
    lapack.run([_on_columns("gelqf", x, tau) for x, tau in made])
    turns = [signs(np.diagonal(x)[:, None]).T for x, _ in made]
    lapack.run([_on_columns("orglq", x, tau) for x, tau in made])
    return [x * turn for (x, _), turn in zip(made, turns, strict=True)]


def _on_columns(name: str, x: Array, tau: Array) -> LapackCall:
    (m, n), size = x.shape, BLOCK * max(1, x.shape[1])
    sizes = (n, m) if name == "gelqf" else (n, m, n)
    return LapackCall(routine(name, x.dtype), m * n * n, *sizes, x, max(1, n), tau, Work(size, x.dtype), size)


def _each(
    found: Sequence[Member],
    start: Callable[[int, Array], tuple[LapackCall, Results]],
    by_numpy: Callable[[int, Array], Results],
    reason: str,
) -> list[Results]:
    """The results for each matrix. What fails in float32 is tried again in float64; if that fails, too, for `reason`, a
    FactorizationError says so.

    `start` takes the number of the matrix and the matrix, and gives a call and the arrays of its results.
    """
    if not lapack.available():
        with numpy_blas.single:
            return [_by_numpy(member, k, by_numpy, reason) for k, member in enumerate(found)]
    made = [start(k, member.matrix) for k, member in enumerate(found)]
    lapack.run([call for call, _ in made])
    return [
        results if call.status == 0 else _again(member, *start(k, member.matrix.astype(np.float64)), reason)
        for k, (member, (call, results)) in enumerate(zip(found, made, strict=True))
    ]


def _again(member: Member, call: LapackCall, results: Results, reason: str) -> Results:
    lapack.run([call])
    if call.status:
        raise member.error(reason)
    return tuple(x.astype(member.matrix.dtype) for x in results)


def _by_numpy(member: Member, k: int, by_numpy: Callable[[int, Array], Results], reason: str) -> Results:
    try:
        return by_numpy(k, member.matrix)
    except np.linalg.LinAlgError:
        raise member.error(reason) from None


# ---------------------------------------------------------------- scale and sign


def signs(rows: Array) -> Array:
    """1 or -1 for each row, (n, 1): the sign of its element with the largest absolute value, the first of several."""
    if not rows.size:
        return np.ones((len(rows), 1), rows.dtype)
    largest = np.take_along_axis(rows, abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.where(largest < 0, -1, 1).astype(rows.dtype)


def scaled(a: Array) -> tuple[Array, int]:
    """a * 2^-e, whose largest absolute value is in [1/2, 1), and e; 0 where all are 0. No sum of squares overflows."""
    _, e = np.frexp(abs(a).max(initial=0))
    return np.ldexp(a, -e), int(e)
