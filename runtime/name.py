"""Default names: `dense0`, `dense1`, ..., counted by kind."""

from __future__ import annotations

from collections import Counter

from runtime.core.scope import Scoped


class NameManager(Scoped):
    """Counts names by kind. `with NameManager():` counts from 0 inside; `NameManager.current` is what counts now."""

    def __init__(self) -> None:
        self._counter: Counter[str] = Counter()

    def get(self, name: str | None, hint: str) -> str:
        """`name` if there is one, else the next name of the kind `hint`."""
        if name:
            return name
        count = self._counter[hint]
        self._counter[hint] += 1
        return f"{hint}{count}"


class Prefix(NameManager):
    """Puts `prefix` before all names. `with Prefix("net_"):` names are `net_dense0`, ..."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)
