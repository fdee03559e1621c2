"""Random arrays, and whether arrays have the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from optgen.execute.buffers import numpy_dtype

Array = np.ndarray[Any, Any]


def random(*shapes: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(shape)).astype(numpy_dtype(dtype)) for shape in shapes]


def copies(arrays: Iterable[Any]) -> list[Array]:
    return [a.copy() for a in arrays]


def same(a: Iterable[Array], b: Iterable[Array]) -> bool:
    """The same bytes in the same shapes."""
    return all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))
