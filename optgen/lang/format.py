"""The formatter of specs: `optgen fmt`.

It works on tokens, so that comments stay, and lines stay broken inside brackets where they were. Lines without a blank
line between them form a paragraph, in which `=`, intervals, texts and guards are aligned in columns. The layout depends
on the tokens only, never on the spaces between them, which makes it idempotent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from optgen.diagnostics import Diagnostic, Source, Span, SpecErrors
from optgen.lang.parser import read_draft
from optgen.lang.syntax import CLAUSES, MAX_CHARACTERS, Line, Token, value_end
from optgen.lang.uses import is_composed

_VALUES = ("NAME", "NUMBER", "CLOSE", "TRANSPOSE", "CHOICE", "SET", "STRING", "BOOL", "NONE")
_DECLARATIONS = ("PARAM", "FLAG", "STATE", "INPUT", "DIM")
_SECTIONS = ("SECTION", "PHASE")
_INDENT = "  "


def format_text(source: Source) -> str:
    """The spec laid out anew, with `\\n` line ends and one at its end. Raises SpecErrors if a line cannot be parsed."""
    draft = read_draft(source)
    composed = {t.span.line for line in draft.lines if is_composed(line.tokens) for t in line.tokens}
    errors = [d for d in draft.errors if d.span.line not in composed]  # what a use is, `flatten` knows
    if errors:
        raise SpecErrors(source, errors)
    rows: list[str] = []
    indent = ""
    for blank, lines in groupby(draft.lines, key=lambda x: not (x.tokens or x.comments)):
        if blank:
            rows.append("")
            continue
        paragraph = []
        for line in lines:
            first = line.tokens[0].type if line.tokens else ""
            if first in _SECTIONS:
                indent = _INDENT
            if first == "END":
                indent = indent.removesuffix(_INDENT)
            paragraph.append(_Layout(line, indent))
            if first == "REPEAT":
                indent += _INDENT
        rows.extend(_paragraph(paragraph))
    text = "\n".join(rows).strip("\n") + "\n" if any(rows) else ""
    if len(text) > MAX_CHARACTERS:
        message = f"laid out, this spec has {len(text)} characters; the limit is {MAX_CHARACTERS}"
        raise SpecErrors(source, [Diagnostic("E108", message, Span(1, 1, 2), "is this a spec?")])
    return text


@dataclass
class _Layout:
    """The layout of one logical line: cells on one row, or several rows if it was broken inside brackets."""

    line: Line
    indent: str
    cells: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Lines of one kind are aligned with one another."""
        if not self.line.tokens:
            return ""
        first = self.line.tokens[0].type
        return "DECLARATION" if first in _DECLARATIONS else "EQUATION" if first == "NAME" else ""

    @property
    def is_row(self) -> bool:
        tokens = self.line.tokens
        return bool(tokens) and tokens[0].span.line == tokens[-1].span.line and len(self.line.comments) <= 1


def _paragraph(lines: list[_Layout]) -> Iterator[str]:
    """The rows of a paragraph."""
    for layout in lines:
        layout.cells = _cells(layout.line.tokens) if layout.kind else [render_tokens(layout.line.tokens)]
    keyword = max((len(x.line.tokens[0].text) for x in lines if x.kind == "DECLARATION"), default=0)
    for layout in lines:
        if layout.kind == "DECLARATION":
            first, _, rest = layout.cells[0].partition(" ")
            layout.cells[0] = f"{first:{keyword}} {rest}"
    widths = {kind: _widths([x for x in lines if x.kind == kind]) for kind in ("DECLARATION", "EQUATION")}
    rows: list[tuple[str, str]] = []
    for layout in lines:
        rows.extend(_rows(layout, widths.get(layout.kind, [0])))
    for commented, group in groupby(rows, key=lambda row: bool(row[0] and row[1])):
        run = list(group)
        width = max(len(code) for code, _ in run)
        for code, comment in run:
            yield (f"{code:{width}}   {comment}" if commented else code + comment).rstrip()


def _cells(tokens: tuple[Token, ...]) -> list[str]:
    """The cells of a line: the name, `= value`, then options and text, or the guard."""
    equal = next((i for i, t in enumerate(tokens) if t.type == "EQUAL"), len(tokens))
    end = value_end(tokens)
    last = len(tokens) - 1 if tokens[-1].type == "STRING" and tokens[0].type != "NAME" else len(tokens)
    if equal == len(tokens):  # an input
        return [render_tokens(tokens[:last]), "", "", render_tokens(tokens[last:])]
    return [render_tokens(part) for part in (tokens[:equal], tokens[equal:end], tokens[end:last], tokens[last:])]


def _widths(lines: list[_Layout]) -> list[int]:
    """The width of each column: of its cells that have something to their right, and of all names."""
    names = [len(x.cells[0]) for x in lines]
    widths = [max(names, default=0)]
    rows = [x.cells for x in lines if x.is_row]
    for column in (1, 2):
        widths.append(max((len(c[column]) for c in rows if any(c[column + 1 :])), default=0))
    return widths


def _rows(layout: _Layout, widths: list[int]) -> Iterator[tuple[str, str]]:
    """The rows of one line, each with its comment."""
    line, indent = layout.line, layout.indent
    if not line.tokens:
        comment = line.comments[0]
        yield (
            "",
            (indent or _INDENT if comment.span.column > 1 else "") + comment.text.rstrip(),
        )  # one in column 1 is a remark
        return
    if line.tokens[0].type in _SECTIONS:
        indent = ""
    name = layout.cells[0]
    if layout.kind:
        name = f"{name:{widths[0]}}"
    comments = {c.span.line: c.text.rstrip() for c in line.comments}
    if layout.is_row:
        text = indent + name
        if layout.kind:
            gap = "   " if layout.kind == "EQUATION" else " "
            _, value, options, doc = layout.cells
            text = (
                f"{text} {value:{widths[1]}}"
                + (f"{gap}{options:{widths[2]}}" if widths[2] or options else "")
                + f"  {doc}"
            )
        yield text.rstrip(), next(iter(comments.values()), "")
        return
    yield from _broken_rows(line, indent + name if layout.kind else None, indent, comments)


def _broken_rows(line: Line, name: str | None, indent: str, comments: dict[int, str]) -> Iterator[tuple[str, str]]:
    """The rows of a line that is broken inside brackets: each row is indented to behind the open bracket.

    `name` is the formatted text before `=`; None if the line is not aligned with others.
    """
    tokens = line.tokens
    start = next((i for i, t in enumerate(tokens) if t.type == "EQUAL"), 0) if name is not None else 0
    text = name if name is not None else indent
    open_at: list[int] = []
    row_begins = not start
    number = tokens[0].span.line
    for i, token in enumerate(tokens[start:], start):
        while number < token.span.line:
            yield text.rstrip(), comments.pop(number, "")
            number += 1
            text = " " * (open_at[-1] if open_at else len(indent))
            row_begins = True
        if not row_begins:
            guard = token.type in CLAUSES and tokens[0].type == "NAME" and tokens[i - 1].type not in CLAUSES
            text += "   " if guard else space_before(tokens, i)
        text += token.text
        row_begins = False
        if token.type == "OPEN":
            open_at.append(len(text))
        elif token.type == "CLOSE" and open_at:
            open_at.pop()
    yield text.rstrip(), comments.pop(number, "")


def render_tokens(tokens: tuple[Token, ...]) -> str:
    """Tokens on one row."""
    return "".join((space_before(tokens, i) if i else "") + token.text for i, token in enumerate(tokens))


def space_before(tokens: tuple[Token, ...], index: int) -> str:
    """The space before a token: none beside `*`, `/` and `^`, in calls, after signs, and inside brackets."""
    left, right = tokens[index - 1], tokens[index]
    if left.type == "OPEN" or right.type in ("CLOSE", "COMMA", "COLON"):
        return ""
    if right.type == "OPEN" and left.type == "NAME":
        return ""
    if {left.type, right.type} & {"MULTIPLY", "POWER"} or right.type == "TRANSPOSE":
        return ""
    is_sign = left.type == "ADD" and (
        index == 1 or tokens[index - 2].type not in _VALUES or _is_axis(tokens, index - 2)
    )
    return "" if is_sign else " "


def _is_axis(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a token is the word of `per axis -1`, or of `state v: axis -1`."""
    return tokens[index].text == "axis" and index > 0 and tokens[index - 1].type in ("PER", "COLON")
