"""Lists of arrays as lists of matrices, for factorizations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.linalg.errors import FactorizationError
from optgen.linalg.matrices import Matrices, check, result

Outputs = Sequence[Matrices] | None
"""Where results are written; None for new arrays."""


@dataclass(frozen=True)
class Member:
    """A matrix of a stack, which is an array of a list."""

    operation: str
    matrix: np.ndarray[Any, Any]
    """(rows, columns), finite"""
    item: int
    index: tuple[int, ...]

    def error(self, reason: str) -> FactorizationError:
        return FactorizationError(self.operation, self.matrix.shape, reason, self.item, self.index)

    def of(self, arrays: Sequence[Matrices]) -> np.ndarray[Any, Any]:
        """The matrix at the same place of other arrays."""
        found: np.ndarray[Any, Any] = arrays[self.item][self.index]
        return found


def members(operation: str, arrays: Sequence[Matrices], *, square: bool = False) -> list[Member]:
    """All matrices of a list. ValueError where they are to be square and are not, FactorizationError for one that is
    not finite."""
    for a in arrays:
        check("the matrix", a)
        if square and a.shape[-1] != a.shape[-2]:
            raise ValueError(f"{operation} takes square matrices, not shape {a.shape}")
    found = [Member(operation, a[at], k, at) for k, a in enumerate(arrays) for at in np.ndindex(a.shape[:-2])]
    for member in found:
        if not np.isfinite(member.matrix).all():
            raise member.error("has a NaN or an infinity")
    return found


def outputs(out: Outputs, arrays: Sequence[Matrices], shape: Callable[[int, int], tuple[int, ...]]) -> list[Matrices]:
    """`out`, checked, or new arrays: for matrices of (m, n), results of `shape(m, n)`. They are written when everything
    has been read, so they may be the arrays themselves.

    ValueError where `out` has another length, or an array of another shape or dtype.
    """
    if out is not None and len(out) != len(arrays):
        raise ValueError(f"out has {len(out)} arrays for the results of {len(arrays)}")
    return [
        result(None if out is None else out[k], (*a.shape[:-2], *shape(*a.shape[-2:])), a.dtype)
        for k, a in enumerate(arrays)
    ]
