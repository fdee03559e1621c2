"""The dimensions of products, transposes and functions of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optgen.axes import Axes, Kind, shown
from optgen.expressions import Binary, Call, Expr, Name, Transpose
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.record import Need
from optgen.functions.table import FUNCTIONS
from optgen.lang.dimensions import ValueKind
from optgen.lang.report import Report

ValueOf = Callable[[Expr], ValueKind | None]
"""The kind of a subexpression; None if an error in it was reported."""


def product(expr: Binary, value_of: ValueOf, report: Report) -> ValueKind | None:
    """The kind of `X @ Y`: the dimension between them goes."""
    sides = [_factor(side, value_of, report) for side in (expr.left, expr.right)]
    if sides[0] is None or sides[1] is None:
        return None
    left, right = sides[0].axes, sides[1].axes
    if left[-1] != right[0]:
        message = f"a product of {shown(left)} by {shown(right)}"
        report("E307", message, expr.span, _inner_help(left, right))
        return None
    if len(left) == len(right) == 1:
        report("E307", "a product of two vectors", expr.span, "write dot(x, y)")
        return None
    return ValueKind((*left[:-1], *right[1:]))


def _inner_help(left: Axes, right: Axes) -> str:
    inner = f"the inner dimensions, {left[-1]} and {right[0]}, must be the same"
    if right[-1] == left[-1]:
        return f"{inner}; is X@Y^T meant?"
    return f"{inner}; is X^T@Y meant?" if left[0] == right[0] else inner


def _factor(side: Expr, value_of: ValueOf, report: Report) -> ValueKind | None:
    value = value_of(side)
    if value is None:
        return None
    if value.condition or not value.axes:
        what = "a condition" if value.condition else "a number"
        report("E307", f"'@' multiplies matrices, but this is {what}", side.span, "write '*' to multiply by a number")
        return None
    return value


def transpose(expr: Transpose, value_of: ValueOf, report: Report) -> ValueKind | None:
    """The kind of `X^T`."""
    value = value_of(expr.operand)
    if value is None:
        return None
    if len(value.axes) != 2 or value.condition:
        what = "a condition" if value.condition else "a vector" if value.axes else "a number"
        help = "write ^(T) for a power" if not value.axes else "a product takes a vector on either side"
        report("E307", f"'^T' transposes matrices, but this is {what}", expr.span, help)
        return None
    return ValueKind(value.axes[::-1])


def function(call: Call, value_of: ValueOf, report: Report) -> ValueKind | None:
    """The kind of a call of a function of matrices; None where it has the wrong number of arguments, which is reported
    elsewhere."""
    if len(call.args) not in FUNCTIONS[call.function].counts:
        return None
    if FUNCTIONS[call.function].takes_dimensions:
        return _identity(call)
    values = [value_of(arg) for arg in call.args]
    if any(value is None for value in values):
        return None
    own = [value for value in values if value is not None]
    what = MATRIX_FUNCTIONS[call.function]
    for need, value, arg in zip(what.needs, own, call.args, strict=True):
        if not _MEETS[need](value, own[0]):
            message = f"{call.function} takes {_named(need, own[0])}, but this is {_what(value)}"
            report("E307", message, arg.span, _HELP)
            return None
    axes = what.axes(*(value.axes for value in own))
    return ValueKind(axes)


_HELP = "matrices are g, w, states and products of them; square ones are X@X^T and states of 'rows x rows'"


def _identity(call: Call) -> ValueKind | None:
    names = [size.id for size in call.args if isinstance(size, Name) and not size.primed]
    return ValueKind((names[0], names[-1])) if len(names) == len(call.args) else None


def _what(value: ValueKind) -> str:
    return "a condition" if value.condition else value.meaning


def _is_square(value: ValueKind) -> bool:
    return len(value.axes) == 2 and value.axes[0] == value.axes[1] and not value.condition


def _named(need: Need, first: ValueKind) -> str:
    return f"a second matrix of {first.axes[0]}" if need == "as many rows as the first matrix" else need


_MEETS: Mapping[Need, Callable[[ValueKind, ValueKind], bool]] = {
    "a square matrix": lambda value, first: _is_square(value),
    "a matrix": lambda value, first: len(value.axes) == 2 and not value.condition,
    "a square matrix or a vector": lambda value, first: _is_square(value) or len(value.axes) == 1,
    "a number that is known before the step": lambda value, first: value.kind is Kind.HOST,
    "as many rows as the first matrix": lambda value, first: value.axes[:1] == first.axes[:1],
}
"""Whether an argument is what a function of matrices needs, by its kind and that of the first one."""
