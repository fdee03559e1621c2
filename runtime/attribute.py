"""Attribute scopes: attributes of the symbols that are made in them."""

from __future__ import annotations

from runtime.core.scope import Scoped


class AttrScope(Scoped):
    """`with AttrScope(key="value"):` adds attributes, which are strings, to those of the scopes around it."""

    def __init__(self, **kwargs: str) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attribute '{key}' must be a string, not {type(value).__name__}")
        self._attr = kwargs

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """The scope's attributes, and `attr`, which goes before them."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        self._attr = {**AttrScope.current._attr, **self._attr}
        return super().__enter__()
