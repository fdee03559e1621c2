"""Text for a terminal: its width, tables and lines that fit it, and colour where it has some."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from textwrap import wrap

LEAST = 40
"""Columns of the narrowest terminal that is fitted; narrower ones wrap lines themselves."""
GAP = "  "
"""What stands between two columns of a table."""
_BOLD, _CYAN = "1", "36"
"""Codes of ECMA-48, Select Graphic Rendition."""


def width() -> int:
    """The columns of the terminal, or of $COLUMNS; 80 if the output goes elsewhere."""
    return max(LEAST, shutil.get_terminal_size().columns)


def fitted(line: str, columns: int, hang: int = 4) -> list[str]:
    """A line, broken between words if it is wider than `columns`. Further lines are indented by `hang` more than the
    first one."""
    if len(line) <= columns:
        return [line]
    margin = " " * (len(line) - len(line.lstrip()))
    return wrap(line, columns, subsequent_indent=margin + " " * hang, replace_whitespace=False, break_on_hyphens=False)


def fill(text: str, columns: int) -> str:
    """All lines of a text, as `fitted` has them."""
    return "\n".join(part for line in text.splitlines() for part in fitted(line, columns))


def table(rows: Sequence[Sequence[str]], columns: int) -> list[list[str]]:
    """The lines of each row of a table no wider than `columns`, if its words allow that.

    Cells of columns that are too wide are broken between words. The widest columns give way first.
    """
    natural = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = [max(len(word) for cell in column for word in cell.split() or [""]) for column in zip(*rows, strict=True)]
    widths = _narrowed(natural, words, columns - len(GAP) * (len(natural) - 1))
    return [_row_lines(row, widths) for row in rows]


def lines(rows: Sequence[Sequence[str]], columns: int) -> str:
    """A table as one text."""
    return "\n".join(line for row in table(rows, columns) for line in row)


def _narrowed(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths of columns whose sum is at most `room`: all wider than some limit get it, or the width of their longest
    word where that is more."""
    for limit in range(max(natural), 0, -1):
        widths = [min(own, max(limit, word)) for own, word in zip(natural, least, strict=True)]
        if sum(widths) <= room:
            return widths
    return list(least)


def _row_lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [
        wrap(cell, size, break_long_words=False, break_on_hyphens=False) if len(cell) > size else [cell]
        for cell, size in zip(row, widths, strict=True)
    ]
    height = max(map(len, cells))
    padded = [[*cell, *[""] * (height - len(cell))] for cell in cells]
    found = (zip(line, widths, strict=True) for line in zip(*padded, strict=True))
    return [GAP.join(text.ljust(size) for text, size in line).rstrip() for line in found]


def has_colour() -> bool:
    """Whether the output is a terminal with colours, and nobody has asked for none (https://no-color.org)."""
    stream = sys.stdout
    if stream is None or not stream.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """The text of a heading."""
    return _styled(text, _BOLD)


def name(text: str) -> str:
    """The text of a name that can be typed."""
    return _styled(text, _CYAN)


def _styled(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if text and has_colour() else text
