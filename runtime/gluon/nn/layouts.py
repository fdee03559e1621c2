"""Arguments of layers with spatial axes: numbers for each axis, and layouts."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.base import ArgumentError, counts, numeric_types

Size = int | Sequence[int]


def per_axis(block: str, what: str, value: Size, axes: int, least: int = 1) -> tuple[int, ...]:
    """A whole number for each axis, at least `least`, given as one for all or as that many."""
    sizes = counts(f"{block}: {what}", (value,) * axes if isinstance(value, numeric_types) else value, least)
    if len(sizes) != axes:
        raise ArgumentError(f"{block}: {what} is a number, or {axes} of them, not {value!r}")
    return sizes


def check_layout(block: str, layout: str, known: tuple[str, ...]) -> None:
    if layout not in known:
        raise ArgumentError(f"{block}: layout is {' or '.join(map(repr, known))}, not {layout!r}")
