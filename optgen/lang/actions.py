"""The semantic actions of the grammar: each match becomes a node of the model, checked as far as one line allows.

LineError is raised for a line that does not match the grammar, and for one that matches but is impossible: a default
outside its interval, or an empty interval.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from optgen.axes import ELEMENTS
from optgen.diagnostics import Span
from optgen.expressions import Expr, Name, Number, Text
from optgen.groups import WORDS
from optgen.lang.builtins import METHODS
from optgen.lang.declaration_checks import (
    MAX_ENTRIES,
    check_follower,
    check_per_param,
    default_of,
    dimensions_of_state,
    distinct,
    plain,
    source_of,
    start_of,
)
from optgen.lang.expression_actions import (
    ExpressionActions,
    GroupToken,
    LineError,
    group_of,
    indexed,
    name_of,
    number_of,
    span_of,
)
from optgen.lang.statements import (
    Axes,
    Cite,
    Definition,
    EndLine,
    Header,
    OwnSchedule,
    PhaseLine,
    RateHint,
    RepeatLine,
    Section,
    Version,
)
from optgen.lang.syntax import VERSIONS, Token, is_version
from optgen.lang.uses import FOR
from optgen.model import (
    NEVER_AGAIN,
    RESERVED_PARAMS,
    Dim,
    Equation,
    Flag,
    Input,
    Interval,
    Param,
    Require,
    StateDecl,
    Timing,
)

FOR_USERS = "for users"
"""The words behind a state that people read."""
LEAST_RATE = 1e-12
"""The least rate to begin with; its inverse is the greatest. Those around either have to be numbers, too."""


class _Option(NamedTuple):
    """An optional part of a declaration. `span` is the place that a message about it points at."""

    name: str
    value: Any
    span: Span


class Actions(ExpressionActions):
    """A method for each rule of the grammar. It is given the list of what the rule matched: tokens, and nodes of rules
    inside it."""

    # the parts of declarations

    def kind(self, items: list[Any]) -> list[Token | GroupToken]:
        """The names of `: row` or `: rows x cols`, without the `x` between them; one for `: axis 1`."""
        names, number = (list(items[1]), items[2:]) if items else ([], [])
        if number or (len(names) == 2 and names[0].text in WORDS):
            return [group_of([*names, *number], "E304", "kind of a state")]
        for token in names[1::2]:
            if token.text != "x":
                raise LineError("E304", f"'{token.text}' between dimensions", token.span, "write 'rows x cols'")
        return names[::2]

    def per_param(self, items: list[Token]) -> bool:
        return bool(items)

    def timing(self, items: list[Any]) -> Timing | None:
        if not items:
            return None
        if len(items) == 1:
            span = items[0].span
            return Timing(Number(NEVER_AGAIN, f"{NEVER_AGAIN:.0f}", span), Number(1.0, "1", span), span)
        every, start = items[1], items[3] if len(items) == 4 else None
        return Timing(every, start, items[0].span.to(span_of(items[-1])))

    def guard(self, items: list[Any]) -> tuple[Expr | None, bool]:
        return (items[1] if len(items) == 2 else None), len(items) == 1

    def value(self, items: list[Token]) -> Number | Token:
        *sign, last = items
        if last.type != "NUMBER":
            return last
        if sign and sign[0].text == "+":
            raise LineError("E105", "a sign of '+'", sign[0].span, "leave it out", "numbers")
        number = Number(math.inf, "inf", last.span) if last.text == "inf" else number_of(last)
        return Number(-number.value, f"-{number.text}", sign[0].span.to(last.span)) if sign else number

    def doc(self, items: list[Token]) -> _Option:
        return _Option("text", items[0].text[1:-1], items[0].span)

    def alias(self, items: list[Any]) -> _Option:
        names = tuple(plain(token, "an alias").text for token in items[1])
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

    def words(self, items: list[Token]) -> _Option:
        text, span = " ".join(t.text for t in items), items[0].span.to(items[1].span)
        if text not in ("zero off", "follows lr", FOR_USERS):
            help = "is 'zero off', 'follows lr' or 'for users' meant?"
            raise LineError("E105", f"'{text}' says nothing here", span, help)
        return _Option(text, None, span)

    def parts(self, items: list[Token]) -> _Option:
        word, flag, _, other = items
        if word.text != FOR:
            raise LineError(
                "E105", f"'{word.text}' cannot stand here", word.span, "is 'for FLAG otherwise WORD' meant?"
            )
        return _Option(FOR, (flag, other), word.span.to(other.span))

    def condition(self, items: list[Any]) -> _Option:
        return _Option("if", items[1], items[0].span)

    # lines

    def optimizer(self, items: list[Any]) -> Header:
        name = plain(items[1], "an optimizer")
        options = _options("an optimizer", items[2], ("for", "alias", "text"))
        aliases, title = options.get("alias", ()), options.get("text", "")
        return Header(name.text, aliases, title, name.span, options.get("for", ()))

    def version(self, items: list[Token]) -> Version:
        number = items[1].text
        if not is_version(number):
            raise LineError("E105", f"the version {number[:20]}", items[1].span, VERSIONS)
        return Version(int(number), items[0].span)

    def cite(self, items: list[Token]) -> Cite:
        return Cite(items[1].text[1:-1], items[0].span)

    def axes(self, items: list[Token]) -> Axes:
        word, *which = items
        if [t.text for t in which] != ["last", "two"]:
            found = " ".join(t.text for t in which)
            help = "write 'axes last two'; without the line, rows are along the first axis"
            raise LineError("E105", f"the axes '{found}'", which[0].span.to(which[1].span), help)
        return Axes(word.span)

    def lr_hint(self, items: list[Any]) -> RateHint:
        _, *number, source = items
        rate = self.value(number)
        assert isinstance(rate, Number)
        if not LEAST_RATE <= rate.value <= 1 / LEAST_RATE:
            help = "write the rate to begin with, from 1e-12 to 1e12; without the line, none is known"
            raise LineError("E105", f"the rate {rate.text}", rate.span, help)
        return RateHint(rate.value, source_of(source), rate.span)

    def schedule(self, items: list[Token]) -> OwnSchedule:
        _, whose, source = items
        if whose.text != "own":
            help = "write 'schedule own'; without the line, the rate is to be warmed up and to decay"
            raise LineError("E105", f"the schedule '{whose.text}'", whose.span, help)
        return OwnSchedule(source_of(source), whose.span)

    def param(self, items: list[Any]) -> Param:
        _, name, kind, per_param, _, default, rest = items
        plain(name, "a param")
        options = _options("a param", rest, ("in", "alias", "zero off", "follows lr", "text"))
        if kind and [t.text for t in kind] != ["int"]:
            help = "leave it out, or write 'int'"
            raise LineError("E304", f"'{kind[0].text}' is no type of a param", kind[0].span, help, "param")
        reserved = RESERVED_PARAMS.get(name.text)
        unset = isinstance(default, Token) and default.type == "NONE"
        if per_param:
            check_per_param(name, kind, default)
        if "follows lr" in options:
            check_follower(name, kind, default)
        interval = options.get("in", reserved.interval if reserved else None)
        value = None if unset else default_of(default, interval, bool(kind))
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
            is_int=bool(kind),
            aliases=options.get("alias", ()),
            zero_off="zero off" in options,
            doc=options.get("text", reserved.doc if reserved else ""),
            per_param=per_param,
            follows_lr="follows lr" in options,
        )

    def flag(self, items: list[Any]) -> Flag:
        _, name, per_param, _, choices, rest = items
        plain(name, "a flag")
        doc = _options("a flag", rest, ("text",)).get("text", "")
        if isinstance(choices, Token):
            return Flag(name.text, name.span, default=choices.text == "true", per_param=per_param, doc=doc)
        texts = [x for x in choices if isinstance(x, Text)]
        if len(texts) == len(choices):
            return Flag(name.text, name.span, texts[0].value, distinct(texts), None, per_param, doc)
        first = choices[0]
        if len(choices) > 1:
            other = next(x for x in choices if not isinstance(x, Text))
            raise LineError("E105", "choices are quoted names", span_of(other), "write flag f = 'linear' | 'sqrt'")
        if per_param:
            raise LineError("E409", "a flag per param is set, not derived", span_of(first), "write 'true' or 'false'")
        return Flag(name.text, name.span, condition=first, doc=doc)

    def entries(self, items: list[Any]) -> int | str:
        """How many entries a history has: a number or the name of a param; 0 for a state that is no history."""
        if not items:
            return 0
        opening, count, closing = items
        if opening.text + closing.text != "[]":
            raise LineError("E105", f"entries in {opening.text} {closing.text}", opening.span, "use [ ]", "histories")
        match count:
            case Number(value=value) if value.is_integer() and 1 <= value <= MAX_ENTRIES:
                return int(value)
            case Name(id=id, primed=False, at=None):
                return id
        help = f"write a whole number from 1 to {MAX_ENTRIES}, or an int param"
        raise LineError("E404", "the entries of a history are counted", span_of(count), help, "histories")

    def state(self, items: list[Any]) -> StateDecl:
        _, name, entries, kind, _, init, rest = items
        plain(name, "a state")
        options = _options("a state", rest, ("if", FOR_USERS, "text"))
        if isinstance(init, Token) and init.type == "NONE":
            help = "start it at 0, at a param or at w"
            raise LineError("E402", "a state always has a value", init.span, help, "state")
        axes, known = dimensions_of_state(kind)
        doc = options.get("text", "")
        guard, is_shown = options.get("if"), FOR_USERS in options
        return StateDecl(name.text, axes, known, start_of(init), guard, name.span, doc, entries, is_shown)

    def input(self, items: list[Any]) -> Input | Param:
        name = plain(items[1], "an input")
        _, _, kind, options = items
        doc = _options("an input", options, ("text",)).get("text", "")
        if not kind:
            return Input(name.text, name.span, doc)
        words = [t.text for t in kind]
        if words == ["host"] and name.text not in RESERVED_PARAMS:
            return Param(name.text, None, name.span, doc=doc, given=True)
        axes, known = dimensions_of_state(kind)
        if not axes or axes == ELEMENTS or name.text in RESERVED_PARAMS or any(isinstance(t, GroupToken) for t in kind):
            help = "an input is 'host', 'row', 'col', or has dimensions, as 'cols x cols'; without them, those of w"
            raise LineError("E304", f"'{kind[0].text}' is no kind of an input", kind[0].span, help, "input")
        return Input(name.text, name.span, doc, axes, known)

    def dim(self, items: list[Any]) -> Dim:
        _, name, _, value, rest = items
        doc = _options("a dimension", rest, ("text",)).get("text", "")
        return Dim(plain(name, "a dimension").text, value, name.span, doc)

    def require(self, items: list[Any]) -> Require:
        word, condition, rest = items
        message = _options("a requirement", rest, ("text",)).get("text")
        if message is None:
            help = 'say what is needed: require not (a and b) "a excludes b"'
            raise LineError("E105", "this requirement has no message", word.span, help)
        return Require(condition, message, span_of(condition))

    def definition(self, items: list[Any]) -> Definition:
        _, name, opening, parameters, closing, _, body = items
        plain(name, "a function")
        if opening.text + closing.text != "()":
            raise LineError("E105", f"arguments in {opening.text} {closing.text}", opening.span, "use ( )")
        names: list[str] = []
        for token in parameters:
            if plain(token, "an argument").text in names:
                raise LineError("E202", f"a second argument '{token.text}'", token.span, "rename one of them")
            names.append(token.text)
        return Definition(name.text, tuple(names), body, name.span)

    def section(self, items: list[Token]) -> Section:
        return Section(items[0].text, items[0].span)

    def phase(self, items: list[Token]) -> PhaseLine:
        name = plain(items[1], "a phase")
        if name.text.startswith("_") or name.text in METHODS:
            help = "steps and optimizers have something else of that name in Python; choose another name"
            raise LineError("E201", f"a phase cannot be called '{name.text}'", name.span, help, "phase")
        return PhaseLine(name.text, name.span)

    def equation(self, items: list[Any]) -> Equation:
        name, *index, _, value, timing, (guard, otherwise) = items
        target = name_of(name)
        if index:
            opening, at, closing = index
            if opening.text + closing.text != "[]":
                raise LineError("E105", f"an index in {opening.text} {closing.text}", opening.span, "use [ ]")
            target = indexed(name, at, closing)
        return Equation(target, value, name.span.to(span_of(value)), guard, otherwise, timing)

    def repeat(self, items: list[Any]) -> RepeatLine:
        index = plain(items[3], "the number of a turn") if len(items) == 5 else None
        return RepeatLine(items[1], index, items[0].span.to(span_of(items[1])))

    def end(self, items: list[Token]) -> EndLine:
        return EndLine(items[0].span)


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
