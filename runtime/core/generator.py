"""The generator all random numbers come from, and the masks of dropout."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from runtime.core import backend

THREADS_PER_BLOCK, MAX_BLOCKS = 256, 256
"""Threads of a block in CuPy's kernels of random numbers, and the number of blocks that keeps a GPU busy."""


class _Generator:
    """NumPy's generator over Philox, which can be started anew; attributes are the generator's.

    Every call locks it, so that threads can share it: each draw is whole, and goes to whoever asks first. What a
    thread gets is therefore fixed by the seed only if the order of calls is.
    """

    def __init__(self) -> None:
        self.restart(0)  # as MXNet: a script that sets no seed gets the same numbers in each run
        self._forking = threading.local()

    def restart(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def hold(self) -> None:
        """Before a fork: wait for a draw of another thread, and let none begin."""
        lock = self._generator.bit_generator.lock
        lock.acquire()
        self._forking.lock = lock

    def let_go(self) -> None:
        """After a fork, in either process."""
        self._forking.lock.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


generator = _Generator()


def dropout_mask(shape: tuple[int, ...], p: float, ctx: Any) -> Any:
    """Booleans of `shape` in `ctx`, each False with probability `p`.

    A GPU draws them itself, with CuPy's Philox, which a number of our generator starts for each call: the seed alone
    (or the state in a checkpoint) decides here too, but not as on the CPU. Drawn on the CPU and copied, as all other
    random numbers are, they would keep the GPU waiting in every forward pass.
    """
    n = math.prod(shape)
    if not ctx.on_cpu:
        # A state for each thread, of whole blocks, as CuPy's kernel runs. Its own number of them is large and depends
        # on the GPU, and so would the draws.
        threads = THREADS_PER_BLOCK * min(max(-(-n // THREADS_PER_BLOCK), 1), MAX_BLOCKS)
        with backend.device_scope(ctx):
            random = backend.xp_for(ctx).random
            draws = random.Generator(random.Philox4x3210(int(generator.integers(1 << 63)), size=threads))
            return draws.random(shape, np.float32) >= p
    words = generator.bit_generator.random_raw(-(-n // 2)).view(np.uint32)[:n]  # in half the time of floats
    return (words >= round(p * 2**32)).reshape(shape)
