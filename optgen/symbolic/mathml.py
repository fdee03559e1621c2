"""The equations of an optimizer as MathML Core, which browsers set without a library.

Elements are those of MathML Core (W3C, 2025) alone. An equation is a row of a table: its name, the sign, its value. The
text alternative of a formula is its Unicode form.
"""

from __future__ import annotations

import re
from html import escape

from optgen.expressions import Expr, Index, Number
from optgen.functions.record import Distribution, Fenced, FunctionName, Root
from optgen.model import Flags, Optimizer
from optgen.symbolic.names import Time
from optgen.symbolic.render import EquationLine, Level, Rendered, Renderer, Row, after, rendered
from optgen.symbolic.shown import Values
from optgen.symbolic.symbols import GREEK, Symbol
from optgen.symbolic.unicode import Unicode, unicode

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_SPACE = "\u00a0"  # one that is kept at the ends of an element
_THIN, _WIDE = '<mspace width="0.17em"/>', '<mspace width="1em"/>'
_APPLY = "<mo>\u2061</mo>"
_TIMES = "<mo>\u00d7</mo>"
_INFIX = {"-": "−", "<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "<": "&lt;", ">": "&gt;"}
_ACCENT = {"hat": "^", "bar": "¯", "tilde": "~"}
_TALL = ("<mfrac", "<msqrt", "<mroot", "<mtable")
_ELEMENT = re.compile(r"<(m\w+)\b[^>]*>(?:(?!</\1>).)*</\1>")  # one that has none of its kind within
_LEFT, _RIGHT = ' style="text-align: left"', ' style="text-align: right"'


def mathml(optimizer: Optimizer, flags: Flags | None = None, values: Values | None = None) -> str:
    """The equations as one `<math display="block">`. Arguments and errors are those of `latex`."""
    lines, found = rendered(MathML, optimizer, flags, values)
    rows = [_line(line) for line in lines]
    rows += [_cells(_text(f"where{_SPACE}") + name, "<mo>:</mo>", condition) for name, condition in found]
    return _math(_table(rows), unicode(optimizer, flags, values), ' display="block"')


def formula(expr: Expr, optimizer: Optimizer) -> str:
    """An expression over the names of an optimizer as an inline `<math>`."""
    return _math(MathML(optimizer).render(expr).text, Unicode(optimizer).render(expr).text)


def _math(content: str, alternative: str, attributes: str = "") -> str:
    text = escape(alternative).replace("\n", "&#10;")
    return f'<math xmlns="{_NAMESPACE}"{attributes} alttext="{text}">{content}</math>'


# ---------------------------------------------------------------- rows of tables


def _table(rows: list[str]) -> str:
    return f'<mtable displaystyle="true">{"".join(rows)}</mtable>'


def _cells(target: str, relation: str, value: str) -> str:
    return f"<mtr><mtd{_RIGHT}>{target}</mtd><mtd>{relation}</mtd><mtd{_LEFT}>{value}</mtd></mtr>"


def _line(line: EquationLine) -> str:
    margin = _WIDE * line.depth
    if not line.rows:
        return f'<mtr><mtd columnspan="3"{_LEFT}>{margin}{line.target}</mtd></mtr>'
    if len(line.rows) > 1:
        value = _cases(line.rows)
    else:
        (row,) = line.rows
        value = row.value + (f"{_WIDE}{_condition(row)}" if row.condition else "")
    return _cells(margin + line.target, f"<mo>{line.relation}</mo>", value)


def _cases(rows: tuple[Row, ...]) -> str:
    lines = (f"<mtr><mtd{_LEFT}>{r.value}</mtd><mtd{_LEFT}>{_condition(r)}</mtd></mtr>" for r in rows)
    return f"<mrow><mo>{{</mo>{_table(list(lines))}</mrow>"


def _condition(row: Row) -> str:
    return _text(f"if{_SPACE}") + row.condition if row.condition else _text("otherwise")


# ---------------------------------------------------------------- elements


def _text(text: str) -> str:
    return f"<mtext>{escape(text)}</mtext>"


def _one(content: str) -> str:
    """The content as one element, as roots, fractions and scripts take it."""
    return content if _ELEMENT.fullmatch(content) else f"<mrow>{content}</mrow>"


def _fenced(opening: str, content: str, closing: str) -> str:
    """Fences that stretch around what is tall. Without a font for mathematics, browsers stretch them too much."""
    stretchy = "" if any(tall in content for tall in _TALL) else ' stretchy="false"'
    return f"<mrow><mo{stretchy}>{opening}</mo>{content}<mo{stretchy}>{closing}</mo></mrow>"


def _listed(items: list[str]) -> str:
    return "<mo>,</mo>".join(items)


def _word(text: str) -> str:
    """A letter, a number or a word of a name; more than one letter is upright."""
    return f"<mn>{text}</mn>" if text.isdigit() else f"<mi>{escape(GREEK.get(text, text))}</mi>"


def _signed(text: str) -> str:
    """The entries of a history, such as `t-1-i`, as numbers, letters and signs."""
    pieces = re.findall(r"\w+|[^\w\s]", text)
    return "".join(f"<mo>{_INFIX.get(x, x)}</mo>" if not re.match(r"\w", x) else _word(x) for x in pieces)


class MathML(Renderer):
    def symbol(self, symbol: Symbol, time: Time) -> str:
        steps = {Time.NEW: ["t"], Time.EVALUATED: ["t"], Time.OLD: ["t-1"], Time.NONE: []}[time]
        text = self._subscripted(symbol, [_signed(step) for step in steps])
        if time is not Time.EVALUATED:
            return text
        return self.power(text, Rendered(_text("eval")))

    def _subscripted(self, symbol: Symbol, more: list[str]) -> str:
        base = _word(symbol.base)
        for accent in symbol.accents:
            base = f'<mover accent="true">{base}<mo stretchy="false">{_ACCENT[accent]}</mo></mover>'
        subscripts = [*map(_word, symbol.subscripts), *more]
        return f"<msub>{base}{_one(_listed(subscripts))}</msub>" if subscripts else base

    def entry(self, symbol: Symbol, at: Index, *, of_steps: bool) -> str:
        return self._subscripted(symbol, [_signed(f"t{after(at)}" if of_steps else str(at))])

    def number(self, number: Number) -> Rendered:
        if number.text in GREEK:
            return Rendered(_word(number.text))
        mantissa, _, exponent = number.text.lower().partition("e")
        if number.text.lower().lstrip("+-") == "inf":
            return Rendered("<mi>∞</mi>")
        if not exponent:
            return Rendered(f"<mn>{mantissa}</mn>")
        power = f"<msup><mn>10</mn>{_one(_signed(str(int(exponent))))}</msup>"
        if mantissa in ("1", "1.0"):
            return Rendered(power, Level.POWER)
        return Rendered(f"<mn>{mantissa}</mn>{_TIMES}{power}", Level.MULTIPLY)

    def text(self, text: str) -> str:
        return _text(text)

    def word(self, name: str) -> str:
        return _text(name)

    def group(self, text: str) -> str:
        return _fenced("(", text, ")")

    def minus(self, operand: str) -> str:
        return f'<mo form="prefix">−</mo>{operand}'

    def infix(self, op: str, left: str, right: str) -> str:
        if op in ("and", "or"):
            return left + _text(f"{_SPACE}{op}{_SPACE}") + right
        return f"{left}<mo>{_INFIX.get(op, op)}</mo>{right}"

    def product(self, left: str, right: str) -> str:
        return f"{left}<mo>·</mo>{right}" if right.startswith("<mn>") else f"{left}{_THIN}{right}"

    def quotient(self, left: Expr, right: Expr) -> Rendered:
        above, below = (_one(self.render(x).text) for x in (left, right))
        return Rendered(f"<mfrac>{above}{below}</mfrac>", Level.MULTIPLY)

    def power(self, base: str, exponent: Rendered) -> str:
        if base.startswith("<msub>"):  # an atom, so the whole of it
            return f"<msubsup>{base.removeprefix('<msub>').removesuffix('</msub>')}{_one(exponent.text)}</msubsup>"
        return f"<msup>{_one(base)}{_one(exponent.text)}</msup>"

    def transpose(self, operand: str) -> str:
        return self.power(operand, Rendered("<mo>\u22a4</mo>"))

    def matrix_product(self, left: str, right: str) -> str:
        return left + right

    def elementwise(self, left: str, right: str) -> str:
        return f"{left}<mo>⊙</mo>{right}"

    def each(self, exponent: str) -> str:
        return f'<mo form="prefix">⊙</mo>{exponent}'

    def negation(self, operand: str) -> str:
        return _text(f"not{_SPACE}") + operand

    def plus_minus(self, operand: str) -> str:
        return f'<mo form="prefix">±</mo>{operand}'

    def is_set(self, name: str) -> str:
        return name + _text(f"{_SPACE}is set")

    def draw(self, drawn: Distribution, dims: tuple[str, ...], held: tuple[str, ...]) -> str:
        letter = f"<mi>{drawn.letter}</mi>"
        letter = self.power(letter, Rendered(_TIMES.join(dims))) if dims else letter
        opening, closing = drawn.fences
        numbers = _fenced(opening, _listed([f"<mn>{x}</mn>" for x in drawn.numbers]), closing)
        when = f"<mo>,</mo>{_text(f'new where{_SPACE}')}{self.updates(held[1], held[0])}" if held else ""
        return f"<mrow>{letter}{numbers}</mrow>{when}"

    def call(self, shown: FunctionName | Fenced | Root, args: tuple[str, ...], scope: str | None) -> str:
        if isinstance(shown, Root):
            square = f"<msqrt>{args[0]}</msqrt>"
            return square if shown.degree == 2 else f"<mroot>{_one(args[0])}<mn>{shown.degree}</mn></mroot>"
        within = _text(scope) if scope else ""
        if isinstance(shown, Fenced):
            opening, closing = shown.unicode
            fenced = _fenced(opening, args[0], closing)
            return f"<mrow><msub>{fenced}{within}</msub></mrow>" if within else fenced
        name = f"<mi>{escape(shown.mathml)}</mi>"
        name = f"<msub>{name}{within}</msub>" if within else name
        return f"<mrow>{name}{_APPLY}{self.group(_listed(list(args)))}</mrow>"

    def cases(self, rows: tuple[Row, ...]) -> str:
        return _cases(rows)

    def arrow(self) -> str:
        return "←"

    def repeat(self, count: str, number: str | None) -> str:
        turns = f"<mo>,</mo>{number}<mo>=</mo><mn>0</mn><mo>,</mo><mn>1</mn><mo>,</mo><mi>…</mi>" if number else ""
        return f"{_text(f'repeat{_SPACE}')}{count}{_text(f'{_SPACE}times')}{turns}<mo>:</mo>"

    def end(self) -> str:
        return _text("end")

    def phase(self, name: str) -> str:
        return _text(f"phase {name}:")

    def updates(self, first: str, every: str) -> str:
        if not every:
            return f"<mi>t</mi><mo>=</mo>{first}"
        doubled = first == every and not every.startswith("<mn>")
        then = f"<mn>2</mn>{every}" if doubled else f"{first}<mo>+</mo>{every}"
        return f"<mi>t</mi><mo>=</mo>{first}<mo>,</mo>{then}<mo>,</mo><mi>…</mi>"

    def both(self, conditions: list[str]) -> str:
        return _text(f"{_SPACE}and{_SPACE}").join(conditions)

    def equal(self, *, draw: bool) -> str:
        return "\u223c" if draw else "="
