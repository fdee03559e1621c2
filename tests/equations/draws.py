"""Random numbers: Philox4x32-10 as its authors have it (Salmon, Moraes, Dror, Shaw 2011), on uint64 of NumPy."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = 0x9E3779B9, 0xBB67AE85
NAMES = ("normal", "uniform", "rademacher")
"""The functions whose results are random."""
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_quantile = np.vectorize(NormalDist().inv_cdf, otypes=[float])


def philox(counter: tuple[Array, Array, Array, Array], key: tuple[int, int]) -> tuple[Array, ...]:
    """The four words of each counter."""
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) & LOW for c in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = M0 * c0, M1 * c2
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ np.uint64(k0), p1 & LOW, (p0 >> HALF) ^ c3 ^ np.uint64(k1), p0 & LOW
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    return c0, c1, c2, c3


def words(count: int, *, draw: int, parameter: int, t: int, seed: int) -> Array:
    """A word for each of so many elements: four neighbours share a counter."""
    groups = np.arange(-(-count // 4))
    same = np.zeros_like(groups)
    found = philox((groups, same, same + (parameter ^ draw << 20), same + t), (seed & 0xFFFFFFFF, seed >> 32))
    return np.stack(found, 1).reshape(-1)[:count]


def distribution(name: str, words: Array) -> Array:
    """The numbers that words of 32 bits stand for."""
    if name == "uniform":
        return (2.0 * (words >> np.uint64(9)) + 1) * 2.0**-24
    if name == "rademacher":
        return np.where(words >> np.uint64(31), -1.0, 1.0)
    return np.asarray(_quantile((words + 0.5) * 2.0**-32), float)
