"""The dimensions of products, transposes and functions of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optgen.expressions import Binary, Call, Expr, Name, Transpose
from optgen.lang.builtins import FUNCTIONS
from optgen.lang.dimensions import ValueKind, of_axes
from optgen.lang.report import Report
from optgen.model import Kind

ValueOf = Callable[[Expr], ValueKind | None]
"""The kind of a subexpression; None if an error in it was reported."""


def product(expr: Binary, value_of: ValueOf, report: Report) -> ValueKind | None:
    """The kind of `X @ Y`: the dimension between them goes."""
    sides = [_factor(side, value_of, report) for side in (expr.left, expr.right)]
    if sides[0] is None or sides[1] is None:
        return None
    left, right = sides[0].axes, sides[1].axes
    if left[-1] != right[0]:
        message = f"a product of {' x '.join(left)} by {' x '.join(right)}"
        report("E307", message, expr.span, _inner_help(left, right))
        return None
    if len(left) == len(right) == 1:
        report("E307", "a product of two vectors", expr.span, "write dot(x, y)")
        return None
    return of_axes(*left[:-1], *right[1:])


def _inner_help(left: tuple[str, ...], right: tuple[str, ...]) -> str:
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
    return of_axes(*reversed(value.axes))


def function(call: Call, value_of: ValueOf, report: Report) -> ValueKind | None:
    """The kind of a call of a function of matrices; None where it has the wrong number of arguments, which is reported
    elsewhere."""
    if len(call.args) not in FUNCTIONS[call.function].counts:
        return None
    if call.function == "identity":
        return _identity(call)
    values = [value_of(arg) for arg in call.args]
    if any(value is None for value in values):
        return None
    own = [value for value in values if value is not None]
    problem = _PROBLEM[call.function](own)
    if problem is None:
        return _RESULT[call.function](own)
    at, message = problem
    report("E307", f"{call.function} takes {message}, but this is {_what(own[at])}", call.args[at].span, _HELP)
    return None


_HELP = "matrices are g, w, states and products of them; square ones are X@X^T and states of 'rows x rows'"


def _identity(call: Call) -> ValueKind | None:
    names = [size.id for size in call.args if isinstance(size, Name) and not size.primed]
    return of_axes(names[0], names[-1]) if len(names) == len(call.args) else None


def _what(value: ValueKind) -> str:
    return "a condition" if value.condition else value.meaning


def _is_square(value: ValueKind) -> bool:
    return len(value.axes) == 2 and value.axes[0] == value.axes[1] and not value.condition


def _square(values: list[ValueKind]) -> tuple[int, str] | None:
    return None if _is_square(values[0]) else (0, "a square matrix")


def _root(values: list[ValueKind]) -> tuple[int, str] | None:
    return _square(values) or (None if values[1].kind is Kind.HOST else (1, "a number that is known before the step"))


def _matrix(values: list[ValueKind]) -> tuple[int, str] | None:
    return None if len(values[0].axes) == 2 and not values[0].condition else (0, "a matrix")


def _diagonal(values: list[ValueKind]) -> tuple[int, str] | None:
    return None if _is_square(values[0]) or len(values[0].axes) == 1 else (0, "a square matrix or a vector")


def _system(values: list[ValueKind]) -> tuple[int, str] | None:
    agree = values[1].axes[:1] == values[0].axes[:1]
    return _square(values) or (None if agree else (1, f"a second matrix of {values[0].axes[0]}"))


_PROBLEM: Mapping[str, Callable[[list[ValueKind]], tuple[int, str] | None]] = {
    "trace": _square,
    "diag": _diagonal,
    "inverse_root": _root,
    "orthonormal": _matrix,
    "singular_values": _matrix,
    "left_singular_vectors": _matrix,
    "right_singular_vectors": _matrix,
    "eigenvectors": _square,
    "eigenvalues": _square,
    "solve": _system,
}
"""Function -> which argument has the wrong kind, and what is needed there; None if all are right."""
_RESULT: Mapping[str, Callable[[list[ValueKind]], ValueKind]] = {
    "trace": lambda values: ValueKind(Kind.TENSOR),
    "diag": lambda values: of_axes(values[0].axes[0], *values[0].axes[: 2 - len(values[0].axes)]),
    "inverse_root": lambda values: values[0],
    "orthonormal": lambda values: values[0],
    "singular_values": lambda values: of_axes(values[0].axes[1]),
    "left_singular_vectors": lambda values: values[0],
    "right_singular_vectors": lambda values: of_axes(values[0].axes[1], values[0].axes[1]),
    "eigenvectors": lambda values: values[0],
    "eigenvalues": lambda values: of_axes(values[0].axes[0]),
    "solve": lambda values: values[1],
}
