"""The equations of an optimizer as LaTeX: `x'` is x_t, `x` is x_{t-1}, parameters have no index, case groups become
`cases`."""

from __future__ import annotations

import re
from dataclasses import replace

from optgen.expressions import Expr, Index, Number
from optgen.functions.record import Distribution, Fenced, FunctionName, Root
from optgen.model import Flags, Optimizer
from optgen.symbolic.names import Time
from optgen.symbolic.render import EquationLine, Level, Rendered, Renderer, Row, after, rendered
from optgen.symbolic.shown import Values
from optgen.symbolic.symbols import GREEK, Symbol

_INFIX = {
    "<=": r"\le",
    ">=": r"\ge",
    "==": "=",
    "!=": r"\ne",
    "and": r"\text{ and }",
    "or": r"\text{ or }",
}
_BETWEEN_TEXTS = re.compile(r"(\\text\{[^{}]*)\} ?\\text\{")
_TALL = (r"\frac", r"\sqrt", r"\begin", r"\left")


def latex(optimizer: Optimizer, flags: Flags | None = None, values: Values | None = None) -> str:
    """The equations as an `aligned` block (amsmath), to stand in display mode.

    Only the cases that `flags` allow are shown, with the conditions of flags that decide between them. A `rescale_grad`
    of 1 and a `clip_gradient` of none are not shown: `values` has the hyper-parameters that are known, by default those
    of the spec. Raises ValueError if `flags` names one that the spec lacks.
    """
    lines, found = rendered(Latex, optimizer, flags, values)
    rows = [*map(_line, lines), *(rf"\text{{where }} {name} &\colon {condition}" for name, condition in found)]
    body = " \\\\\n".join(f"  {_joined_texts(row)}" for row in rows)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def _joined_texts(code: str) -> str:
    """The code with texts that follow each other as one: `\\text{if } \\text{amsgrad}` is `\\text{if amsgrad}`."""
    joined = _BETWEEN_TEXTS.sub(r"\1", code)
    return code if joined == code else _joined_texts(joined)


def _line(line: EquationLine) -> str:
    margin = r"\quad " * line.depth
    if not line.rows:
        return rf"& {margin}{line.target}"
    start = f"{margin}{line.target} &{line.relation} "
    if len(line.rows) > 1:
        return start + _cases(line.rows)
    (row,) = line.rows
    return start + row.value + (rf" \quad \text{{if }} {row.condition}" if row.condition else "")


def _cases(rows: tuple[Row, ...]) -> str:
    ends = (rf"\text{{if }} {row.condition}" if row.condition else r"\text{otherwise}" for row in rows)
    body = r" \\ ".join(f"{row.value} & {end}" for row, end in zip(rows, ends, strict=True))
    return rf"\begin{{cases}} {body} \end{{cases}}"


def _escape(text: str) -> str:
    """Text inside `\\mathrm` or `\\text`."""
    special = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\tilde{}"}
    return "".join(special.get(c, "\\" + c if c in "_{}$&#%" else c) for c in text)


def _latex_name(text: str) -> str:
    if text in GREEK:
        return "\\" + text
    if text in ("max", "min"):
        return "\\" + text
    return text if len(text) == 1 or text.isdigit() else rf"\mathrm{{{_escape(text)}}}"


class Latex(Renderer):
    def symbol(self, symbol: Symbol, time: Time) -> str:
        times = {Time.NEW: ["t"], Time.EVALUATED: ["t"], Time.OLD: ["t-1"], Time.NONE: []}[time]
        return self._subscripted(symbol, times) + (r"^{\mathrm{eval}}" if time is Time.EVALUATED else "")

    def _subscripted(self, symbol: Symbol, more: list[str]) -> str:
        base = _latex_name(symbol.base) if symbol.base not in ("max", "min") else rf"\mathrm{{{symbol.base}}}"
        for accent in symbol.accents:
            base = rf"\{accent}{{{base}}}"
        subscripts = [*(_latex_name(s) for s in symbol.subscripts), *more]
        if not subscripts:
            return base
        joined = ",".join(subscripts)
        return base + (f"_{joined}" if len(joined) == 1 else f"_{{{joined}}}")

    def entry(self, symbol: Symbol, at: Index, *, of_steps: bool) -> str:
        shown = replace(at, terms=tuple((_latex_name(name), k) for name, k in at.terms))
        return self._subscripted(symbol, [f"t{after(shown)}" if of_steps else str(shown).replace(" ", "")])

    def number(self, number: Number) -> Rendered:
        if number.text in GREEK:
            return Rendered(f"\\{number.text}")
        mantissa, _, exponent = number.text.lower().partition("e")
        if number.text.lower().lstrip("+-") == "inf":
            return Rendered(r"\infty")
        if not exponent:
            return Rendered(mantissa)
        power = f"10^{{{int(exponent)}}}"
        if mantissa in ("1", "1.0"):
            return Rendered(power, Level.POWER)
        return Rendered(rf"{mantissa} \times {power}", Level.MULTIPLY)

    def text(self, text: str) -> str:
        return rf"\text{{{_escape(text)}}}"

    def word(self, name: str) -> str:
        return self.text(name)

    def group(self, text: str) -> str:
        return rf"\left({text}\right)" if any(t in text for t in _TALL) else f"({text})"

    def minus(self, operand: str) -> str:
        return f"-{operand}"

    def infix(self, op: str, left: str, right: str) -> str:
        return f"{left} {_INFIX.get(op, op)} {right}"

    def product(self, left: str, right: str) -> str:
        return rf"{left} \cdot {right}" if right[0].isdigit() else rf"{left} \, {right}"

    def quotient(self, left: Expr, right: Expr) -> Rendered:
        return Rendered(rf"\frac{{{self.render(left).text}}}{{{self.render(right).text}}}", Level.MULTIPLY)

    def power(self, base: str, exponent: Rendered) -> str:
        return f"{base}^{exponent.text if len(exponent.text) == 1 else f'{{{exponent.text}}}'}"

    def transpose(self, operand: str) -> str:
        return rf"{operand}^\top"

    def matrix_product(self, left: str, right: str) -> str:
        return f"{left} {right}"

    def elementwise(self, left: str, right: str) -> str:
        return rf"{left} \odot {right}"

    def each(self, exponent: str) -> str:
        return rf"\odot {exponent}"

    def negation(self, operand: str) -> str:
        return rf"\text{{not }} {operand}"

    def plus_minus(self, operand: str) -> str:
        return rf"\pm {operand}"

    def is_set(self, name: str) -> str:
        return rf"{name} \text{{ is set}}"

    def draw(self, drawn: Distribution, dims: tuple[str, ...], held: tuple[str, ...]) -> str:
        shape = r" \times ".join(dims)
        within = f"^{{{shape}}}" if dims else ""
        return drawn.latex + within + (rf", \text{{ new where }} {self.updates(held[1], held[0])}" if held else "")

    def call(self, shown: FunctionName | Fenced | Root, args: tuple[str, ...], scope: str | None) -> str:
        words = "" if scope is None else _escape(scope).replace(" ", r"\ ")
        within = rf"_{{\mathrm{{{words}}}}}" if words else ""
        if isinstance(shown, Root):
            return rf"\sqrt{'' if shown.degree == 2 else f'[{shown.degree}]'}{{{args[0]}}}"
        if isinstance(shown, Fenced):
            opening, closing = shown.latex
            if any(t in args[0] for t in _TALL):
                return rf"\left{opening}{args[0]}\right{closing.lstrip()}{within}"
            return f"{opening}{args[0]}{closing}{within}"
        return shown.latex + within + self.group(", ".join(args))

    def cases(self, rows: tuple[Row, ...]) -> str:
        return _cases(rows)

    def arrow(self) -> str:
        return r"\gets"

    def repeat(self, count: str, number: str | None) -> str:
        turns = "" if number is None else rf", \; {number} = 0, 1, \ldots"
        return rf"\text{{repeat }} {count} \text{{ times}}{turns}\colon"

    def end(self) -> str:
        return r"\text{end}"

    def phase(self, name: str) -> str:
        return rf"\text{{phase {_escape(name)}}}\colon"

    def updates(self, first: str, every: str) -> str:
        if not every:
            return f"t = {first}"
        then = rf"2 {every}" if first == every and not every.isdigit() else f"{first} + {every}"
        return rf"t = {first}, {then}, \ldots"

    def both(self, conditions: list[str]) -> str:
        return r" \text{ and } ".join(conditions)

    def equal(self, *, draw: bool) -> str:
        return r"\sim" if draw else "="
