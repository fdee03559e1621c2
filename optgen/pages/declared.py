"""The section of what a spec declares: hyper-parameters, flags, states, inputs, requirements; and its remarks."""

from __future__ import annotations

from collections.abc import Iterable

from optgen import tables
from optgen.pages.html import Child, Markup, code, joined, table, tag
from optgen.pages.topic import PageSection, Topic

TABLES = (
    ("Hyper-parameters", ("name", "default", "values", ""), tables.params),
    ("Flags", ("name", "default", "values or condition", ""), tables.flags),
    ("Dimensions", ("name", "value", ""), tables.dims),
    ("States", ("name", "how many", "start", "kept", ""), tables.states),
    ("Inputs", ("name", "shape", ""), tables.inputs),
    ("Requirements", ("condition", ""), tables.requirements),
)
"""The title of each table, its columns, and its rows."""


def section(topic: Topic) -> PageSection:
    optimizer = topic.optimizer
    parts: list[Child] = []
    for title, head, rows in TABLES:
        found = _table(head, rows(optimizer))
        parts += [tag("h3", title), found] if found else []
    notes = [tag("p", note) for note in optimizer.notes]
    parts += [tag("h3", "Remarks"), *notes] if notes else []
    return PageSection("arguments", "Hyper-parameters and states", joined(parts))


def _table(head: tuple[str, ...], rows: Iterable[tables.Row]) -> Markup | None:
    """A table without the columns that are empty in all rows."""
    found = list(rows)
    used = [i for i in range(len(head)) if any(row[i] for row in found)]
    return table([head[i] for i in used], ([_cell(i, row[i]) for i in used] for row in found))


def _cell(column: int, text: str) -> Child:
    return code(text) if column == 0 else text
