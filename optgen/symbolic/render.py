"""What LaTeX, MathML and Unicode have in common: the walk over expressions, precedence, names and case groups.

The text follows the tree as written. It has the fewest parentheses that mathematics allows: `a + (b + c)` needs none,
although the kernel adds in the written order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby

from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Index, IsSet, Name, Number, Text, Transpose, Unary
from optgen.functions.record import Distribution, Fenced, FunctionName, Rewritten, Root
from optgen.functions.table import FUNCTIONS, is_draw
from optgen.model import Equation, Flags, Loop, Optimizer, is_never
from optgen.symbolic.arrays import arrays, is_array
from optgen.symbolic.names import Names, Time
from optgen.symbolic.shown import Values, conditions, equations, loops
from optgen.symbolic.symbols import Symbol


class Level(IntEnum):
    """The precedence of a rendered expression, loosest first."""

    CASES = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARE = 4
    ADD = 5
    NEGATIVE = 6
    ELEMENTWISE = 7
    MULTIPLY = 8
    POWER = 9
    ATOM = 10


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

    juxtaposes = True
    """Whether products of matrices have no sign, so that those of elements need one."""

    def __init__(self, optimizer: Optimizer, *, evaluate: bool = False) -> None:
        self.names = Names(optimizer, evaluate=evaluate)
        self.arrays = arrays(optimizer) if self.juxtaposes else frozenset[str]()

    # ------------------------------------------------------------ how things look

    @abstractmethod
    def symbol(self, symbol: Symbol, time: Time) -> str: ...

    @abstractmethod
    def entry(self, symbol: Symbol, at: Index, *, of_steps: bool) -> str:
        """An entry of a history, the one of step t + `at`; or element `at` of an array."""

    @abstractmethod
    def number(self, number: Number) -> Rendered: ...

    @abstractmethod
    def text(self, text: str) -> str:
        """A choice of a flag."""

    @abstractmethod
    def word(self, name: str) -> str:
        """The name of a flag."""

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
    def draw(self, drawn: Distribution, dims: tuple[str, ...], held: tuple[str, ...]) -> str: ...

    @abstractmethod
    def call(self, shown: FunctionName | Fenced | Root, args: tuple[str, ...], scope: str | None) -> str: ...

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
        """In which updates a case is taken, by their counts: one alone without `every`."""

    @abstractmethod
    def both(self, conditions: list[str]) -> str:
        """All of some conditions."""

    @abstractmethod
    def equal(self, *, draw: bool) -> str: ...

    def elementwise(self, left: str, right: str) -> str:
        """A product of elements where there are products of matrices."""
        return self.product(left, right)

    def each(self, exponent: str) -> str:
        """The exponent of elements where there are products of matrices."""
        return exponent

    # ------------------------------------------------------------ names

    def name(self, name: Name) -> str:
        names = self.names
        if name.id in names.words:
            return self.word(name.id)
        parts, time = names.of(name)
        if name.at is None:
            return self.symbol(parts, time)
        of_steps = name.id in names.states
        newest = replace(name.at, constant=name.at.constant + (names.evaluate and of_steps))
        return self.entry(parts, newest, of_steps=of_steps)

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
                return Rendered(self.minus(self.at_least(Level.ELEMENTWISE, x)), Level.NEGATIVE, minus=True)
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
                b = self.at_least(Level.ADD if op == "+" else Level.ELEMENTWISE, right)
                return Rendered(self.infix(op, a, b), Level.ADD, first.minus and first.level >= Level.ADD)
            case "*":
                level = Level.ELEMENTWISE if self.is_elementwise(expr) else Level.MULTIPLY
                first = self.render(left)
                negative = first.level == Level.NEGATIVE
                a = first.text if negative else self.at_least(level, left)
                b = self.at_least(level, right)
                product = self.product if level is Level.MULTIPLY else self.elementwise
                return Rendered(product(a, b), Level.NEGATIVE if negative else level, negative)
            case "@":
                a, b = self.at_least(Level.MULTIPLY, left), self.at_least(Level.POWER, right)
                return Rendered(self.matrix_product(a, b), Level.MULTIPLY)
            case "/":
                return self.quotient(left, right)
            case "^":
                raised = self.render(right)
                raised = replace(raised, text=self.each(raised.text)) if self.is_elementwise(expr) else raised
                return Rendered(self.power(self._base(left), raised), Level.POWER)
            case "and" | "or" as op:
                level = Level.AND if op == "and" else Level.OR
                return Rendered(self.infix(op, self.at_least(level, left), self.at_least(level, right)), level)
            case op:
                a, b = (self.at_least(Level.ADD, x, minus=True) for x in (left, right))
                return Rendered(self.infix(op, a, b), Level.COMPARE)

    def is_elementwise(self, expr: Binary) -> bool:
        """Whether a product or power is one of each element, where a reader could take it for one of matrices."""
        sides = (expr.left, expr.right) if expr.op == "*" else (expr.left,)
        return bool(self.arrays) and all(is_array(x, self.arrays) for x in sides)

    def _base(self, base: Expr) -> str:
        """The base of a power. A root is in parentheses, or the power would seem to be under it."""
        root = isinstance(base, Call) and isinstance(FUNCTIONS[base.function].shown, Root)
        return self.group(self.render(base).text) if root else self.at_least(Level.ATOM, base)

    def _call(self, expr: Call) -> Rendered:
        shown = FUNCTIONS[expr.function].shown
        if isinstance(shown, Rewritten):
            return self.render(shown.tree(*expr.args))
        if expr.function == "where" and len(expr.args) == 3:
            return Rendered(self.cases(self.rows(expr)), Level.CASES)
        if expr.function == "clip" and len(expr.args) == 2:
            x, bound = expr.args
            given: tuple[str, ...] = (self.render(x).text, self.plus_minus(self.at_least(Level.ELEMENTWISE, bound)))
        else:
            given = tuple("" if is_never(x) else self.render(x).text for x in expr.args)
        if isinstance(shown, Distribution):
            dims = tuple(self.render(Name(str(dim), False, expr.span)).text for dim in expr.dims)
            return Rendered(self.draw(shown, dims, given))
        return Rendered(self.call(shown, given, None if expr.scope is None else str(expr.scope)))

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
        draw = all(is_draw(e.value) for e in group)
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
            every = "" if equation.timing.is_once else self.render(equation.timing.every).text
            words.append(self.updates(self.render(first).text, every))
        return self.both(words) if words else None

    def lines(self, shown: tuple[Equation, ...]) -> list[EquationLine]:
        found: list[EquationLine] = []
        open_loops: list[Loop] = []
        within: str | None = None
        drawn: set[Span] = set()
        for (_, _, phase), cases in groupby(shown, key=lambda e: (e.target.key, e.loop, e.phase)):
            group = tuple(cases)
            if phase is not None and is_draw(group[0].value):
                if group[0].span in drawn:  # by a phase above, which is where it is shown
                    continue
                drawn.add(group[0].span)
            if phase is not None and phase != within:
                within = phase
                found.append(EquationLine(self.phase(phase), "", ()))
            around = loops(group[0])
            while open_loops and open_loops != around[: len(open_loops)]:
                open_loops.pop()
                found.append(EquationLine(self.end(), "", (), len(open_loops)))
            for inner in around[len(open_loops) :]:
                number = None if inner.index is None else self.name(Name(inner.index, False, inner.span))
                found.append(EquationLine(self.repeat(self.render(inner.count).text, number), "", (), len(open_loops)))
                open_loops.append(inner)
            found.append(replace(self.line(group), depth=len(open_loops)))
        for depth in reversed(range(len(open_loops))):
            found.append(EquationLine(self.end(), "", (), depth))
        return found


def after(at: Index) -> str:
    """What stands behind t in the number of the step of an entry: `-1`, `+i-10`, nothing for step t."""
    text = str(at).replace(" ", "")
    return "" if text == "0" else text if text.startswith("-") else f"+{text}"


def rendered(
    renderer: type[Renderer], optimizer: Optimizer, flags: Flags | None, values: Values | None
) -> tuple[list[EquationLine], list[tuple[str, str]]]:
    """The equations of a step and of the weights to evaluate with, and the flags that follow, each with its condition;
    arguments and errors are those of `equations`."""
    lines: list[EquationLine] = []
    shown: list[Equation] = []
    for evaluate in (False, True):
        found = equations(optimizer, flags, values, evaluate=evaluate)
        lines += renderer(optimizer, evaluate=evaluate).lines(found)
        shown += found
    render = renderer(optimizer)
    known = conditions(optimizer, shown, flags)
    return lines, [(render.word(name), render.render(condition).text) for name, condition in known]
