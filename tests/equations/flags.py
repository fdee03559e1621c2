"""The conditions of flags and guards, which are decided before any update."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from optgen.expressions import Binary, Expr, IsSet, Name, Number, Text, Unary

COMPARED = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
COMPUTED = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def holds(condition: Expr, flags: Mapping[str, bool | str], numbers: Mapping[str, float | None] | None = None) -> bool:
    """Whether a condition of flags, and of numbers by name, holds. A number that is unset compares with none."""
    numbers = numbers or {}
    match condition:
        case Binary(op="and", left=a, right=b):
            return holds(a, flags, numbers) and holds(b, flags, numbers)
        case Binary(op="or", left=a, right=b):
            return holds(a, flags, numbers) or holds(b, flags, numbers)
        case Unary(op="not", operand=a):
            return not holds(a, flags, numbers)
        case IsSet(name=name):
            return numbers[name.id] is not None
        case Name(id=name):
            return flags[name] is True
        case Binary(op=op, left=Name(id=name), right=Text(value=choice)):
            return bool(COMPARED[op](flags[name], choice))
        case Binary(op=op, left=a, right=b):
            x, y = _number(a, numbers), _number(b, numbers)
            return x is not None and y is not None and bool(COMPARED[op](x, y))
    raise TypeError(condition)


def _number(expr: Expr, numbers: Mapping[str, float | None]) -> float | None:
    match expr:
        case Number(value=x):
            return x
        case Name(id=name):
            return numbers[name]
        case Unary(op="-", operand=a):
            x = _number(a, numbers)
            return None if x is None else -x
        case Binary(op=op, left=a, right=b):
            x, y = _number(a, numbers), _number(b, numbers)
            return None if x is None or y is None else COMPUTED[op](x, y)
    raise TypeError(expr)
