"""What LaTeX and Unicode have in common: the walk over an expression, precedence, the meaning of names and case groups.

The text follows the tree as written. Parentheses are the fewest that mathematics allows: `a + (b + c)` needs none,
although the kernel adds in the written order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from itertools import groupby

from optgen.diagnostics import Span
from optgen.model import (
    COUNTS,
    DIMENSIONS,
    Binary,
    Call,
    Equation,
    Expr,
    Flags,
    IsSet,
    Name,
    Number,
    Optimizer,
    Text,
    Unary,
    walk,
)

_NOWHERE = Span(0, 0, 0)
_ONE = Number(1.0, "1", _NOWHERE)
_RAW = Name("grad", False, _NOWHERE)
_FACTOR, _BOUND = (Name(n, False, _NOWHERE) for n in ("rescale_grad", "clip_gradient"))

GRADIENT = Equation(
    Name("g", False, _NOWHERE),
    Call("clip", (Binary("*", _FACTOR, _RAW, _NOWHERE), _BOUND), None, _NOWHERE),
    _NOWHERE,
)
"""What the reserved name `g` stands for; shown before the equations that read it."""


class Level(IntEnum):
    """How tightly a piece of text holds together, loosest first."""

    CASES = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARE = 4
    ADD = 5
    NEGATIVE = 6
    MULTIPLY = 7
    POWER = 8
    ATOM = 9


class Time(Enum):
    """Which step a name's value belongs to."""

    NONE = "none"
    OLD = "old"  # t - 1
    NEW = "new"  # t
    EVALUATED = "evaluated"  # the weights that `eval:` computes


@dataclass(frozen=True)
class Piece:
    """Rendered text and its level. `minus`: it starts with a minus sign."""

    text: str
    level: Level = Level.ATOM
    minus: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a case group: the value and its condition, None for `otherwise`."""

    value: str
    condition: str | None


@dataclass(frozen=True)
class Line:
    """One equation: `relation` is the equals sign or the one for draws; a single row may have a condition (a guard)."""

    target: str
    relation: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Word:
    """A name taken apart: `m_hat` is m with an accent, `beta1` is beta with a subscript, `v_max` v with a subscript."""

    base: str
    subscripts: tuple[str, ...] = ()
    accents: tuple[str, ...] = ()


ACCENTS = ("hat", "bar", "tilde")

_LETTERS = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
GREEK: dict[str, str] = dict(zip(_LETTERS.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", strict=True))
_SPELLINGS = {"lamda": "lambda", "Lamda": "Lambda", "eps": "epsilon"}


def word(name: str) -> Word:
    """Take a name apart. A word of several letters keeps its underscores (`rescale_grad`), unless digits or a single
    letter follow (`lr_t`)."""
    base, *rest = name.split("_")
    if not base or not all(rest):
        return Word(name)
    accents: list[str] = []
    while rest and rest[-1] in ACCENTS:
        accents.insert(0, rest.pop())
    letters = base.rstrip("0123456789")
    digits = base[len(letters) :]
    spelled = _SPELLINGS.get(letters, letters)
    symbol = len(spelled) == 1 or spelled in GREEK
    if not symbol and any(len(r) > 1 and not r.isdigit() for r in rest):
        return Word("_".join([base, *rest]), (), tuple(accents))
    subscripts = ((digits,) if digits else ()) + tuple(rest)
    return Word(spelled, subscripts, tuple(accents))


class Renderer(ABC):
    """The walk. A subclass says how names, numbers, roots, fractions and the like look."""

    def __init__(self, optimizer: Optimizer, *, evaluate: bool = False) -> None:
        self.evaluate = evaluate
        self.states = {s.name for s in optimizer.states} | {"w"}
        self.bare = {*optimizer.all_params(), *(f.name for f in optimizer.flags), "sparse", *COUNTS, *DIMENSIONS}
        self.names = self.states | self.bare | {e.target.id for e in (*optimizer.update, *optimizer.evaluate)}
        self.spelled = self._alike(optimizer)

    # ------------------------------------------------------------ how things look

    @abstractmethod
    def word(self, word: Word, time: Time) -> str: ...

    @abstractmethod
    def number(self, number: Number) -> Piece: ...

    @abstractmethod
    def text(self, text: str) -> str: ...

    @abstractmethod
    def group(self, text: str) -> str:
        """The text in parentheses."""

    @abstractmethod
    def minus(self, operand: str) -> str: ...

    @abstractmethod
    def infix(self, op: str, left: str, right: str) -> str:
        """Sums, comparisons and `and or`."""

    @abstractmethod
    def product(self, left: str, right: str) -> str: ...

    @abstractmethod
    def quotient(self, left: Expr, right: Expr) -> Piece: ...

    @abstractmethod
    def power(self, base: str, exponent: Piece) -> str: ...

    @abstractmethod
    def negation(self, operand: str) -> str:
        """Logical not."""

    @abstractmethod
    def plus_minus(self, operand: str) -> str: ...

    @abstractmethod
    def is_set(self, name: str) -> str: ...

    @abstractmethod
    def call(self, function: str, args: tuple[str, ...], scope: str | None) -> str: ...

    @abstractmethod
    def cases(self, rows: tuple[Row, ...]) -> str:
        """Cases inside an expression."""

    @abstractmethod
    def equal(self, *, draw: bool) -> str: ...

    # ------------------------------------------------------------ names

    def time(self, name: Name) -> Time:
        if name.id in self.states:
            if name.primed:
                return Time.EVALUATED if self.evaluate else Time.NEW
            return Time.NEW if self.evaluate else Time.OLD
        return Time.NONE if name.id in self.bare else Time.NEW

    def name(self, name: Name) -> str:
        return self.word(Word(name.id), self.time(name)) if name.id in self.spelled else self._symbol_of(name)

    def _alike(self, optimizer: Optimizer) -> set[str]:
        """The names that would look like another one, such as `x1` and `x_1`: they are spelled out."""
        ids: dict[str, set[str]] = {}
        for name in _names(optimizer):
            ids.setdefault(self._symbol_of(name), set()).add(name.id)
        return {id for alike in ids.values() if len(alike) > 1 for id in alike}

    def _symbol_of(self, name: Name) -> str:
        time = self.time(name)
        parts = word(name.id)
        # `lr_t` says already which step it belongs to; not so where `lr` itself would be written like that.
        if time is Time.NEW and parts.subscripts[-1:] == ("t",):
            stem = name.id.removesuffix("_t")
            if stem not in self.names or stem in self.bare:
                time = Time.NONE
        return self.word(parts, time)

    # ------------------------------------------------------------ expressions

    def at_least(self, level: Level, expr: Expr, *, minus: bool = False) -> str:
        """The text of `expr`, in parentheses if it is looser than `level` or, unless `minus`, starts with a minus."""
        piece = self.piece(expr)
        return self.group(piece.text) if piece.level < level or (piece.minus and not minus) else piece.text

    def piece(self, expr: Expr) -> Piece:
        match expr:
            case Number():
                return self.number(expr)
            case Name():
                return Piece(self.name(expr))
            case Text(value=value):
                return Piece(self.text(value))
            case IsSet(name=name):
                return Piece(self.is_set(self.name(name)), Level.COMPARE)
            case Unary(op="-", operand=x):
                return Piece(self.minus(self.at_least(Level.MULTIPLY, x)), Level.NEGATIVE, minus=True)
            case Unary(operand=x):
                return Piece(self.negation(self.at_least(Level.POWER, x)), Level.NOT)
            case Binary():
                return self._binary(expr)
            case Call():
                return self._call(expr)

    def _binary(self, expr: Binary) -> Piece:
        left, right = expr.left, expr.right
        match expr.op:
            case "+" | "-" as op:
                first = self.piece(left)
                a = self.at_least(Level.ADD, left, minus=True)
                b = self.at_least(Level.ADD if op == "+" else Level.MULTIPLY, right)
                return Piece(self.infix(op, a, b), Level.ADD, first.minus and first.level >= Level.ADD)
            case "*":
                first = self.piece(left)
                negative = first.level == Level.NEGATIVE
                a = first.text if negative else self.at_least(Level.MULTIPLY, left)
                b = self.at_least(Level.MULTIPLY, right)
                return Piece(self.product(a, b), Level.NEGATIVE if negative else Level.MULTIPLY, negative)
            case "/":
                return self.quotient(left, right)
            case "^":
                return Piece(self.power(self._base(left), self.piece(right)), Level.POWER)
            case "and" | "or" as op:
                level = Level.AND if op == "and" else Level.OR
                return Piece(self.infix(op, self.at_least(level, left), self.at_least(level, right)), level)
            case op:
                a, b = (self.at_least(Level.ADD, x, minus=True) for x in (left, right))
                return Piece(self.infix(op, a, b), Level.COMPARE)

    def _base(self, base: Expr) -> str:
        """The base of a power: a root would look as if the power were under it."""
        root = isinstance(base, Call) and base.function in ("sqrt", "cbrt")
        return self.group(self.piece(base).text) if root else self.at_least(Level.ATOM, base)

    def _call(self, expr: Call) -> Piece:
        match expr.function, expr.args:
            case "pow", (a, b):
                return self.piece(Binary("^", a, b, expr.span))
            case "log1p", (x,):
                return self.piece(Call("log", (Binary("+", _ONE, x, expr.span),), None, expr.span))
            case "expm1", (x,):
                return self.piece(Binary("-", Call("exp", (x,), None, expr.span), _ONE, expr.span))
            case "where", (_, _, _):
                return Piece(self.cases(self.rows(expr)), Level.CASES)
            case "clip", (x, bound):
                args = (self.piece(x).text, self.plus_minus(self.at_least(Level.MULTIPLY, bound)))
                return Piece(self.call("clip", args, None))
        return Piece(self.call(expr.function, tuple(self.piece(x).text for x in expr.args), expr.scope))

    def rows(self, expr: Expr) -> tuple[Row, ...]:
        """The branches of a chain of `where`, one row for anything else."""
        if isinstance(expr, Call) and expr.function == "where" and len(expr.args) == 3:
            condition, a, b = expr.args
            return (Row(self.at_least(Level.OR, a, minus=True), self.piece(condition).text), *self.rows(b))
        return (Row(self.piece(expr).text, None),)

    # ------------------------------------------------------------ equations

    def line(self, group: tuple[Equation, ...]) -> Line:
        """A case group, or a single equation with or without a guard."""
        target = self.name(group[0].target)
        draw = all(isinstance(e.value, Call) and e.value.function in ("normal", "uniform") for e in group)
        if len(group) == 1 and group[0].guard is None:
            rows = self.rows(group[0].value)
        else:
            rows = tuple(
                Row(self.at_least(Level.OR, e.value, minus=True), None if e.guard is None else self.piece(e.guard).text)
                for e in group
            )
        return Line(target, self.equal(draw=draw), rows)

    def lines(self, equations: tuple[Equation, ...]) -> list[Line]:
        reads_g = any(isinstance(e, Name) and e.id == "g" for q in equations for e in walk(q.value))
        shown = (GRADIENT, *equations) if reads_g else equations
        return [self.line(tuple(group)) for _, group in groupby(shown, key=lambda e: e.target.key)]

    def conditions(self, optimizer: Optimizer) -> list[tuple[str, str]]:
        """The flags that follow from params, other flags or `rank`, each with its condition."""
        read = optimizer.reads()
        flags = [(f, f.condition) for f in optimizer.flags if f.condition is not None and f.name in read]
        return [(self.name(Name(f.name, False, f.span)), self.piece(condition).text) for f, condition in flags]


def _names(optimizer: Optimizer) -> Iterator[Name]:
    """The names that are shown: those of equations, guards and conditions of flags."""
    lines = (*optimizer.update, *optimizer.evaluate)
    conditions = (f.condition for f in optimizer.flags if f.condition is not None)
    yield from (line.target for line in lines)
    for expr in (*(line.value for line in lines), *optimizer.guards(), *conditions, GRADIENT.value):
        yield from (e for e in walk(expr) if isinstance(e, Name))


def equations(optimizer: Optimizer, flags: Flags | None, *, evaluate: bool) -> tuple[Equation, ...]:
    """The equations to show: all of them, or those of the variant with `flags` (a value for every flag).

    Raises ValueError where `flags` does not name exactly the flags of the spec.
    """
    if flags is None:
        return optimizer.evaluate if evaluate else optimizer.update
    expected = {f.name for f in optimizer.flags} | ({"sparse"} if optimizer.reads_sparse() else set())
    if set(flags) != expected:
        wrong = ", ".join(sorted(set(flags) ^ expected))
        raise ValueError(f"{optimizer.name}: a variant is a value for each of its flags; missing or unknown: {wrong}")
    return optimizer.program(flags, evaluate=evaluate).equations
