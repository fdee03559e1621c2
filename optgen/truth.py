"""The values of conditions: of guards, and of what decides flags."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from optgen.expressions import Binary, Expr, Name, Number, Text, Unary

NO_SIZES: Mapping[str, float] = {}


def truth(guard: Expr, flags: Mapping[str, bool | str]) -> bool:
    """The value of a guard. The checker admits flags, `not`, `and`, `or`, and `flag == 'choice'` (or `!=`)."""
    match guard:
        case Name(id=name):
            return bool(flags[name])
        case Unary(op="not", operand=x):
            return not truth(x, flags)
        case Binary(op="and", left=a, right=b):
            return truth(a, flags) and truth(b, flags)
        case Binary(op="or", left=a, right=b):
            return truth(a, flags) or truth(b, flags)
        case Binary(op="==" | "!=" as op, left=Name(id=name), right=Text(value=choice)):
            return (flags[name] == choice) == (op == "==")
    raise TypeError(f"not a guard: {guard!r}")


def partial_truth(
    condition: Expr, flags: Mapping[str, bool | str], sizes: Mapping[str, float] = NO_SIZES
) -> bool | None:
    """The value of a condition if flags, and the `sizes` of a parameter or other numbers that are given, decide it.

    None if it depends on something else.
    """
    match condition:
        case Name(id=name):
            value = flags.get(name)
            return value if isinstance(value, bool) else None
        case Unary(op="not", operand=x):
            inner = partial_truth(x, flags, sizes)
            return None if inner is None else not inner
        case Binary(op="and" | "or" as op, left=a, right=b):
            sides = (partial_truth(a, flags, sizes), partial_truth(b, flags, sizes))
            settles = op == "or"
            return settles if settles in sides else None if None in sides else not settles
        case Binary(op="==" | "!=" as op, left=Name(id=name), right=Text(value=choice)) if name in flags:
            return (flags[name] == choice) == (op == "==")
        case Binary(op=op, left=a, right=b) if op in COMPARISONS and sizes:
            left, right = _number(a, sizes), _number(b, sizes)
            return None if left is None or right is None else COMPARISONS[op](left, right)
    return None


def _number(expr: Expr, sizes: Mapping[str, float]) -> float | None:
    match expr:
        case Number(value=value):
            return value
        case Name(id=name):
            return sizes.get(name)
    return None


COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
