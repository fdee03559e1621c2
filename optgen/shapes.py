"""The matrices that a tensor is."""

from __future__ import annotations

import math
from collections.abc import Sequence


def matrix_view(shape: Sequence[int], last_two: bool = False) -> tuple[int, int, int]:
    """Matrices, rows and columns: one matrix of the first dimension by the product of the others, or as many as there
    are of the last two."""
    if last_two and len(shape) >= 2:
        return math.prod(shape[:-2]), shape[-2], shape[-1]
    return 1, (shape[0] if shape else 1), math.prod(shape[1:])


def sizes(shape: Sequence[int], last_two: bool = False) -> dict[str, int]:
    """The dimensions that a spec can read, by name."""
    matrices, rows, cols = matrix_view(shape, last_two)
    found = {"rank": len(shape), "size": math.prod(shape), "rows": rows, "cols": cols}
    return found | {"matrices": matrices if cols else 0}
