"""Equations of one line broken into several, where a reader would break them."""

from __future__ import annotations

from optgen.symbolic.symbols import width

_OPENING, _CLOSING, _FENCES = "([{⌊⌈", ")]}⌋⌉", "|‖"
_BEFORE = (" + ", " − ", " and ", " or ", " if ", " otherwise")
"""What may begin a line."""
_AFTER = (", ", "; ")
"""What may end a line."""
_LAST = "·/"
"""Signs that begin a line only where nothing else does at this depth."""
LEAST = 16
"""The columns that a line has at least."""


def broken(text: str, columns: int, hang: int = 2) -> list[str]:
    """An equation's right side as lines of at most `columns` (or LEAST), the further ones indented by `hang`.

    A break stands where the fewest brackets are open: before a sign of a sum or a word, behind a comma, and otherwise
    before a sign of a product. Of several such places it is the last one. Text without any is cut.
    """
    found: list[str] = []
    margin, rest, columns = "", text, max(columns, LEAST)
    while width(margin + rest) > columns:
        place = _place(rest, columns - len(margin))
        found.append(margin + rest[:place].rstrip())
        margin, rest = " " * hang, rest[place:].lstrip()
    return [*found, margin + rest]


def _place(text: str, room: int) -> int:
    """Where to break a text of which `room` columns fit: the last of the best places. Those in the first third come
    last, as they gain little."""
    depth, column, fences = 0.0, 0, ""
    best, place = (True, float("inf")), 0
    for i, c in enumerate(text):
        column += width(c)
        if column > room:
            return place or i
        if c in _FENCES:
            fences = fences[:-1] if fences.endswith(c) else fences + c
        depth += (c in _OPENING) - (c in _CLOSING)
        here = depth + len(fences)
        if text.startswith(_BEFORE, i):
            at, cost = i, here
        elif text.startswith(_AFTER, i):
            at, cost = i + 1, here
        elif c in _LAST and i:
            at, cost = i, here + 0.5
        else:
            continue
        if at and (found := (column < room / 3, cost)) <= best:
            best, place = found, at
    return place
