"""Expressions, names and numbers in the sentences of statements."""

from __future__ import annotations

from collections.abc import Iterable

from optgen.analysis.subject import Subject
from optgen.diagnostics import Span
from optgen.expressions import Expr, Name, Number
from optgen.symbolic.unicode import Unicode

NOWHERE = Span(0, 0, 0)


def name(text: str) -> Name:
    """The name of a param, or of a value after a step (`m'`), as a tree."""
    return Name(text.removesuffix("'"), text.endswith("'"), NOWHERE)


def shown(subject: Subject, expr: Expr | str, *, timeless: bool = False) -> str:
    """An expression, a name or the text of a number as Unicode text: `ε`, `√vₜ`; `timeless`: values are without t."""
    if isinstance(expr, str):
        expr = name(expr) if expr.removesuffix("'").isidentifier() else Number(float(expr), expr, NOWHERE)
    text = Unicode(subject.spec).render(expr).text
    return text.replace("ₜ₋₁", "").replace("ₜ", "") if timeless else text


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def number(x: float) -> str:
    """A number with the digits that a sentence needs."""
    text = f"{x:.0f}" if 1e4 <= abs(x) < 1e7 else f"{x:.4g}".replace("e-0", "e-").replace("e+0", "e+")
    return f"−{text[1:]}" if x < 0 else text


def power(base: str, exponent: str) -> str:
    """`c`, `c²`, `c^(1/2)`, `t^(−0.5)`."""
    if exponent == "1":
        return base
    return base + ("²" if exponent == "2" else f"^{exponent}" if exponent.isdigit() else f"^({exponent})")
