"""`cupy.random`: uniform numbers of a generator. They are not CuPy's, which nothing may count on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import ndarray


class Philox4x3210:
    """What a generator takes its bits from."""

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        if size % 256 and size != -1:
            raise IndexError("threads of the last block would read states beyond the last one")
        self.seed = seed


class Generator:
    """Numbers for arrays on the current device."""

    def __init__(self, bit_generator: Philox4x3210) -> None:
        self._generator = np.random.Generator(np.random.Philox(bit_generator.seed))

    def random(self, size: Any = None, dtype: Any = np.float64, out: None = None) -> ndarray:
        return ndarray._over(np.asarray(self._generator.random(size, dtype)))
