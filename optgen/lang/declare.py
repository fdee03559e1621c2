"""Checks declarations: each name is declared once and is not reserved, and initial values exist."""

from __future__ import annotations

import keyword
from collections.abc import Collection

from optgen.axes import ELEMENTS, Axis, shown
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, walk
from optgen.functions.table import draw_of
from optgen.groups import LineGroup
from optgen.lang.builtins import API_NAMES, RESERVED, SPARSE
from optgen.lang.conditions import check_condition, check_guard
from optgen.lang.declaration_checks import KINDS
from optgen.lang.dimensions import MEANING
from optgen.lang.grouped import is_length, length_problem, problem_of
from optgen.lang.histories import check_history
from optgen.lang.names import check_call, readable_names
from optgen.lang.parser import Draft
from optgen.lang.scope import Scope, meaning
from optgen.model import DIMENSIONS, PER_PARAMETER, RESERVED_PARAMS, Dim, Equation, Flag, Input, Param, StateDecl


def declare(draft: Draft) -> Scope:
    """The scope of a spec, from its declarations."""
    scope = Scope(last_two=bool(draft.axes), failed=set(draft.broken), reported=dict.fromkeys(draft.errors))
    for item in draft.declarations:
        if not _is_free(item, scope):
            continue
        match item:
            case Param():
                scope.params[item.name] = item
            case Flag():
                scope.flags[item.name] = item
            case StateDecl():
                scope.states[item.name] = item
            case Input():
                scope.inputs[item.name] = item
            case Dim():
                scope.dims[item.name] = item
    _declare_aliases(scope)
    for flag in scope.flags.values():
        if flag.condition is not None:
            earlier = [f for f in scope.flags.values() if f.span < flag.span]
            if not check_condition(flag.condition, scope, earlier, "a flag"):
                scope.failed.add(flag.name)
    for require in draft.requires:
        sparse = Flag(SPARSE, require.span, False)
        check_condition(require.condition, scope, scope.flags.values(), "a requirement", [sparse])
    for dim in scope.dims.values():
        _check_dim(dim, scope)
    _check_dimensions(scope)
    targets = [line.target for line in draft.update if isinstance(line, Equation)]
    locals = {x.id for x in targets if not x.primed and scope.what(x.id) is None}
    for state in scope.states.values():
        _check_init(state, scope, locals)
        if state.entries:
            check_history(state, scope)
        if state.guard is not None and not check_guard(state.guard, scope):
            scope.failed.update((state.name, f"{state.name}'"))
    return scope


def _is_free(item: Param | Flag | StateDecl | Input | Dim, scope: Scope) -> bool:
    """Whether a declaration may have its name."""
    name = item.name
    tables = (scope.params, scope.flags, scope.states, scope.inputs, scope.dims)
    declared = next((table[name] for table in tables if name in table), None)
    if declared is not None:
        help = f"the first is on line {declared.span.line}; rename or remove one"
        scope.report("E202", f"a second definition of '{name}'", item.span, help)
        if type(declared) is not type(item):
            scope.failed.add(name)
        return False
    if isinstance(item, Param) and name in RESERVED_PARAMS:
        return True
    if name in RESERVED:
        scope.report("E201", f"'{name}' is {meaning(name)}", item.span, "choose another name")
        scope.failed.add(name)
        return False
    if isinstance(item, Param | Flag) and (name in API_NAMES or keyword.iskeyword(name)):
        help = "write 'lr', which Python calls learning_rate" if name == "learning_rate" else "choose another name"
        why = "is a word of Python" if keyword.iskeyword(name) else "is an argument every optimizer has"
        scope.report("E201", f"'{name}' {why}, and cannot name another", item.span, help)
        scope.failed.add(name)
        return False
    return True


def _declare_aliases(scope: Scope) -> None:
    for param in scope.params.values():
        for alias in param.aliases:
            what = scope.what(alias)
            if what is not None or keyword.iskeyword(alias) or alias in API_NAMES:
                help = "an alias is a further name, used by nothing else"
                scope.report("E202", f"the alias '{alias}' is already {what or 'taken'}", param.span, help)
            else:
                scope.aliases[alias] = param.name


def _check_dimensions(scope: Scope) -> None:
    """The dimensions of states and inputs are sizes of the parameter, or int params; two of them have one order in a
    spec."""
    orders: dict[frozenset[Axis], StateDecl | Input] = {}
    declared: list[StateDecl | Input] = [*scope.states.values(), *scope.inputs.values()]
    for state in declared:
        for dim in state.axes:
            _check_dimension(dim, state, scope)
        if len(set(state.axes)) < 2:
            continue
        first = orders.setdefault(frozenset(state.axes), state)
        known = ELEMENTS if set(state.axes) == set(ELEMENTS) else first.axes
        if state.axes != known:
            other = "w" if known == ELEMENTS else f"'{first.name}'"
            what = "state" if isinstance(state, StateDecl) else "input"
            message = f"{what} '{state.name}' is {shown(state.axes)}, and {other} is {shown(known)}"
            help = f"declare it as {shown(known)}, and write {state.name}^T"
            scope.report("E304", message, state.span, help)


def _check_dimension(dim: Axis, state: StateDecl | Input, scope: Scope) -> None:
    if isinstance(dim, LineGroup):
        problem = problem_of(dim, scope)
        if problem is None:
            return
        scope.report("E304", problem[0], state.span, problem[1], "groups")
        scope.failed.update((state.name, f"{state.name}'"))
        return
    name = str(dim)
    param = scope.params.get(name)
    if name in ELEMENTS or name in scope.failed or name in scope.dims:
        return
    if param is None:
        kinds = ", ".join(KINDS)
        help = f"the kinds are {kinds}; dimensions are rows, cols and int params, as in 'rows x rows'"
        what = "kind of a state" if len(state.axes) == 1 else "dimension"
        scope.report("E304", f"'{dim}' is no {what}", state.span, help)
    elif not is_length(param):
        message, help = length_problem(name, param)
        scope.report("E304", message, state.span, help)
    else:
        return
    scope.failed.update((state.name, f"{state.name}'"))


def _check_dim(dim: Dim, scope: Scope) -> None:
    """A dimension is computed from numbers, params that all parameters share, and sizes."""
    wrong = [node.span for node in walk(dim.value) if not _may_be_of_dim(node, scope)]
    if wrong:
        help = "it has numbers, params that are always set, rows, cols, size, + - * /, min, max, floor and ceil"
        first = min(wrong, key=lambda span: (span.line, span.column))
        scope.report("E304", f"the dimension '{dim.name}' cannot have this", first, help, "dim")
        scope.failed.add(dim.name)


def _may_be_of_dim(node: Expr, scope: Scope) -> bool:
    match node:
        case Number() | Binary(op="+" | "-" | "*" | "/") | Unary(op="-"):
            return True
        case Call(function="min" | "max" | "floor" | "ceil", scope=None):
            return True
        case Name(id=id, primed=False, at=None) if id in DIMENSIONS or id in scope.failed:
            return True
        case Name(id=id, primed=False, at=None) if (param := scope.params.get(id)) is not None:
            return not (param.optional or param.given or param.per_param or id in PER_PARAMETER)
    return False


def _check_init(state: StateDecl, scope: Scope, locals: Collection[str]) -> None:
    """A state starts at a number, a param or w, or from an expression of what is known in the first update.

    The kind of an expression, whether its params are set, and where its local values are known, is checked in each
    variant.
    """
    init = state.init
    for node in walk(init):
        if isinstance(node, Call):
            check_call(node, scope)
            own = (node.dims or ELEMENTS) == state.axes and not state.entries
            if draw_of(node) and (node is not init or not own):
                help = (
                    f"a state that has dimensions may start at {node.function}() alone, which has them, too; compute "
                    "with that later"
                )
                scope.report("E306", "a draw in the start of a state", node.span, help)
                scope.failed.update((state.name, f"{state.name}'"))
    names = [name for name in readable_names(init) if name.id not in scope.failed]
    for name in names:
        if name.primed or name.id not in locals:
            _check_start_name(name, scope)
    if isinstance(init, Name) and init in names:
        param = scope.params.get(init.id) or RESERVED_PARAMS.get(init.id)
        if init.id == "w" and state.axes != ELEMENTS and not init.primed:
            message = f"state '{state.name}' is {MEANING[state.kind]}, but w is per element"
            scope.report("E301", message, init.span, "start it at a number or a param")
        elif param is not None and param.optional:
            scope.report("E410", f"'{init.id}' may be unset", init.span, "start the state at a number")


def _check_start_name(name: Name, scope: Scope) -> None:
    """Check a name in the start of a state that is no local value: new values come later."""
    reads = "a start reads params, w, g, grad, inputs, the sizes of the parameter and local values"
    if name.primed:
        scope.report("E211", "a state starts before any step", name.span, f"write {name.id}")
    elif name.id in scope.aliases:
        scope.report("E206", f"'{name.id}' is only an alias", name.span, f"write {scope.aliases[name.id]}")
    elif scope.what(name.id) is None:
        scope.unknown(name, [*scope.params, *scope.inputs, "w", "g"], reads)
    elif name.id in scope.states or name.id in scope.flags or name.id == SPARSE:
        scope.report("E402", f"a state cannot start at {scope.what(name.id)}", name.span, reads, "state")
