"""What is said of each variant of a spec, with the variants together of which the same is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from optgen.model import Flags, FlagValue

T = TypeVar("T")

Setting = Mapping[str, tuple[FlagValue, ...]]
"""Some variants: flags, each with its values there, in the order of the spec. A flag that is missing has all values."""
_Key = frozenset[tuple[str, tuple[FlagValue, ...]]]


def by_setting(variants: Iterable[tuple[Flags, T]]) -> list[tuple[Setting, T]]:
    """What is said of which variants, in the order of their first flag, then of their second, and so on."""
    rows: dict[_Key, T] = {}
    names: list[str] = []
    for flags, said in variants:
        rows[frozenset((name, (x,)) for name, x in flags.items())] = said
        names = list(flags)
    for name in reversed(names):
        rows = _merged(rows, name)
    return [({name: dict(key)[name] for name in names if name in dict(key)}, said) for key, said in rows.items()]


def _merged(rows: Mapping[_Key, T], name: str) -> dict[_Key, T]:
    """`rows`, with those merged that differ only in the value of a flag. A flag that makes no difference is left
    out."""
    groups: list[tuple[tuple[FlagValue, ...], dict[_Key, T]]] = []
    for values in dict.fromkeys(dict(key)[name] for key in rows):
        mine = {key - {(name, values)}: said for key, said in rows.items() if (name, values) in key}
        for i, (others, theirs) in enumerate(groups):
            if all(theirs.get(rest, said) == said for rest, said in mine.items()):
                groups[i] = others + values, theirs | mine
                break
        else:
            groups.append((values, mine))
    if len(groups) == 1:
        return groups[0][1]
    return {rest | {(name, values)}: said for values, some in groups for rest, said in some.items()}
