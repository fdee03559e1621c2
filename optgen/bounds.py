"""Interval analysis of a spec: the bounds of its values, for warnings and for the choice of a codec.

An unknown bound is infinite. Bounds of exact arithmetic hold in floating point too, because rounding keeps order and
sign. A value may be NaN whatever its bounds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import NamedTuple

from optgen.expressions import Binary, Call, Expr, Name, Number, Transpose, Unary
from optgen.model import COUNTS, DIMENSIONS, EPSILON, Optimizer, Program


class Bounds(NamedTuple):
    """The bounds of a value, both included."""

    low: float
    high: float


ALL = Bounds(-math.inf, math.inf)
NONNEGATIVE = Bounds(0.0, math.inf)
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
    for name, param in optimizer.all_params.items():
        base[name] = Bounds(param.interval.low, param.interval.high) if param.interval else ALL
    base |= dict.fromkeys((*DIMENSIONS, EPSILON), NONNEGATIVE) | dict.fromkeys(COUNTS, Bounds(1.0, math.inf))
    for state in program.states:
        start = bounds_of(state.init, base)
        late = optimizer.start(state) is not None  # the state is 0 until the first update
        base[state.name] = Bounds(min(start.low, 0.0), max(start.high, 0.0)) if late else start
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
        wider = {s.name: _widen(base[s.name], names[s.name + "'"]) for s in program.states}
        if all(base[name] == value for name, value in wider.items()):
            return names
        base |= wider


def _widen(old: Bounds, new: Bounds) -> Bounds:
    low = old.low if new.low >= old.low else 0.0 if new.low >= 0 else -math.inf
    high = old.high if new.high <= old.high else 0.0 if new.high <= 0 else math.inf
    return Bounds(low, high)


def bounds_of(expr: Expr, names: Mapping[str, Bounds]) -> Bounds:
    """The bounds of an expression, given those of its names."""
    match expr:
        case Number(value=value):
            return Bounds(value, value)
        case Name():
            return names[expr.array_key]
        case Unary(op="-", operand=x):
            return _negative(bounds_of(x, names))
        case Transpose(operand=x):
            return bounds_of(x, names)
        case Binary(op="*", left=a, right=b) if a == b:
            return _square(bounds_of(a, names))
        case Binary(op="*", left=Binary(op="*", left=factor, right=a), right=b) if a == b:
            return _arithmetic("*", bounds_of(factor, names), _square(bounds_of(a, names)))
        case Binary(op="+" | "-" | "*" | "/" as op, left=a, right=b):
            return _arithmetic(op, bounds_of(a, names), bounds_of(b, names))
        case Binary(op="^", left=a, right=b) | Call(function="pow", args=(a, b)):
            return _power(bounds_of(a, names), bounds_of(b, names))
        case Call():
            return _call(expr, [bounds_of(x, names) for x in expr.args])
    return ALL


def _negative(x: Bounds) -> Bounds:
    return Bounds(-x.high, -x.low)


def _arithmetic(op: str, a: Bounds, b: Bounds) -> Bounds:
    """The hull of the results at the corners of the two intervals."""
    if op == "/" and b.low <= 0 <= b.high:
        return NONNEGATIVE if a.low >= 0 and b.low >= 0 else ALL
    corners = []
    for x in a:
        for y in b:
            zero = op in "*/" and (
                x == 0 or (op == "*" and y == 0)
            )  # 0 times a value that is finite, though its bound is not
            corners.append(0.0 if zero else ARITHMETIC[op](x, y))
    if any(c != c for c in corners):
        return ALL
    return Bounds(min(corners), max(corners))


def _square(x: Bounds) -> Bounds:
    return _power(x, Bounds(2.0, 2.0))


def _power(base: Bounds, exponent: Bounds) -> Bounds:
    even = exponent.low == exponent.high and exponent.low % 2 == 0
    if base.low < 0 and not even:
        return ALL
    if (base.low >= 0 and base.high <= 1 and exponent.low >= 0) or (base.low >= 1 and exponent.high <= 0):
        return Bounds(0.0, 1.0)
    return NONNEGATIVE


def _call(call: Call, args: list[Bounds]) -> Bounds:
    match call.function, args:
        case "sqrt" | "abs" | "norm" | "rms" | "std" | "exp", _:
            return NONNEGATIVE
        case "tanh" | "sign" | "erf" | "sin" | "cos" | "rademacher", _:
            return Bounds(-1.0, 1.0)
        case "atan" | "atan2", _:
            return Bounds(-math.pi, math.pi)
        case "uniform" | "sigmoid", _:
            return Bounds(0.0, 1.0)
        case "sum" | "float32" | "bfloat16" | "stored", [x]:
            return Bounds(0.0 if x.low >= 0 else -math.inf, 0.0 if x.high <= 0 else math.inf)
        case "mean" | "max" | "min", [x]:
            return x
        case "max", several:
            return Bounds(max(x.low for x in several), max(x.high for x in several))
        case "min", several:
            return Bounds(min(x.low for x in several), min(x.high for x in several))
        case "floor" | "ceil" | "round", [x]:
            return Bounds(
                *(round_(y) if math.isfinite(y) else y for round_, y in ((math.floor, x.low), (math.ceil, x.high)))
            )
        case "mod", [_, divisor]:
            return Bounds(min(divisor.low, 0.0), max(divisor.high, 0.0))
        case "where", [_, a, b]:
            return Bounds(min(a.low, b.low), max(a.high, b.high))
        case "clip", [x, most]:
            return _clip(x, _negative(most), most)
        case "clip", [x, least, most]:
            return _clip(x, least, most)
    return ALL


def _clip(x: Bounds, least: Bounds, most: Bounds) -> Bounds:
    """The bounds of `clip(x, least, most)`. Either bound may be unset, so it counts only where it reaches beyond x."""
    return Bounds(min(x.low, most.low), max(x.high, least.high))
