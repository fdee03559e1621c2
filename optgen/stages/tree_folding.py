"""Reductions as expressions: what a kernel folds in two steps, one for lines and one for groups of them."""

from __future__ import annotations

from collections.abc import Callable

from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Number


class TreeFolding:
    """The `Folding` (`optgen.functions.builder`) that makes expressions. `fold_tree` makes one of a sum, or of the
    largest or smallest, of an expression."""

    def __init__(self, fold_tree: Callable[[str, Expr], Expr], span: Span) -> None:
        self.fold, self.span = fold_tree, span

    def const(self, x: float) -> Expr:
        return Number(x, repr(x), self.span)

    def add(self, a: Expr, b: Expr) -> Expr:
        return Binary("+", a, b, self.span)

    def sub(self, a: Expr, b: Expr) -> Expr:
        return Binary("-", a, b, self.span)

    def mul(self, a: Expr, b: Expr) -> Expr:
        return Binary("*", a, b, self.span)

    def div(self, a: Expr, b: Expr) -> Expr:
        return Binary("/", a, b, self.span)

    def lt(self, a: Expr, b: Expr) -> Expr:
        return Binary("<", a, b, self.span)

    def sqrt(self, x: Expr) -> Expr:
        return self.math("sqrt", x)

    def abs(self, x: Expr) -> Expr:
        return self.math("abs", x)

    def select(self, condition: Expr, a: Expr, b: Expr) -> Expr:
        return Call("where", (condition, a, b), None, self.span)

    def math(self, function: str, x: Expr) -> Expr:
        return Call(function, (x,), None, self.span)

    def count(self, x: Expr) -> Expr:
        one = self.const(1.0)
        return self.fold("sum", self.select(Binary("==", x, x, self.span), one, one))
