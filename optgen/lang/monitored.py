"""A spec that also computes a number of each parameter: expressions over its names, as states of kind tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from optgen.diagnostics import Diagnostic, Source, Span, SpecErrors
from optgen.lang.check import parse
from optgen.lang.parts import guard_of
from optgen.lang.syntax import Line, Token, read_lines
from optgen.model import Optimizer

UPDATE = "u"
"""What papers call an update."""


@dataclass(frozen=True)
class Monitored:
    """A spec, and what of it are the numbers: for each expression the name of the state, and its phase if there are
    phases."""

    spec: Optimizer
    names: tuple[str, ...]
    phases: tuple[str | None, ...]


def monitored(source: Source, expressions: Sequence[str]) -> Monitored:
    """The spec of a text without uses, with a state for each expression. Its equation stands behind the others: names
    are as they are there, `w` before the update and `w'` after it. `u` is the update, w' - w, in a spec that has no
    name `u`.

    Of steps with phases, an expression is computed in the last one that defines all of its names. Where names have
    guards, it is computed in the variants that have all of them.

    SpecErrors about an expression, as if that were the text.
    """
    lines, _ = read_lines(source)
    text = _Text(source.text.rstrip("\n").split("\n"), [line for line in lines if line.tokens])
    names = tuple(_free(source.text, k) for k in range(len(expressions)))
    placed = [text.place(name, x) for name, x in zip(names, expressions, strict=True)]
    rows, where = text.with_lines(placed)
    written = tuple(source.where(Span(number, 1, 2)) for _, number in rows)
    derived = Source(source.name, "\n".join(row for row, _ in rows) + "\n", written)
    try:
        spec = parse(derived)
    except SpecErrors as errors:
        raise _about_expressions(errors, expressions, where, names) from None
    return Monitored(spec, names, tuple(x.phase for x in placed))


def _free(text: str, k: int) -> str:
    """A name that is not in a text."""
    return next(name for name in (f"monitored{'_' * n}{k}" for n in range(len(text))) if name not in text)


@dataclass(frozen=True)
class _Placed:
    """The lines of an expression, the column at which it begins in its equation, and where this stands."""

    state: str
    equation: str
    column: int
    phase: str | None
    section: int
    reads_update: bool


class _Text:
    """The rows of a spec, and its lines as tokens."""

    def __init__(self, rows: Sequence[str], lines: Sequence[Line]) -> None:
        self._rows, self._lines = rows, lines
        self._heads = [k for k, line in enumerate(lines) if line.tokens[0].type in ("SECTION", "PHASE")]
        self._sections = [
            (line.tokens[0].text if line.tokens[0].type == "SECTION" else line.tokens[1].text, lines[k + 1 : end])
            for k, end in zip(self._heads, [*self._heads[1:], len(lines)], strict=True)
            for line in [lines[k]]
        ]

    def place(self, name: str, expression: str) -> _Placed:
        """Where an expression is computed, and the lines for it."""
        used = [t.text for line in read_lines(Source("", expression))[0] for t in line.tokens if t.type == "NAME"]
        sections = [k for k, (section, _) in enumerate(self._sections) if section != "eval"]
        defining = [k for k in sections if all(self._is_here(x, k) for x in used)]
        section = (defining or sections)[-1]
        has_phases = self._lines[self._heads[0]].tokens[0].type == "PHASE"
        guards = [x for x in (self._guard(word, section) for word in dict.fromkeys(used)) if x]
        guard = f"   if {' and '.join(guards)}" if guards else ""
        start = f"  {name}' = ("
        return _Placed(
            f"state {name}: tensor = 0{guard}",
            f"{start}{expression}){guard}",
            len(start),
            self._sections[section][0] if has_phases else None,
            section,
            UPDATE in used and not self._has(UPDATE),
        )

    def _has(self, name: str) -> bool:
        """Whether the spec has a name, declared or defined."""
        return any(t.type == "NAME" and t.text == name for line in self._lines for t in line.tokens)

    def _is_here(self, name: str, section: int) -> bool:
        """Whether a section defines a name, or none does, as those that are declared."""
        others = {line.tokens[0].text for _, lines in self._sections for line in lines}
        return name not in others or any(line.tokens[0].text == name for line in self._sections[section][1])

    def _guard(self, name: str, section: int) -> str:
        """The condition on which a name has a value, in brackets; empty if it always has one."""
        cases = [line.tokens for line in self._sections[section][1] if line.tokens[0].text == name]
        if not cases:
            state = name.removesuffix("'")
            cases = [x.tokens for x in self._lines if [t.text for t in x.tokens[:2]] == ["state", state]]
        guards = [_words(guard_of(tokens)) for tokens in cases]
        return "(" + " or ".join(f"({guard})" for guard in guards) + ")" if guards and all(guards) else ""

    def with_lines(self, placed: Sequence[_Placed]) -> tuple[list[tuple[str, int]], list[tuple[int, int]]]:
        """All rows with those of expressions, each with its number in the text, 0 for a new one; and where each
        expression stands: the number of its row, and its column."""
        first = self._row(self._heads[0])
        own = [(row, number) for number, row in enumerate(self._rows, 1)]
        rows = [*own[: first - 1], *((x.state, 0) for x in placed)]
        where = [(0, 0)] * len(placed)
        begin = first
        for k in range(len(self._sections)):
            end = self._row(self._heads[k + 1]) if k + 1 < len(self._heads) else len(self._rows) + 1
            rows += own[begin - 1 : end - 1]
            rows += [(f"  {UPDATE} = w' - w", 0)] * any(x.reads_update for x in placed if x.section == k)
            for i, x in enumerate(placed):
                if x.section == k:
                    rows.append((x.equation, 0))
                    where[i] = len(rows), x.column
            begin = end
        return rows, where

    def _row(self, line: int) -> int:
        return self._lines[line].tokens[0].span.line


def _words(tokens: Sequence[Token]) -> str:
    return " ".join(t.text for t in tokens)


def _about_expressions(
    errors: SpecErrors, expressions: Sequence[str], where: Sequence[tuple[int, int]], names: Sequence[str]
) -> SpecErrors:
    """Errors of the derived spec, at their places in the first expression that has some; as they are if none has."""
    for expression, (row, column) in zip(expressions, where, strict=True):
        found = [_within(d, column, len(expression), names) for d in errors.diagnostics if d.span.line == row]
        if found:
            return SpecErrors(Source("monitor", expression), found)
    return errors


def _within(d: Diagnostic, column: int, length: int, names: Sequence[str]) -> Diagnostic:
    """An error about the equation of an expression that begins at a column, as one about the expression."""
    begin = min(max(d.span.column - column, 1), length)
    span = Span(1, begin, min(max(d.span.end - column, begin + 1), length + 1))
    if d.code == "E301":
        kind = d.message.rpartition("this is ")[2]
        message = f"this is {kind}, and what is monitored is one number of each parameter"
        return replace(d, message=message, span=span, help="reduce it, as in norm(x), mean(x) or max(abs(x))")
    help = d.help
    for name in names:
        help = help and help.replace(f"{name}, ", "")
    return replace(d, span=span, help=help)
