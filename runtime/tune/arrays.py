"""Constants of arrays: from which size on threads compute them, and what of them is one task."""

from __future__ import annotations

import numpy as np

from optgen.tune.case import Case
from runtime import ndarray as nd


def min_threaded_elements() -> list[Case]:
    """Sums of arrays of sizes around that one."""
    return [_addition(n) for n in (1 << 16, 1 << 17, 1 << 18, 1 << 19)]


def elements_per_task() -> list[Case]:
    """Sums and hyperbolic tangents of large arrays."""
    x = nd.array(np.linspace(-1, 1, 1 << 20, dtype=np.float32))
    return [_addition(1 << 19), _addition(1 << 22), Case(lambda: nd.tanh(x))]


def _addition(n: int) -> Case:
    x = nd.ones((n,))
    return Case(lambda: x + x)
