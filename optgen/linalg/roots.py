"""Inverse roots of symmetric positive semi-definite matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optgen.linalg.factorizations import Array, eigen, scaled
from optgen.linalg.matrices import Matrices
from optgen.linalg.products import product
from optgen.linalg.stacks import Outputs, members, outputs


def inverse_root(arrays: Sequence[Matrices], p: float, out: Outputs = None) -> list[Matrices]:
    """a^(-1/p) of symmetric positive semi-definite matrices, (..., n, n): the sum of f(l) v v^T over all eigenvalues l
    and eigenvectors v of a, where f(l) = max(l, e, t)^(-1/p). e is 8 u L, where L is the largest eigenvalue and u the
    distance from 1 to the next number; t is the smallest normal number.

    Eigenvalues below e, and negative ones, are rounding errors of larger ones. Those of a matrix of zeros count as t.
    So the result is finite for p >= 1. It is symmetric to the bit. What is above the diagonal is not read.

    ValueError unless p is positive and finite; FactorizationError as for `eigenvectors`.
    """
    if not 0 < p < np.inf:
        raise ValueError(f"inverse_root takes a positive p, not {p}")
    found = members("inverse_root", arrays, square=True)
    to = outputs(out, arrays, lambda m, n: (n, n))
    small = [scaled(member.matrix) for member in found]
    results = eigen([replace(member, matrix=a) for member, (a, _) in zip(found, small, strict=True)])
    for member, (values, rows), (_, e) in zip(found, results, small, strict=True):
        half = rows * _roots(values, 2 * p, e)[:, None]
        product(half, half, member.of(to), transpose_a=True, symmetric=True)
    return to


def _roots(values: Array, p: float, e: int) -> Array:
    """max(l, e, t)^(-1/p) for l = values * 2^e."""
    info = np.finfo(values.dtype)
    wide = values.astype(np.float64)
    least = max(8 * float(info.eps) * wide.max(initial=0), np.ldexp(float(info.tiny), -e))
    with np.errstate(over="ignore"):
        roots: Array = (np.maximum(wide, least) ** (-1 / p) * 2.0 ** (-e / p)).astype(values.dtype)
    return roots
