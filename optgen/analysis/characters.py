"""By which factor each value of a spec changes where gradients and weights are multiplied by factors.

It follows from the equations by one rule for each operation, without numbers. A value has a character k. Where c > 0
multiplies, the value is multiplied by c^k (`Scaling`); where the sign is flipped, by (-1)^k (`SignFlip`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from optgen.analysis.folding import folded
from optgen.analysis.subject import Subject
from optgen.bounds import bounds, bounds_of
from optgen.expressions import Binary, Call, Expr, IsSet, Name, Number, Transpose, Unary, walk
from optgen.functions.interval import Bounds
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.record import Elementwise, OfMatrices, Parity, Reduction
from optgen.functions.table import elementwise_of, reduction_of
from optgen.model import Equation, Program, StateDecl
from optgen.symbolic.written import expression

Values = Mapping[str, float | None]
ONE = Fraction(1)
NEUTRAL = Fraction(0)


@dataclass(frozen=True)
class Character:
    """How a value changes. `k` is None for one that is 0, and so has every character. `is_known` is false where no rule
    tells. `of_weight`: it is the first weight plus a value of this character."""

    k: Fraction | None = None
    is_known: bool = True
    of_weight: bool = False


ZERO, UNKNOWN, CONSTANT = Character(), Character(is_known=False), Character(NEUTRAL)


class Factors(Protocol):
    """The factors that values are multiplied by."""

    def power(self, k: Fraction, exponent: Fraction) -> Fraction | None:
        """The character of a power of a value; None if it has none."""

    def magnitude(self, k: Fraction) -> Fraction:
        """The character of the absolute value, or of a norm."""

    def sign(self, k: Fraction) -> Fraction:
        """The character of the sign."""

    def image(self, k: Fraction, parity: Parity, degree: str | None) -> Fraction | None:
        """The character of a function of this parity and degree of a value; None if it has none."""

    def keeps_order(self, k: Fraction) -> bool:
        """Whether the larger one of two values of this character stays the larger one."""

    def times(self, a: Fraction, b: Fraction) -> Fraction:
        """The character of a product."""


class Scaling:
    """All positive factors c: a character is the power of c."""

    def power(self, k: Fraction, exponent: Fraction) -> Fraction | None:
        return k * exponent

    def magnitude(self, k: Fraction) -> Fraction:
        return k

    def sign(self, k: Fraction) -> Fraction:
        return NEUTRAL

    def image(self, k: Fraction, parity: Parity, degree: str | None) -> Fraction | None:
        return None if degree is None else k * Fraction(degree)

    def keeps_order(self, k: Fraction) -> bool:
        return True

    def times(self, a: Fraction, b: Fraction) -> Fraction:
        return a + b


class SignFlip:
    """The factor -1: a character is 1 for a value that changes its sign, else 0."""

    def power(self, k: Fraction, exponent: Fraction) -> Fraction | None:
        if k == NEUTRAL:
            return k
        return exponent % 2 if exponent.denominator == 1 else None

    def magnitude(self, k: Fraction) -> Fraction:
        return NEUTRAL

    def sign(self, k: Fraction) -> Fraction:
        return k

    def image(self, k: Fraction, parity: Parity, degree: str | None) -> Fraction | None:
        return {"odd": k, "even": NEUTRAL, "neither": None}[parity]

    def keeps_order(self, k: Fraction) -> bool:
        return k == NEUTRAL

    def times(self, a: Fraction, b: Fraction) -> Fraction:
        return (a + b) % 2


@dataclass(frozen=True)
class ChangeOfStep:
    """The character of a step, `unless` one of these conditions holds: that a value is exactly 0."""

    k: Fraction
    unless: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Multiplied:
    """What is multiplied by which `factors`: the characters of gradients, first weights, and inputs beside them."""

    factors: Factors
    gradient: Fraction = NEUTRAL
    weight: Fraction = NEUTRAL
    inputs: Fraction = NEUTRAL


def change(subject: Subject, what: Multiplied, values: Values, zeros: Collection[str] = ()) -> ChangeOfStep | None:
    """How w' - w changes in every update; None if no rule tells it, or it is 0. `values` are those of params, of which
    only a 0 or a none matters. `zeros` are as for `folded`."""
    characters = _Characters(subject, what, values, zeros)
    found = characters.of_new_weight()
    if found.k is None or not (found.of_weight or found.k == what.weight):
        return None
    return ChangeOfStep(found.k, tuple(characters.unless.values()))


def characters_of_states(subject: Subject, what: Multiplied, zeros: Collection[str] = ()) -> dict[str, Character]:
    """The characters of states, where the weights before each update have the one given."""
    characters = _Characters(subject, what, subject.values, zeros)
    characters.kept["w"] = Character(what.weight)
    characters.settle(but=("w",))
    return {name: x for name, x in characters.kept.items() if name != "w"}


class _Characters:
    """The characters of all names, which are found anew until those of states and of loops no longer change."""

    def __init__(self, subject: Subject, what: Multiplied, values: Values, zeros: Collection[str]) -> None:
        self.subject, self.values, self.zeros = subject, values, zeros
        self.factors, self.weight = what.factors, what.weight
        self.kept: dict[str, Character] = {"w": Character(of_weight=True)}
        for program in subject.programs:
            self.kept |= {state.name: self._made(state) for state in program.states}
        given = {"grad": Character(what.gradient)}
        given |= dict.fromkeys([*(x.name for x in subject.spec.inputs), *subject.spec.given], Character(what.inputs))
        clipped = given["grad"] if values["clip_gradient"] is None else UNKNOWN
        self.given = given | {"g": clipped}
        self.carried: dict[str, Character] = {}
        self.known: dict[str, Character] = {}
        self.driven = _driven(subject)
        self.bounds: dict[str, Bounds] = {}
        self.unless: dict[str, Expr] = {}

    def of_new_weight(self) -> Character:
        self.settle()
        return self.kept["w"]

    def settle(self, but: Collection[str] = ()) -> None:
        """Find the characters of what is kept, of all names but some."""
        while True:
            before = {**self.kept, **self.carried}
            for program in self.subject.programs:
                self._run(program, but)
            if {**self.kept, **self.carried} == before:
                return

    def _made(self, state: StateDecl) -> Character:
        """The character of a state as it is made."""
        match state.init:
            case Name(id="w"):
                return Character(of_weight=True)
            case Number(value=x):
                return ZERO if x == 0 else CONSTANT
            case Name(id=name) if name in self.values:
                return ZERO if self.values[name] == 0 or name in self.zeros else CONSTANT
        return ZERO

    def _run(self, program: Program, but: Collection[str]) -> None:
        params = {name: Bounds(x, x) for name, x in self.subject.values.items() if x is not None}
        self.bounds = bounds(program, self.subject.spec) | params
        self.known = dict(self.carried)
        for equation in program.equations:
            self._equation(equation)
        for state, start in self.subject.spec.late_starts(program).items():  # which may read local values
            self.kept[state] = self.join(self.kept[state], self.of(self._folded(start)))
        for name in self.kept.keys() - {*but}:
            if f"{name}'" in self.known:
                self.kept[name] = self.join(self.kept[name], self.known[f"{name}'"])

    def _equation(self, equation: Equation) -> None:
        value, target = self.of(self._folded(equation.value)), equation.target
        key = target.array_key
        if equation.loop is not None or target.at is not None:
            value = self.join(self.known.get(key, ZERO), value)
        if equation.loop is None and key in self.carried:  # where a loop begins, later turns go on
            value = self.join(value, self.carried[key])
        self.known[key] = value
        if equation.loop is not None and target.primed and target.id not in self.kept:
            self.carried[target.id] = self.known[target.id] = self.join(self.known.get(target.id, ZERO), value)
        elif equation.loop is not None and target.primed:
            self.kept[target.id] = self.join(self.kept[target.id], value)

    def _folded(self, expr: Expr) -> Expr:
        return folded(expr, self.values, self.zeros)

    # ------------------------------------------------------------ several values

    def join(self, *values: Character) -> Character:
        """The character that all of these have."""
        if any(v.of_weight for v in values) and not all(v.of_weight for v in values):
            values = tuple(map(self.plain, values))
        found = {v.k for v in values if v.k is not None}
        if len(found) > 1 or not all(v.is_known for v in values):
            return UNKNOWN
        return Character(next(iter(found), None), of_weight=values[0].of_weight)

    def plain(self, value: Character) -> Character:
        """The character of a value that may contain the first weight."""
        if not value.of_weight:
            return value
        return Character(self.weight) if value.k in (None, self.weight) else UNKNOWN

    def _sum(self, a: Character, b: Character, *, minus: bool) -> Character:
        if minus and a.of_weight and b.of_weight:
            return self.join(Character(a.k), Character(b.k))
        if (a.of_weight and not b.of_weight) or (b.of_weight and not a.of_weight and not minus):
            found = self.join(Character(a.k, a.is_known), Character(b.k, b.is_known))
            return Character(found.k, of_weight=True) if found.is_known else UNKNOWN
        return self.join(self.plain(a), self.plain(b))

    def _product(self, a: Character, b: Character, *, inverse: bool = False) -> Character:
        a, b = self.plain(a), self.plain(b)
        if not (a.is_known and b.is_known):
            return UNKNOWN
        if b.k is None and inverse:
            return UNKNOWN
        if a.k is None or b.k is None:
            return ZERO
        return Character(self.factors.times(a.k, -b.k if inverse else b.k))

    def _power(self, x: Character, exponent: Fraction | None) -> Character:
        """A power, whose exponent is None if it is no number that is known."""
        x = self.plain(x)
        if exponent == 0:
            return CONSTANT
        if not x.is_known or x.k is None:
            return x if exponent is not None and exponent > 0 else UNKNOWN
        if exponent is None:
            return x if x.k == NEUTRAL else UNKNOWN
        k = self.factors.power(x.k, exponent)
        return UNKNOWN if k is None else Character(k)

    def _is_decided(self, condition: Expr) -> bool:
        """Whether a condition stays what it is."""
        match condition:
            case Unary(op="not", operand=x):
                return self._is_decided(x)
            case Binary(op="and" | "or", left=a, right=b):
                return self._is_decided(a) and self._is_decided(b)
            case Binary(op="<" | "<=" | ">" | ">=" | "==" | "!=" as op, left=a, right=b):
                found = self.join(*(self.plain(self.of(x)) for x in (a, b)))
                return found.is_known and (found.k is None or op in ("==", "!=") or self.factors.keeps_order(found.k))
            case IsSet():
                return True
        return self.of(condition).k == NEUTRAL

    # ------------------------------------------------------------ expressions

    def of(self, expr: Expr) -> Character:
        match expr:
            case Number(value=x):
                return ZERO if x == 0 else CONSTANT
            case Name():
                return self._name(expr)
            case Unary(op="-", operand=x):
                return self.plain(self.of(x))
            case Transpose(operand=x):
                return self.plain(self.of(x))
            case Binary(op="+" | "-" as op, left=a, right=b):
                return self._sum(self.of(a), self.of(b), minus=op == "-")
            case Binary(op="*" | "@", left=a, right=b):
                return self._product(self.of(a), self.of(b))
            case Binary(op="/", left=a, right=b):
                return self._product(self.of(a), self.of(b), inverse=True)
            case Binary(op="^", left=a, right=b) | Call(function="pow", args=(a, b)):
                return self._raised(a, b)
            case Binary() | IsSet() | Unary():
                return CONSTANT if self._is_decided(expr) else UNKNOWN
            case Call(function="where", args=(condition, a, b)):
                return self._choice(condition, self.of(a), self.of(b))
            case Call():
                return self._call(expr.function, [self.plain(self.of(x)) for x in expr.args], expr)
        return UNKNOWN

    def _name(self, name: Name) -> Character:
        key = name.array_key
        for table in (self.known, self.kept, self.given):
            if key in table:
                return table[key]
        return UNKNOWN if name.primed else CONSTANT  # params, counts, sizes, numbers of turns

    def _raised(self, base: Expr, exponent: Expr) -> Character:
        x, n = self.plain(self.of(base)), self.plain(self.of(exponent))
        number = _number(exponent, self.values)
        if x.is_known and x.k is None and number is None and n.k == NEUTRAL:
            return CONSTANT  # a power of 0, whatever that is
        return self._power(x, number) if n.is_known and n.k in (None, NEUTRAL) else UNKNOWN

    def _choice(self, condition: Expr, a: Character, b: Character) -> Character:
        if not self._is_decided(condition):
            return UNKNOWN
        found = self.join(a, b)
        if not found.is_known and b.is_known and _is_of_zeros(condition, self.driven):
            self.unless[expression(condition)] = condition
            return b
        return found

    def _call(self, function: str, args: list[Character], expr: Call) -> Character:
        if not all(x.is_known for x in args):
            return UNKNOWN
        match function, args:
            case "dot", [x, y]:
                return self._product(x, y)
            case "solve", [a, b]:
                return self._product(b, a, inverse=True)
            case "inverse_root", [a, _]:
                n = _number(expr.args[1], self.values)
                return self._power(a, None if not n else -1 / n) if self._is_ordered(a) else UNKNOWN
            case "clip", [x, *bounds]:
                return self._clip(x, bounds, expr)
            case "atan2", [y, x]:
                return self._angle(y, x)
        what = reduction_of(expr) or elementwise_of(expr) or MATRIX_FUNCTIONS.get(function)
        if what is None:
            return self._of_constants(args)
        if len(args) > 1:
            found = self.join(*args)
            return found if what.degree == "1" and self._is_ordered(found) else self._of_constants(args)
        (x,) = args
        if x.k is None:
            return ZERO if _of_zero(what) == 0 else CONSTANT
        k = self.factors.image(x.k, what.parity, what.degree)
        return self._of_constants(args) if k is None else Character(k)

    def _of_constants(self, args: list[Character]) -> Character:
        """What any function makes of values: it stays the same if they do."""
        return CONSTANT if all(x.k in (None, NEUTRAL) for x in args) else UNKNOWN

    def _is_ordered(self, x: Character) -> bool:
        return x.is_known and (x.k is None or self.factors.keeps_order(x.k))

    def _clip(self, x: Character, bounds: list[Character], expr: Call) -> Character:
        """A clip: by one bound, from -bound to bound, which is the bound for all values if that is below 0."""
        if len(bounds) == 1 and x.k is not None and bounds[0].k is not None:
            is_centred = self.factors.keeps_order(x.k) or bounds_of(expr.args[1], self.bounds).low >= 0
            return x if is_centred and self.factors.magnitude(x.k) == bounds[0].k else UNKNOWN
        found = self.join(x, *bounds)
        return found if self._is_ordered(found) else UNKNOWN

    def _angle(self, y: Character, x: Character) -> Character:
        """The angle of a point, which is 0 for (0, 0)."""
        if y.k is None and x.k is None:
            return ZERO
        same = self.factors.magnitude(y.k or NEUTRAL) == self.factors.magnitude(x.k or NEUTRAL) or None in (y.k, x.k)
        keeps = x.k is None or self.factors.keeps_order(x.k)
        return Character(self.factors.sign(y.k or NEUTRAL)) if same and keeps else UNKNOWN


def _of_zero(what: Elementwise | Reduction | OfMatrices) -> float | None:
    """What a function of one argument is where that is 0; None if that is not one number."""
    if isinstance(what, OfMatrices):
        return what.of_zeros
    return float(what.meaning(np.zeros((1, 1) if isinstance(what, Elementwise) else 2)).item())


def _is_of_zeros(condition: Expr, driven: Collection[str]) -> bool:
    """Whether a condition is that a value is 0, or one of several, which depend on names that are `driven`."""
    match condition:
        case Binary(op="or", left=a, right=b):
            return _is_of_zeros(a, driven) and _is_of_zeros(b, driven)
        case Binary(op="==", left=a, right=Number(value=0)):
            return _reads(a, driven)
    return False


def _reads(expr: Expr, names: Collection[str]) -> bool:
    return any(isinstance(x, Name) and x.id in names for x in walk(expr))


def _driven(subject: Subject) -> set[str]:
    """The names whose values depend on gradients, weights or inputs: those of other values depend on counts and params
    alone."""
    found = {"w", "g", "grad", *(x.name for x in subject.spec.inputs), *subject.spec.given}
    starts = [(s.name, subject.spec.start(s)) for p in subject.programs for s in p.states]
    pairs = [(name, x) for name, x in starts if x is not None]
    pairs += [(e.target.id, e.value) for p in subject.programs for e in p.equations]
    pairs += [(s.name, s.init) for p in subject.programs for s in p.states]
    while more := {name for name, x in pairs if name not in found and _reads(x, found)}:
        found |= more
    return found


def _number(expr: Expr, values: Mapping[str, float | None]) -> Fraction | None:
    """The value of a number, of a param or of simple arithmetic with them; None for anything else."""
    match expr:
        case Number(value=x):
            return _fraction(x)
        case Name(id=name, primed=False) if name in values and values[name] is not None:
            return _fraction(values[name] or 0.0)
        case Unary(op="-", operand=x):
            inner = _number(x, values)
            return None if inner is None else -inner
        case Binary(op="/", left=a, right=b):
            above, below = _number(a, values), _number(b, values)
            return None if above is None or not below else above / below
    return None


def _fraction(x: float) -> Fraction | None:
    """A number as people write it: 0.1 is 1/10; None for one that is not finite."""
    return Fraction(repr(x)) if math.isfinite(x) else None
