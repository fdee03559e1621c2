"""Parentheses: random arithmetic, rendered, read back as Python and computed exactly, has the value of its tree."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from xml.etree import ElementTree

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import optgen
from optgen.diagnostics import Span
from optgen.expressions import Binary, Expr, Name, Number, Unary
from optgen.symbolic.latex import Latex
from optgen.symbolic.mathml import formula
from optgen.symbolic.unicode import Unicode
from optgen.symbolic.written import expression

SPEC = """\
optimizer X
input a
input b
input c

update:
  x  = {}
  w' = w - x*(a + b + c)
"""
MODEL = optgen.parse(SPEC.format("1"))
HERE = Span(1, 1, 2)
VALUES = {"a": Fraction(3, 7), "b": Fraction(-5, 2), "c": Fraction(11, 3)}
OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def number(text: str) -> Number:
    return Number(float(text), text, HERE)


def minus(x: Expr) -> Expr:
    return Unary("-", x, HERE)


def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    exponent = st.sampled_from([number("2"), number("3"), minus(number("2"))])
    return (
        st.builds(Binary, st.sampled_from("+-*/"), inner, inner, st.just(HERE))
        | st.builds(Binary, st.just("^"), inner, exponent, st.just(HERE))
        | inner.map(minus)
    )


leaves: list[Expr] = [number("0"), number("12"), *(Name(name, False, HERE) for name in VALUES)]
trees = st.recursive(st.sampled_from(leaves), larger, max_leaves=8)


def value(expr: Expr) -> Fraction:
    match expr:
        case Number(text=text):
            return Fraction(text)
        case Name(id=name):
            return VALUES[name]
        case Unary(operand=x):
            return -value(x)
        case Binary(op="^", left=a, right=b):
            return value(a) ** int(value(b))
        case Binary(op=op, left=a, right=b):
            return OPERATIONS[op](value(a), value(b))
    raise TypeError(expr)


def known(tree: Expr) -> Fraction:
    """The value of a tree, of one that has one."""
    try:
        return value(tree)
    except ZeroDivisionError:
        assume(False)
        raise


def computed(text: str) -> Fraction:
    """The value of a Python expression over a_t, b_t, c_t and F(x)(y) = x/y."""
    exact = re.sub(r"(?<![\w.])\d+", lambda m: f"Fraction({m[0]})", text)
    scope = {f"{name}_t": x for name, x in VALUES.items()} | {"Fraction": Fraction, "F": lambda x: lambda y: x / y}
    result = eval(exact.strip(), scope)
    assert isinstance(result, Fraction)
    return result


@settings(max_examples=300, deadline=None)
@given(trees)
def test_unicode(tree: Expr) -> None:
    expected = known(tree)
    text = Unicode(MODEL).render(tree).text
    text = text.replace("·", "*").replace("−", "-").replace("ₜ", "_t").replace("^", "**")
    text = text.replace("²", "**2").replace("³", "**3")
    assert computed(text) == expected


@settings(max_examples=300, deadline=None)
@given(trees)
def test_latex(tree: Expr) -> None:
    expected = known(tree)
    text = Latex(MODEL).render(tree).text
    for code, python in ((r"\left", ""), (r"\right", ""), (r"\frac", "F"), (r"\cdot", "*"), (r"\,", "*"), ("^", "**")):
        text = text.replace(code, python)
    assert computed(text.translate(str.maketrans("{}", "()"))) == expected


def python(element: ElementTree.Element) -> str:
    """The Python expression of an element of MathML."""
    parts = [python(child) for child in element]
    match element.tag.partition("}")[2]:
        case "mi" | "mn" | "mo":
            return {"−": "-", "·": "*"}.get(str(element.text), str(element.text))
        case "mspace":
            return "*"
        case "mfrac":
            return f"(({parts[0]})/({parts[1]}))"
        case "msup":
            return f"({parts[0]})**({parts[1]})"
        case "msub":
            return f"{parts[0]}_{parts[1]}"
        case "msubsup":
            return f"{parts[0]}_{parts[1]}**({parts[2]})"
        case _:
            return "".join(parts)


@settings(max_examples=300, deadline=None)
@given(trees)
def test_mathml(tree: Expr) -> None:
    expected = known(tree)
    assert computed(python(ElementTree.fromstring(formula(tree, MODEL)))) == expected


@settings(max_examples=100, deadline=None)
@given(trees)
def test_the_spec_language(tree: Expr) -> None:
    """What `optgen show --stage model` prints is read again as the very same tree."""
    assert optgen.parse(SPEC.format(expression(tree))).update[0].value == tree
