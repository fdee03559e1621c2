"""Tables of exact counts, which may only fall: text files that a test compares with what it has counted.

The first line of a table says which versions the counts are of. Another Python or another library makes other calls, so
with these a table holds nothing, and its test is skipped. Then there is a row for each thing that is counted, under the
names of the columns; two spaces or more stand between the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

Counts = Mapping[str, Mapping[str, int]]
"""What was counted: numbers by the name of the row and of the column."""


def read(path: Path) -> tuple[str, dict[str, dict[str, int]]]:
    """The versions of a table, and its counts; neither where there is no file, or an empty one."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    if not any(lines):
        return "", {}
    versions, head, *rows = filter(None, lines)
    columns = _fields(head)
    found = {}
    for name, *numbers in map(_fields, rows):
        found[name] = {column: int(x.replace(",", "")) for column, x in zip(columns, numbers, strict=True)}
    return versions.removeprefix("Counted with "), found


def text(versions: str, counts: Counts) -> str:
    """A table as its file has it."""
    columns = list(next(iter(counts.values())))
    width = max(map(len, counts))
    lines = [f"Counted with {versions}", "", " " * width + "".join(f"  {column:>13}" for column in columns)]
    for name, numbers in counts.items():
        lines.append(f"{name:<{width}}" + "".join(f"  {numbers[column]:>13,}" for column in columns))
    return "\n".join(lines) + "\n"


def changes(held: Counts, counted: Counts) -> tuple[list[str], list[str]]:
    """What rose, and what else differs, in words."""
    rose, other = [], []
    for name, before in held.items():
        now = counted.get(name)
        if now is None:
            other.append(f"{name}: not counted any more")
        elif now.keys() != before.keys():
            other.append(f"{name}: other columns")
        else:
            for column, x in now.items():
                if x != before[column]:
                    (rose if x > before[column] else other).append(f"{name}: {column} {before[column]:,} -> {x:,}")
    return rose, other + [f"{name}: not in the table" for name in counted if name not in held]


def lowered(held: Counts, counted: Counts) -> Counts:
    """The counts to hold from now on: what was counted, but where that is more than was held."""
    found = {}
    for name, now in counted.items():
        before = held.get(name, {})
        found[name] = {column: min(x, before.get(column, x)) for column, x in now.items()}
    return found


def _fields(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())
