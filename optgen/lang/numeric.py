"""Numerical problems of equations, for warnings: examples of a first step, and negative roots by bounds.

Nothing here affects the meaning of a spec. An unknown bound is infinite, and gives no warning unless a subtraction is
involved.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from optgen.axes import Kind
from optgen.bounds import bounds, bounds_of
from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, children, walk
from optgen.functions.interval import Bounds
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.table import draw_of, elementwise_of, reduction_of
from optgen.lang.kinds import infer
from optgen.lang.loops import loops_around
from optgen.model import COUNTS, EPSILON, Equation, Flags, Loop, Optimizer, Program, Timing
from optgen.truth import partial_truth


@dataclass(frozen=True)
class Fault:
    """An operation of a first step that makes a new value infinite or NaN, or that fails, as `solve` does for a matrix
    of zeros. `what` shows it with its numbers, as `1/0`. `case` says for which weights and gradients that is so; empty
    for all. `update` is the number of the first update that computes it."""

    span: Span
    what: str
    case: str
    update: int


@dataclass(frozen=True)
class _Sample:
    """The value of an expression for one weight, and the operations of finite numbers that made it infinite or NaN."""

    value: float
    causes: frozenset[tuple[Span, str]] = frozenset()


CASES: Mapping[str, tuple[float, float]] = {
    "the gradient is zero": (0.5, 0.0),
    "gradient and weight are zero": (0.0, 0.0),
    "the weight is zero": (0.0, 0.5),
    "the gradient is 1e-12": (0.5, 1e-12),
    "the gradient is 1e12": (0.5, 1e12),
    "the weight is 1e12": (1e12, 0.5),
}
"""Weights and gradients of the first step that are tried: zero ones, as biases and unused rows have, and tiny and huge
ones."""
HUGE = frozenset(["the gradient is 1e12", "the weight is 1e12"])
"""The cases in which something may grow beyond all doubles."""

SIZES: Sequence[Mapping[str, float]] = (
    {"rank": 1, "size": 2, "rows": 2, "cols": 1, "matrices": 1},
    {"rank": 2, "size": 6, "rows": 3, "cols": 2, "matrices": 1},
    {"rank": 2, "size": 6, "rows": 2, "cols": 3, "matrices": 1},
    {"rank": 3, "size": 12, "rows": 2, "cols": 6, "matrices": 1},
)
"""The sizes of a parameter, of which the first that can have a variant is tried: a vector, if it may."""


MAX_EQUATIONS = 500
"""The number of equations from which on further turns of loops, and further updates, are not computed for a case."""


def first_step_faults(optimizer: Optimizer, flags: Flags) -> list[Fault]:
    """The operations that make the weight or a state infinite or NaN in a first step, each with the first of the cases.

    So do those of the first update that is due, for each timing. Params have their defaults, or other values where the
    flags of the variant need them. All elements of a tensor are equal.
    """
    params = _params(flags, optimizer)
    if params is None:
        return []
    params |= next((x for x in SIZES if takes(optimizer, flags, x)), SIZES[-1])
    firsts = {timing: _whole(timing.start or timing.every, params) for timing in optimizer.timings}
    programs = {
        n: optimizer.program(flags, due=[x for x, first in firsts.items() if _is_due(x, first, n, params)])
        for n in sorted({1, *firsts.values()})
    }
    found: dict[Span, Fault] = {}
    cases: dict[Span, set[str]] = defaultdict(set)
    for case, (weight, gradient) in CASES.items():
        names = _first_names(optimizer, params, weight, gradient)
        for fault in _CaseRun(case, names).faults(programs):
            found.setdefault(fault.span, fault)
            cases[fault.span].add(case)
    always = {span for span, met in cases.items() if len(met) == len(CASES)}
    faults = [replace(x, case="") if span in always else x for span, x in found.items()]
    return sorted(faults, key=lambda fault: fault.span)


def _whole(expr: Expr, params: Mapping[str, float]) -> int:
    """A whole number, or the value of an int param."""
    return int(expr.value if isinstance(expr, Number) else params[expr.id] if isinstance(expr, Name) else math.nan)


def _is_due(timing: Timing, first: int, update: int, params: Mapping[str, float]) -> bool:
    return update >= first and (update - first) % _whole(timing.every, params) == 0


class _CaseRun:
    """Computes updates for one weight and gradient, and finds what makes new values infinite or NaN.

    `names` are the values that are known before the first update. No update between those that are computed changes
    anything.
    """

    def __init__(self, case: str, names: dict[str, _Sample]) -> None:
        self._case = case
        self._names = names
        self._update = 1
        self._equations = 0
        self._faults: list[Fault] = []

    def faults(self, programs: Mapping[int, Program]) -> list[Fault]:
        """Those of the equations of these updates, by their numbers. The first one is computed always."""
        for self._update, program in programs.items():
            if self._update > 1 and self._equations >= MAX_EQUATIONS:
                break
            self._names |= dict.fromkeys(COUNTS, _Sample(float(self._update)))
            starts = {state.name: state.init for state in program.states} if self._update == 1 else {}
            for states, equations in program.cut_by(starts):
                self._names |= {state: self._started(starts[state]) for state in states}
                self._section(equations, 0)
            news = ("w", *(state.name for state in program.states))
            self._names |= {name: self._names[f"{name}'"] for name in news}
        return self._faults

    def _started(self, start: Expr) -> _Sample:
        """What a state starts from; it is not known where that is a local value of another phase."""
        known = all(e.id in self._names for e in walk(start) if isinstance(e, Name))
        return _first(start, self._names) if known else _Sample(math.nan)

    def _section(self, equations: Iterable[Equation], depth: int) -> None:
        """Equations that stand in the same `depth` loops, or in further ones."""
        for loop, lines in groupby(equations, key=lambda e: _loop_at(e.loop, depth)):
            if loop is None:
                for equation in lines:
                    self._equation(equation)
            else:
                self._loop(loop, list(lines), depth)

    def _loop(self, loop: Loop, lines: list[Equation], depth: int) -> None:
        carried = [e.target.id for e in lines if e.loop == loop and e.target.primed]
        before = {name: self._names[name] for name in carried}
        self._names |= {f"{name}'": value for name, value in before.items()}  # known behind a loop without turns
        turn, count = 0, _first(loop.count, self._names).value
        while turn < count and not (turn and self._equations >= MAX_EQUATIONS):
            if loop.index is not None:
                self._names[loop.index] = _Sample(float(turn))
            self._section(lines, depth + 1)
            self._names |= {name: self._names[f"{name}'"] for name in carried}
            turn += 1
        self._names |= before

    def _equation(self, equation: Equation) -> None:
        self._equations += 1
        sample = _first(equation.value, self._names)
        target = equation.target
        self._names[target.array_key] = self._names[_entry(target, self._names)] = sample
        if target.primed and not math.isfinite(sample.value):
            self._faults += [Fault(span, what, self._case, self._update) for span, what in sample.causes]
        for node in walk(equation.value):
            if isinstance(node, Call) and node.function == "solve":
                values = [_first(x, self._names).value for x in node.args]
                if values[0] == 0:  # an error of the step, whatever becomes of the result
                    self._faults.append(Fault(node.span, _shown(node, values), self._case, self._update))


def _loop_at(loop: Loop | None, depth: int) -> Loop | None:
    """The loop of a nest at this depth, which is 0 for the outermost; None if it is not as deep."""
    around = [*loops_around(loop)]
    return around[-1 - depth] if depth < len(around) else None


def _entry(name: Name, names: Mapping[str, _Sample]) -> str:
    """The key of one entry of an array that a loop computes; of another name, its own key."""
    if name.at is None:
        return name.key
    return f"{name.id}[{name.at.constant + sum(k * names[x].value for x, k in name.at.terms):g}]"


def takes(optimizer: Optimizer, flags: Flags, sizes: Mapping[str, float]) -> bool:
    """Whether a parameter of these sizes can have a variant, as far as flags tell."""
    derived = [(f.condition, flags[f.name]) for f in optimizer.flags if f.condition is not None and f.name in flags]
    derived += [(r.condition, True) for r in optimizer.requires]
    return all(partial_truth(condition, flags, sizes) in (None, value) for condition, value in derived)


def _params(flags: Flags, optimizer: Optimizer) -> dict[str, float] | None:
    """Values of params with which the flags of a variant are what they are; None if none are found. One that is unset
    is NaN."""
    values: dict[str, float] = {
        n: math.nan if p.default is None else float(p.default) for n, p in optimizer.all_params.items()
    }
    for flag in optimizer.flags:
        own = flag.names & values.keys()
        if flag.condition is None or not own or flag.name not in flags:
            continue
        wanted = flags[flag.name]
        if partial_truth(flag.condition, flags, values) in (None, wanted):
            continue
        tried = ({**values, name: x} for name in sorted(own) for x in (0.5, 1.0, 2.0, 0.0, 1e-3, 10.0))
        fit = (new for new in tried if partial_truth(flag.condition, flags, new) in (None, wanted))
        found = next(fit, None)
        if found is None:
            return None
        values = found
    return values


def _first_names(
    optimizer: Optimizer, params: Mapping[str, float], weight: float, gradient: float
) -> dict[str, _Sample]:
    """What is known before the first update, but for states."""
    values: dict[str, float] = dict(params)
    values |= {EPSILON: 2.0**-23, "w": weight, "grad": gradient, "g": gradient} | dict.fromkeys(COUNTS, 1.0)
    values |= {i.name: 0.5 for i in optimizer.inputs} | {d.name: 1.0 for d in optimizer.dims}
    return {name: _Sample(value) for name, value in values.items()}


def _first(expr: Expr, names: Mapping[str, _Sample]) -> _Sample:
    match expr:
        case Number(value=value):
            return _Sample(value)
        case Name():
            return names.get(_entry(expr, names)) or names[expr.array_key]
        case Call(function="where", args=(condition, a, b)):
            return _first(a if _first(condition, names).value else b, names)
        case Call(function="min" | "max" as function, args=(_, _, *_) as args):
            chosen, *others = (_first(x, names) for x in args)
            for other in others:
                stays = chosen.value != chosen.value or (chosen.value > other.value) == (function == "max")
                chosen = chosen if stays else other
            return chosen
        case Call(function="clip", args=(x, *bounds)):
            return _clipped(_first(x, names), [_first(bound, names).value for bound in bounds])
    parts = [_first(x, names) for x in children(expr)]
    values = [p.value for p in parts]
    value = _applied(expr, values)
    causes = frozenset().union(*(p.causes for p in parts))
    is_known = not isinstance(expr, Call) or expr.function not in MATRIX_FUNCTIONS or _is_linear(expr)
    if is_known and not math.isfinite(value) and all(map(math.isfinite, values)):
        causes |= {(expr.span, _shown(expr, values))}
    return _Sample(value, causes)


def _clipped(x: _Sample, bounds: list[float]) -> _Sample:
    """A bound that is unset is NaN here, and bounds nothing."""
    low, high = bounds if len(bounds) == 2 else (-bounds[0], bounds[0])
    if x.value > high:
        x = _Sample(high)
    return _Sample(low) if x.value < low else x


def _shown(expr: Expr, values: list[float]) -> str:
    """An operation of these numbers, as a spec has it."""
    a, *rest = (f"{x:g}" for x in values)
    match expr:
        case Binary(op=op):
            return f"{a}{op}{rest[0]}"
        case Call(function=function):
            return f"{function}({', '.join((a, *rest))})"
    return a


_BINARY: Mapping[str, Callable[[float, float], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "@": np.multiply,
    "/": np.divide,
    "^": np.float_power,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}


def _applied(expr: Expr, values: list[float]) -> float:
    """The operation of one node by IEEE 754. All elements of a tensor are equal here."""
    with np.errstate(all="ignore"):
        match expr:
            case Unary(op="-"):
                return -values[0]
            case Unary():
                return float(not values[0])
            case Binary(op=op):
                return float(_BINARY[op](*map(np.float64, values)))
            case Call():
                return float(_called(expr, values))
    return values[0]


def _called(call: Call, values: list[float]) -> float:
    """A call of numbers; of an array whose elements all are that number, if the function reduces it or takes a matrix,
    where that can be told."""
    if (draw := draw_of(call)) is not None:
        return draw.typical
    if (known := elementwise_of(call)) is not None:
        return values[0] if known.takes_matrix else float(known.meaning(*map(np.float64, values)))
    if (reduction := reduction_of(call)) is not None:
        return float(reduction.meaning(*(np.array([x], np.float64) for x in values)))
    if _is_linear(call):
        return values[0]
    what = MATRIX_FUNCTIONS[call.function]
    return what.of_zeros if what.of_zeros is not None and values == [0] else math.nan


def _is_linear(call: Call) -> bool:
    """Whether a call is of a linear function of matrices, which keeps or adds elements."""
    return call.function in MATRIX_FUNCTIONS and MATRIX_FUNCTIONS[call.function].is_linear


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
