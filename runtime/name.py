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
        _entered.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.stack.pop()


class _Entered(threading.local):
    """The managers whose blocks this thread is in, the first being the default."""

    def __init__(self) -> None:
        self.stack = [NameManager()]


_entered = _Entered()


def current() -> NameManager:
    """The manager whose block the thread is in."""
    return _entered.stack[-1]
