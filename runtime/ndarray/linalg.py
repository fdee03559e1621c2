"""Products of matrices."""

from __future__ import annotations

import numpy as np

from runtime.base import MXNetError
from runtime.blas import matmul
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator, in_float32

__all__ = ["dot"]
METHODS = ("dot",)


@Operator
@in_float32
def _matmul(a: np.ndarray, b: np.ndarray, *, ta: bool = False, tb: bool = False) -> np.ndarray:
    return matmul(a.T if ta else a, b.T if tb else b)


@_matmul.gradient
def _(g: NDArray, y: NDArray, a: NDArray, b: NDArray, *, ta: bool = False, tb: bool = False) -> NDArray:
    return _matmul(b, g, ta=tb, tb=True) if ta else _matmul(g, b, tb=not tb)


@_matmul.gradient
def _(g: NDArray, y: NDArray, a: NDArray, b: NDArray, *, ta: bool = False, tb: bool = False) -> NDArray:
    return _matmul(g, a, ta=True, tb=ta) if tb else _matmul(a, g, ta=not ta)


def dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False) -> NDArray:
    """The matrix product; of other arrays, the product over the last axis of `lhs` and the first of `rhs`.

    Transposed, over the first of `lhs`, or the last of `rhs`.
    """
    if lhs._data.dtype != rhs._data.dtype:
        raise MXNetError(f"dot: types differ, {lhs._data.dtype} and {rhs._data.dtype}; convert one with astype()")
    # A vector is its own transpose; any array is a matrix of the axis summed over and the rest.
    ta, tb = transpose_a and lhs.ndim > 1, transpose_b and rhs.ndim > 1
    left, m = (lhs.shape[1:], lhs.shape[0]) if ta else (lhs.shape[:-1], lhs.shape[-1])
    right, n = (rhs.shape[:-1], rhs.shape[-1]) if tb else (rhs.shape[1:], rhs.shape[0])
    if m != n:
        a, b = (f"{x.shape}{'^T' * t}" for x, t in ((lhs, transpose_a), (rhs, transpose_b)))
        raise MXNetError(f"dot: shapes {a} and {b} do not fit: {m} against {n}")
    a = lhs.reshape((m, -1) if ta else (-1, m))
    b = rhs.reshape((-1, m) if tb else (m, -1))
    return _matmul(a, b, ta=ta, tb=tb).reshape((*left, *right) or (1,))


@Operator
@in_float32
def _linear(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`x w^T + b`, the bias added in place."""
    y = matmul(x, w.T)
    y += b
    return y


@_linear.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, b: NDArray) -> NDArray:
    return _matmul(g, w)


@_linear.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, b: NDArray) -> NDArray:
    return _matmul(g, x, ta=True)


@_linear.gradient
def _(g: NDArray, y: NDArray, x: NDArray, w: NDArray, b: NDArray) -> NDArray:
    return g.sum(axis=0)
