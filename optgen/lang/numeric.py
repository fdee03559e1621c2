"""Numerical problems of equations, for warnings: 0/0 in an example of a first step, and negative roots by bounds.

Nothing here affects the meaning of a spec. An unknown bound is infinite, and gives no warning unless a subtraction is
involved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from optgen.bounds import Bounds, bounds, bounds_of
from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Name, Number, Transpose, Unary, walk
from optgen.lang.builtins import FUNCTIONS
from optgen.lang.kinds import infer
from optgen.model import COUNTS, DIMENSIONS, EPSILON, Kind, Optimizer, Program


@dataclass(frozen=True)
class _Sample:
    """The value of an expression for one weight, and the quotients 0/0 that it depends on."""

    value: float
    quotients: frozenset[Span] = frozenset()


def undefined_quotients(program: Program, optimizer: Optimizer) -> list[tuple[Span, bool]]:
    """The quotients that are 0/0 at the first step with a zero gradient and no weight decay, and that the result uses.
    Each stands with whether the weight has to be zero, too.

    Weights of 0.5 and, as biases start there, of 0 are tried; params have their defaults.
    """
    found: dict[Span, bool] = {}
    for weight in (0.5, 0.0):
        names = _first_names(program, optimizer, weight)
        for equation in program.equations:
            if equation.loop is not None and equation.loop.index is not None:
                names[equation.loop.index] = _Sample(0.0)
            sample = _first(equation.value, names)
            target = equation.target
            names[target.array_key] = sample
            if equation.target.primed:
                found = dict.fromkeys(sample.quotients, weight == 0) | found
    return sorted(found.items())


def _first_names(program: Program, optimizer: Optimizer, weight: float) -> dict[str, _Sample]:
    values: dict[str, float] = {
        n: 1.0 if p.default is None else float(p.default) for n, p in optimizer.all_params.items()
    }
    values |= {"wd": 0.0, EPSILON: 2.0**-23, "w": weight, "grad": 0.0, "g": 0.0} | dict.fromkeys(COUNTS, 1.0)
    values |= dict.fromkeys(DIMENSIONS, 2.0) | {i.name: 0.5 for i in optimizer.inputs}
    names = {name: _Sample(value) for name, value in values.items()}
    return names | {state.name: _first(state.init, names) for state in program.states}


def _first(expr: Expr, names: Mapping[str, _Sample]) -> _Sample:
    match expr:
        case Number(value=value):
            return _Sample(value)
        case Name():
            return names[expr.array_key]
        case Call(function="where", args=(condition, a, b)):
            return _first(a if _first(condition, names).value else b, names)
        case Call(function="min" | "max" as function, args=(_, _, *_) as args):
            chosen, *others = (_first(x, names) for x in args)
            for other in others:
                stays = chosen.value != chosen.value or (chosen.value > other.value) == (function == "max")
                chosen = chosen if stays else other
            return chosen
    parts = [_first(x, names) for x in _operands(expr)]
    quotients = frozenset().union(*(p.quotients for p in parts))
    values = [p.value for p in parts]
    if isinstance(expr, Binary) and expr.op == "/" and values == [0, 0]:
        quotients |= {expr.span}
    try:
        return _Sample(float(_apply(expr, values)), quotients)
    except (ArithmeticError, ValueError):
        return _Sample(math.nan, quotients)


def _operands(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Unary(operand=x) | Transpose(operand=x):
            return (x,)
        case Binary(left=a, right=b):
            return (a, b)
        case Call(function="clip", args=(x, *_)):
            return (x,)
        case Call(args=args):
            return args
    return ()


_BINARY: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "@": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: math.pow(a, b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
}
_CALLS: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "exp": math.exp,
    "log": math.log,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "tanh": math.tanh,
    "sigmoid": lambda x: 0.5 + 0.5 * math.tanh(x / 2),
    "erf": math.erf,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan": math.atan,
    "atan2": math.atan2,
    "mod": lambda x, y: x - y * math.floor(x / y),
    "pow": math.pow,
    "abs": abs,
    "norm": abs,
    "rms": abs,
    "std": lambda x: 0.0,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "float32": float,
    "bfloat16": float,
    "sign": lambda x: (x > 0) - (x < 0) if x == x else x,
    "normal": lambda *held: 0.5,
    "uniform": lambda *held: 0.5,
    "rademacher": lambda *held: 1.0,
}


def _apply(expr: Expr, values: list[float]) -> float:
    """The operation of one node. All elements of a tensor are equal here, so reductions are simple."""
    match expr:
        case Unary(op="-"):
            return -values[0]
        case Unary():
            return not values[0]
        case Binary(op=op):
            return _BINARY[op](*values)
        case Call(function=function) if function in _CALLS:
            return _CALLS[function](*values)
        case Call(function=function) if FUNCTIONS[function].of_matrices:
            return math.nan
    return values[0]


def negative_roots(program: Program, optimizer: Optimizer) -> Iterator[Span]:
    """The arguments of square roots, except host values, that a subtraction can make negative."""
    known = bounds(program, optimizer)
    kinds = infer(program, optimizer)
    definitions = {e.target.key: e.value for e in program.equations}
    for equation in program.equations:
        for node in walk(equation.value):
            if not isinstance(node, Call) or node.function != "sqrt":
                continue
            argument = node.args[0]
            on_host = all(kinds[n.array_key] is Kind.HOST for n in walk(argument) if isinstance(n, Name))
            if not on_host and bounds_of(argument, known).low < 0 and _subtracts(argument, definitions, known):
                yield argument.span


def _subtracts(expr: Expr, definitions: Mapping[str, Expr], known: Mapping[str, Bounds]) -> bool:
    """Whether a sum, its named parts included, subtracts something."""
    match expr:
        case Binary(op="-", left=a, right=b):
            return bounds_of(b, known).high > 0 or _subtracts(a, definitions, known)
        case Binary(op="+", left=a, right=b):
            return _subtracts(a, definitions, known) or _subtracts(b, definitions, known)
        case Name() if expr.key in definitions:
            return _subtracts(definitions[expr.key], definitions, known)
    return False
