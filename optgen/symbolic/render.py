"""What LaTeX, MathML and Unicode have in common: the walk over expressions, precedence, names and case groups.

The text follows the tree as written. It has the fewest parentheses that mathematics allows: `a + (b + c)` needs none,
although the kernel adds in the written order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from itertools import groupby

from optgen.diagnostics import Span
from optgen.expressions import DRAWS, Binary, Call, Expr, Index, IsSet, Name, Number, Text, Transpose, Unary, walk
from optgen.model import COUNTS, DIMENSIONS, EPSILON, PHASE, Equation, Flags, Loop, Optimizer
from optgen.symbolic.symbols import Symbol, symbol

_NOWHERE = Span(0, 0, 0)
_ONE = Number(1.0, "1", _NOWHERE)
_RAW = Name("grad", False, _NOWHERE)
_AT_FIRST = Binary("==", Name("t", False, _NOWHERE), _ONE, _NOWHERE)
_FACTOR, _BOUND = (Name(n, False, _NOWHERE) for n in ("rescale_grad", "clip_gradient"))

GRADIENT = Equation(
    Name("g", False, _NOWHERE),
    Call("clip", (Binary("*", _FACTOR, _RAW, _NOWHERE), _BOUND), None, _NOWHERE),
    _NOWHERE,
)
"""The definition of the reserved name `g`, shown before the equations that read it."""


class Level(IntEnum):
    """The precedence of a rendered expression, loosest first."""

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
    """The step that the value of a name belongs to."""

    NONE = "none"
    OLD = "old"  # t - 1
    NEW = "new"  # t
    EVALUATED = "evaluated"  # the weights that `eval:` computes


@dataclass(frozen=True)
class Rendered:
    """The text of an expression and its precedence. `minus`: it starts with a minus sign."""

    text: str
    level: Level = Level.ATOM
    minus: bool = False


@dataclass(frozen=True)
class Row:
    """One line of a case group: the value and its condition, None for `otherwise`."""

    value: str
    condition: str | None


@dataclass(frozen=True)
class EquationLine:
    """One equation. `relation` is the equals sign, or the sign for draws. A single row may have a condition (a
    guard)."""

    target: str
    relation: str
    rows: tuple[Row, ...]
    depth: int = 0


class Renderer(ABC):
    """The walk over expressions. A subclass defines how names, numbers, roots, fractions and so on look."""

    def __init__(self, optimizer: Optimizer, *, evaluate: bool = False) -> None:
        self.evaluate = evaluate
        self.states = {s.name for s in optimizer.states} | {"w"}
        self.bare = {*optimizer.all_params, *(f.name for f in optimizer.flags), "sparse", EPSILON}
        self.bare |= {*COUNTS, *DIMENSIONS}
        self.names = self.states | self.bare | {e.target.id for e in (*optimizer.update, *optimizer.evaluate)}
        self.spelled = self._alike(optimizer)

    # ------------------------------------------------------------ how things look

    @abstractmethod
    def symbol(self, symbol: Symbol, time: Time) -> str: ...

    @abstractmethod
    def entry(self, symbol: Symbol, at: Index, *, of_steps: bool) -> str:
        """An entry of a history, the one of step t + `at`; or element `at` of an array."""

    @abstractmethod
    def number(self, number: Number) -> Rendered: ...

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
    def quotient(self, left: Expr, right: Expr) -> Rendered: ...

    @abstractmethod
    def power(self, base: str, exponent: Rendered) -> str: ...

    @abstractmethod
    def transpose(self, operand: str) -> str: ...

    @abstractmethod
    def matrix_product(self, left: str, right: str) -> str: ...

    @abstractmethod
    def negation(self, operand: str) -> str:
        """Logical not."""

    @abstractmethod
    def plus_minus(self, operand: str) -> str: ...

    @abstractmethod
    def is_set(self, name: str) -> str: ...

    @abstractmethod
    def draw(self, function: str, dims: tuple[str, ...], held: tuple[str, ...]) -> str: ...

    @abstractmethod
    def call(self, function: str, args: tuple[str, ...], scope: str | None) -> str: ...

    @abstractmethod
    def cases(self, rows: tuple[Row, ...]) -> str:
        """Cases inside an expression."""

    @abstractmethod
    def arrow(self) -> str:
        """The relation of a value that a loop carries to the next turn."""

    @abstractmethod
    def repeat(self, count: str, number: str | None) -> str:
        """The line that begins a loop; `number` is the name of that of the turn."""

    @abstractmethod
    def end(self) -> str:
        """The line that ends a loop."""

    @abstractmethod
    def phase(self, name: str) -> str:
        """The line above the equations of a phase."""

    @abstractmethod
    def updates(self, first: str, every: str) -> str:
        """In which updates a case is taken, by their counts."""

    @abstractmethod
    def both(self, conditions: list[str]) -> str:
        """All of some conditions."""

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
        if name.at is not None:
            parts = Symbol(name.id) if name.id in self.spelled else symbol(name.id)
            newest = replace(name.at, constant=name.at.constant + self.evaluate)
            return self.entry(parts, newest if name.id in self.states else name.at, of_steps=name.id in self.states)
        return self.symbol(Symbol(name.id), self.time(name)) if name.id in self.spelled else self._symbol_of(name)

    def _alike(self, optimizer: Optimizer) -> set[str]:
        """The names that would look like another one, such as `x1` and `x_1`: they are spelled out."""
        ids: dict[str, set[str]] = {}
        for name in _names(optimizer):
            ids.setdefault(self._symbol_of(name), set()).add(name.id)
        return {id for alike in ids.values() if len(alike) > 1 for id in alike}

    def _symbol_of(self, name: Name) -> str:
        time = self.time(name)
        parts = symbol(name.id)
        # `lr_t` names its step already, unless `lr` itself would be written like that.
        if time is Time.NEW and parts.subscripts[-1:] == ("t",):
            stem = name.id.removesuffix("_t")
            if stem not in self.names or stem in self.bare:
                time = Time.NONE
        return self.symbol(parts, time)

    # ------------------------------------------------------------ expressions

    def at_least(self, level: Level, expr: Expr, *, minus: bool = False) -> str:
        """The text of `expr`. It is in parentheses if it binds more loosely than `level`, or starts with a minus and
        not `minus`."""
        piece = self.render(expr)
        return self.group(piece.text) if piece.level < level or (piece.minus and not minus) else piece.text

    def render(self, expr: Expr) -> Rendered:
        match expr:
            case Number():
                return self.number(expr)
            case Name():
                return Rendered(self.name(expr))
            case Text(value=value):
                return Rendered(self.text(value))
            case IsSet(name=name):
                return Rendered(self.is_set(self.name(name)), Level.COMPARE)
            case Unary(op="-", operand=x):
                return Rendered(self.minus(self.at_least(Level.MULTIPLY, x)), Level.NEGATIVE, minus=True)
            case Unary(operand=x):
                return Rendered(self.negation(self.at_least(Level.POWER, x)), Level.NOT)
            case Transpose(operand=x):
                return Rendered(self.transpose(self._base(x)), Level.POWER)
            case Binary():
                return self._binary(expr)
            case Call():
                return self._call(expr)

    def _binary(self, expr: Binary) -> Rendered:
        left, right = expr.left, expr.right
        match expr.op:
            case "+" | "-" as op:
                first = self.render(left)
                a = self.at_least(Level.ADD, left, minus=True)
                b = self.at_least(Level.ADD if op == "+" else Level.MULTIPLY, right)
                return Rendered(self.infix(op, a, b), Level.ADD, first.minus and first.level >= Level.ADD)
            case "*":
                first = self.render(left)
                negative = first.level == Level.NEGATIVE
                a = first.text if negative else self.at_least(Level.MULTIPLY, left)
                b = self.at_least(Level.MULTIPLY, right)
                return Rendered(self.product(a, b), Level.NEGATIVE if negative else Level.MULTIPLY, negative)
            case "@":
                a, b = self.at_least(Level.MULTIPLY, left), self.at_least(Level.POWER, right)
                return Rendered(self.matrix_product(a, b), Level.MULTIPLY)
            case "/":
                return self.quotient(left, right)
            case "^":
                return Rendered(self.power(self._base(left), self.render(right)), Level.POWER)
            case "and" | "or" as op:
                level = Level.AND if op == "and" else Level.OR
                return Rendered(self.infix(op, self.at_least(level, left), self.at_least(level, right)), level)
            case op:
                a, b = (self.at_least(Level.ADD, x, minus=True) for x in (left, right))
                return Rendered(self.infix(op, a, b), Level.COMPARE)

    def _base(self, base: Expr) -> str:
        """The base of a power. A root is in parentheses, or the power would seem to be under it."""
        root = isinstance(base, Call) and base.function in ("sqrt", "cbrt")
        return self.group(self.render(base).text) if root else self.at_least(Level.ATOM, base)

    def _call(self, expr: Call) -> Rendered:
        match expr.function, expr.args:
            case "pow", (a, b):
                return self.render(Binary("^", a, b, expr.span))
            case "log1p", (x,):
                return self.render(Call("log", (Binary("+", _ONE, x, expr.span),), None, expr.span))
            case "expm1", (x,):
                return self.render(Binary("-", Call("exp", (x,), None, expr.span), _ONE, expr.span))
            case "where", (_, _, _):
                return Rendered(self.cases(self.rows(expr)), Level.CASES)
            case "clip", (x, bound):
                args = (self.render(x).text, self.plus_minus(self.at_least(Level.MULTIPLY, bound)))
                return Rendered(self.call("clip", args, None))
        given = tuple(self.render(x).text for x in expr.args)
        if expr.function in DRAWS:
            dims = tuple(self.render(Name(dim, False, expr.span)).text for dim in expr.dims)
            return Rendered(self.draw(expr.function, dims, given))
        return Rendered(self.call(expr.function, given, expr.scope))

    def rows(self, expr: Expr) -> tuple[Row, ...]:
        """The branches of a chain of `where`; one row for anything else."""
        if isinstance(expr, Call) and expr.function == "where" and len(expr.args) == 3:
            condition, a, b = expr.args
            return (Row(self.at_least(Level.OR, a, minus=True), self.render(condition).text), *self.rows(b))
        return (Row(self.render(expr).text, None),)

    # ------------------------------------------------------------ equations

    def line(self, group: tuple[Equation, ...]) -> EquationLine:
        """A case group, or a single equation with or without a guard."""
        target = self.name(group[0].target)
        carried = group[0].loop is not None and group[0].target.primed
        draw = all(isinstance(e.value, Call) and e.value.function in DRAWS for e in group)
        if len(group) == 1 and group[0].guard is None and group[0].timing is None:
            rows = self.rows(group[0].value)
        else:
            guards = [self._condition(e) for e in group]
            values = [self.at_least(Level.OR, e.value, minus=True) for e in group]
            rows = tuple(Row(value, guard) for value, guard in zip(values, guards, strict=True))
        return EquationLine(target, self.arrow() if carried else self.equal(draw=draw), rows)

    def _condition(self, equation: Equation) -> str | None:
        """When a case is taken: its guard, and the updates of its timing."""
        words = [] if equation.guard is None else [self.render(equation.guard).text]
        if equation.timing is not None:
            first = equation.timing.start or equation.timing.every
            words.append(self.updates(self.render(first).text, self.render(equation.timing.every).text))
        return self.both(words) if words else None

    def lines(self, equations: tuple[Equation, ...]) -> list[EquationLine]:
        reads_g = any(isinstance(e, Name) and e.id == "g" for q in equations for e in walk(q.value))
        shown = (GRADIENT, *equations) if reads_g else equations
        found: list[EquationLine] = []
        open_loops: list[Loop] = []
        within: str | None = None
        for (_, loop, phase), group in groupby(shown, key=lambda e: (e.target.key, e.loop, e.phase)):
            if phase is not None and phase != within:
                within = phase
                found.append(EquationLine(self.phase(phase), "", ()))
            around = _chain(loop)
            while open_loops and open_loops != around[: len(open_loops)]:
                open_loops.pop()
                found.append(EquationLine(self.end(), "", (), len(open_loops)))
            for inner in around[len(open_loops) :]:
                number = None if inner.index is None else self.name(Name(inner.index, False, inner.span))
                found.append(EquationLine(self.repeat(self.render(inner.count).text, number), "", (), len(open_loops)))
                open_loops.append(inner)
            line = self.line(tuple(group))
            found.append(replace(line, depth=len(open_loops)))
        for depth in reversed(range(len(open_loops))):
            found.append(EquationLine(self.end(), "", (), depth))
        return found

    def conditions(self, optimizer: Optimizer) -> list[tuple[str, str]]:
        """The flags that follow from params, other flags or `rank`, each with its condition."""
        read = optimizer.reads
        flags = [(f, f.condition) for f in optimizer.flags if f.condition is not None and f.name in read]
        return [(self.name(Name(f.name, False, f.span)), self.render(condition).text) for f, condition in flags]


def after(at: Index) -> str:
    """What stands behind t in the number of the step of an entry: `-1`, `+i-10`, nothing for step t."""
    text = str(at).replace(" ", "")
    return "" if text == "0" else text if text.startswith("-") else f"+{text}"


def _chain(loop: Loop | None) -> list[Loop]:
    """The loops around an equation, the outer ones first."""
    return [] if loop is None else [*_chain(loop.outer), loop]


def _names(optimizer: Optimizer) -> Iterator[Name]:
    """The names that are shown: those of equations, guards and conditions of flags."""
    lines = (*_starts(optimizer), *optimizer.update, *optimizer.evaluate)
    conditions = (f.condition for f in optimizer.flags if f.condition is not None)
    yield from (line.target for line in lines)
    for expr in (*(line.value for line in lines), *optimizer.guards(), *conditions, GRADIENT.value):
        yield from (e for e in walk(expr) if isinstance(e, Name))


def equations(optimizer: Optimizer, flags: Flags | None, *, evaluate: bool) -> tuple[Equation, ...]:
    """The equations to show: all of them, or those of the variant with `flags`, which has a value for every flag.

    Raises ValueError if `flags` does not name exactly the flags of the spec.
    """
    starts = () if evaluate else _starts(optimizer)
    if flags is None:
        return (*starts, *(optimizer.evaluate if evaluate else optimizer.update))
    expected = {f.name for f in optimizer.flags} | ({"sparse"} if optimizer.reads_sparse else set())
    expected |= {PHASE} if optimizer.phases else set()
    if set(flags) != expected:
        wrong = ", ".join(sorted(set(flags) ^ expected))
        raise ValueError(f"{optimizer.name}: a variant is a value for each of its flags; missing or unknown: {wrong}")
    program = optimizer.program(flags, evaluate=evaluate)
    present = {s.name for s in program.states}
    return (*(e for e in starts if e.target.id in present), *program.equations)


def _starts(optimizer: Optimizer) -> tuple[Equation, ...]:
    """What the first update starts states from, as equations that hold if t = 1."""
    found = ((state, optimizer.start(state)) for state in optimizer.states)
    return tuple(Equation(Name(s.name, False, s.span), x, s.span, _AT_FIRST) for s, x in found if x is not None)
