"""What a line of a spec says, where the model has no node of its own for it: the heads of sections, and lines about the
whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from optgen.diagnostics import Span
from optgen.expressions import Expr
from optgen.lang.syntax import Token
from optgen.model import Dim, Equation, Flag, Input, Param, Require, StateDecl


class Header(NamedTuple):
    """`optimizer NAME for FLAG otherwise WORD alias A, B "title"`; `parts` are the flag and the word."""

    name: str
    aliases: tuple[str, ...]
    title: str
    span: Span
    parts: tuple[Token, ...] = ()


class Version(NamedTuple):
    """`version 2`."""

    number: int
    span: Span


class Cite(NamedTuple):
    """`cite "..."`."""

    text: str
    span: Span


class Axes(NamedTuple):
    """`axes last two`."""

    span: Span


class RateHint(NamedTuple):
    """`lr_hint 0.001 "source"`: the rate to begin with."""

    rate: float
    source: str
    span: Span


class OwnSchedule(NamedTuple):
    """`schedule own "source"`."""

    source: str
    span: Span


@dataclass(frozen=True)
class Definition:
    """`def f(x, y) = body`: a function of the spec's own."""

    name: str
    parameters: tuple[str, ...]
    body: Expr
    span: Span


class Section(NamedTuple):
    """`update:` or `eval:`."""

    name: str
    span: Span


class PhaseLine(NamedTuple):
    """`phase NAME:`."""

    name: str
    span: Span


class RepeatLine(NamedTuple):
    """`repeat turns as number:`."""

    turns: Expr
    number: Token | None
    span: Span


class EndLine(NamedTuple):
    """`end`."""

    span: Span


About = Header | Version | Cite | Axes | RateHint | OwnSchedule
Declaration = About | Definition | Param | Flag | StateDecl | Input | Dim | Require
Statement = Declaration | Section | PhaseLine | RepeatLine | EndLine | Equation
