"""Matrices for tests, and bounds on the errors of their products."""

from __future__ import annotations

import numpy as np

DTYPES = (np.float32, np.float64)
SIZES = (0, 1, 2, 7, 33, 129, 300)
SHAPES = [(m, SIZES[(3 * i + 2 * j) % 7], n) for i, m in enumerate(SIZES) for j, n in enumerate(SIZES)]
SHAPES += [(300, 17, 5), (17, 300, 1), (400, 3, 400), (193, 192, 385), (1, 1000, 1), (2, 5000, 3)]
"""(m, k, n) of products."""
rng = np.random.default_rng(0)


def operands(
    dtype: type, m: int, k: int, n: int, batch: tuple[int, ...] = (), ta: bool = False, tb: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """a and b as they are in memory, transposed if that is asked for."""
    a, b = rng.normal(size=(*batch, m, k)).astype(dtype), rng.normal(size=(*batch, k, n)).astype(dtype)
    return (turned(a) if ta else a), (turned(b) if tb else b)


def turned(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def op(x: np.ndarray, transpose: bool) -> np.ndarray:
    return (np.swapaxes(x, -1, -2) if transpose else x).astype(np.float64)


def assert_close(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Within the bound of any order of additions: k roundings of the sum of absolute products."""
    k = a.shape[-1]
    bound = (k + 2) * np.finfo(c.dtype).eps * (abs(a) @ abs(b)) + k * np.finfo(c.dtype).tiny
    assert (abs(c - a @ b) <= bound).all()
