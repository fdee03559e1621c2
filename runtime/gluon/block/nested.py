"""Nested lists of arrays as a flat list and a description of the nesting, as libraries call them."""

from __future__ import annotations

from typing import Any

from runtime.base import ArgumentError
from runtime.ndarray import NDArray

Format = int | list[Any]
"""0: one array; -1: None; n > 0: a symbol of n outputs; a list: those of the elements of a list."""


def _flatten(args: Any, inout_str: str) -> tuple[list[Any], Format]:
    """The arrays (or symbols, or None) in nested lists, and the Format of the nesting; `inout_str` says in errors what
    they are."""
    if isinstance(args, NDArray):
        return [args], 0
    if args is None:
        return [None], -1
    if hasattr(args, "list_outputs"):
        outputs = len(args.list_outputs())
        return [args], outputs if outputs > 1 else 0
    if not isinstance(args, (list, tuple)):
        raise ArgumentError(f"{inout_str} must be arrays, or nested lists of them, not {type(args).__name__}")
    parts = [_flatten(part, inout_str) for part in args]
    return [x for flat, _ in parts for x in flat], [fmt for _, fmt in parts]


def _regroup(args: Any, fmt: Format) -> Any:
    """The flat list `args` in the nesting of `fmt`, with lists for lists and tuples."""
    group, rest = _taken(list(args), fmt)
    if rest:
        raise ArgumentError(f"{len(rest)} arrays are left over; the nesting {fmt} has fewer")
    return group


def _taken(args: list[Any], fmt: Format) -> tuple[Any, list[Any]]:
    if isinstance(fmt, int):
        if fmt < -1 or len(args) < max(fmt, 1):
            raise ArgumentError(f"{len(args)} arrays do not fill the nesting {fmt}")
        if fmt == -1 and args[0] is not None:
            raise ArgumentError(f"None is expected here, not {type(args[0]).__name__}")
        return (args[:fmt], args[fmt:]) if fmt > 0 else (args[0], args[1:])
    groups = []
    for part in fmt:
        group, args = _taken(args, part)
        groups.append(group)
    return groups, args
