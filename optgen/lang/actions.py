"""The semantic actions of the grammar: each match becomes a node of the model, checked as far as one line allows.

LineError is raised for a line that does not match the grammar, and for one that matches but is impossible: a default
outside its interval, or an empty interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from optgen.diagnostics import Diagnostic, Span
from optgen.expressions import Binary, Call, Expr, IsSet, Name, Number, Text, Unary
from optgen.lang.builtins import FUNCTIONS
from optgen.lang.syntax import Token
from optgen.model import RESERVED_PARAMS, Equation, Flag, Input, Interval, Kind, Param, Require, StateDecl


class LineError(Exception):
    """An error in a line. The parser gives up on the line and goes on with the next."""

    def __init__(
        self, code: str, message: str, span: Span, help: str | None = None, section: str | None = None
    ) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, span, help, section)


class Header(NamedTuple):
    """`optimizer NAME alias A, B "title"`."""

    name: str
    aliases: tuple[str, ...]
    title: str
    span: Span


class Cite(NamedTuple):
    """`cite "..."`."""

    text: str
    span: Span


class Axes(NamedTuple):
    """`axes last two`."""

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


Statement = Header | Cite | Axes | Definition | Param | Flag | StateDecl | Input | Require | Section | Equation


class _Scope(NamedTuple):
    """`per row` or `over params` among the arguments of a call."""

    word: str
    target: Token


class _Option(NamedTuple):
    """An optional part of a declaration. `span` is the place that a message about it points at."""

    name: str
    value: Any
    span: Span


def _span(node: Expr | Token) -> Span:
    return node.span


class Actions:
    """One method for each name in the grammar. Lark calls it with the list of what was matched."""

    def same(self, items: list[Any]) -> Any:
        """The action of an alternative without an arrow."""
        return items[0]

    def several(self, items: list[Any]) -> list[Any]:
        """Append to a list; separators are dropped."""
        return [*items[0], items[-1]] if items and isinstance(items[0], list) else items

    # expressions

    def number(self, items: list[Token]) -> Number:
        return _number(items[0])

    def name(self, items: list[Token]) -> Name:
        return _name(items[0])

    def choice(self, items: list[Token]) -> Text:
        return Text(items[0].text[1:-1], items[0].span)

    def is_set(self, items: list[Token]) -> IsSet:
        return IsSet(_name(items[0]), items[0].span.to(items[1].span))

    def brackets(self, items: list[Any]) -> Expr:
        opening, inner, closing = items
        if opening.text + closing.text != "()":
            raise LineError("E105", f"an expression in {opening.text} {closing.text}", opening.span, "use ( )")
        expr: Expr = inner
        return expr

    def unary(self, items: list[Any]) -> Unary:
        if items[0].text == "+":
            raise LineError("E105", "a sign of '+'", items[0].span, "leave it out", "numbers")
        return Unary(items[0].text, items[1], items[0].span.to(_span(items[1])))

    def binary(self, items: list[Any]) -> Binary:
        left, operator, right = items
        return Binary(operator.text, left, right, _span(left).to(_span(right)))

    def scope(self, items: list[Token]) -> _Scope:
        word, target = items
        allowed = ("row", "col", "matrix") if word.text == "per" else ("params",)
        if target.text not in allowed:
            help = "write 'per row', 'per col', 'per matrix' or 'over params'"
            raise LineError("E303", f"'{word.text} {target.text}' is no scope", target.span, help)
        return _Scope(word.text, target)

    def call(self, items: list[Any]) -> Call:
        function, closing = items[0], items[-1]
        parts = list(items[2]) if len(items) == 4 else []
        for part in parts[:-1]:
            if isinstance(part, _Scope) and isinstance(parts[-1], _Scope):
                help = "one scope is allowed; name the inner reduction on a line of its own"
                raise LineError("E303", "a call with two scopes", parts[-1].target.span, help)
            if isinstance(part, _Scope):
                raise LineError(
                    "E303", "a scope comes last in a call", part.target.span, "move it behind the other arguments"
                )
        scope = parts.pop().target.text if parts and isinstance(parts[-1], _Scope) else None
        if items[1].text + closing.text != "()":
            if function.text in FUNCTIONS or items[1].text == "(":
                message = f"a call with {items[1].text} {closing.text}"
                raise LineError("E105", message, items[1].span, "use ( )", "functions")
            help = "elements have no index: an equation is for each of them"
            message = f"'{function.text}' with an index"
            raise LineError("E105", message, items[1].span, help, "not-in-the-language")
        if function.text.endswith("'"):
            raise LineError(
                "E105", f"'{function.text}' is called like a function", function.span, "write '*' to multiply"
            )
        return Call(function.text, tuple(parts), scope, function.span.to(closing.span))

    # the parts of declarations

    def kind(self, items: list[Token]) -> Token | None:
        return items[1] if items else None

    def per_param(self, items: list[Token]) -> bool:
        return bool(items)

    def guard(self, items: list[Any]) -> tuple[Expr | None, bool]:
        return (items[1] if len(items) == 2 else None), len(items) == 1

    def value(self, items: list[Token]) -> Number | Token:
        *sign, last = items
        if last.type != "NUMBER":
            return last
        if sign and sign[0].text == "+":
            raise LineError("E105", "a sign of '+'", sign[0].span, "leave it out", "numbers")
        number = Number(math.inf, "inf", last.span) if last.text == "inf" else _number(last)
        return Number(-number.value, f"-{number.text}", sign[0].span.to(last.span)) if sign else number

    def doc(self, items: list[Token]) -> _Option:
        return _Option("text", items[0].text[1:-1], items[0].span)

    def alias(self, items: list[Any]) -> _Option:
        names = tuple(_plain(token, "an alias").text for token in items[1])
        return _Option("alias", names, items[0].span)

    def interval(self, items: list[Any]) -> _Option:
        word, opening, low, _, high, closing = items
        for end in (low, high):
            if isinstance(end, Token):
                raise LineError("E105", f"'{end.text}' bounds an interval", end.span, "bounds are numbers or inf")
        span = opening.span.to(closing.span)
        interval = Interval(low.value, high.value, opening.text == "(", closing.text == ")")
        if low.value > high.value or (low.value == high.value and (interval.low_open or interval.high_open)):
            raise LineError("E403", f"the interval {interval} is empty", span, "write the lower bound first")
        return _Option("in", interval, word.span.to(closing.span))

    def zero_off(self, items: list[Token]) -> _Option:
        span = items[0].span.to(items[1].span)
        if [t.text for t in items] != ["zero", "off"]:
            raise LineError(
                "E105", f"'{items[0].text} {items[1].text}' says nothing here", span, "is 'zero off' meant?"
            )
        return _Option("zero off", True, span)

    def condition(self, items: list[Any]) -> _Option:
        return _Option("if", items[1], items[0].span)

    # lines

    def optimizer(self, items: list[Any]) -> Header:
        name = _plain(items[1], "an optimizer")
        options = _options("an optimizer", items[2], ("alias", "text"))
        return Header(name.text, options.get("alias", ()), options.get("text", ""), name.span)

    def cite(self, items: list[Token]) -> Cite:
        return Cite(items[1].text[1:-1], items[0].span)

    def axes(self, items: list[Token]) -> Axes:
        word, *which = items
        if [t.text for t in which] != ["last", "two"]:
            found = " ".join(t.text for t in which)
            help = "write 'axes last two'; without the line, rows are along the first axis"
            raise LineError("E105", f"the axes '{found}'", which[0].span.to(which[1].span), help)
        return Axes(word.span)

    def param(self, items: list[Any]) -> Param:
        _, name, kind, _, default, rest = items
        _plain(name, "a param")
        options = _options("a param", rest, ("in", "alias", "zero off", "text"))
        if kind is not None and kind.text != "int":
            help = "leave it out, or write 'int'"
            raise LineError("E304", f"'{kind.text}' is no type of a param", kind.span, help, "param")
        reserved = RESERVED_PARAMS.get(name.text)
        unset = isinstance(default, Token) and default.type == "NONE"
        interval = options.get("in", reserved.interval if reserved else None)
        value = None if unset else _default(default, interval, kind is not None)
        if unset and reserved is not None and not reserved.optional:
            raise LineError("E402", f"'{name.text}' always has a value", default.span, "give it a number")
        if "zero off" in options and not unset:
            span = next(o.span for o in rest if o.name == "zero off")
            raise LineError("E402", "'zero off' on a param that is always set", span, "write '= none zero off'")
        return Param(
            name.text,
            value,
            name.span,
            optional=unset or (reserved is not None and reserved.optional),
            interval=interval,
            is_int=kind is not None,
            aliases=options.get("alias", ()),
            zero_off="zero off" in options,
            doc=options.get("text", reserved.doc if reserved else ""),
        )

    def flag(self, items: list[Any]) -> Flag:
        _, name, per_param, _, choices, rest = items
        _plain(name, "a flag")
        doc = _options("a flag", rest, ("text",)).get("text", "")
        if isinstance(choices, Token):
            return Flag(name.text, name.span, default=choices.text == "true", per_param=per_param, doc=doc)
        texts = [x for x in choices if isinstance(x, Text)]
        if len(texts) == len(choices):
            return Flag(name.text, name.span, texts[0].value, _distinct(texts), None, per_param, doc)
        first = choices[0]
        if len(choices) > 1:
            other = next(x for x in choices if not isinstance(x, Text))
            raise LineError("E105", "choices are quoted names", _span(other), "write flag f = 'linear' | 'sqrt'")
        if per_param:
            raise LineError("E409", "a flag per param is set, not derived", _span(first), "write 'true' or 'false'")
        return Flag(name.text, name.span, condition=first, doc=doc)

    def state(self, items: list[Any]) -> StateDecl:
        _, name, kind, _, init, rest = items
        _plain(name, "a state")
        options = _options("a state", rest, ("if", "text"))
        kinds = {k.value: k for k in Kind if k is not Kind.UNIFORM}
        if kind is not None and kind.text not in kinds:
            raise LineError(
                "E304", f"'{kind.text}' is no kind of a state", kind.span, f"the kinds are {', '.join(kinds)}"
            )
        if isinstance(init, Token) and init.type == "NONE":
            help = "start it at 0, at a param or at w"
            raise LineError("E402", "a state always has a value", init.span, help, "state")
        span_kind = kinds[kind.text] if kind is not None else Kind.ELEM
        return StateDecl(name.text, span_kind, _start(init), options.get("if"), name.span, options.get("text", ""))

    def input(self, items: list[Any]) -> Input:
        name = _plain(items[1], "an input")
        return Input(name.text, name.span, _options("an input", items[2], ("text",)).get("text", ""))

    def require(self, items: list[Any]) -> Require:
        word, condition, rest = items
        message = _options("a requirement", rest, ("text",)).get("text")
        if message is None:
            help = 'say what is needed: require not (a and b) "a excludes b"'
            raise LineError("E105", "this requirement has no message", word.span, help)
        return Require(condition, message, _span(condition))

    def definition(self, items: list[Any]) -> Definition:
        _, name, opening, parameters, closing, _, body = items
        _plain(name, "a function")
        if opening.text + closing.text != "()":
            raise LineError("E105", f"arguments in {opening.text} {closing.text}", opening.span, "use ( )")
        names: list[str] = []
        for token in parameters:
            if _plain(token, "an argument").text in names:
                raise LineError("E202", f"a second argument '{token.text}'", token.span, "rename one of them")
            names.append(token.text)
        return Definition(name.text, tuple(names), body, name.span)

    def section(self, items: list[Token]) -> Section:
        return Section(items[0].text, items[0].span)

    def equation(self, items: list[Any]) -> Equation:
        name, _, value, (guard, otherwise) = items
        return Equation(_name(name), value, name.span.to(_span(value)), guard, otherwise)


def _name(token: Token) -> Name:
    return Name(token.text.rstrip("'"), token.text.endswith("'"), token.span)


def _plain(token: Token, what: str) -> Token:
    """A token that names something new, and so cannot have a prime."""
    if token.text.endswith("'"):
        message = f"{what} is declared without a prime"
        raise LineError(
            "E211", message, token.span, f"write {token.text[:-1]}; a prime marks its new value in an equation"
        )
    return token


def _number(token: Token) -> Number:
    if token.text == "inf":
        raise LineError(
            "E401", "'inf' in an expression", token.span, "only an interval may name it; a number is needed here"
        )
    value = float(token.text)
    mantissa = token.text.lower().split("e")[0]
    if math.isinf(value):
        raise LineError(
            "E401", f"{_short(token.text)} is larger than any double", token.span, "the largest is 1.797e308"
        )
    if value == 0 and any(c in "123456789" for c in mantissa):
        raise LineError(
            "E401", f"{_short(token.text)} is smaller than any double", token.span, "the smallest is 4.94e-324"
        )
    return Number(value, token.text, token.span)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."


def _start(init: Expr) -> Expr:
    """The start of a state. A negative number is one number, as the default of a param is."""
    if isinstance(init, Unary) and init.op == "-" and isinstance(init.operand, Number):
        return Number(-init.operand.value, f"-{init.operand.text}", init.span)
    return init


def _default(value: Number | Token, interval: Interval | None, is_int: bool) -> float | int:
    """The default of a param, checked against its interval."""
    if isinstance(value, Token):
        help = "a default is a number or none; compute with other params in the equations"
        raise LineError("E402", f"the default '{value.text}' is not a number", value.span, help)
    if math.isinf(value.value):
        raise LineError("E402", "a default of inf", value.span, "write 'none' for a bound that is off")
    if interval is not None and value.value not in interval:
        help = "change the default or the interval"
        raise LineError("E402", f"the default {value.text} is outside {interval}", value.span, help)
    if not is_int:
        return value.value
    if not value.value.is_integer() or abs(value.value) > 2**53:
        raise LineError("E404", f"{_short(value.text)} is not a whole number", value.span, "an int param needs one")
    return int(value.value)


def _distinct(texts: list[Text]) -> tuple[str, ...]:
    """The names of a flag's choices: at least two, all different."""
    for i, text in enumerate(texts):
        if any(t.value == text.value for t in texts[:i]):
            raise LineError("E202", f"the choice '{text.value}' stands here twice", text.span, "remove one of them")
    if len(texts) < 2:
        raise LineError("E408", "a flag with a single choice", texts[0].span, "write flag f = 'linear' | 'sqrt'")
    return tuple(t.value for t in texts)


def _options(what: str, options: list[_Option], allowed: tuple[str, ...]) -> dict[str, Any]:
    """The parts behind a declaration by name: each at most once, and only what this declaration takes."""
    table: dict[str, Any] = {}
    for option in options:
        shown = "a text" if option.name == "text" else f"'{option.name}'"
        if option.name not in allowed:
            takes = ", ".join("a text" if a == "text" else f"'{a}'" for a in allowed)
            raise LineError("E105", f"{what} takes no {shown.removeprefix('a ')}", option.span, f"it takes {takes}")
        if option.name in table:
            raise LineError("E105", f"{shown} stands here twice", option.span, "keep one of them")
        table[option.name] = option.value
    return table
