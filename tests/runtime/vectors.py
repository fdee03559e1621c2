"""Which parameters optimizers take."""

from __future__ import annotations

import runtime as mx


def takes_vectors(name: str) -> bool:
    """Whether an optimizer updates tensors of any rank; some are for matrices alone."""
    try:
        mx.optimizer.create(name).cut_of(0, "float32", (3,))
    except ValueError:
        return False
    return True


def for_small_matrices(name: str) -> dict[str, int]:
    """Arguments with which an optimizer takes small matrices: some keep fewer dimensions of them by default."""
    return {"r": 4} if name in ("apollo", "dion", "galore") else {}
