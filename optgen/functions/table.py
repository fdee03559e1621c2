"""The functions of the language by their names, and what kind of function a call is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from optgen.expressions import Call, Expr
from optgen.functions import (
    comparisons,
    draws,
    exponential,
    matrices,
    powers,
    reductions,
    rounding,
    trigonometric,
)
from optgen.functions.record import Draw, Elementwise, Expanded, FunctionRecord, Reduction

_FAMILIES = (exponential, powers, trigonometric, rounding, comparisons, reductions, matrices, draws)

FUNCTIONS: Mapping[str, FunctionRecord] = {f.name: f for family in _FAMILIES for f in family.FUNCTIONS}
"""The records, by name."""
EXPANSIONS: Mapping[str, tuple[int, Expanded]] = {
    name: (len(f.elementwise.arguments), f.elementwise.operations)
    for name, f in FUNCTIONS.items()
    if f.elementwise is not None and isinstance(f.elementwise.operations, Expanded)
}
"""What a `Math` operation stands for, by its function: the number of its arguments, and a function of a builder and as
many doubles."""


def elementwise_of(call: Call) -> Elementwise | None:
    """What a call is, if it is of numbers; None for any other one, and for a function that does not exist."""
    function = FUNCTIONS.get(call.function)
    return None if function is None or function.reduces(len(call.args)) else function.elementwise


def reduction_of(call: Call) -> Reduction | None:
    """What a call is, if it reduces; None for any other one."""
    function = FUNCTIONS.get(call.function)
    return function.reduction if function is not None and function.reduces(len(call.args)) else None


def draw_of(call: Call) -> Draw | None:
    """What a call is, if it draws; None for any other one."""
    function = FUNCTIONS.get(call.function)
    return None if function is None else function.draw


def is_reduction(call: Call) -> bool:
    """Whether a call of a known function reduces."""
    return reduction_of(call) is not None


def is_draw(expr: Expr) -> TypeGuard[Call]:
    """Whether a node is a draw."""
    return isinstance(expr, Call) and draw_of(expr) is not None
