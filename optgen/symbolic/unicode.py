"""The equations of an optimizer as Unicode text for a terminal: `x'` is xₜ, `x` is xₜ₋₁, case groups have a brace."""

from __future__ import annotations

from collections.abc import Sequence

from optgen.expressions import WORKERS, Expr, Index, Number
from optgen.functions.record import Distribution, Fenced, FunctionName, Root
from optgen.model import Flags, Optimizer
from optgen.symbolic.names import Time
from optgen.symbolic.render import EquationLine, Level, Rendered, Renderer, Row, after, rendered
from optgen.symbolic.shown import Values
from optgen.symbolic.symbols import ACCENTS, GREEK, Symbol, width

_SUBSCRIPT = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_SUPERSCRIPT = str.maketrans("0123456789t", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵗ")
_TIME = {Time.NONE: "", Time.OLD: "ₜ₋₁", Time.NEW: "ₜ", Time.EVALUATED: "ₜ(eval)"}
_INFIX = {"-": "−", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠"}
_INDENT = 2
_BEFORE_IF = "   "


def unicode(
    optimizer: Optimizer, flags: Flags | None = None, values: Values | None = None, columns: int | None = None
) -> str:
    """The equations, one in a line, with aligned relation signs. Lines wider than `columns` are broken, if it is given;
    other arguments, and errors, are those of `latex`."""
    lines, found = rendered(Unicode, optimizer, flags, values)
    column = relation_column(lines)
    rows = [row for line in lines for row in equation(line, column, columns)]
    where = (part for name, condition in found for part in _fit(f"where {name}: {condition}", columns))
    return "\n".join([*rows, *where])


def relation_column(lines: Sequence[EquationLine]) -> int:
    """The column of the relation signs of some equations."""
    return max(width(line.target) + _INDENT * line.depth for line in lines if line.rows)


def _fit(text: str, columns: int | None) -> list[str]:
    if columns is None:
        return [text]
    from optgen.symbolic.breaking import broken

    return broken(text, columns)


def _pad(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def equation(line: EquationLine, column: int, columns: int | None) -> list[str]:
    """The lines of an equation, whose relation sign stands at `column`; as `unicode` breaks them."""
    margin = " " * (_INDENT * line.depth)
    if not line.rows:
        return [margin + x for x in _fit(line.target, columns and columns - len(margin))]
    start = f"{_pad(margin + line.target, column)} {line.relation} "
    blank = " " * (column + 3)
    if len(line.rows) == 1:
        (row,) = line.rows
        found = _row(row.value, f"if {row.condition}" if row.condition else "", columns and columns - len(blank))
        return [(blank if i else start) + x for i, x in enumerate(found)]
    ends = [f"if {row.condition}" if row.condition else "otherwise" for row in line.rows]
    bodies = _cases([row.value for row in line.rows], ends, columns and columns - len(blank) - 2)
    # A brace has its point in the middle and so an odd number of rows. An even number gets a row for the point alone,
    # unless that would stand within a case of several lines.
    middle = len(bodies) // 2
    if len(bodies) % 2 == 0 and len(bodies) == len(line.rows):
        bodies.insert(middle, "")
    braces = ["⎧", *"⎪" * (len(bodies) - 2), "⎩"]
    braces[middle] = "⎨"
    starts = [start if i == middle else blank for i in range(len(bodies))]
    return [f"{s}{b} {x}".rstrip() for s, b, x in zip(starts, braces, bodies, strict=True)]


def _cases(values: Sequence[str], ends: Sequence[str], columns: int | None) -> list[str]:
    """The lines of cases: their conditions one below the other, if they fit."""
    column = max(map(width, values))
    if columns is None or column + len(_BEFORE_IF) + max(map(width, ends)) <= columns:
        return [f"{_pad(value, column)}{_BEFORE_IF}{end}" for value, end in zip(values, ends, strict=True)]
    return [line for value, end in zip(values, ends, strict=True) for line in _row(value, end, columns)]


def _row(value: str, end: str, columns: int | None) -> list[str]:
    """A value and when it holds; `end` has a line of its own if it does not fit behind the value."""
    found = _fit(value, columns)
    if not end:
        return found
    if columns is None or width(found[-1] + _BEFORE_IF + end) <= columns:
        return [*found[:-1], found[-1] + _BEFORE_IF + end]
    return [*found, *(_BEFORE_IF + x for x in _fit(end, columns - len(_BEFORE_IF)))]


class Unicode(Renderer):
    juxtaposes = False

    def symbol(self, symbol: Symbol, time: Time) -> str:
        base = GREEK.get(symbol.base, symbol.base) + "".join(ACCENTS[a] for a in symbol.accents)
        for subscript in symbol.subscripts:
            if subscript.isdigit():
                base += subscript.translate(_SUBSCRIPT)
            else:
                base += "ₜ" if subscript == "t" else "_" + GREEK.get(subscript, subscript)
        return base + _TIME[time]

    def entry(self, symbol: Symbol, at: Index, *, of_steps: bool) -> str:
        base = self.symbol(symbol, Time.NONE)
        if not of_steps:
            return f"{base}[{str(at).replace('-', '−').replace(' ', '')}]"
        if not at.terms:
            return base + "ₜ" + after(at).translate(_SUBSCRIPT)
        return f"{base}[t{after(at).replace('-', '−')}]"

    def number(self, number: Number) -> Rendered:
        if number.text in GREEK:
            return Rendered(GREEK[number.text])
        return Rendered("∞" if number.text.lower().lstrip("+-") == "inf" else number.text)

    def text(self, text: str) -> str:
        return f"'{text}'"

    def word(self, name: str) -> str:
        return name

    def group(self, text: str) -> str:
        return f"({text})"

    def minus(self, operand: str) -> str:
        return f"−{operand}"

    def infix(self, op: str, left: str, right: str) -> str:
        return f"{left} {_INFIX.get(op, op)} {right}"

    def product(self, left: str, right: str) -> str:
        return f"{left}·{right}"

    def quotient(self, left: Expr, right: Expr) -> Rendered:
        a, b = self.at_least(Level.MULTIPLY, left), self.at_least(Level.POWER, right)
        return Rendered(f"{a}/{b}", Level.MULTIPLY)

    def power(self, base: str, exponent: Rendered) -> str:
        raised = exponent.text.translate(_SUPERSCRIPT)
        if exponent.text == "t" or exponent.text.isdigit():
            return base + raised
        return f"{base}^{exponent.text if exponent.level == Level.ATOM else self.group(exponent.text)}"

    def transpose(self, operand: str) -> str:
        return f"{operand}ᵀ"

    def matrix_product(self, left: str, right: str) -> str:
        return f"{left}@{right}"

    def negation(self, operand: str) -> str:
        return f"not {operand}"

    def plus_minus(self, operand: str) -> str:
        return f"±{operand}"

    def is_set(self, name: str) -> str:
        return f"{name} set"

    def draw(self, drawn: Distribution, dims: tuple[str, ...], held: tuple[str, ...]) -> str:
        within = f"[{' x '.join(dims)}]" if dims else ""
        return drawn.unicode + within + (f", new where {self.updates(held[1], held[0])}" if held else "")

    def call(self, shown: FunctionName | Fenced | Root, args: tuple[str, ...], scope: str | None) -> str:
        if isinstance(shown, Root):
            simple = all(c.isalnum() or c in "₋_" or c in ACCENTS.values() for c in args[0])
            return shown.unicode + (args[0] if simple else self.group(args[0]))
        within = f"[{'over' if scope in ('params', WORKERS) else 'per'} {scope}]" if scope else ""
        if isinstance(shown, Fenced):
            opening, closing = shown.unicode
            return f"{opening}{args[0]}{closing}{within}"
        return shown.unicode + within + self.group(", ".join(args))

    def cases(self, rows: tuple[Row, ...]) -> str:
        return "{" + "; ".join(f"{r.value} {f'if {r.condition}' if r.condition else 'otherwise'}" for r in rows) + "}"

    def arrow(self) -> str:
        return "←"

    def repeat(self, count: str, number: str | None) -> str:
        turns = "" if number is None else f", {number} = 0, 1, ..."
        return f"repeat {count} times{turns}:"

    def end(self) -> str:
        return "end"

    def phase(self, name: str) -> str:
        return f"phase {name}:"

    def updates(self, first: str, every: str) -> str:
        if not every:
            return f"t = {first}"
        then = f"2·{every}" if first == every and not every.isdigit() else f"{first} + {every}"
        return f"t = {first}, {then}, ..."

    def both(self, conditions: list[str]) -> str:
        return " and ".join(conditions)

    def equal(self, *, draw: bool) -> str:
        return "~" if draw else "="
