"""Names for what the user did not name: `dense0`, `dense1`, ..., counted by kind."""

from __future__ import annotations

import threading
from collections import Counter


class NameManager:
    """Counts names by kind. `with NameManager():` counts from 0 inside."""

    def __init__(self) -> None:
        self._counter: Counter[str] = Counter()

    def get(self, name: str | None, hint: str) -> str:
        """`name` if there is one, else the next name of the kind `hint`."""
        if name:
            return name
        count = self._counter[hint]
        self._counter[hint] += 1
        return f"{hint}{count}"

    def __enter__(self) -> NameManager:
        self._outer = _local.manager
        _local.manager = self
        return self

    def __exit__(self, *exception: object) -> None:
        _local.manager = self._outer


class _Local(threading.local):
    def __init__(self) -> None:
        self.manager = NameManager()


_local = _Local()


def current() -> NameManager:
    """The manager whose block the thread is in."""
    return _local.manager
