"""Checks the names that equations call, read and define, independent of the flag variant."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from optgen.axes import ELEMENTS
from optgen.diagnostics import Span
from optgen.expressions import WORKERS, Call, Expr, IsSet, Name, children, walk
from optgen.functions.table import FUNCTIONS, draw_of, is_draw, is_reduction
from optgen.groups import LineGroup
from optgen.lang.builtins import COMMON_FUNCTIONS, COMMON_NAMES, RESERVED, SPARSE, TENSORS
from optgen.lang.grouped import problem_of
from optgen.lang.histories import check_element, check_entry
from optgen.lang.scope import Scope, meaning
from optgen.model import RESERVED_PARAMS, Equation


def check_call(call: Call, scope: Scope) -> None:
    """Check that a function exists, takes as many arguments, and reduces if it has a scope."""
    what = scope.what(call.function) or ("a local value" if call.function in scope.locals else None)
    function = FUNCTIONS.get(call.function)
    at = Span(call.span.line, call.span.column, call.span.column + len(call.function))
    if function is None:
        _no_function(call, what, at, scope)
    elif draw_of(call) and (call.scope is not None or call.args):
        what = f"a draw '{_scope_text(call.scope)}'" if call.scope is not None else "a draw takes no numbers"
        name = call.function
        help = f"write {name}(per row), {name}(per col), or dimensions, as {name}(rows x r)"
        scope.report("E306", what, call.span, help)
    elif any(_is_no_dimension(Name(str(dim), False, call.span), scope) for dim in call.dims):
        help = "write rows, cols, or an int param with an interval from 1 on"
        scope.report("E306", f"{call.function} takes dimensions", call.span, help)
    elif not function.takes(len(call.args)):
        counts = " or ".join(map(str, function.counts)) + (" or more" if function.takes_more else "")
        takes = f"{counts} argument{'' if counts == '1' else 's'}" if counts != "0" else "no arguments"
        message = f"{call.function} takes {takes}, and has {len(call.args)} here"
        scope.report("E208", message, call.span, f"write {function.usage}", function.section)
    elif call.function == "identity" and any(_is_no_dimension(x, scope) for x in call.args):
        help = "write rows, cols, or an int param with an interval from 1 on"
        scope.report("E307", "identity takes a dimension", call.args[0].span, help)
    elif call.scope is not None and not is_reduction(call):
        message = f"'{_scope_text(call.scope)}' on {call.function}, which reduces nothing"
        scope.report("E303", message, call.span, _what_reduces())
    elif call.scope == WORKERS and call.function != "mean":
        scope.report(
            "E303", f"'over workers' on {call.function}", call.span, "of workers, there is mean(x, over workers)"
        )
    elif call.scope == "matrix" and not scope.last_two:
        help = "a parameter is one matrix, so leave the scope out; or declare 'axes last two'"
        scope.report("E303", "'per matrix' without 'axes last two'", call.span, help)
    elif isinstance(call.scope, LineGroup):
        problem = problem_of(call.scope, scope)
        if problem is not None:
            scope.report("E303", problem[0], call.span, problem[1], "groups")


def _no_function(call: Call, what: str | None, at: Span, scope: Scope) -> None:
    """Report a call of what is no function: of `what`, or of an unknown name."""
    name = call.function
    if {name, f"{name}()"} & scope.failed or _is_indexed(call, at, scope):
        return
    instead = COMMON_FUNCTIONS.get(name)
    if what is not None:
        help = f"'{name}' is {what} here: write '*' to multiply"
    elif instead is not None:
        help = f"write {instead}"
    elif name in COMMON_FUNCTIONS:
        help = "the language has none like it"
    else:
        lists = "'optgen language functions' lists them, and 'optgen language products' those of matrices"
        help = scope.suggest(name, FUNCTIONS) or lists
    scope.report("E207", f"unknown function '{name}'", at, help)
    scope.failed.add(name if what is None else f"{name}()")


def _is_indexed(call: Call, at: Span, scope: Scope) -> bool:
    """Report brackets behind a history or an array that make it a call; returns whether it is one."""
    state, loop = scope.states.get(call.function), scope.arrays.get(call.function)
    if state is not None and state.entries:
        help = f"write {call.function}[-1] for its newest entry, {call.function}[-2] for the one before it"
    elif loop is not None:
        help = f"write {call.function}[{loop.index}] for one of its elements"
    else:
        return False
    what = "a history" if loop is None else "an array"
    scope.report("E308", f"'{call.function}' is {what}, and no function", at, help)
    return True


def _is_no_dimension(expr: Expr, scope: Scope) -> bool:
    param = scope.params.get(expr.id) if isinstance(expr, Name) else None
    is_size = isinstance(expr, Name) and expr.key in ELEMENTS
    is_whole = param is not None and param.is_int and param.interval is not None and param.interval.low >= 1
    is_known = isinstance(expr, Name) and (expr.id in scope.failed or expr.id in scope.dims)
    return not (is_size or is_whole or is_known)


def _what_reduces() -> str:
    """The reductions of one argument; of those that are more, with it."""
    found = [f.name + "(x)" * (f.elementwise is not None) for f in FUNCTIONS.values() if f.reduces(1)]
    plain, both = ([x for x in found if x.endswith(")") == also] for also in (False, True))
    *most, last = (*plain, *both)
    return f"{', '.join(most)} and {last} reduce"


def _scope_text(scope: str | LineGroup) -> str:
    return f"{'over' if scope in ('params', WORKERS) else 'per'} {scope}"


def readable_names(expr: Expr) -> Iterator[Name]:
    """The names that an expression reads, in order. `p set` does not read p."""
    if isinstance(expr, Name):
        yield expr
    elif not isinstance(expr, IsSet):
        for child in children(expr):
            yield from readable_names(child)


def check_reads(equation: Equation, scope: Scope, *, evaluate: bool, locals: Container[str]) -> None:
    """Report the functions and names that an equation cannot use."""
    for node in walk(equation.value):
        if isinstance(node, Call):
            check_call(node, scope)
            if evaluate and is_draw(node):
                help = "draw in 'update:', and keep it in a state that is read here"
                scope.report("E306", "a draw in 'eval:', where nothing is random", node.span, help)
    for name in readable_names(equation.value):
        if name.id not in scope.failed and name.key not in scope.failed:
            _check_read(name, scope, evaluate, locals)
            if name.id not in scope.failed and name.key not in scope.failed:
                check_entry(name, equation.loop, scope)


def _check_read(name: Name, scope: Scope, evaluate: bool, locals: Container[str]) -> None:
    what = scope.what(name.id)
    if name.id in scope.flags or name.id == SPARSE:
        choices = scope.flags[name.id].choices if name.id in scope.flags else ()
        guard = f"{name.id} == '{choices[0]}'" if choices else name.id
        help = f"a flag chooses code: write if {guard} at the end of the line"
        scope.report("E405", f"flag '{name.id}' is no value", name.span, help, "flag")
    elif name.id in scope.aliases:
        scope.report("E206", f"'{name.id}' is only an alias", name.span, f"write {scope.aliases[name.id]}")
        scope.failed.add(name.key)
    elif name.primed and name.id in scope.carried:
        return
    elif name.primed and name.id != "w" and name.id not in scope.states:
        if what is None and name.id not in scope.locals:
            scope.unknown(name, [*scope.states, "w"])
            return
        help = f"only states and w have one: write {name.id}"
        scope.report("E211", f"'{name.id}' is {what or 'no state'} and has no new value", name.span, help)
        scope.failed.add(name.key)
    elif evaluate and (name.primed or name.id in (*TENSORS[1:], *scope.inputs, *scope.given)):
        help = "'eval:' computes from w, the states, params and t, after a step and without a gradient"
        scope.report("E205", f"'{name.key}' is not known in 'eval:'", name.span, help, "eval")
        scope.failed.add(name.key)
    elif what is None and name.id not in locals:
        if name.id in scope.locals:
            message = f"'{name.id}' is defined in the other section"
            scope.report("E205", message, name.span, "define it in this one too", "eval")
            scope.failed.add(name.key)
        else:
            known = [*scope.params, *scope.states, *scope.inputs, *RESERVED, *scope.locals]
            scope.unknown(name, [k for k in known if k != SPARSE])


def check_target(equation: Equation, scope: Scope, *, evaluate: bool) -> Equation | None:
    """The equation if its target can be defined, with a missing prime added; None if it cannot."""
    target = equation.target
    name = target.id
    if name in scope.failed and name not in scope.states:
        return None
    if target.at is not None:
        return equation if check_element(equation, scope) else None
    what = scope.what(name)
    if name in scope.states or name == "w":
        if evaluate and name != "w":
            help = "it only defines w', from the states as they are"
            scope.report("E212", "'eval:' updates no state", target.span, help, "eval")
            return None
        if equation.loop is not None:
            help = f"carry a local value, and write {name}' = ... behind 'end'"
            scope.report("E214", f"{name} has one new value, but a loop has many turns", target.span, help)
            scope.failed.add(f"{name}'")
            return None
        if target.primed:
            return equation
        help = f"write {name}' = ...: the prime marks the value after this step"
        scope.report(
            "E203", f"{'state ' if name != 'w' else ''}'{name}' is assigned without a prime", target.span, help
        )
        return replace(equation, target=Name(name, True, target.span))
    if what is not None:
        declared = what in ("a param", "a flag", "an input", "an alias")
        message = f"'{name}' is {what if declared else meaning(name)}, and no equation defines it"
        scope.report("E212" if declared else "E201", message, target.span, _instead(target, scope))
        return None
    if target.primed and equation.loop is not None:
        return equation
    if target.primed:
        help = scope.suggest(name, scope.states) or f"declare 'state {name} = 0', or drop the prime"
        if COMMON_NAMES.get(name) == "w":
            help = "it is called 'w' here"
        scope.report("E211", f"'{name}' is not a state", target.span, help)
        scope.failed.update((target.key, name))
        return None
    return equation


def _instead(target: Name, scope: Scope) -> str:
    """What to do where an equation would define a declared name; with a prime, it is meant to change in a step."""
    name = target.id
    if target.primed and name in scope.inputs:
        return "an input is only read; keep what changes in a state"
    param = scope.params.get(name) or RESERVED_PARAMS.get(name)
    if target.primed and param is not None:
        start = name if not param.optional else 0
        return f"declare 'state {name}_now: host = {start}', and write {name}_now' = ..."
    return "choose another name"
