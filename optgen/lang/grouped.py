"""Checks groups of rows or columns (docs/language.md, "groups"): where they are, and how many rows a block has."""

from __future__ import annotations

from collections.abc import Iterable

from optgen.axes import param_of
from optgen.expressions import Expr, Name, is_grouped, walk
from optgen.groups import LineGroup
from optgen.lang.scope import Scope
from optgen.model import Equation, Param


def problem_of(group: LineGroup, scope: Scope) -> tuple[str, str] | None:
    """Why a spec cannot have these groups, and what to do about it; None if it can."""
    if scope.last_two:
        help = "rows and columns are those of matrices there; leave that line out, and use groups of the whole tensor"
        return f"'{group}' with 'axes last two'", help
    name = param_of(group)
    if name is None or name in scope.failed:
        return None
    param = scope.params.get(name)
    if param is None:
        return f"the rows of '{group}' are no param", f"declare 'param {name}: int = 1 in [1, inf)'"
    return None if is_length(param) else length_problem(name, param)


def is_length(param: Param) -> bool:
    """Whether a param is a whole number from 1 on, always."""
    return param.is_int and not param.optional and param.interval is not None and param.interval.low >= 1


def length_problem(name: str, param: Param) -> tuple[str, str]:
    """The text of the error for a param that is no length."""
    default = 1 if param.default is None else param.default
    help = f"declare 'param {name}: int = {default:g} in [1, inf)'"
    return f"the dimension '{name}' need not be a whole number from 1 on", help


def check_evaluation(evaluate: Iterable[Equation], scope: Scope) -> None:
    """Report groups in `eval:`, which is one kernel."""
    for expr in (e for line in evaluate for e in walk(line.value)):
        if is_grouped(expr) or _is_of_groups(expr, scope):
            help = "'eval:' has values of elements, rows and columns; keep in a state of those what is read here"
            scope.report("E307", "a value of groups in 'eval:'", expr.span, help, "groups")


def _is_of_groups(expr: Expr, scope: Scope) -> bool:
    state = scope.states.get(expr.id) if isinstance(expr, Name) else None
    return state is not None and state.group is not None
