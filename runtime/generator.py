"""The generator all random numbers come from."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from runtime.context import Context


class _Generator:
    """NumPy's generator over Philox, which can be started anew; attributes are the generator's.

    Every call locks it, so that threads can share it: each draw is whole, and goes to whoever asks first. What a
    thread gets is therefore fixed by the seed only if the order of calls is.
    """

    def __init__(self) -> None:
        self.restart(0)  # as MXNet: a script that sets no seed gets the same numbers in each run

    def restart(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


generator = _Generator()


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Start the generator at `seed_state`, an integer: the same seed gives the same numbers from here on, whatever the
    number of threads that kernels use.

    All contexts of the CPU share one generator: `ctx` is 'all' or any of them.
    """
    if not isinstance(seed_state, numbers.Integral):
        raise ValueError(f"seed_state must be an int, not {seed_state!r}")
    if ctx != "all":
        Context(ctx).require()
    generator.restart(int(seed_state) & 0xFFFFFFFF)
