"""Which optimizers update vectors."""

from __future__ import annotations

import runtime as mx


def takes_vectors(name: str) -> bool:
    """Whether an optimizer updates tensors of any rank; some are for matrices alone."""
    try:
        mx.optimizer.create(name).cut_of(0, "float32", (3,))
    except ValueError:
        return False
    return True
