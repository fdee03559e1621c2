"""What many_steps.c does, in Python: the weights that it must come to on every system."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

import optgen

SOURCE = Path(__file__).with_suffix(".c")
SPECS = ("adam", "lamb", "adafactor")
SHAPES = ((37, 1), (50, 90), (20000, 1))
STEPS = 200


class Drawn:
    """The numbers of many_steps.c."""

    def __init__(self) -> None:
        self._state = 1

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        return [self._filled(rows * cols).reshape(rows, cols) for rows, cols in SHAPES]

    def _filled(self, count: int) -> np.ndarray[Any, Any]:
        factors = np.ones(count + 1, np.uint32)
        for k in range(count):
            factors[k + 1] = (int(factors[k]) * 1664525) & 0xFFFFFFFF
        added = np.concatenate([[0], np.cumsum(factors[:-1], dtype=np.uint32)]).astype(np.uint32)
        states = factors * np.uint32(self._state) + added * np.uint32(1013904223)
        self._state = int(states[-1])
        return (states[1:] & np.uint32(0xFFFFFF00)).view(np.int32).astype(np.float32) / np.float32(2**31)


@functools.cache
def expected() -> bytes:
    """The weights after Python's steps."""
    found = b""
    for spec in SPECS:
        drawn = Drawn()
        weights, grads = drawn.arrays(), [np.zeros(x, np.float32) for x in SHAPES]
        step = optgen.load(spec).bind(weights, grads)
        for _ in range(STEPS):
            for g, new in zip(grads, drawn.arrays(), strict=True):
                g[...] = new
            step()
        found += b"".join(w.tobytes() for w in weights)
    return found
