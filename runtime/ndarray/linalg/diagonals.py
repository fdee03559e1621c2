"""Diagonals and triangles of matrices: taken out, and put into zeros. Each is the other's gradient."""

from __future__ import annotations

import functools

import numpy as np

from runtime.base import MXNetError, count
from runtime.core.backend import array_module, to_device_of
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator
from runtime.ndarray.shape.reshape import axes_of


def check_matrix(name: str, A: NDArray, square: bool = True) -> None:
    if not isinstance(A, NDArray):
        raise TypeError(f"{name}: the matrix must be an NDArray, not {type(A).__name__}")
    if A._data.dtype.char not in "fd":
        raise MXNetError(f"{name}: only float32 and float64 matrices are supported, not {A._data.dtype}")
    if A.ndim < 2:
        raise MXNetError(f"{name}: a matrix or a stack of them is needed, not an array of shape {A.shape}")
    if square and A.shape[-1] != A.shape[-2]:
        raise MXNetError(f"{name}: square matrices are needed, not an array of shape {A.shape}")


# ---------------------------------------------------------------- diagonals


@Operator
def _diagonal(x: np.ndarray, *, offset: int, axes: tuple[int, int]) -> np.ndarray:
    return np.diagonal(x, offset, *axes).copy()


@Operator
def _undiagonal(g: np.ndarray, *, offset: int, axes: tuple[int, int], shape: tuple[int, ...]) -> np.ndarray:
    """Zeros of `shape` with `g` on the diagonal."""
    xp = array_module(g)
    x = xp.zeros(shape, g.dtype)
    view = np.moveaxis(x, axes, (-2, -1))
    rows = xp.arange(g.shape[-1]) + (-offset if offset < 0 else 0)
    view[..., rows, rows + offset] = g
    return x


@_diagonal.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, offset: int, axes: tuple[int, int]) -> NDArray:
    return _undiagonal(g, offset=offset, axes=axes, shape=x.shape)


@_undiagonal.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, offset: int, axes: tuple[int, int], shape: tuple[int, ...]) -> NDArray:
    return _diagonal(g, offset=offset, axes=axes)


def diag(data: NDArray, k: int = 0, axis1: int = 0, axis2: int = 1) -> NDArray:
    """The diagonal of the matrices on `axis1` and `axis2`, as the last axis; of a vector, the matrix with it.

    `k` is the diagonal: 0 the main one, above it positive, below it negative.
    """
    k = count("diag: k", k, None)
    if data.ndim == 1:
        n = data.shape[0] + (k if k > 0 else -k)
        return _undiagonal(data, offset=k, axes=(0, 1), shape=(n, n))
    axes = axes_of("diag", data.shape, (axis1, axis2))
    _check_diagonal("diag", k, *(data.shape[a] for a in axes))
    return _diagonal(data, offset=k, axes=axes)


def _check_diagonal(name: str, offset: int, rows: int, columns: int) -> None:
    if not -rows < offset < columns:
        raise MXNetError(f"{name}: a matrix of {rows} rows and {columns} columns has no diagonal {offset}")


def linalg_extractdiag(A: NDArray, offset: int = 0) -> NDArray:
    """The diagonal of each matrix, (..., n); `offset` as `k` in `diag`."""
    check_matrix("linalg_extractdiag", A)
    offset = count("linalg_extractdiag: offset", offset, None)
    _check_diagonal("linalg_extractdiag", offset, *A.shape[-2:])
    return _diagonal(A, offset=offset, axes=(A.ndim - 2, A.ndim - 1))


def linalg_makediag(A: NDArray, offset: int = 0) -> NDArray:
    """The square matrices, 0 elsewhere, that have `A`, (..., n), as diagonal; `offset` as `k` in `diag`."""
    offset = count("linalg_makediag: offset", offset, None)
    n = A.shape[-1] + (offset if offset > 0 else -offset)
    return _undiagonal(A, offset=offset, axes=(A.ndim - 1, A.ndim), shape=(*A.shape[:-1], n, n))


# ---------------------------------------------------------------- triangles


@functools.lru_cache(256)
def _triangle_indices(n: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a triangle of an n by n matrix: the lower one row by row, the upper one column by column."""
    if offset < 0 or (offset == 0 and lower):
        return np.tril_indices(n, offset)
    columns, rows = np.tril_indices(n, -offset)
    return rows, columns


@Operator
def _extracttrian(A: np.ndarray, *, offset: int, lower: bool) -> np.ndarray:
    rows, columns = (to_device_of(A, i) for i in _triangle_indices(A.shape[-1], offset, lower))
    return A[..., rows, columns].copy()


@Operator
def _maketrian(x: np.ndarray, *, offset: int, lower: bool, n: int) -> np.ndarray:
    A = array_module(x).zeros((*x.shape[:-1], n, n), x.dtype)
    rows, columns = (to_device_of(x, i) for i in _triangle_indices(n, offset, lower))
    A[..., rows, columns] = x
    return A


@_extracttrian.gradient
def _(g: NDArray, y: NDArray, A: NDArray, *, offset: int, lower: bool) -> NDArray:
    return _maketrian(g, offset=offset, lower=lower, n=A.shape[-1])


@_maketrian.gradient
def _(g: NDArray, y: NDArray, x: NDArray, *, offset: int, lower: bool, n: int) -> NDArray:
    return _extracttrian(g, offset=offset, lower=lower)


def linalg_extracttrian(A: NDArray, offset: int = 0, lower: bool = True) -> NDArray:
    """The elements of a triangle of each matrix, (..., k): the lower one row by row, the upper one column by column.

    It starts at the diagonal `offset`: above the main one it is an upper triangle, below it a lower one, and `lower`
    says which one for 0.
    """
    check_matrix("linalg_extracttrian", A)
    offset = count("linalg_extracttrian: offset", offset, None)
    _check_diagonal("linalg_extracttrian", offset, *A.shape[-2:])
    return _extracttrian(A, offset=offset, lower=bool(lower))


def linalg_maketrian(A: NDArray, offset: int = 0, lower: bool = True) -> NDArray:
    """The square matrices, 0 elsewhere, of which `A`, (..., k), has the elements of a triangle; see `extracttrian`."""
    offset = count("linalg_maketrian: offset", offset, None)
    k = A.shape[-1]
    m = int(((8 * k + 1) ** 0.5 - 1) / 2 + 0.5)
    if m * (m + 1) // 2 != k:
        raise MXNetError(f"linalg_maketrian: no triangle has {k} elements, as the last axis of {A.shape} does")
    return _maketrian(A, offset=offset, lower=bool(lower), n=m + (offset if offset > 0 else -offset))
