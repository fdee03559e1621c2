"""Checks histories: how many entries they keep, and which of them an index can name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from optgen.axes import Kind, When
from optgen.expressions import Expr, Index, Name, Number, walk
from optgen.lang.expression_actions import index_of
from optgen.lang.loops import loops_around
from optgen.lang.scope import Scope
from optgen.model import Equation, Loop, Optimizer, StateDecl


def check_history(state: StateDecl, scope: Scope) -> None:
    """Report a history whose length, kind or start cannot be."""
    name, entries = state.name, state.entries
    param = scope.params.get(str(entries))
    if state.kind in (Kind.HOST, Kind.MATRIX):
        help = "a history has one number for each element, row, column or tensor, or is shared"
        if state.known is When.HOST:
            help = f"declare 'state {name}[{entries}]: tensor', which takes host values, too"
        scope.report("E308", f"a history of kind {state.kind.value}", state.span, help)
    elif not (isinstance(state.init, Number) or _is_one_param(state.init, scope)):
        help = "all entries start at one number or param; where(t <= n, x, h[-n]) takes another while there are fewer"
        scope.report("E402", "a history starts at a number", state.span, help, "histories")
    elif isinstance(entries, int) or entries in scope.failed:
        return
    elif param is None or not param.is_int or param.optional or _least(param.interval) < 1:
        default = 1 if param is None or param.default is None else param.default
        help = f"declare 'param {entries}: int = {default:g} in [1, inf)'"
        scope.report("E404", f"'{entries}' need not be a whole number from 1 on", state.span, help, "histories")
    else:
        return
    scope.failed.update((name, f"{name}'"))


def _is_one_param(expr: Expr, scope: Scope) -> bool:
    """Whether it is a param that is one number for all parameters."""
    param = scope.params.get(expr.id) if isinstance(expr, Name) else None
    return param is not None and not param.per_param


def _least_of(count: int | str, scope: Scope) -> int:
    """The least that a count can be: a number itself, or what a param is from on."""
    return count if isinstance(count, int) else int(_least(scope.params[count].interval))


def _least(interval: object) -> float:
    return getattr(interval, "low", -math.inf)


def check_phases(optimizer: Optimizer, scope: Scope) -> None:
    """Report entries that are added in several phases, and those that are read in another phase than that: the oldest
    one may be gone."""
    for state in (s for s in optimizer.states if s.entries) if optimizer.phases else ():
        setting = [e for e in optimizer.update if e.target.id == state.name]
        adding = {e.phase for e in setting[:1]}
        later = next((e for e in setting if e.phase not in adding), None)
        if later is not None:
            help = f"an update adds one entry; set it in phase '{later.phase}' alone, or keep the value in a state"
            scope.report("E308", f"{state.name}' is set in phase '{setting[0].phase}', too", later.target.span, help)
            continue
        for equation in optimizer.update:
            for x in walk(equation.value):
                if isinstance(x, Name) and x.id == state.name and equation.phase not in adding:
                    help = "read it in that phase, and hand it over in a state"
                    scope.report("E308", f"{x.key} in another phase than {state.name}' = ...", x.span, help)


def find_arrays(equations: Iterable[Equation], scope: Scope) -> None:
    """Note the local arrays of a section: `a[i] = x` in a loop `repeat n as i:` sets one of n numbers."""
    for equation in equations:
        at = equation.target.at
        if at is None or at.constant or len(at.terms) != 1 or at.terms[0][1] != 1:
            continue
        for loop in loops_around(equation.loop):
            if loop.index == at.terms[0][0]:
                scope.arrays.setdefault(equation.target.id, loop)


def check_element(equation: Equation, scope: Scope) -> bool:
    """Whether `a[i] = x` sets an element of a local array; what is wrong is reported."""
    name, loop = equation.target.id, scope.arrays.get(equation.target.id)
    fixed = {x for state in scope.states.values() for x in state.fixed}
    fixed |= {str(x) for state in scope.states.values() if state.kind is Kind.MATRIX for x in state.axes}
    what = scope.what(name)
    if what is not None:
        help = f"{name}' = ... adds an entry" if name in scope.states else "choose another name for the array"
        message = f"{equation.target.key} is set by itself, and '{name}' is {what}"
    elif loop is None or equation.loop != loop or equation.target.primed:
        message = f"{equation.target.key} is no element of a loop"
        help = f"in a loop 'repeat n as i:', {name}[i] = ... sets one element in each turn"
    elif isinstance(loop.count, Name) and loop.count.id not in fixed:
        message = f"{name} has as many elements as the loop has turns, which may change between steps"
        help = f"a number of turns that is the length of a history, as in 'state h[{loop.count.id}]', cannot"
    else:
        return True
    scope.report("E308", message, equation.target.span, help)
    return False


def check_entry(name: Name, loop: Loop | None, scope: Scope) -> None:
    """Report a history that is used without an index, an index behind a name that has no entries, and an index that
    names no entry."""
    state = scope.states.get(name.id)
    if state is not None and state.entries:
        problem = _problem(name, state, loop, scope)
        if problem is None:
            return
        scope.report("E308", problem[0], name.span, problem[1])
    elif name.id in scope.arrays:
        problem = _problem_of_array(name, loop, scope)
        if problem is None:
            return
        scope.report("E308", problem[0], name.span, problem[1])
    elif name.at is not None:
        help = "elements have no index: an equation is for each of them"
        shown = name.id + "'" * name.primed
        scope.report("E105", f"'{shown}' with an index", name.span, help, "not-in-the-language")
    if name.at is not None:
        scope.failed.add(name.key)


def _problem(name: Name, state: StateDecl, loop: Loop | None, scope: Scope) -> tuple[str, str] | None:
    """What is wrong with a use of a history, and what to do."""
    if name.at is not None and name.primed:
        return f"an index of {name.id}', which is the new entry alone", f"write {name.id}' or {name.id}[-1]"
    if name.at is not None:
        return _out_of_range(name, name.at, state, loop, scope)
    return None if name.primed else (f"'{name.id}' is a history", f"write {name.id}[-1] for its newest entry")


def _problem_of_array(name: Name, loop: Loop | None, scope: Scope) -> tuple[str, str] | None:
    """What is wrong with a use of a local array, and what to do."""
    own = scope.arrays[name.id]
    if name.at is None or name.primed:
        return f"'{name.id}' is an array", f"write {name.id}[{own.index}] for one of its elements"
    inside = any(x == own for x in loops_around(loop))
    if inside and name.at != Index(0, ((own.index or "", 1),)):
        return f"{name.key} within the loop that sets {name.id}", f"there, {name.id}[{own.index}] alone is known"
    count = _turns(own, scope)
    if count is None:
        return None
    ends = None if inside else _checked_ends(name, name.at, count, loop, scope)
    if not isinstance(ends, list):
        return ends
    least = _least_of(count, scope)
    least = max(least, _first_turn([term for term, _ in name.at.terms], loop, count))
    if all(_is_within(p, q - 1, least) if not isinstance(count, int) else 0 <= p < least for p, q in ends):
        return None
    return f"{name.key} is not among the elements", f"{name.id}[0] is the first, and {name.id}[{count} - 1] the last"


def _turns(loop: Loop, scope: Scope) -> int | str | None:
    """The number of turns, or the name of the param that says it; None if it is neither, which is reported."""
    if isinstance(loop.count, Number):
        return int(loop.count.value)
    param = scope.params.get(loop.count.id) if isinstance(loop.count, Name) else None
    return None if param is None or math.isinf(_least(param.interval)) else param.name


def _out_of_range(name: Name, at: Index, state: StateDecl, loop: Loop | None, scope: Scope) -> tuple[str, str] | None:
    """What is wrong with an index, and what to do."""
    n = state.entries
    if n in scope.failed or not (isinstance(n, int) or math.isfinite(_least(scope.params[n].interval))):
        return None  # which is reported
    own = [term for term, _ in at.terms if term != n]
    ends = _checked_ends(name, at, n, loop, scope)
    if not isinstance(ends, list):
        return ends
    least = _least_of(n, scope)
    if all(_is_within(p, q, max(least, _first_turn(own, loop, n))) for p, q in ends):
        if own or isinstance(n, int) or ends[0][1] or least > -ends[0][0]:
            return None
        help = f"declare 'param {n}: int' with an interval from {1 - ends[0][0]:g} on, or write {name.id}[-{n}]"
        return f"{name.key} is the oldest entry if {n} is {least}", help
    oldest = -n if isinstance(n, int) else f"-{n}"
    return f"{name.key} is not among the entries", f"{name.id}[-1] is the newest, and {name.id}[{oldest}] the oldest"


def _checked_ends(
    name: Name, at: Index, n: int | str, loop: Loop | None, scope: Scope
) -> list[tuple[int, int]] | tuple[str, str] | None:
    """The index in the first and the last turn, as p + q*n, or what is wrong with it; None if that is reported
    elsewhere."""
    turns = {x.index: x for x in loops_around(loop) if x.index is not None}
    own = [(term, k) for term, k in at.terms if term in turns]
    others = [term for term, _ in at.terms if term not in turns and term != n]
    if others or len(own) > 1:
        what = f"'{others[0]}' in an index" if others else "two numbers of turns in an index"
        return what, f"an index has whole numbers, {f'{n}, ' * (not isinstance(n, int))}and the number of a turn"
    ends = _ends(at, own, turns, n)
    if ends is None:
        loop_help = f"write 'repeat {n} as {own[0][0]}:'"
        return f"the turns of this loop are not the entries of '{name.id}'", loop_help
    return ends if isinstance(n, int) or n in scope.params else None


def _ends(
    at: Index, own: list[tuple[str, int]], turns: Mapping[str, Loop], n: int | str
) -> list[tuple[int, int]] | None:
    """The index in the first and the last turn, as p + q*n; None if the number of turns is neither n nor a number."""
    terms = dict(at.terms)
    constant, times = at.constant, 0 if isinstance(n, int) else terms.get(n, 0)
    if not own:
        return [(constant, times)]
    ((index, k),) = own
    count = _linear(turns[index], n)
    return None if count is None else [(constant, times), (constant + k * (count[0] - 1), times + k * count[1])]


def _linear(loop: Loop, n: int | str) -> tuple[int, int] | None:
    """The number of turns as p + q*n; None if it depends on anything else."""
    count = index_of(loop.count)
    if count is None or any(term != n for term, _ in count.terms):
        return None
    return count.constant, sum(k for term, k in count.terms if term == n)


def _first_turn(terms: list[str], loop: Loop | None, n: int | str) -> int:
    """The least n for which an index is computed at all: for which the loops whose turn numbers it reads have a
    turn."""
    counts = [_linear(x, n) for x in loops_around(loop) if x.index in terms]
    return max((-(-(1 - p) // q) for p, q in filter(None, counts) if q > 0), default=0)


def _is_within(p: int, q: int, least: int) -> bool:
    """Whether -n <= p + q*n <= -1 for all n from `least` on."""
    return q <= 0 and p + q * least <= -1 and q >= -1 and p + (q + 1) * least >= 0
