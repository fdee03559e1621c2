"""Matrix products, on as many threads as pay.

Where other work keeps a core busy, a BLAS that hands part of a small product to a second thread waits for that core:
64x64 times 64x256, 40 us on one thread, was seen to take 3 ms on two. So small products stay on the calling thread.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

SMALL = 1 << 24
"""Below this many multiplications and additions (some 0.2 ms of one thread) a product runs on the calling thread."""


@functools.cache
def _libraries() -> list[Any]:
    """The BLAS that NumPy uses, of those that are loaded; all of them where the path does not tell."""
    loaded = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in loaded if "numpy" in library.filepath] or loaded


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices."""
    if 2 * a.shape[0] * a.shape[1] * b.shape[1] >= SMALL:
        return np.matmul(a, b)
    # Read each time: another thread may be in here as well, and whoever finds 1 has nothing to restore.
    before = [(library, library.get_num_threads()) for library in _libraries()]
    limited = [(library, threads) for library, threads in before if threads > 1]
    for library, _ in limited:
        library.set_num_threads(1)
    try:
        return np.matmul(a, b)
    finally:
        for library, threads in limited:
            library.set_num_threads(threads)
