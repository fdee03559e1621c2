"""Classes by name: how `'adam'` or `'xavier'` becomes an object, and what is said when the name is unknown."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.base import did_you_mean


class Registry:
    """Names, compared without case, and the classes they stand for. `kind` is what error messages call them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type] = {}

    def register(self, cls: type, *names: str) -> type:
        """Enter `cls` under its own name and under `names`; an earlier entry is replaced. Returns `cls`."""
        for name in (cls.__name__, *names):
            self._classes[name.lower()] = cls
        return cls

    def get(self, name: str) -> type:
        """The class called `name`; ValueError, with the nearest known name, if there is none."""
        try:
            return self._classes[name.lower()]
        except KeyError:
            raise ValueError(f"unknown {self.kind} '{name}'{did_you_mean(name.lower(), self)}") from None

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)
