"""Classes by name: how `'adam'` or `'xavier'` becomes an object, and what is said when the name is unknown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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

    def create(self, config: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """A new object: of the class of that name, with these arguments; or as a configuration describes it, which is
        `{kind: name, argument: value, ...}` or `[name, {argument: value, ...}]`, as a dict or in JSON."""
        if isinstance(config, str) and config[:1] in ("[", "{"):
            config = self._parsed(config)
        if isinstance(config, dict):
            kwargs = {**config, **kwargs}
            if self.kind not in kwargs:
                raise ValueError(f"a configuration of a {self.kind} names it under '{self.kind}': {config}")
            config = kwargs.pop(self.kind)
        if not isinstance(config, str):
            raise TypeError(f"expected the name of a {self.kind}, not {type(config).__name__}")
        return self.get(config)(*args, **kwargs)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            config = json.loads(text)
            if isinstance(config, list):
                name, arguments = config
                config = {self.kind: name, **arguments}
        except (ValueError, TypeError) as error:
            raise ValueError(f"this is no configuration of a {self.kind}: {text!r}: {error}") from None
        return config

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)
