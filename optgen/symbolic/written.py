"""Expressions in the spec language: the trees of a model as they could have been written."""

from __future__ import annotations

from optgen.axes import COLS, ROWS, Axes, shown
from optgen.expressions import Binary, Call, Expr, IsSet, Name, Number, Text, Transpose, Unary
from optgen.functions.table import is_draw
from optgen.model import is_never

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_OPERATORS = (("or",), ("and",), (), _COMPARISONS, ("+", "-"), ("*", "/", "@"), (), ("^",))
_NOT, _NEGATIVE, _POWER, _ATOM = 2, 6, 7, 8
"""Levels of precedence in the grammar, loosest first: `or`, `and`, `not`, comparisons, sums, products, minus, powers,
atoms."""


def expression(expr: Expr) -> str:
    """The expression in the spec language, with only the parentheses that its tree needs."""
    level = _level(expr)
    match expr:
        case Number(text=text):
            return text
        case Name(key=key):
            return key
        case Text(value=value):
            return f"'{value}'"
        case IsSet(name=name):
            return f"{name.key} set"
        case Transpose(operand=x):
            return f"{_at(x, _ATOM)}^T"
        case Unary(op=op, operand=x):
            return f"{'-' if op == '-' else 'not '}{_at(x, level)}"
        case Binary(op="^", left=a, right=b):
            return f"{_at(a, _ATOM)}^{_at(b, _NEGATIVE)}"
        case Binary(op=op, left=a, right=b):
            left, right = _at(a, level + (op in _COMPARISONS)), _at(b, level + 1)
            return f"{left}{op}{right}" if op in "*/@" else f"{left} {op} {right}"
        case Call(function="identity", args=(first, second)):
            return f"identity({expression(first)} x {expression(second)})"
        case Call(function=name, args=args, dims=dims) if is_draw(expr):
            held = f" {timed(*args)}" if args else ""
            return f"{name}({dimensions(dims)}){held}"
        case Call(function=name, args=args, scope=scope):
            words = [expression(x) for x in args]
            if scope is not None:
                words.append(f"{'over' if scope == 'params' else 'per'} {scope}")
            return f"{name}({', '.join(words)})"


def timed(every: Expr, start: Expr | None) -> str:
    """The timing of an equation or a draw, as a spec has it."""
    first = "" if start is None else f" from {expression(start)}"
    return "once" if is_never(every) else f"every {expression(every)}{first}"


def dimensions(dims: Axes) -> str:
    """The dimensions of a draw, as a spec has them."""
    return "per row" if dims == ROWS else "per col" if dims == COLS else shown(dims)


def _level(expr: Expr) -> int:
    """The level of the outermost operator in the grammar."""
    match expr:
        case Binary(op=op):
            return next(i for i, ops in enumerate(_OPERATORS) if op in ops)
        case Unary(op=op):
            return _NEGATIVE if op == "-" else _NOT
        case Transpose():
            return _POWER
        case _:
            return _ATOM


def _at(expr: Expr, level: int) -> str:
    text = expression(expr)
    return text if _level(expr) >= level else f"({text})"
