"""The values of a program's names as polynomials of the gradient, the weight and the states, where they are some; what
else they depend on, params and counts, are numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from optgen.expressions import Binary, Call, Expr, IsSet, Name, Number, Unary
from optgen.functions.table import elementwise_of
from optgen.lang.builtins import CONSTANTS
from optgen.model import COUNTS, Program
from optgen.truth import COMPARISONS

Numbers = Any
"""A number, or an array with one for each of several counts, in float64."""
Values = Mapping[str, float | None]
Terms = Mapping[tuple[str, ...], Numbers]
"""A polynomial: the factor of each product of variables, whose names are sorted."""
GRADIENT, WEIGHT, NEW_WEIGHT = "grad", "w", "w'"
"""The variables beside the states, which are called `state NAME`."""
DEGREE = 2
"""The highest degree."""


class UnknownError(ArithmeticError):
    """An expression is no polynomial of low degree, or its factors are not known."""


def _sum(a: Terms, b: Terms, sign: float = 1.0) -> Terms:
    found = {key: a.get(key, 0.0) + sign * b.get(key, 0.0) for key in {**a, **b}}
    return {key: x for key, x in found.items() if np.any(x)}


def _product(a: Terms, b: Terms) -> Terms:
    found: Terms = {}
    for left, x in a.items():
        for right, y in b.items():
            if len(left) + len(right) > DEGREE:
                raise UnknownError
            found = _sum(found, {tuple(sorted((*left, *right))): x * y})
    return found


def constant(terms: Terms) -> Numbers:
    """The value of a polynomial without variables."""
    if terms.keys() - {()}:
        raise UnknownError
    return terms.get((), 0.0)


def _where(condition: Numbers, a: Terms, b: Terms) -> Terms:
    found = {key: np.where(condition, a.get(key, 0.0), b.get(key, 0.0)) for key in {**a, **b}}
    return {key: x for key, x in found.items() if np.any(x)}


OPERATORS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "^": operator.pow, "and": np.logical_and, "or": np.logical_or, **COMPARISONS
}  # fmt: skip


class Polynomials:
    """The values of a program's names at some counts, as polynomials of gradient, weight and states.

    `numbers` has params and the sizes of the parameter, and `kept` the values of states that are numbers. Names in
    `skipped` are unknown.
    """

    def __init__(
        self, program: Program, numbers: Values, skipped: frozenset[str], counts: Numbers, kept: Mapping[str, Numbers]
    ) -> None:
        self._equations = {e.target.key: e.value for e in program.equations if e.loop is None}
        self._skipped = skipped | {e.target.key for e in program.equations if e.loop is not None}
        self._states = {s.name for s in program.states}
        self._numbers, self._counts, self._kept = numbers, counts, kept
        self._found: dict[str, Terms] = {}

    def of(self, key: str) -> Terms:
        """The value of a local name, or of a state after the update."""
        if key not in self._found:
            if key in self._skipped or key not in self._equations:
                raise UnknownError
            self._found[key] = self.value(self._equations[key])
        return self._found[key]

    def value(self, expr: Expr) -> Terms:
        match expr:
            case Number(value=x):
                return {(): x} if x else {}
            case Name():
                return self._name(expr)
            case Unary(op="-", operand=x):
                return _sum({}, self.value(x), -1.0)
            case Unary(op="not", operand=x):
                return {(): np.logical_not(constant(self.value(x)))}
            case IsSet(name=name):
                return {(): self._numbers[name.id] is not None}
            case Binary(op="+" | "-" as op, left=a, right=b):
                return _sum(self.value(a), self.value(b), 1.0 if op == "+" else -1.0)
            case Binary(op="*", left=a, right=b):
                return _product(self.value(a), self.value(b))
            case Binary(op="/", left=a, right=b):
                return _product(self.value(a), {(): 1.0 / np.float64(constant(self.value(b)))})
            case Binary(op="^", left=a, right=Number(value=2)):
                return _product(self.value(a), self.value(a))
            case Binary(op=op, left=a, right=b) if op in OPERATORS:
                left, right = (np.float64(constant(self.value(x))) for x in (a, b))
                return {(): OPERATORS[op](left, right)}
            case Call(function="clip", args=(x, Name(id=bound))) if self._is_unset(bound):
                return self.value(x)
            case Call(function="where", args=(condition, a, b)):
                return self._choice(constant(self.value(condition)), a, b)
            case Call(args=args) if (known := elementwise_of(expr)) is not None and not known.takes_matrix:
                if known.rounds != "no":  # which is of no account here
                    return self.value(args[0])
                return {(): known.meaning(*(np.float64(constant(self.value(x))) for x in args))}
        raise UnknownError

    def _is_unset(self, name: str) -> bool:
        return name in self._numbers and self._numbers[name] is None

    def _choice(self, condition: Numbers, a: Expr, b: Expr) -> Terms:
        """The value of the case that holds at all counts; of several, each at its counts."""
        if np.all(condition):
            return self.value(a)
        return _where(condition, self.value(a), self.value(b)) if np.any(condition) else self.value(b)

    def _name(self, name: Name) -> Terms:
        key = name.key
        if key == NEW_WEIGHT:
            return {(NEW_WEIGHT,): 1.0}
        if name.primed or key in self._equations or key in self._skipped:
            return self.of(key)
        if key in self._kept:
            return {(): self._kept[key]}
        if key in self._states:
            return {(f"state {key}",): 1.0}
        if key in (GRADIENT, WEIGHT):
            return {(key,): 1.0}
        if key == "g":
            return {(GRADIENT,): self._numbers["rescale_grad"]}
        if key in COUNTS:
            return {(): self._counts}
        x = self._numbers.get(key, CONSTANTS.get(key))
        if x is None:
            raise UnknownError
        return {(): float(x)}
