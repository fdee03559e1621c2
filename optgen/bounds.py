"""Interval analysis of a spec: the bounds of its values, for warnings and for the choice of a codec.

An unknown bound is infinite. Those of functions are in their records (`optgen.functions`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from optgen.expressions import Binary, Call, Expr, Name, Number, Transpose, Unary, walk
from optgen.functions.interval import (
    ALL,
    NONNEGATIVE,
    Bounds,
    has_no_sign,
    hull,
    is_below,
    is_within,
    least,
    most,
    power,
    sign_of,
)
from optgen.functions.table import FUNCTIONS, elementwise_of, reduction_of
from optgen.model import COUNTS, DIMENSIONS, EPSILON, Optimizer, Param, Program

ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def bounds(program: Program, optimizer: Optimizer) -> dict[str, Bounds]:
    """The bounds of every name, by key. Those of a state hold at every step.

    A state starts with the bounds of its initial value. A bound that a step exceeds is widened to 0, or to infinity,
    until no step exceeds one.
    """
    base: dict[str, Bounds] = dict.fromkeys(("w", "grad", "g", *(i.name for i in optimizer.inputs)), ALL)
    base |= {d.name: NONNEGATIVE for d in optimizer.dims}
    for name, param in optimizer.all_params.items():
        base[name] = bounds_of_param(param)
    base |= dict.fromkeys((*DIMENSIONS, EPSILON), NONNEGATIVE) | dict.fromkeys(COUNTS, Bounds(1.0, math.inf))
    for state in program.states:
        reads = {e.array_key for e in walk(state.init) if isinstance(e, Name)}
        start = bounds_of(state.init, base) if reads <= base.keys() else ALL  # those of local values come later
        late = optimizer.start(state) is not None  # the state is 0 until the first update
        base[state.name] = hull(start, Bounds(0.0, 0.0)) if late else start
    carried = {e.target.id for e in program.equations if e.loop is not None and e.target.primed}
    while True:
        names = dict(base)
        for equation in program.equations:
            target, loop = equation.target, equation.loop
            while loop is not None:
                names |= {loop.index: NONNEGATIVE} if loop.index is not None else {}
                loop = loop.outer
            key = target.array_key
            names[key] = ALL if target.id in carried else bounds_of(equation.value, names)
        updated = {s.name: names[s.name + "'"] for s in program.states}
        if all(is_within(x, base[name]) for name, x in updated.items()):
            return names
        base |= {name: _widen(base[name], x) for name, x in updated.items()}


def bounds_of_param(param: Param) -> Bounds:
    """The interval that it is declared with. A param is never -0: what takes values makes 0 of it."""
    return ALL if param.interval is None else Bounds(param.interval.low + 0.0, param.interval.high + 0.0)


def _widen(old: Bounds, new: Bounds) -> Bounds:
    zeros = sign_of(new)
    low = zeros.low if is_below(new.low, old.low) else old.low
    return Bounds(low, zeros.high if is_below(old.high, new.high) else old.high)


def bounds_of(expr: Expr, names: Mapping[str, Bounds]) -> Bounds:
    """The bounds of an expression, given those of its names."""
    match expr:
        case Number(value=value):
            return Bounds(value, value)
        case Name():
            return names[expr.array_key]
        case Unary(op="-", operand=x):
            return -bounds_of(x, names)
        case Transpose(operand=x):
            return bounds_of(x, names)
        case Binary(op="*", left=a, right=b) if a == b:
            return _square(bounds_of(a, names))
        case Binary(op="*", left=Binary(op="*", left=factor, right=a), right=b) if a == b:
            return _arithmetic("*", bounds_of(factor, names), _square(bounds_of(a, names)))
        case Binary(op="+" | "-" | "*" | "/" as op, left=a, right=b):
            return _arithmetic(op, bounds_of(a, names), bounds_of(b, names))
        case Binary(op="^", left=a, right=b):
            return power(bounds_of(a, names), bounds_of(b, names))
        case Call():
            return _call(expr, [bounds_of(x, names) for x in expr.args])
    return ALL


def _arithmetic(op: str, a: Bounds, b: Bounds) -> Bounds:
    """The hull of the results at the corners of the two intervals."""
    if op == "/" and b.low <= 0 <= b.high:
        return Bounds(sign_of(a).low, math.inf) if a.low >= 0 and has_no_sign(b) else ALL
    corners = []
    for x in a:
        for y in b:
            # 0 times a value that is finite, though its bound is not
            zero = op in "*/" and (x == 0 or (op == "*" and y == 0))
            signed = math.copysign(0.0, x) * math.copysign(1.0, y)
            corners.append(signed if zero else ARITHMETIC[op](x, y))
    if any(c != c for c in corners):
        return ALL
    return Bounds(least(*corners), most(*corners))


def _square(x: Bounds) -> Bounds:
    return power(x, Bounds(2.0, 2.0))


def _call(call: Call, args: list[Bounds]) -> Bounds:
    function = FUNCTIONS[call.function]
    if (reduction := reduction_of(call)) is not None:
        return reduction.bounds(*args)
    if (elementwise := elementwise_of(call)) is not None:
        return elementwise.bounds(*args)
    fixed = function.draw or function.matrices
    return ALL if fixed is None else fixed.bounds
