"""Reads what a spec takes from others: `m = use adam(lr = rate) as a`, and `adam with lookahead(k = 5), centralize`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from optgen.diagnostics import Diagnostic, Source, Span, SpecErrors
from optgen.lang.syntax import Token, read_lines
from optgen.specfiles import CHAIN, CHAIN_PATH

USE, TRANSFORM, BASE, AS, FOR, WITH, OTHERWISE = "use", "transform", "base", "as", "for", "with", "otherwise"
"""Words that have a meaning in their place only, and can be names."""

Tokens = tuple[Token, ...]


class UseError(Exception):
    """What is wrong with a use, and where."""

    def __init__(self, message: str, span: Span, help: str) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic("E114", message, span, help)


@dataclass(frozen=True)
class Use:
    """`use NAME(field = value, ...) as PREFIX`: the spec that is used, and what takes the place of its names. `places`
    are those of the names in the text. `path` is that of its file, where it was given by one."""

    name: str
    fields: dict[str, Tokens]
    prefix: str | None
    span: Span
    places: Mapping[str, Span] = field(default_factory=dict)
    path: str | None = None

    @property
    def of_base(self) -> bool:
        return self.name == BASE


def is_use(tokens: Sequence[Token]) -> bool:
    """Whether a line is `NAME = use SPEC(...)` or `otherwise use SPEC(...)`."""
    return _start(tokens) is not None


def is_transform(tokens: Sequence[Token]) -> bool:
    """Whether a line is `transform NAME ...`."""
    return len(tokens) > 1 and tokens[0].text == TRANSFORM and tokens[1].type == "NAME"


def is_composed(tokens: Sequence[Token]) -> bool:
    """Whether a line is one that only composition knows: a use, or the first line of a transform or of one part."""
    part = len(tokens) > 2 and tokens[0].type == "OPTIMIZER" and tokens[2].text == FOR
    return is_use(tokens) or is_transform(tokens) or (part and not parts_of(tokens))


def parts_of(tokens: Sequence[Token]) -> Tokens:
    """`for FLAG otherwise WORD` in the first line of a spec that is composed; empty if it has none."""
    behind = tuple(tokens[2:6])
    types = [t.type for t in behind]
    return behind if types == ["NAME", "NAME", "OTHERWISE", "NAME"] and behind[0].text == FOR else ()


def _start(tokens: Sequence[Token]) -> int | None:
    """The index of `use` in a line that has one."""
    at = (
        2 if [t.type for t in tokens[:2]] == ["NAME", "EQUAL"] else 1 if tokens and tokens[0].type == "OTHERWISE" else 0
    )
    found = at and len(tokens) > at + 1 and tokens[at].text == USE and tokens[at + 1].type == "NAME"
    return at if found else None


def read_use(tokens: Tokens) -> tuple[Use, Tokens]:
    """The use in a line for which `is_use` holds, and the tokens behind it: its guard. Its arguments are in brackets,
    also where there are none; those of a chain may be left out."""
    start = _start(tokens)
    assert start is not None
    name = tokens[start + 1 :]
    name = name[: 3 if [t.text for t in name[1:2]] == ["/"] else 1]
    if [t.text for t in tokens[start + 1 + len(name) :][:1]] != ["("]:
        spelt = "".join(t.text for t in name)
        raise UseError(f"'{spelt}' without brackets", name[0].span.to(name[-1].span), f"write use {spelt}()")
    return _read(tokens, start + 1)


class Composition(NamedTuple):
    """The parts of `muon with centralize otherwise adamw(lr = 3e-4) with ema`: a spec by name or path, its transforms,
    what updates the parameters that it does not, and the transforms of the whole. Those of a spec alone are `own`."""

    name: str
    own: list[Use]
    other: Use | None
    whole: list[Use]


def read_chain(text: str) -> Composition:
    """The parts of a chain. Raises SpecErrors."""
    name, word, rest = CHAIN.split(text, maxsplit=1)
    source = Source("<name>", rest)
    paths = {match.start() + 1: match[0] for match in CHAIN_PATH.finditer(rest)}
    lines, errors = read_lines(Source("<name>", CHAIN_PATH.sub(lambda path: "_".ljust(len(path[0])), rest)))
    if errors:
        raise SpecErrors(source, errors)
    tokens = tuple(t for line in lines for t in line.tokens)
    own: list[Use] = []
    whole: list[Use] = []
    other = None
    try:
        if word == WITH:
            own, tokens = _transforms(tokens, paths, rest)
            if tokens and tokens[0].text == OTHERWISE:
                word, tokens = OTHERWISE, tokens[1:]
        if word == OTHERWISE:
            other, tokens = _named(tokens, paths, rest, "an optimizer", "muon otherwise adamw(lr = 3e-4)")
            if tokens and tokens[0].text == WITH:
                whole, tokens = _transforms(tokens[1:], paths, rest)
        if tokens:
            _refuse(tokens[0], behind=other, transformed=bool(whole or (own and other is None)))
        return Composition(name.strip(), own, other, whole)
    except UseError as error:
        raise SpecErrors(source, [error.diagnostic]) from None


def _refuse(token: Token, behind: Use | None, *, transformed: bool) -> None:
    """UseError for a word behind a transform, or behind the second optimizer."""
    message = f"'{token.text}' cannot stand behind {'a transform' if transformed else 'an optimizer'}"
    help = "what follows are transforms of the whole: 'muon otherwise adamw with ema'"
    if transformed:
        last = "transforms of the whole stand last: 'muon otherwise adamw with ema'"
        help = last if behind and token.text == OTHERWISE else "separate transforms by commas"
    raise UseError(message, token.span, help)


def _transforms(tokens: Tokens, paths: Mapping[int, str], rest: str) -> tuple[list[Use], Tokens]:
    """The transforms that stand there, separated by commas, and the tokens behind them."""
    found: list[Use] = []
    while not found or (tokens and tokens[0].type == "COMMA"):
        tokens = tokens[1:] if found else tokens
        use, tokens = _named(tokens, paths, rest, "a transform", "adam with lookahead(k = 5), centralize")
        found.append(use)
    return found, tokens


def _named(tokens: Tokens, paths: Mapping[int, str], rest: str, what: str, example: str) -> tuple[Use, Tokens]:
    """The use that a chain goes on with, by a name or a path, and the tokens behind it."""
    if not tokens or tokens[0].type != "NAME":
        span = tokens[0].span if tokens else Span(1, len(rest) + 1, len(rest) + 2)
        raise UseError(f"the name of {what} is missing", span, f"write '{example}'")
    path = paths.get(tokens[0].span.column)
    use, tokens = _read(tokens, 0)
    return (use if path is None else replace(use, name=_name_of(path), path=path)), tokens


def _name_of(path: str) -> str:
    """The name that a transform has by that of its file."""
    return re.sub(r"\W|^(?=\d)", "_", re.split(r"[/\\]", path)[-1].removesuffix(".opt"))


def _read(tokens: Tokens, at: int) -> tuple[Use, Tokens]:
    """The use whose name stands at an index, and the tokens behind it."""
    first, name, at = tokens[at], tokens[at].text, at + 1
    if [t.text for t in tokens[at : at + 1]] == ["/"] and len(tokens) > at + 1:
        name, at = f"{name}/{tokens[at + 1].text}", at + 2
    fields: dict[str, Tokens] = {}
    places: dict[str, Span] = {}
    span = first.span
    if at < len(tokens) and tokens[at].text == "(":
        end = _closing(tokens, at)
        fields, places = _fields(tokens[at + 1 : end])
        span, at = first.span.to(tokens[end].span), end + 1
    prefix = None
    if [t.text for t in tokens[at : at + 1]] == [AS] and len(tokens) > at + 1 and tokens[at + 1].type == "NAME":
        prefix, at = tokens[at + 1].text, at + 2
    return Use(name, fields, prefix, span, places), tokens[at:]


def _closing(tokens: Tokens, at: int) -> int:
    """The index of the bracket that closes the one at an index."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += {"OPEN": 1, "CLOSE": -1}.get(tokens[i].type, 0)
        if depth == 0:
            return i
    raise UseError("'(' is never closed", tokens[at].span, "add the closing bracket")


def _fields(tokens: Tokens) -> tuple[dict[str, Tokens], dict[str, Span]]:
    """`NAME = value` by name, split at the commas outside of brackets; and where the names stand."""
    fields: dict[str, Tokens] = {}
    places: dict[str, Span] = {}
    for part in split(tokens, "COMMA"):
        if not part:
            continue
        if [t.type for t in part[:2]] != ["NAME", "EQUAL"] or len(part) < 3:
            raise UseError(f"'{part[0].text}' is no argument of a use", part[0].span, "write NAME = value")
        name = part[0].text
        if name in fields:
            raise UseError(f"'{name}' is given twice", part[0].span, "keep one of them")
        fields[name], places[name] = part[2:], part[0].span
    return fields, places


def split(tokens: Tokens, type: str) -> list[Tokens]:
    """The parts between the tokens of a type that are outside of brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"OPEN": 1, "CLOSE": -1}.get(token.type, 0)
        if depth == 0 and token.type == type:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]
