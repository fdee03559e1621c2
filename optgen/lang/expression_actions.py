"""The semantic actions of expressions: each match of the grammar becomes a node."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

from optgen.axes import ROWS, Axis
from optgen.diagnostics import Diagnostic, Span
from optgen.expressions import WORKERS, Binary, Call, Expr, Index, IsSet, Name, Number, Text, Transpose, Unary
from optgen.functions.table import FUNCTIONS
from optgen.groups import WORDS, LineGroup
from optgen.lang.syntax import Token


class LineError(Exception):
    """An error in a line. The parser gives up on the line and goes on with the next."""

    def __init__(
        self, code: str, message: str, span: Span, help: str | None = None, section: str | None = None
    ) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, message, span, help, section)


class GroupToken(NamedTuple):
    """`axis 1`, `axis -1` or `block n`."""

    group: LineGroup
    span: Span

    @property
    def text(self) -> str:
        return str(self.group)

    @property
    def axis(self) -> Axis:
        """The dimension: that of the first axis is the rows themselves."""
        return ROWS[0] if self.group == FIRST_AXIS else self.group


class _Scope(NamedTuple):
    """`per row`, `per axis 1` or `over params` among the arguments of a call, which are `what`."""

    what: str | LineGroup
    span: Span


class _Dimensions(NamedTuple):
    """`rows x r` among the arguments of a call."""

    names: tuple[Token, Token]
    span: Span


def _with_dimensions(function: Token, dims: tuple[Token, Token], span: Span) -> Call:
    """`normal(rows x r)`, or `identity(rows x r)`."""
    if function.text == "identity":
        return Call(function.text, tuple(map(name_of, dims)), None, span)
    return Call(function.text, (), None, span, (dims[0].text, dims[1].text))


def span_of(node: Expr | Token) -> Span:
    return node.span


class ExpressionActions:
    """One method for each name in the grammar's expressions."""

    def number(self, items: list[Token]) -> Number:
        return number_of(items[0])

    def name(self, items: list[Token]) -> Name:
        return name_of(items[0])

    def choice(self, items: list[Token]) -> Text:
        return Text(items[0].text[1:-1], items[0].span)

    def is_set(self, items: list[Token]) -> IsSet:
        return IsSet(name_of(items[0]), items[0].span.to(items[1].span))

    def brackets(self, items: list[Any]) -> Expr:
        opening, inner, closing = items
        if opening.text + closing.text != "()":
            raise LineError("E105", f"an expression in {opening.text} {closing.text}", opening.span, "use ( )")
        expr: Expr = inner
        return expr

    def unary(self, items: list[Any]) -> Unary:
        if items[0].text == "+":
            raise LineError("E105", "a sign of '+'", items[0].span, "leave it out", "numbers")
        return Unary(items[0].text, items[1], items[0].span.to(span_of(items[1])))

    def transpose(self, items: list[Any]) -> Transpose:
        return Transpose(items[0], span_of(items[0]).to(items[1].span))

    def binary(self, items: list[Any]) -> Binary:
        left, operator, right = items
        return Binary(operator.text, left, right, span_of(left).to(span_of(right)))

    def scope(self, items: list[Token]) -> _Scope:
        word, target, *rest = items
        if word.text == "per" and target.text in WORDS:
            found = group_of([target, *rest], "E303", "scope")
            return _Scope("row" if found.group == FIRST_AXIS else found.group, found.span)
        allowed = ("row", "col", "matrix") if word.text == "per" else ("params", WORKERS)
        if target.text not in allowed or rest:
            near = {"column": "col", "cols": "col", "columns": "col", "rows": "row"}.get(target.text)
            known = "'per row', 'per col', 'per matrix', 'over params' or 'over workers'"
            help = f"write 'per {near}'" if near else f"write {known}"
            if target.text in ("tensor", "param", "parameter", "matrices", "all"):
                help = "without a scope, it is over all elements of a parameter; 'over params' is over all parameters"
            what = " ".join(x.text for x in items)
            raise LineError("E303", f"'{what}' is no scope", target.span.to(items[-1].span), help)
        return _Scope(target.text, target.span)

    def dimensions(self, items: list[Token]) -> _Dimensions:
        first, by, second = items
        if by.text != "x":
            raise LineError("E304", f"'{by.text}' between dimensions", by.span, "write 'rows x cols'")
        return _Dimensions((first, second), first.span.to(second.span))

    def call(self, items: list[Any]) -> Expr:
        function, closing = items[0], items[-1]
        parts = list(items[2]) if len(items) == 4 else []
        for part in parts:
            if isinstance(part, _Dimensions) and not (_takes_dimensions(function.text) and len(parts) == 1):
                help = "they stand alone in the brackets of a draw or of identity: z = normal(rows x r)"
                raise LineError("E306", "dimensions among the arguments of a call", part.span, help)
        if parts and isinstance(parts[0], _Dimensions):
            return _with_dimensions(function, parts[0].names, function.span.to(closing.span))
        for part in parts[:-1]:
            if isinstance(part, _Scope) and isinstance(parts[-1], _Scope):
                help = "one scope is allowed; name the inner reduction on a line of its own"
                raise LineError("E303", "a call with two scopes", parts[-1].span, help)
            if isinstance(part, _Scope):
                raise LineError("E303", "a scope comes last in a call", part.span, "move it behind the other arguments")
        scope = parts.pop().what if parts and isinstance(parts[-1], _Scope) else None
        if items[1].text + closing.text != "()":
            if function.text in FUNCTIONS or items[1].text + closing.text != "[]":
                message = f"a call with {items[1].text} {closing.text}"
                raise LineError("E105", message, items[1].span, "use ( )", "functions")
            if len(parts) != 1 or scope is not None:
                span = items[1].span.to(closing.span)
                raise LineError("E308", "an entry has one index", span, "write h[-1]")
            return indexed(function, parts[0], closing)
        if function.text.endswith("'"):
            raise LineError(
                "E105", f"'{function.text}' is called like a function", function.span, "write '*' to multiply"
            )
        return Call(function.text, tuple(parts), scope, function.span.to(closing.span))


def _takes_dimensions(function: str) -> bool:
    return function in FUNCTIONS and FUNCTIONS[function].takes_dimensions


FIRST_AXIS = LineGroup("axis", 0)
"""The group that is the rows themselves."""


def group_of(tokens: list[Token], code: str, what: str) -> GroupToken:
    """`axis 1`, `axis -1` or `block n`. LineError with this code for what is no such `what`."""
    first, *more = tokens
    text = "".join(t.text for t in more)
    number = text.removeprefix("-") if first.text == "axis" else text
    is_count = number.isdigit() and len(number) < 10 and (first.text == "axis" or int(number) > 0)
    is_param = first.text == "block" and [t.type for t in more] == ["NAME"]
    if first.text not in WORDS or not (is_count or is_param):
        help = "an axis has a whole number, as in 'axis 1' or 'axis -1', and a block so many rows, as in 'block n'"
        found = f"{first.text} {text}" if first.text in WORDS and more else " ".join(t.text for t in tokens)
        span = first.span.to(tokens[-1].span)
        raise LineError(code, f"'{found}' is no {what}", span, help, "groups")
    group = LineGroup("axis" if first.text == "axis" else "block", int(text) if is_count else text)
    return GroupToken(group, first.span.to(more[-1].span))


def name_of(token: Token) -> Name:
    return Name(token.text.rstrip("'"), token.text.endswith("'"), token.span)


def indexed(token: Token, at: Expr, closing: Token) -> Name:
    """`h[-1]`."""
    index = index_of(at)
    if index is None:
        help = "an index is a sum of whole numbers, int params and numbers of turns, as in h[-1 - i]"
        raise LineError("E308", "this is no index", span_of(at), help)
    return replace(name_of(token), span=token.span.to(closing.span), at=index)


def index_of(expr: Expr) -> Index | None:
    """The index that an expression is; None if it is none."""
    match expr:
        case Number(value=value) if value.is_integer() and abs(value) < 2**31:
            return Index(int(value))
        case Name(id=id, primed=False, at=None):
            return Index(0, ((id, 1),))
        case Unary(op="-", operand=x):
            inner = index_of(x)
            return None if inner is None else _sum(Index(0), inner, -1)
        case Binary(op="+" | "-" as op, left=a, right=b):
            left, right = index_of(a), index_of(b)
            return None if left is None or right is None else _sum(left, right, 1 if op == "+" else -1)
        case Binary(op="*", left=a, right=b):
            left, right = index_of(a), index_of(b)
            if left is None or right is None or (left.terms and right.terms):
                return None
            return _sum(Index(0), left, right.constant) if left.terms else _sum(Index(0), right, left.constant)
    return None


def _sum(a: Index, b: Index, factor: int) -> Index:
    """a + factor*b."""
    counts = Counter(dict(a.terms))
    for name, k in b.terms:
        counts[name] += factor * k
    return Index(a.constant + factor * b.constant, tuple(sorted((name, k) for name, k in counts.items() if k)))


def number_of(token: Token) -> Number:
    if token.text == "inf":
        raise LineError(
            "E401", "'inf' in an expression", token.span, "only an interval may name it; a number is needed here"
        )
    value = float(token.text)
    mantissa = token.text.lower().split("e")[0]
    if math.isinf(value):
        raise LineError(
            "E401", f"{shortened(token.text)} is larger than any double", token.span, "the largest is 1.797e308"
        )
    if value == 0 and any(c in "123456789" for c in mantissa):
        raise LineError(
            "E401", f"{shortened(token.text)} is smaller than any double", token.span, "the smallest is 4.94e-324"
        )
    return Number(value, token.text, token.span)


def shortened(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."
