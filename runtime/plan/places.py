"""Where arrays lie, by their addresses: arrays that were computed from each other may share memory."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from optgen.loops.kernel import address


class Places:
    """The memory of arrays, each with what it stands for. The arrays are kept alive, so addresses stay theirs."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._entries: list[tuple[int, Any, int, np.ndarray]] = []

    def add(self, x: np.ndarray, owner: Any, offset: int) -> None:
        """The memory of x, which is contiguous, is that of `owner` from `offset` on, in bytes."""
        start = address(x)
        at = bisect.bisect_left(self._starts, start)
        self._starts.insert(at, start)
        self._entries.insert(at, (start + x.nbytes, owner, offset, x))

    def find(self, x: np.ndarray) -> tuple[Any, int] | None:
        """The owner of an array's memory, and its offset there; None for memory that is not known."""
        start = address(x)
        at = bisect.bisect_right(self._starts, start) - 1
        if at < 0:
            return None
        end, owner, offset, _ = self._entries[at]
        if start + x.nbytes > end:
            return None
        return owner, offset + start - self._starts[at]
