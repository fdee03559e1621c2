"""The reference of the language as data: its examples, each with the spec it belongs to, and its tables; and the
examples of docs/tutorial.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from optgen import specfiles
from optgen.cli.language import sections
from optgen.diagnostics import Source
from optgen.lang import parse
from optgen.lang.dimensions import ValueKind
from optgen.model import Optimizer

TEXT = re.sub(r"\]\((language|arithmetic|errors)\.md(#[\w-]+)\)", r"](\2)", specfiles.language())
"""The reference, in which links between its files lead to sections."""
TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
SECTIONS = dict(sections(TEXT))
"""The text of each section, by its anchor."""


@dataclass(frozen=True)
class Example:
    """A block of code.

    `kind` is what stands behind its fence, and `line` where it begins. `spec` is the block `opt` that it is, or the
    last one above it. `shown` is the block of text below it, if that follows at once.
    """

    line: int
    kind: str
    text: str
    spec: str
    shown: str | None
    of_tutorial: bool

    def __str__(self) -> str:
        return f"{'tutorial, ' * self.of_tutorial}line {self.line}"


def examples(kind: str) -> list[Example]:
    """All examples of a kind."""
    return [x for x in EXAMPLES if x.kind == kind]


def _examples(document: str) -> Iterator[Example]:
    spec = ""
    blocks = list(re.finditer(r"^```(\w[\w ]*)\n(.*?)^```\n", document, re.DOTALL | re.MULTILINE))
    for i, block in enumerate(blocks):
        kind, text = block[1], block[2]
        spec = text if kind.startswith("opt") else spec
        after = blocks[i + 1] if i + 1 < len(blocks) else None
        shown = after[2] if after and after[1] == "text" and after.start() == block.end() else None
        line = document.count("\n", 0, block.start()) + 1
        yield Example(line, kind, text, spec, shown, document is TUTORIAL)


EXAMPLES = [*_examples(TEXT), *_examples(TUTORIAL)]


@dataclass(frozen=True)
class Table:
    """The cells of a table, as they are written."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> list[str]:
        return [row[self.head.index(name)] for row in self.rows]

    def named(self) -> set[str]:
        """The first code in each row's first cell: what the row is about."""
        return {match for row in self.rows for match in codes(row[0])[:1]}


def tables(section: str) -> list[Table]:
    """The tables of a section, in order; the sections below it are not looked at."""
    own = re.split(r"^#+ ", SECTIONS[section], flags=re.MULTILINE)[1]
    found = []
    for text in re.findall(r"^\|(?:.*\n)(?:\|.*(?:\n|$))+", own, re.MULTILINE):
        head, _, *rows = [_cells(line) for line in text.splitlines()]
        assert all(len(row) == len(head) for row in rows), (section, head)
        found.append(Table(head, tuple(rows)))
    return found


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1])


def codes(text: str) -> list[str]:
    """What stands between backquotes."""
    return re.findall(r"`([^`]+)`", text)


def links(text: str) -> list[str]:
    """The anchors in this document that a text links to."""
    return re.findall(r"\]\(#([^)]*)\)", text)


def check(text: str) -> Optimizer:
    """A spec, in the file that examples name."""
    return parse(Source("mine.opt", text))


def kind_word(value: ValueKind) -> str:
    """What the document calls the kind of a value."""
    return "constant" if value.is_constant else value.kind.value
