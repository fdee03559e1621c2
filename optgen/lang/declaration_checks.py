"""Checks of what one declaration says, as far as its own line tells: names, defaults, kinds. They raise LineError."""

from __future__ import annotations

import math

from optgen.axes import ELEMENTS, Axes, Kind, When, of_kind
from optgen.expressions import Expr, Number, Text, Unary
from optgen.lang.expression_actions import GroupToken, LineError, shortened
from optgen.lang.syntax import Token
from optgen.model import PER_PARAMETER, RESERVED_PARAMS, Interval


def source_of(token: Token) -> str:
    """The text that says where a statement about the rate comes from, which is not empty."""
    text = token.text[1:-1].strip()
    if not text:
        raise LineError("E105", "this source is empty", token.span, "name the paper's section, or the authors' code")
    return text


def plain(token: Token, what: str) -> Token:
    """A token that names something new, and so cannot have a prime."""
    if token.text.endswith("'"):
        message = f"{what} is declared without a prime"
        raise LineError(
            "E211", message, token.span, f"write {token.text[:-1]}; a prime marks its new value in an equation"
        )
    return token


def check_per_param(name: Token, kind: list[Token], default: Number | Token) -> None:
    """A param of which each parameter has a value: a number, which no code, count or dimension depends on."""
    if name.text in RESERVED_PARAMS:
        differs = name.text in PER_PARAMETER
        help = "leave 'per param' out" if differs else "multiply by a param of another name that is 'per param'"
        what = "differs between parameters without it" if differs else "is one number for all parameters"
        raise LineError("E402", f"'{name.text}' per param, which {what}", name.span, help, "param")
    if kind:
        help = "an int param counts turns or entries, or is a dimension, for all parameters alike; leave 'int' out"
        raise LineError("E402", "an int param cannot be per param", kind[0].span, help, "param")
    if isinstance(default, Token) and default.type == "NONE":
        help = "whether a param is set chooses the code of all parameters; give it a number"
        raise LineError("E402", f"'{name.text}' per param always has a value", default.span, help, "param")


def check_follower(name: Token, kind: list[Token], default: Number | Token) -> None:
    """A param that follows `lr`: a further rate, which always is a number."""
    if name.text in RESERVED_PARAMS:
        help = "leave 'follows lr' out; it is for the rate of a part of the equations"
        raise LineError("E402", f"'{name.text}' follows lr, which is no rate of your own", name.span, help, "param")
    if kind or (isinstance(default, Token) and default.type == "NONE"):
        help = "a rate is a number that is no count and is always set"
        raise LineError("E402", f"'{name.text}' follows lr, but is no rate", name.span, help, "param")


KINDS = {k.value: k for k in Kind if k not in (Kind.UNIFORM, Kind.MATRIX)}
MAX_DIMENSIONS = 2
MAX_ENTRIES = 4096
"""The largest number of entries of a history."""


def dimensions_of_state(names: list[Token | GroupToken]) -> tuple[Axes, When]:
    """The dimensions that a state is declared with, and when a number of it is known."""
    if not names:
        return ELEMENTS, When.TENSOR
    if len(names) == 1 and names[0].text in KINDS:
        return of_kind(KINDS[names[0].text])
    dims = tuple(token.axis if isinstance(token, GroupToken) else token.text for token in names)
    for token in names:
        if token.text in KINDS or token.text.endswith("'"):
            help = f"the kinds are {', '.join(KINDS)}; dimensions are rows, cols and int params, as in 'rows x rows'"
            raise LineError("E304", f"'{token.text}' is no dimension", token.span, help)
    if len(dims) > MAX_DIMENSIONS:
        help = "a state has one dimension or two, as in 'rows x rows'"
        raise LineError("E304", f"a state of {len(dims)} dimensions", names[0].span.to(names[-1].span), help)
    return dims, When.TENSOR


def start_of(init: Expr) -> Expr:
    """The start of a state. A negative number is one number, as the default of a param is."""
    if isinstance(init, Unary) and init.op == "-" and isinstance(init.operand, Number):
        return Number(-init.operand.value, f"-{init.operand.text}", init.span)
    return init


def default_of(value: Number | Token, interval: Interval | None, is_int: bool) -> float | int:
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
        raise LineError("E404", f"{shortened(value.text)} is not a whole number", value.span, "an int param needs one")
    return int(value.value)


def distinct(texts: list[Text]) -> tuple[str, ...]:
    """The names of a flag's choices: at least two, all different."""
    for i, text in enumerate(texts):
        if any(t.value == text.value for t in texts[:i]):
            raise LineError("E202", f"the choice '{text.value}' stands here twice", text.span, "remove one of them")
    if len(texts) < 2:
        raise LineError("E408", "a flag with a single choice", texts[0].span, "write flag f = 'linear' | 'sqrt'")
    return tuple(t.value for t in texts)
