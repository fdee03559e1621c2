"""Checks loops and timings: what loops carry from turn to turn, what is known behind `end`, and whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from optgen.expressions import Binary, Expr, Name, Number
from optgen.lang.report import Report
from optgen.lang.scope import Scope
from optgen.model import Equation, Loop, Timing


def path(loop: Loop | None) -> tuple[int, ...]:
    """The numbers of a loop and of those around it, the outer ones first."""
    return () if loop is None else (*path(loop.outer), loop.number)


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
        loop = equation.loop
        while loop is not None:
            if loop.number not in seen:
                seen.add(loop.number)
                yield loop
            loop = loop.outer


def check_loops(equations: Iterable[Equation], scope: Scope) -> None:
    """Report loops that carry nothing, or whose number of turns is not known."""
    lines = list(equations)
    for loop in loops_of(lines):
        check_whole(loop.count, scope, "the number of turns", least=0)
        if not any(e.loop == loop and e.target.primed for e in lines):
            help = "a loop carries values: X' = ... sets the X of the next turn"
            scope.report("E213", "every turn of this loop is the same", loop.span, help)
        if loop.index is not None and scope.what(loop.index) is not None:
            message = f"'{loop.index}' is {scope.what(loop.index)}"
            scope.report("E213", message, loop.span, "choose another name for the number of the turn")


def check_timing(timing: Timing, scope: Scope) -> None:
    """Report a timing that is not made of whole numbers."""
    check_whole(timing.every, scope, "the distance of updates", least=1)
    if timing.start is not None:
        check_whole(timing.start, scope, "the first update", least=1)


def check_whole(expr: Expr, scope: Scope, what: str, least: int) -> None:
    """Report an expression that is not made of whole numbers and int params."""
    match expr:
        case Number(value=value) if value.is_integer() and value >= least:
            return
        case Name(id=id, primed=False) if id in scope.params:
            param = scope.params[id]
            if not param.is_int or param.optional:
                help = f"declare 'param {id}: int = {param.default or least:g} in [{least}, inf)'"
                scope.report("E404", f"{what} is a whole number, but '{id}' need not be one", expr.span, help, "param")
        case Name(id=id) if id in scope.failed:
            return
        case Binary(op="+" | "-" | "*", left=a, right=b):
            check_whole(a, scope, what, 0)
            check_whole(b, scope, what, 0)
        case _:
            help = f"write a whole number from {least} on, or an int param"
            scope.report("E404", f"{what} must be known when the rule is loaded", expr.span, help, "param")
