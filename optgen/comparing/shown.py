"""A comparison as text, and as HTML for a notebook: sections with a title each, whose rows are cells."""

from __future__ import annotations

import html
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optgen.analysis import Statement
from optgen.comparing.comparison import Comparison, StepCosts
from optgen.races import table
from optgen.races.table import columns as aligned
from optgen.symbolic.difference import LESS, MORE

WIDTH = 80
MARGIN = "  "
NONE = "nothing differs"


@dataclass(frozen=True)
class ComparisonPart:
    """A section. `lines` are its text. `head` and `rows` are the same as a table, and `note` what stands below it."""

    title: str
    lines: tuple[str, ...]
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""


class ShownComparison(Comparison):
    """A comparison that prints in lines of at most 80 columns, and shows itself as tables in a notebook."""

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def parts(found: Comparison, width: int = WIDTH) -> Iterator[ComparisonPart]:
    """The sections, whose lines are at most `width` columns wide where their words allow that."""
    room = width - len(MARGIN)
    yield _equations(found, room)
    yield _of_table("Arguments and first rates that differ", ("", LESS, MORE), _arguments(found), room)
    yield _states(found, room)
    yield _of_table("Cost of a float32 step, for each element", ("", LESS, MORE), list(_costs(found)), room)
    yield _analysis(found, room)
    yield _equal(found, room)
    yield _race(found, room)


def text(found: Comparison, width: int = WIDTH) -> str:
    """All sections."""
    blocks = [heading(found, width)]
    blocks += ["\n".join([part.title, *(MARGIN + x for x in part.lines)]) for part in parts(found, width)]
    return "\n\n".join("\n".join(x.rstrip() for x in block.splitlines()) for block in blocks)


def heading(found: Comparison, width: int = WIDTH) -> str:
    """Which sign is whose."""
    signs = ((LESS, found.first), (MORE, found.second))
    return "\n".join(line for sign, own in signs for line in _wrapped(f"{sign} {own.name}", width))


def as_html(found: Comparison) -> str:
    """All sections as tables."""
    blocks = [f"<p>{html.escape(LESS)} {_code(found.first.name)}<br/>{MORE} {_code(found.second.name)}</p>"]
    for part in parts(found):
        blocks.append(f"<h4>{html.escape(part.title)}</h4>")
        blocks += [_table(part.head, part.rows)] if part.rows else []
        blocks += [f"<p>{html.escape(part.note)}</p>"] if part.note else []
    race = "" if found.race is None else f"<pre>{html.escape(str(found.race))}</pre>"
    return f"<div>{''.join(blocks)}{race}</div>"


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(x)}</{tag}>' for x in cells)}</tr>"


def _wrapped(line: str, room: int, indent: str = "  ") -> list[str]:
    return textwrap.wrap(line, room, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _of_table(
    title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], room: int, note: str = ""
) -> ComparisonPart:
    """A section that is a table. A row that is too wide is broken between words."""
    if not rows:
        return ComparisonPart(title, (NONE,), note=NONE)
    lines = [part for line in aligned([head, *rows]).splitlines() for part in _wrapped(line, room)]
    return ComparisonPart(title, (*lines, *(_wrapped(note, room) if note else ())), head, tuple(rows), note)


# ---------------------------------------------------------------- the sections


def _equations(found: Comparison, room: int) -> ComparisonPart:
    title = "Equations"
    names = ", ".join(f"{name} is {new}" for name, new in found.equations.names.items())
    note = f"Names of {MORE} as {LESS} has them: {names}." if names else ""
    if found.equations.is_none:
        note = f"They are the same. {note}".strip()
        return ComparisonPart(title, tuple(_wrapped(note, room)), note=note)
    lines = [f"{sign} {line}" for sign, line in found.equations.rows(room - 2)]
    return ComparisonPart(
        title, (*lines, *(_wrapped(note, room) if note else ())), ("", ""), tuple(found.equations.rows()), note
    )


def _arguments(found: Comparison) -> list[tuple[str, ...]]:
    return [(name, first or "", second or "") for name, first, second in found.arguments]


def _states(found: Comparison, room: int) -> ComparisonPart:
    title = "States that differ"
    if not found.states:
        return ComparisonPart(title, (NONE,), note=NONE)
    lines = [part for sign, *words in found.states for part in _wrapped(f"{sign} {', '.join(words)}", room)]
    return ComparisonPart(title, tuple(lines), ("", "name", "values", "start"), found.states)


def _costs(found: Comparison) -> Iterator[tuple[str, ...]]:
    first, second = found.costs
    yield "bytes moved", f"{first.bytes_moved:g}", f"{second.bytes_moved:g}"
    yield "bytes of states", f"{first.state_bytes:.3g}", f"{second.state_bytes:.3g}"
    yield "sweeps over memory", _sweeps(first), _sweeps(second)
    if first.products or second.products:
        yield "operations of products", f"{first.products:g}", f"{second.products:g}"


def _sweeps(costs: StepCosts) -> str:
    return "several kernels" if costs.sweeps is None else str(costs.sweeps)


def _analysis(found: Comparison, room: int) -> ComparisonPart:
    title = "What the equations say, where it differs"
    same = f"The same: {', '.join(found.same)}." if found.same else ""
    if not found.answers:
        note = f"{NONE}. {same}".strip()
        return ComparisonPart(title, tuple(_wrapped(note, room)), note=note)
    rows = [
        (sign, own.question, *said)
        for own in found.answers
        for sign, statements, others in ((LESS, own.first, own.second), (MORE, own.second, own.first))
        for said in _said(statements, others)
    ]
    lines: list[str] = []
    for own in found.answers:
        lines.append(own.question)
        for sign, question, verdict, sentence in rows:
            if question == own.question:
                lines += _wrapped(f"{sign} {sentence} [{verdict}]" if verdict else f"{sign} {sentence}", room)
    lines += _wrapped(same, room) if same else []
    return ComparisonPart(title, tuple(lines), ("", "question", "known", "statement"), tuple(rows), same)


def _said(statements: Sequence[Statement], others: Sequence[Statement]) -> list[tuple[str, str]]:
    """How statements are known, and their sentences, without those that are made of both."""
    if not statements:
        return [("", "The question does not arise.")]
    return [(s.verdict.value, s.text) for s in statements if s.text not in {x.text for x in others}]


def _equal(found: Comparison, room: int) -> ComparisonPart:
    title = "The same updates"
    if not found.equal:
        none = "no arguments were found at which the two make the same updates"
        return ComparisonPart(title, tuple(_wrapped(none, room)), note=none)
    rows = tuple((s.verdict.value, s.text) for s in found.equal)
    lines = tuple(line for known, sentence in rows for line in _wrapped(f"{sentence} [{known}]", room))
    return ComparisonPart(title, lines, ("known", "statement"), rows)


def _race(found: Comparison, room: int) -> ComparisonPart:
    title = "Their race"
    if found.first == found.second:
        return ComparisonPart(title, ("they are one optimizer",), note="they are one optimizer")
    command = f"optgen race {shlex.join([found.first.name, found.second.name])}"
    if found.race is None:
        note = f"no stored race has both; this runs one: {command}"
        return ComparisonPart(title, tuple(_wrapped(note, room)), note=note)
    old = (
        f"Out of date, as a spec, a task or the protocol has changed: {', '.join(found.stale)}. " if found.stale else ""
    )
    note = f"{old}From stored baselines; again: {command}"
    return ComparisonPart(title, (*table.text(found.race).splitlines(), *_wrapped(note, room)), note=note)
