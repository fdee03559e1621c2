"""The text of a spec made of several, and where in the user's text each part of it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from optgen.diagnostics import Diagnostic, FileLine, Source, Span, SpecErrors
from optgen.lang.format import render_tokens, space_before
from optgen.lang.parts import NOWHERE, Part, token
from optgen.lang.uses import Tokens

_LINE = re.compile(r"on line (\d+)")
"""What messages say of other lines."""


@dataclass(frozen=True)
class Flattened:
    """A spec without uses. `origin` is the text that was written, which is `source` itself if it has no uses; `rows`
    are the tokens of each row of `source`, with their places in `origin`."""

    source: Source
    origin: Source
    rows: tuple[Tokens, ...] = ()

    def translate(self, errors: SpecErrors) -> SpecErrors:
        """Errors in `source` as errors in `origin`."""
        if not self.rows:
            return errors
        return SpecErrors(self.origin, _once(map(self._moved, errors.diagnostics)))

    def _moved(self, d: Diagnostic) -> Diagnostic:
        message, help = (text and _LINE.sub(self._line, text) for text in (d.message, d.help))
        return replace(d, message=message or "", help=help, span=self._place(d.span))

    def _line(self, found: re.Match[str]) -> str:
        """`on line N` of the origin."""
        return f"on line {self._place(Span(int(found[1]), 1, 2)).line}"

    def _place(self, span: Span) -> Span:
        tokens = self.rows[span.line - 1] if span.line <= len(self.rows) else ()
        known = [t.span for t in tokens if t.span != NOWHERE]
        meant = [t.span for t, at in zip(tokens, columns(tokens), strict=True) if span.column <= at < span.end]
        found = [s for s in meant if s != NOWHERE] or known[:1] or [Span(1, 1, 2)]
        return found[0].to(found[-1])


def _once(diagnostics: Iterator[Diagnostic]) -> Iterable[Diagnostic]:
    """Errors without repetitions. Copies of a line lead to several errors that say the same about one place; the one
    that shows most of it stays."""
    found: dict[tuple[str, int, int], Diagnostic] = {}
    for d in diagnostics:
        key = d.message, d.span.line, d.span.column
        found[key] = max(found.get(key, d), d, key=lambda x: x.span.end)
    return found.values()


def _section(name: str) -> Tokens:
    return token("SECTION", name), token("COLON", ":")


def _version(part: Part) -> Tokens:
    span = part.versions[0][0].span if part.versions else NOWHERE
    return token("VERSION", "version", span), token("NUMBER", str(part.version), span)


def columns(tokens: Tokens) -> Iterator[int]:
    """The columns at which the tokens of a rendered row begin."""
    column = 1
    for i, t in enumerate(tokens):
        column += len(space_before(tokens, i)) if i else 0
        yield column
        column += len(t.text)


def _written(row: Tokens) -> FileLine | None:
    """Where a row was written: its `=`, as other files' words stand in the place of names; or else its first word."""
    found = [t for t in row if t.written is not None]
    equals = [t for t in found if t.type == "EQUAL"]
    return next((t.written for t in (*equals, *found)), None)


def render(part: Part, name: str, origin: Source | None) -> Flattened:
    """The text of a part. `origin` is the text in which its tokens have their places; None if they come from several
    texts."""
    versions = [_version(part)] if part.bumps and len(part.versions) < 2 else part.versions
    cites = [part.cite] if part.cite else []
    rows: list[Tokens] = [part.header, *versions, *cites, *part.axes, *part.rates, *part.schedules, *part.declarations]
    rows += [*([] if part.has_phases else [_section("update")]), *part.update]
    rows += [_section("eval"), *part.evaluate] if part.evaluate else []
    source = Source(name, "\n".join(map(render_tokens, rows)) + "\n", tuple(map(_written, rows)))
    return Flattened(source, origin or source, tuple(rows) if origin else ())
