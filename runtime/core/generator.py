"""The generator of all random numbers, and masks of dropout."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from runtime.core import backend

THREADS_PER_BLOCK, MAX_BLOCKS = 256, 256
"""Threads per block in CuPy's random kernels, and the most blocks that are used: enough to keep a GPU busy."""


_REENTRANT = type(threading.RLock())


class _Generator:
    """NumPy's generator over Philox, which can be started anew. Its other attributes are those of NumPy's generator.

    Each draw locks it, so threads can share it. What a thread draws is fixed by the seed only if the order of the
    threads' draws is fixed.
    """

    def __init__(self) -> None:
        self.restart(0)  # as MXNet: a script that sets no seed gets the same numbers in each run
        self._forking = threading.local()

    def restart(self, seed: int) -> None:
        bits = np.random.Philox(seed)
        self._generator = np.random.Generator(bits)
        self.draws_locked = bits if isinstance(bits.lock, _REENTRANT) else np.random.Philox(seed)
        """What draws for the generator while its lock is held: itself, unless NumPy, an older one, locks only once."""

    def hold(self) -> None:
        """Before a fork: wait for the draw of another thread to end, and let none begin."""
        lock = self._generator.bit_generator.lock
        lock.acquire()
        self._forking.lock = lock

    def let_go(self) -> None:
        """After a fork, in both processes: allow draws again."""
        self._forking.lock.release()

    @contextmanager
    def replayed(self, state: Any) -> Iterator[None]:
        """`with generator.replayed(state):` the draws inside are those that came after `bit_generator.state` was
        `state`; None changes nothing. Outside, the draws go on where they were."""
        if state is None:
            yield
            return
        now, self.bit_generator.state = self.bit_generator.state, state
        try:
            yield
        finally:
            self.bit_generator.state = now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


generator = _Generator()


def take_words(count: int) -> np.ndarray:
    """Draw `count` words of 64 bits, to be computed by `native.philox`: the generator goes on behind them.

    (25,), int64: the four words of the counter, the keys of the 10 rounds, two each, and how many of the words that
    the counter stands for were drawn before.
    """
    bits = generator.bit_generator
    with bits.lock:
        state = bits.state
        counter, taken = state["state"]["counter"], state["buffer_pos"]
        keys = state["state"]["key"] + _KEYS
        found = np.concatenate([counter, keys.reshape(-1), np.array([taken], np.uint64)]).view(np.int64)
        blocks, last = divmod(taken + count - 1, WORDS_PER_COUNT)
        if blocks:  # to the block before the last one, which the generator then draws from
            counter[0] += blocks - 1
            state |= {"buffer_pos": WORDS_PER_COUNT}
            count = last + 1
        own = generator.draws_locked
        own.state = state
        own.random_raw(count, output=False)
        if own is not bits:
            bits.state = own.state
    return found


WORDS_PER_COUNT = 4
"""The words that Philox makes of each number of its counter."""
_KEYS = np.arange(10, dtype=np.uint64)[:, None] * np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], np.uint64)
"""What Philox adds to its key in each round."""


def dropout_mask(shape: tuple[int, ...], p: float, ctx: Any) -> Any:
    """Booleans of `shape` in `ctx`, each False with probability `p`.

    On a GPU they are drawn by CuPy's Philox, seeded for each call with a number of `generator`. So the seed, or the
    state in a checkpoint, decides there too, but gives other masks than on the CPU. All other random numbers are drawn
    on the CPU and copied; masks would make the GPU wait in each forward pass.
    """
    n = math.prod(shape)
    if not ctx.on_cpu:
        # One state per thread, in whole blocks, as CuPy's kernel runs them. CuPy's default number of states depends on
        # the GPU, and the draws would too.
        threads = THREADS_PER_BLOCK * min(max(-(-n // THREADS_PER_BLOCK), 1), MAX_BLOCKS)
        with backend.device_scope(ctx):
            random = backend.xp_for(ctx).random
            draws = random.Generator(random.Philox4x3210(int(generator.integers(1 << 63)), size=threads))
            return draws.random(shape, np.float32) >= p
    words = generator.bit_generator.random_raw(-(-n // 2)).view(np.uint32)[:n]  # in half the time of floats
    return (words >= round(p * 2**32)).reshape(shape)
