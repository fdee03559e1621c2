"""Factorizations beside NumPy's in float64, and what defines them: awkward sizes, stacks, scales, deficient ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import linalg
from optgen.linalg import lapack
from optgen.loops import numpy_blas
from tests.linalg.matrices import DTYPES

SIZES = (0, 1, 2, 7, 33, 129)
SHAPES = [(n, n) for n in SIZES] + [(300, 17), (17, 3), (5, 1), (4, 0)]
rng = np.random.default_rng(2)
Function = Callable[..., Any]


@pytest.fixture(params=["lapack", "numpy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With LAPACK, and where it is not to be found."""
    if request.param == "numpy":
        monkeypatch.setattr(lapack, "available", lambda: False)


def normal(dtype: type, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(dtype)


def symmetric(dtype: type, n: int, rank: int | None = None) -> np.ndarray:
    x = rng.normal(size=(n, n if rank is None else rank))
    return (x @ x.T).astype(dtype)


def stack(x: np.ndarray, *batch: int) -> np.ndarray:
    """Copies of a matrix, each times a power of 2."""
    powers = 2.0 ** np.arange(np.prod(batch)).reshape(*batch, 1, 1)
    return (x * powers).astype(x.dtype)


def unit(dtype: type, n: int) -> float:
    """What an element of a factorization of n columns may be wrong by, if the matrix has norm 1."""
    return float(10 * max(n, 4) * np.finfo(dtype).eps)


def transposed(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


# ------------------------------------------------------------ eigenvalues


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_and_vectors(dtype: type, either: None) -> None:
    arrays = [symmetric(dtype, n) for n in SIZES] + [
        np.stack([symmetric(dtype, 9) for _ in range(4)]).reshape(2, 2, 9, 9)
    ]
    arrays += [np.zeros((0, 3, 3), dtype), symmetric(dtype, 20, rank=3)]
    values, vectors = linalg.eigh(arrays)
    for a, w, v in zip(arrays, values, vectors, strict=True):
        n = a.shape[-1]
        scale = abs(w).max(initial=0) + 1e-30
        assert w.shape == a.shape[:-1] and v.shape == a.shape and w.dtype == v.dtype == dtype
        assert (abs(w - np.linalg.eigvalsh(a.astype(float))) <= unit(dtype, n) * scale).all()
        assert (abs(a.astype(float) @ v - v * w[..., None, :].astype(float)) <= unit(dtype, n) * scale).all()
        assert (abs(transposed(v) @ v - np.eye(n)) <= unit(dtype, n)).all()
        if n:
            largest = np.take_along_axis(v, abs(v).argmax(axis=-2)[..., None, :], axis=-2)
            assert (largest > 0).all()
    assert_lists_equal(linalg.eigenvectors(arrays), vectors)
    left, _, right = linalg.svd(arrays)
    assert_lists_equal(linalg.left_singular_vectors(arrays), left)
    assert_lists_equal(linalg.right_singular_vectors(arrays), right)
    for w, same in zip(linalg.eigenvalues(arrays), values, strict=True):
        np.testing.assert_allclose(w, same, atol=unit(dtype, 129) * abs(same).max(initial=0))


def test_what_is_above_the_diagonal_is_not_read(either: None) -> None:
    a = symmetric(float, 12)
    wrong = np.tril(a) + np.triu(normal(float, 12, 12), 1)
    for function in (linalg.eigenvectors, linalg.eigenvalues, lambda x: linalg.inverse_root(x, 2)):
        assert_lists_equal(function([a]), function([wrong]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_vectors_and_values(dtype: type, either: None) -> None:
    arrays = [normal(dtype, *shape) for shape in [*SHAPES, (17, 300), (0, 4)]] + [normal(dtype, 3, 8, 5)]
    arrays += [normal(dtype, 30, 4) @ normal(dtype, 4, 20)]
    us, ss, vs = linalg.svd(arrays)
    for a, u, s, v in zip(arrays, us, ss, vs, strict=True):
        (m, n), r, scale = a.shape[-2:], min(a.shape[-2:]), abs(s).max(initial=0) + 1e-30
        assert u.shape[-2:] == (m, r) and v.shape[-2:] == (n, r) and s.shape[-1:] == (r,)
        assert (s >= 0).all() and (np.diff(s) <= 0).all()
        assert (abs((u * s[..., None, :]) @ transposed(v) - a) <= unit(dtype, r) * scale).all()
        for x in (u, v):
            assert (abs(transposed(x) @ x - np.eye(r)) <= unit(dtype, r)).all()
        if m and n:
            assert (np.take_along_axis(u, abs(u).argmax(axis=-2)[..., None, :], axis=-2) > 0).all()
    for s, same in zip(linalg.singular_values(arrays), ss, strict=True):
        np.testing.assert_allclose(s, same, atol=unit(dtype, 129) * abs(same).max(initial=0))


# ------------------------------------------------------------ QR, LU


@pytest.mark.parametrize("scale", [1, 1e30, 1e-30])
@pytest.mark.parametrize("dtype", DTYPES)
def test_orthonormal(dtype: type, scale: float, either: None) -> None:
    arrays = [(normal(dtype, *shape) * scale).astype(dtype) for shape in [*SHAPES, (2, 40, 30)]]
    for a, q in zip(arrays, linalg.orthonormal(arrays), strict=True):
        n = a.shape[-1]
        wide = a.astype(float) / scale
        assert (abs(transposed(q) @ q - np.eye(n)) <= unit(dtype, n)).all()
        r = transposed(q.astype(float)) @ wide
        assert (np.diagonal(r, axis1=-2, axis2=-1) > 0).all()
        assert (abs(np.tril(r, -1)) <= unit(dtype, n) * np.sqrt(a.shape[-2])).all()


def test_orthonormal_of_dependent_columns(either: None) -> None:
    a = normal(float, 20, 3) @ normal(float, 3, 8)
    for x in (a, np.zeros((6, 4)), np.ones((5, 5))):
        [q] = linalg.orthonormal([x])
        np.testing.assert_allclose(q.T @ q, np.eye(x.shape[1]), atol=1e-13)
        np.testing.assert_allclose(q @ (q.T @ x), x, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype: type, either: None) -> None:
    arrays = [normal(dtype, n, n) + 3 * np.sqrt(n).astype(dtype) * np.eye(n, dtype=dtype) for n in SIZES]
    arrays += [normal(dtype, 2, 6, 6)]
    right = [normal(dtype, *a.shape[:-1], k) for k, a in zip((3, 1, 0, 9, 2, 1, 4), arrays, strict=True)]
    for a, b, x in zip(arrays, right, linalg.solve(arrays, right), strict=True):
        assert x.shape == b.shape and x.dtype == dtype
        np.testing.assert_allclose(
            a.astype(float) @ x, b, atol=100 * unit(dtype, a.shape[-1]) * (1 + abs(x).max(initial=0))
        )


# ------------------------------------------------------------ roots


@pytest.mark.parametrize("p", [1, 2, 4, 2.5])
@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30])
@pytest.mark.parametrize("dtype", DTYPES)
def test_inverse_roots_are_as_defined(dtype: type, scale: float, p: float, either: None) -> None:
    arrays = [(symmetric(dtype, n) + np.eye(n, dtype=dtype)) * dtype(scale) for n in SIZES]
    for a, x in zip(arrays, linalg.inverse_root(arrays, p), strict=True):
        assert x.tobytes() == x.T.tobytes() and x.dtype == dtype
        w, v = np.linalg.eigh(a.astype(float))
        expected = (v * w ** (-1 / p)) @ v.T
        # An eigenvalue is wrong by a part of the largest one.
        wrong = unit(dtype, len(a)) * (w.max(initial=0) / w.min(initial=w.max(initial=1)))
        assert (abs(x - expected) <= wrong * abs(expected).max(initial=0)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverse_roots_of_deficient_matrices_are_finite(dtype: type) -> None:
    eps = float(np.finfo(dtype).eps)
    for a in (
        symmetric(dtype, 30, rank=4),
        -np.eye(5, dtype=dtype) * eps,
        np.zeros((4, 4), dtype),
        np.ones((9, 9), dtype),
    ):
        for p in (1, 2, 4):
            [x] = linalg.inverse_root([a], p)
            assert np.isfinite(x).all() and (np.linalg.eigvalsh(x.astype(float)) > 0).all()
            largest = max(np.linalg.eigvalsh(a.astype(float)).max(), 0)
            most = max(8 * eps * largest, float(np.finfo(dtype).tiny)) ** (-1 / p)
            assert np.linalg.norm(x.astype(float), 2) == pytest.approx(most, rel=1e-2)


def test_the_inverse_root_of_a_diagonal() -> None:
    [x] = linalg.inverse_root([np.diag([16.0, 81.0, 1.0])], 4)
    np.testing.assert_allclose(x, np.diag([0.5, 1 / 3, 1]), rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_numbers(dtype: type) -> None:
    """Eigenvalues that the dtype does not hold."""
    big = np.full((8, 8), np.finfo(dtype).max, dtype)
    [x] = linalg.inverse_root([big], 2)
    [q] = linalg.orthonormal([big])
    assert np.isfinite(x).all() and np.isfinite(q).all()


# ------------------------------------------------------------ threads, errors

FACTORIZATIONS: dict[str, Function] = {
    "eigenvalues": linalg.eigenvalues,
    "eigenvectors": linalg.eigenvectors,
    "inverse_root": lambda arrays, out=None: linalg.inverse_root(arrays, 4, out),
    "orthonormal": linalg.orthonormal,
    "singular_values": linalg.singular_values,
    "solve": lambda arrays, out=None: linalg.solve(arrays, [np.ones_like(a) for a in arrays], out),
}
every = pytest.mark.parametrize("name", FACTORIZATIONS)


def assert_lists_equal(x: list[np.ndarray], y: list[np.ndarray]) -> None:
    assert [a.tobytes() for a in x] == [a.tobytes() for a in y]


@every
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bits_do_not_depend_on_threads(name: str, dtype: type) -> None:
    arrays = [symmetric(dtype, n) for n in (150, 33, 70)] + [np.stack([symmetric(dtype, 40)] * 5)]
    found = []
    for n in (1, 2, 3):
        optgen.set_num_threads(n)
        found.append(FACTORIZATIONS[name](arrays))
        assert len({x.tobytes() for x in found[-1][3]}) == 1
    assert_lists_equal(found[0], found[1])
    assert_lists_equal(found[0], found[2])


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_an_error_and_nothing_is_written(name: str, bad: float) -> None:
    arrays = [symmetric(float, 5), np.stack([symmetric(float, 7)] * 6).reshape(2, 3, 7, 7)]
    out = [np.full_like(x, 42.0) for x in FACTORIZATIONS[name](arrays)]
    arrays[1][1, 2, 4, 3] = bad
    text = rf"^{name}: the matrix of shape \(7, 7\), \[1, 2\] of its array, has a NaN or an infinity$"
    with pytest.raises(linalg.FactorizationError, match=text) as error:
        FACTORIZATIONS[name](arrays, out=out)
    assert (error.value.operation, error.value.item, error.value.index) == (name, 1, (1, 2))
    assert all((x == 42.0).all() for x in out)


@every
def test_results_go_where_they_are_wanted(name: str) -> None:
    arrays = [symmetric(float, 5), symmetric(float, 3)[None]]
    expected = FACTORIZATIONS[name](arrays)
    out = [np.full_like(x, np.nan) for x in expected]
    assert [a is b for a, b in zip(FACTORIZATIONS[name](arrays, out=out), out, strict=True)] == [True, True]
    assert_lists_equal(out, expected)
    with pytest.raises(ValueError, match="out has 1 arrays for the results of 2"):
        FACTORIZATIONS[name](arrays, out=out[:1])
    with pytest.raises(ValueError, match=r"out must be float64 of shape"):
        FACTORIZATIONS[name](arrays, out=[np.zeros((9, 9)), out[1]])


def test_a_singular_matrix(either: None) -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    for dtype in DTYPES:
        arrays = [np.eye(2, dtype=dtype), singular.astype(dtype)]
        with pytest.raises(linalg.FactorizationError, match=r"^solve: the matrix of shape \(2, 2\) is singular$") as e:
            linalg.solve(arrays, arrays)
        assert (e.value.item, e.value.index) == (1, ())


def failing(monkeypatch: pytest.MonkeyPatch, dtypes: tuple[str, ...]) -> None:
    """LAPACK reports that it did not converge, for some element types."""
    run = lapack.run
    prefixes = {numpy_blas.find(f"{letter}{name}_") for letter in dtypes for name in ("syevd", "gesdd")}
    addresses = {found.address for found in prefixes if found}

    def run_and_fail(calls: list[lapack.LapackCall]) -> None:
        run(calls)
        for call in calls:
            if call.words[0] in addresses:
                call._integers[-1] = 3

    monkeypatch.setattr(lapack, "run", run_and_fail)


def test_what_does_not_converge_is_tried_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    a = symmetric(np.float32, 20)
    expected = [x.astype(np.float32) for x in linalg.eigenvectors([a.astype(float)])]
    failing(monkeypatch, ("s",))
    assert_lists_equal(linalg.eigenvectors([a]), expected)
    failing(monkeypatch, ("s", "d"))
    for name, what in (("eigenvectors", "eigenvalues"), ("inverse_root", "eigenvalues"), ("singular_values",) * 2):
        message = f"^{name}: the matrix of shape .* has {what.replace('_', ' ')} that did not converge$"
        with pytest.raises(linalg.FactorizationError, match=message):
            FACTORIZATIONS[name]([a])


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"eigenvalues takes square matrices, not shape \(2, 3\)", lambda: linalg.eigenvalues([np.ones((2, 3))])),
        ("orthonormal takes no more columns than rows", lambda: linalg.orthonormal([np.ones((2, 3))])),
        ("inverse_root takes a positive p, not 0", lambda: linalg.inverse_root([np.eye(2)], 0)),
        ("inverse_root takes a positive p, not nan", lambda: linalg.inverse_root([np.eye(2)], np.nan)),
        (r"a of float64 and shape .* does not fit b", lambda: linalg.solve([np.eye(2)], [np.ones((3, 1))])),
        ("the matrix must have two dimensions", lambda: linalg.eigenvalues([np.ones(3)])),
    ],
)
def test_bad_arguments(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_missing_routine_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"has no snone_; np\.show_config"):
        lapack.routine("none", np.dtype(np.float32))
