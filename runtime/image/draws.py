"""What augmenters draw from: Python's `random` and `numpy.random`, or what an iterator has in their place."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class _Source(threading.local):
    """The thread's generators."""

    python: Any = random
    numpy: Any = np.random


source = _Source()


class Draws:
    """Generators of one iterator, of the kinds of `random` and `numpy.random`."""

    def __init__(self, seed: int) -> None:
        self._own = random.Random(seed), np.random.RandomState(seed % 2**32)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """A context in which the thread's augmenters draw from these generators."""
        outer = source.python, source.numpy
        source.python, source.numpy = self._own
        try:
            yield
        finally:
            source.python, source.numpy = outer
