"""Random numbers. Arrays, initializers and dropout draw from one generator, which `seed` starts."""

from __future__ import annotations

import numbers

from runtime.context import Context
from runtime.core.generator import generator
from runtime.ndarray.random.distributions import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "generator",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "shuffle",
    "uniform",
]


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Start the generator at `seed_state`, an integer: the same seed gives the same numbers from here on, whatever the
    number of threads that kernels use.

    All contexts share one generator: `ctx` is 'all' or any of them.
    """
    if not isinstance(seed_state, numbers.Integral):
        raise ValueError(f"seed_state must be an int, not {seed_state!r}")
    if ctx != "all":
        Context(ctx).require()
    generator.restart(int(seed_state) & 0xFFFFFFFF)
