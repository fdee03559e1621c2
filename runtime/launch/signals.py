"""Ctrl-C and SIGTERM, which end a run in good order."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Interrupted(BaseException):
    """The first SIGINT or SIGTERM; the only argument is its number."""


class Signals:
    """While the `with` block runs, the first SIGINT or SIGTERM raises Interrupted, and later ones do nothing."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._deferred = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        self._install()
        return self

    def __exit__(self, *args: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Raise only at the end of this block; inside, `received` tells. What replaced the handlers is replaced."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            self._install()
        if self.received is not None:
            raise Interrupted(self.received)

    def _install(self) -> None:
        for number in self._before:
            signal.signal(number, self._receive)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            return
        self.received = number
        # Not print, which the signal may have interrupted.
        os.write(2, f"runtime.launch: {signal.Signals(number).name}: stopping\n".encode())
        if not self._deferred:
            raise Interrupted(number)
