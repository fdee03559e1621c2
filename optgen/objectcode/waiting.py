"""A word to whoever waits at a terminal while kernels are compiled for the first time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

DELAY = 1.0
"""After so many seconds of compiling without a pause, the line is written."""
_GAP = 0.5
"""A pause of so many seconds ends a wait. The next compilation begins another one."""


class _Wait:
    """The wait that goes on now; one line is written for a process."""

    def __init__(self) -> None:
        self.began = self.ended = float("-inf")
        self.is_told = False

    def left(self) -> float:
        """The seconds from the beginning of a compilation until the line is to be written."""
        now = time.monotonic()
        if now - self.ended > _GAP:
            self.began = now
        return max(0.0, self.began + DELAY - now)

    def tell(self) -> None:
        if not self.is_told:
            self.is_told = True
            print("optgen: compiling kernels; later processes find them in the cache", file=sys.stderr, flush=True)


_wait = _Wait()


@contextmanager
def compiling() -> Iterator[None]:
    """The `with` block compiles a kernel. After DELAY seconds, a line on the terminal says what takes so long."""
    if _wait.is_told or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(_wait.left(), _wait.tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _wait.ended = time.monotonic()
