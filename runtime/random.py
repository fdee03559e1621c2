"""Random numbers: one generator for arrays, initializers and dropout, so that `seed` alone decides what they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.context import Context
from runtime.dtypes import convert, element_type
from runtime.ndarray.creation import Shape, place
from runtime.ndarray.ndarray import NDArray


class _Generator:
    """NumPy's generator over Philox, which can be started anew; attributes are the generator's."""

    def __init__(self) -> None:
        self.restart(None)

    def restart(self, seed: int | None) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


generator = _Generator()


def seed(seed_state: int) -> None:
    """Start the generator at `seed_state`, an integer: the same seed gives the same numbers from here on."""
    generator.restart(int(seed_state) & 0xFFFFFFFF)


def uniform(
    low: float = 0.0, high: float = 1.0, shape: Shape = (1,), dtype: Any = None, ctx: Context | None = None
) -> NDArray:
    """Numbers evenly distributed in [low, high)."""
    return _placed(low + (high - low) * generator.random(shape), dtype, ctx)


def normal(
    loc: float = 0.0, scale: float = 1.0, shape: Shape = (1,), dtype: Any = None, ctx: Context | None = None
) -> NDArray:
    """Normally distributed numbers with mean `loc` and standard deviation `scale`."""
    return _placed(loc + scale * generator.standard_normal(shape), dtype, ctx)


def _placed(drawn: np.ndarray, dtype: Any, ctx: Context | None) -> NDArray:
    return place(convert(drawn, element_type(dtype)), ctx)
