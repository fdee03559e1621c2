"""Checks loops and timings: what loops carry from turn to turn, what is known behind `end`, and whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from optgen.bounds import bounds_of, bounds_of_param
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, walk
from optgen.lang.report import Report
from optgen.lang.scope import Scope
from optgen.model import Equation, Loop, Param, Timing


def path(loop: Loop | None) -> tuple[int, ...]:
    """The numbers of a loop and of those around it, the outer ones first."""
    return () if loop is None else (*path(loop.outer), loop.number)


def loops_around(loop: Loop | None) -> Iterator[Loop]:
    """A loop, and those around it, the inner ones first."""
    while loop is not None:
        yield loop
        loop = loop.outer


def loop_at(loop: Loop | None, level: int) -> Loop | None:
    """The loop at a level of nesting, counted from the outside, of those around an equation; None if it is in none."""
    chain = [*loops_around(loop)]
    return chain[-1 - level] if level < len(chain) else None


def is_visible(name: Name, defined: Loop | None, reader: Loop | None) -> bool:
    """Whether an equation in the loop `reader` can read a name that is defined in `defined`. A carried value is known
    behind its loop, other values are those of one turn."""
    own = path(defined)
    if name.primed:
        own = own[:-1]
    return path(reader)[: len(own)] == own


def check_carried(equation: Equation, defined: Mapping[str, Loop | None], report: Report) -> None:
    """Report a value `x'` of a loop that has no value in the first turn; `defined` are the names above it."""
    target, loop = equation.target, equation.loop
    assert loop is not None
    if target.id not in defined:
        help = f"define {target.id} above the loop: its value in the first turn"
        report("E213", f"{target.id} has no value in the first turn", target.span, help)
    elif not is_visible(Name(target.id, False, target.span), defined[target.id], loop.outer):
        help = f"define {target.id} above the loop, or write {target.id} without a prime"
        report("E213", f"{target.id} is defined anew in each turn, and carries nothing", target.span, help)


def loops_of(equations: Iterable[Equation]) -> Iterator[Loop]:
    """The loops of a section, each once."""
    seen: set[int] = set()
    for equation in equations:
        for loop in loops_around(equation.loop):
            if loop.number not in seen:
                seen.add(loop.number)
                yield loop


def check_loops(equations: Iterable[Equation], scope: Scope) -> None:
    """Report loops that carry nothing, or whose number of turns is not known."""
    lines = list(equations)
    for loop in loops_of(lines):
        _check_count(loop.count, scope)
        if not any(e.loop == loop and (e.target.primed or e.target.at is not None) for e in lines):
            help = "a loop carries values: X' = ... sets the X of the next turn"
            scope.report("E213", "every turn of this loop is the same", loop.span, help)
        if loop.index is not None and scope.what(loop.index) is not None:
            message = f"'{loop.index}' is {scope.what(loop.index)}"
            scope.report("E213", message, loop.span, "choose another name for the number of the turn")


def _check_count(count: Expr, scope: Scope) -> None:
    """Report a number of turns that is no whole number from 0 on, computed from whole numbers and int params."""
    if isinstance(count, Number) or (isinstance(count, Name) and count.id in scope.params):
        check_whole(count, scope, "the number of turns", least=0)
        return
    before = len(scope.reported)
    for node in walk(count):
        _check_part(node, scope)
    if len(scope.reported) > before or any(isinstance(e, Name) and e.id in scope.failed for e in walk(count)):
        return
    low = bounds_of(count, {p.name: bounds_of_param(p) for p in scope.params.values()}).low
    if low < 0:
        help = "narrow the intervals of its params, or write max(0, ...)"
        at = f": it can be {low:g}" if math.isfinite(low) else ""
        scope.report("E404", f"the number of turns may be negative{at}", count.span, help, "repeat")


def _check_part(node: Expr, scope: Scope) -> None:
    """Report a part of a number of turns that need not be a whole number known before the step."""
    match node:
        case Number(value=value) if value.is_integer():
            return
        case Name(id=id) if id in scope.failed:
            return
        case Name(id=id, primed=False, at=None) if id in scope.params:
            param = scope.params[id]
            if not param.is_int or param.optional or param.per_param:
                help = f"declare 'param {id}: int = {_whole(param, 1)} in [1, inf)'"
                scope.report("E404", f"'{id}' need not be a whole number", node.span, help)
            return
        case Unary(op="-") | Binary(op="+" | "-" | "*"):
            return
        case Call(function="min" | "max", args=args, scope=None) if len(args) > 1:
            return
    help = "write whole numbers and int params, with + - *, min and max"
    scope.report("E404", "a number of turns is not computed from this", node.span, help, "repeat")


def _whole(param: Param, least: int) -> int:
    """The whole number that the help of an error proposes for the default of a param."""
    return max(least, math.ceil(param.default or 0))


def check_timing(timing: Timing, scope: Scope) -> None:
    """Report a timing whose numbers are not known to be whole."""
    check_whole(timing.every, scope, "the distance of updates", least=1)
    if timing.start is not None:
        check_whole(timing.start, scope, "the first update", least=1)


def check_whole(expr: Expr, scope: Scope, what: str, least: int) -> None:
    """Report an expression that is no whole number and no int param of an interval of such numbers."""
    match expr:
        case Number(value=value) if value.is_integer() and value >= least:
            return
        case Name(id=id, primed=False) if id in scope.params:
            param = scope.params[id]
            low = param.interval.low if param.interval is not None else -math.inf
            if not param.is_int or param.optional or low < least:
                help = f"declare 'param {id}: int = {_whole(param, least)} in [{least}, inf)'"
                message = f"{what} is a whole number from {least} on, and '{id}' need not be one"
                scope.report("E404", message, expr.span, help)
        case Name(id=id) if id in scope.failed:
            return
        case _:
            help = f"write a whole number from {least} on, or an int param"
            scope.report("E404", f"{what} is a number or a param", expr.span, help)
