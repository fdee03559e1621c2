"""Attribute scopes: attributes of the symbols that are made in them."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

from runtime.core.scope import Scoped

MARK = "__subgraph_name__"
"""The attribute of the nodes of a subgraph, as of the body of a loop: its name."""


class AttrScope(Scoped):
    """`with AttrScope(key="value"):` adds attributes, which are strings, to those of the scopes around it."""

    _subgraph_names: ClassVar[defaultdict[str, int]] = defaultdict(int)
    """How many subgraphs were named, by what was asked for."""

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


def subgraph_name(name: str) -> str:
    """The name of a new subgraph: `name` and a count, behind the name of the subgraph around it and "$"."""
    around = AttrScope.current.get(None).get(MARK)
    hint = f"{around}${name}" if around else name
    count = AttrScope._subgraph_names[hint]
    AttrScope._subgraph_names[hint] = count + 1
    return f"{hint}{count}"
