"""Messages about a spec: their place, their text, and the exception with all errors of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MAX_SHOWN = 160
"""The number of columns of a line that a message shows."""

SECTIONS: Mapping[str, str] = {
    code: section
    for section, codes in {
        "characters": "E101 E104",
        "lines": "E102 E103",
        "outline": "E110 E112",
        "use": "E114",
        "limits": "E107 E108 E111 E412",
        "numbers": "E401",
        "names": "E206",
        "reserved-names": "E201",
        "repeat": "E113 E213 E214",
        "every": "E413",
        "histories": "E308",
        "products": "E307 W508",
        "primes": "E203 E211",
        "definitions": "E202 E204 E212",
        "param": "E402 E403 E404",
        "unset-params": "E410",
        "flag": "E408 E409 W507",
        "state": "E209",
        "require": "E411",
        "update": "E210",
        "guards": "E405 E406",
        "variants": "E205 W504",
        "operators": "E105 E106",
        "conditions": "E109 E305",
        "kinds": "E301 E304",
        "functions": "E207 E208",
        "reductions": "E302 E303 W505 W506",
        "draws": "E306 W509",
        "unused-names": "W501",
        "first-step": "W502",
        "roots": "W503",
    }.items()
    for code in codes.split()
}
"""The section of the reference that explains each code, by its anchor there, where a diagnostic names no other."""


@dataclass(frozen=True, order=True)
class Span:
    """A part of one source line. `line` and `column` count from 1; `end` is the column after the last character."""

    line: int
    column: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from here to the end of `other`, cut at the end of this line when `other` is on a later one."""
        return Span(self.line, self.column, max(self.end, other.end) if other.line == self.line else self.end)


@dataclass(frozen=True)
class FileLine:
    """A line of a spec's file, by the name that the file has in messages. `line` counts from 1."""

    file: str
    line: int


@dataclass(frozen=True)
class Source:
    """The text of a spec, and its name in messages: a path, or `<text>`. Of a text that was made of several ones,
    `written` says of each row where that was written, None for a row that stands in no file; it is empty for others."""

    name: str
    text: str
    written: tuple[FileLine | None, ...] = ()

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line(self, number: int) -> str:
        lines = self.lines
        return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else ""

    def where(self, span: Span) -> FileLine | None:
        """The line that a part of the text was written in; None for what stands in no file."""
        if self.written:
            return self.written[span.line - 1] if 1 <= span.line <= len(self.written) else None
        return FileLine(self.name, span.line) if span.line else None


@dataclass(frozen=True)
class Diagnostic:
    """One error or warning: `code` is E or W and three digits, `help` says what to do.

    `section` is the section of the reference that explains it, if that is not the one of its code.
    """

    code: str
    message: str
    span: Span
    help: str | None = None
    section: str | None = None

    @property
    def severity(self) -> str:
        return "error" if self.code.startswith("E") else "warning"

    @property
    def rule(self) -> str:
        """The section of the language's reference that explains this error, by its anchor there."""
        return self.section or SECTIONS[self.code]

    def render(self, source: Source, *, with_rule: bool = True) -> str:
        """The message, the line it is about, a caret under the span, what to do, and the section that explains it.

        error[E206]: unknown name 'bata1'
          --> specs/adam.opt:16:12
        16 |   m'     = bata1*m + (1 - beta1)*d
           |            ^^^^^
           = help: did you mean 'beta1'?
           = see: optgen language names
        """
        line = source.line(self.span.line)
        left, right = self.span.column - 1, max(self.span.column, self.span.end - 1)
        if len(line) > MAX_SHOWN:  # a window on a long line
            start = max(0, left - MAX_SHOWN // 3)
            end = start + MAX_SHOWN
            line = ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")
            shift = start - 3 if start else 0
            left, right = left - shift, min(right, end) - shift
        # A tab counts as one column. It is shown as one space, so that the caret stands under its character.
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
        if with_rule:
            rows.append(f"{pad} = see: optgen language {self.rule}")
        return "\n".join(rows)


def render(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """Diagnostics of one source, an empty line between them; each section is named once."""
    blocks: list[str] = []
    named: set[str] = set()
    for d in diagnostics:
        blocks.append(d.render(source, with_rule=d.rule not in named))
        named.add(d.rule)
    return "\n\n".join(blocks)


class SpecErrors(ValueError):
    """All errors of one spec, in the order of its text. `str` shows each with its line and a caret."""

    def __init__(self, source: Source, diagnostics: Iterable[Diagnostic]) -> None:
        self.source = source
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: d.span))
        super().__init__(render(self.diagnostics, source))


SYNONYMS = (
    ("lr", "learning_rate", "eta"),
    ("wd", "weight_decay"),
    ("epsilon", "eps"),
    ("beta1", "b1"),
    ("beta2", "b2"),
    ("momentum", "mu"),
)
"""Names that mean the same in different libraries."""
PAIRS = {"betas": ("beta1", "beta2"), "beta1": ("betas",), "beta2": ("betas",)}
"""What one library has in a tuple, and others by single names."""


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The help line "did you mean ...?" for a misspelt name, or the known name that means the same; None if no known
    name is near."""
    names = list(known)
    same = next((x for words in SYNONYMS if name in words for x in words if x in names), None)
    if same is not None:
        return f"it is '{same}' here"
    if name in PAIRS and set(PAIRS[name]) <= set(names):
        return f"it is {' and '.join(repr(x) for x in PAIRS[name])} here"
    near = nearest(name, names)
    return f"did you mean '{near}'?" if near is not None else None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to `name`, the first of several; None if there is none.

    It differs in capitals only, or by one edit for every four letters and at most two. Failing that, `name`
    abbreviates it, with four letters or more.
    """
    names = [(k, min(2, max(len(name), len(k)) // 4)) for k in known]
    for edits in range(3):
        for k, most in names:
            if edits <= most and _within(name.lower(), k.lower(), edits):
                return k
    return next((k for k, _ in names if len(name) >= 4 and k.startswith(name)), None)


def _within(a: str, b: str, edits: int) -> bool:
    """Whether at most `edits` edits turn a into b. An edit inserts, deletes or replaces a letter, or swaps
    neighbours."""
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[same:], b[same:]
    if not a or not b or not edits:
        return max(len(a), len(b)) <= edits
    tails = [(a[1:], b), (a, b[1:]), (a[1:], b[1:])]
    tails += [(a[2:], b[2:])] if a[:2] == b[1::-1] else []
    return any(_within(x, y, edits - 1) for x, y in tails)


MOST_LISTED = 20
"""The largest number of names in a message."""


def listed(names: Iterable[str]) -> str:
    """`a, b, c`: each name once. Names beyond the first MOST_LISTED are only counted."""
    found = list(dict.fromkeys(names))
    more = [f"and {len(found) - MOST_LISTED} more"] if len(found) > MOST_LISTED else []
    return ", ".join([*found[:MOST_LISTED], *more])
