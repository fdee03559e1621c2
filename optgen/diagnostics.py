"""Where a message points and how it looks: spans, diagnostics, and the exception with all errors of a file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

MAX_SHOWN = 160
"""How many columns of a line a message shows."""


@dataclass(frozen=True, order=True)
class Span:
    """A piece of one source line: 1-based `line` and `column`, and `end`, the column after its last character."""

    line: int
    column: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from here to the end of `other`, cut at the end of this line when `other` is on a later one."""
        return Span(self.line, self.column, max(self.end, other.end) if other.line == self.line else self.end)


@dataclass(frozen=True)
class Source:
    """The text of a spec and the name it is reported under (a path, or `<text>`)."""

    name: str
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line(self, number: int) -> str:
        return self.lines[number - 1].rstrip("\r") if 1 <= number <= len(self.lines) else ""


@dataclass(frozen=True)
class Diagnostic:
    """One error or warning: `code` is E or W and three digits, `help` says what to do."""

    code: str
    message: str
    span: Span
    help: str | None = None

    @property
    def severity(self) -> str:
        return "error" if self.code.startswith("E") else "warning"

    def render(self, source: Source) -> str:
        """The message, the line it is about and a caret under the span.

        error[E206]: unknown name 'bata1'
          --> specs/adam.opt:16:12
        16 |   m'     = bata1*m + (1 - beta1)*d
           |            ^^^^^
           = help: did you mean 'beta1'?
        """
        line = source.line(self.span.line)
        left, right = self.span.column - 1, max(self.span.column, self.span.end - 1)
        if len(line) > MAX_SHOWN:  # a window on a long line
            start = max(0, left - MAX_SHOWN // 3)
            end = start + MAX_SHOWN
            line = ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")
            shift = start - 3 if start else 0
            left, right = left - shift, min(right, end) - shift
        # A tab is one column to us; it is shown as one space, so that the caret stands under its character.
        shown = "".join(c if c.isprintable() else " " for c in line)
        gutter = str(self.span.line)
        pad = " " * len(gutter)
        caret = " " * left + "^" * (right - left)
        rows = [
            f"{self.severity}[{self.code}]: {self.message}",
            f"{pad}--> {source.name}:{self.span.line}:{self.span.column}",
            f"{gutter} | {shown}".rstrip(),
            f"{pad} | {caret}",
        ]
        if self.help:
            rows.append(f"{pad} = help: {self.help}")
        return "\n".join(rows)


class SpecErrors(ValueError):
    """All errors of one spec, in the order of its text; `str` shows each with its line and a caret."""

    def __init__(self, source: Source, diagnostics: Iterable[Diagnostic]) -> None:
        self.source = source
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: d.span))
        super().__init__("\n\n".join(d.render(source) for d in self.diagnostics))


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The help line "did you mean ...?" for a misspelt name of three letters or more, None where nothing is near."""
    if len(name) < 3:
        return None
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else None
