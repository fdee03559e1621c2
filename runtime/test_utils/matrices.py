"""Matrices with known properties."""

from __future__ import annotations

import math

import numpy as np

from runtime import ndarray as nd
from runtime.ndarray import NDArray


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix of `size` rows."""
    return nd.eye(size)


def get_identity_mat_batch(size: int) -> NDArray:
    """Two of them, (2, size, size)."""
    return nd.stack(nd.eye(size), nd.eye(size))


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random matrix whose rows are orthonormal."""
    return np.linalg.qr(np.random.randn(n, n))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix with eigenvalues in [-10, 10)."""
    q = new_orthonormal_matrix_2d(n)
    return (q.T * np.random.uniform(-10, 10, n)) @ q


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix with eigenvalues in [-10, 10) and eigenvectors that are nearly orthogonal."""
    vectors = new_orthonormal_matrix_2d(n) * np.random.uniform(0.5, 1, n)
    return np.linalg.inv(vectors) * np.random.uniform(-10, 10, n) @ vectors


def new_sym_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """`new_sym_matrix_with_real_eigvals_2d` for each of the leading axes."""
    return np.array([new_sym_matrix_with_real_eigvals_2d(shape[-1]) for _ in range(math.prod(shape[:-2]))]).reshape(
        shape
    )


def new_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> np.ndarray:
    """`new_matrix_with_real_eigvals_2d` for each of the leading axes."""
    return np.array([new_matrix_with_real_eigvals_2d(shape[-1]) for _ in range(math.prod(shape[:-2]))]).reshape(shape)
