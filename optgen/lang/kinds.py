"""Infers the kind of every value (docs/language.md, "kinds"): how many numbers it is, and when they are known.

The kind of an expression is the join of the kinds of its parts. A constant, a declared param and `step` are the same
for all parameters, so joined with a `shared` value they stay shared. A host value that differs between parameters
(`lr`, `t`, `rows`) joined with a shared value is `tensor`, one per parameter.

Conditions are values of the same kinds. Arithmetic takes numbers; `and`, `or`, `not` and `where` take conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from optgen.axes import COLS, ELEMENTS, ROWS, Axes, Kind, When
from optgen.diagnostics import Span
from optgen.expressions import (
    WORKERS,
    Binary,
    Call,
    Expr,
    IsSet,
    Name,
    Number,
    Text,
    Transpose,
    Unary,
    children,
    walk,
)
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.table import elementwise_of, is_draw, is_reduction
from optgen.groups import LineGroup
from optgen.lang import matrices
from optgen.lang.builtins import TENSORS
from optgen.lang.dimensions import CONSTANT, MEANING, ValueKind, fits, join
from optgen.lang.loops import loops_around, path
from optgen.lang.report import Report
from optgen.model import COUNTS, DIMENSIONS, EPSILON, Optimizer, Program, StateDecl

Names = Mapping[str, ValueKind | None]
"""Kinds of values by key (`m`, `m'`). None marks one with a reported error, about which nothing more is reported."""


def base_names(optimizer: Optimizer, states: tuple[StateDecl, ...]) -> dict[str, ValueKind | None]:
    """The values that exist before the first equation."""
    names: dict[str, ValueKind | None] = dict.fromkeys(optimizer.all_params, CONSTANT)
    names |= dict.fromkeys((*optimizer.per_parameter, *COUNTS, *DIMENSIONS), ValueKind((), When.HOST))
    names |= {d.name: ValueKind((), When.HOST) for d in optimizer.dims}
    names |= dict.fromkeys(TENSORS, ValueKind(ELEMENTS))
    names |= {i.name: ValueKind(i.axes) for i in optimizer.inputs}
    names |= {s.name: kind_of(s) for s in states}
    return names | {"step": CONSTANT, EPSILON: CONSTANT}


def kind_of(state: StateDecl) -> ValueKind:
    """The kind that a state is declared with."""
    return ValueKind(state.axes, state.known)


def infer(program: Program, optimizer: Optimizer) -> dict[str, Kind]:
    """The kind of every name of a checked variant, by key: `m`, `m'`, `lr`, `d` and so on."""
    return {key: value.kind for key, value in known(program, optimizer).items() if value is not None}


def known(program: Program, optimizer: Optimizer) -> Names:
    """The kinds of these names, with their dimensions. `value_of` infers the kind of any expression from them."""
    return infer_values(program, base_names(optimizer, program.states), never)


def never(code: str, message: str, span: Span, help: str, section: str | None = None) -> None:
    """No error is left to report."""
    raise AssertionError(f"{code} in a checked spec: {message}")


def infer_values(program: Program, names: dict[str, ValueKind | None], report: Report) -> dict[str, ValueKind | None]:
    """Infer the kinds of what the equations define, and report errors. Returns `names` with these added."""
    declared = {s.name: kind_of(s) for s in program.states} | {"w": ValueKind(ELEMENTS)}
    carried = _carried(program, names)
    outermost = {e.target.id: path(e.loop)[0] for e in program.equations if e.loop is not None}
    for equation in program.equations:
        target = equation.target
        for loop in loops_around(equation.loop):
            names |= {loop.index: CONSTANT} if loop.index is not None else {}
        if equation.loop is not None:
            names |= {name: kind for name, kind in carried.items() if outermost[name] == path(equation.loop)[0]}
        drawn = [x for x in walk(equation.value) if is_draw(x)] if equation.loop is not None else []
        for draw in drawn:
            report("E306", "a draw in a loop, whose numbers would be the same in all turns", draw.span, _ABOVE)
        value = value_of(equation.value, names, silent if drawn else report, draw_allowed=equation.loop is None)
        kind = declared.get(target.id) or carried.get(target.id)
        if target.at is not None and value is not None and (value.condition or value.axes):
            help = "an array has numbers; keep what is larger in a history"
            what = "a condition" if value.condition else value.meaning
            report("E308", f"{target.key} is a number, but this is {what}", equation.value.span, help)
        if target.id in carried and not target.primed and value is not None and value.condition:
            _no_condition(target, equation.value, report)
            carried[target.id] = value = None
        if not target.primed:
            names[target.array_key] = value if target.at is None or value is None else _computed(value, program)
            continue
        if value is not None and kind is not None:
            _check_new(target, kind, value, equation.value, names, report, is_state=target.id in declared)
        names[target.key] = kind
    return names


def _carried(program: Program, names: Mapping[str, ValueKind | None]) -> dict[str, ValueKind | None]:
    """The kinds of the values that loops carry, which are those of the first turn and of all later ones."""
    in_loops = [e for e in program.equations if e.loop is not None]
    carried: dict[str, ValueKind | None] = {e.target.id: None for e in in_loops if e.target.primed}
    if not carried:
        return carried
    known = dict(names)
    _join_turns(carried, known, program)
    for name, value in carried.items():
        known[name] = carried[name] = None if value is None else _computed(value, program)
    _join_turns(carried, known, program)
    return carried


def _join_turns(carried: dict[str, ValueKind | None], known: dict[str, ValueKind | None], program: Program) -> None:
    """Give carried values the kinds that they have together with those of later turns."""
    for _ in range(len(carried) + 1):
        before = dict(carried)
        for e in program.equations:
            for loop in loops_around(e.loop):
                known |= {loop.index: CONSTANT} if loop.index is not None else {}
            value = value_of(e.value, known, silent, draw_allowed=True)
            if e.target.id in carried and value is not None:
                old = carried[e.target.id]
                value = (join(old, value) or old) if old is not None else value
                carried[e.target.id] = known[e.target.id] = replace(value, condition=False)
            known[e.target.array_key] = value
        if carried == before:
            break


def _computed(value: ValueKind, program: Program) -> ValueKind:
    """The kind of a value that a loop computes: no number of it is known before the kernels of the loop have run."""
    if value.kind is not Kind.HOST:
        return value
    values = [*(e.value for e in program.equations), *(s.init for s in program.states)]
    joins = any(s.known is When.SHARED for s in program.states) or any(
        isinstance(x, Call) and x.scope == "params" for each in values for x in walk(each)
    )
    return ValueKind((), When.SHARED if value.is_constant and joins else When.TENSOR)


def silent(*error: object) -> None:
    """No error is reported: there is none, or it is one of the whole expression."""


def check_start(state: StateDecl, start: Expr, names: Names, report: Report) -> None:
    """Report the start of a state that is no number, or of a kind that the state cannot take."""
    if is_draw(start):
        return  # which has the dimensions of the state
    value = value_of(start, names, report)
    if value is not None:
        _check_new(Name(state.name, False, state.span), kind_of(state), value, start, names, report)


_ABOVE = "draw it above the loop, on a line of its own, and read its name in the turns"


def _no_condition(target: Name, expr: Expr, report: Report) -> None:
    """Report a condition that a loop would carry."""
    help = f"write {target.key} = where(condition, 1, 0), and in turns the condition {target.id} > 0"
    report("E305", f"a loop carries numbers, but {target.key} is a condition here", expr.span, help)


def _check_new(
    target: Name, kind: ValueKind, value: ValueKind, expr: Expr, names: Names, report: Report, *, is_state: bool = True
) -> None:
    """Report a new value that a state, or a value that a loop carries, cannot take."""
    if value.condition and not is_state:
        _no_condition(target, expr, report)
    elif value.condition:
        report("E305", f"{target.key} is a number, but this is a condition", expr.span, "write where(condition, 1, 0)")
    elif fits(value, kind):
        return
    elif kind.known is When.SHARED:
        _not_shared(target, expr, names, report)
    else:
        what = f"state '{target.id}'" if is_state else f"{target.id} in the first turn"
        message = f"{what} is {kind.meaning}, but this is {value.meaning}"
        joined = join(value, kind)
        turned = _of_transpose(expr, kind, names)
        if turned is not None:
            help = turned
        elif kind.known is When.HOST:
            help = f"a host value is known before any element is read; declare 'state {target.id}: {value.declared}'"
        elif kind.group is not None and join(value, kind.lines) in (kind.lines, ValueKind(ELEMENTS)):
            help = f"declare 'state {target.id}: {value.declared}', or reduce the value {kind.meaning}"
        elif joined is None:
            help = _other_dimensions(kind, value, target if is_state else None)
        else:
            help = f"declare 'state {target.id}: {joined.declared}', or reduce the value"
        report("E301", message, expr.span, help)


def _of_transpose(expr: Expr, kind: ValueKind, names: Names) -> str | None:
    """What to write where a function of matrices without more columns than rows has the dimensions of a wide one; None
    if that is not so."""
    if not isinstance(expr, Call) or expr.function not in MATRIX_FUNCTIONS or len(expr.args) != 1:
        return None
    (x,) = expr.args
    value = value_of(replace(expr, args=(Transpose(x, x.span),)), names, silent)
    if value is None or value.axes != kind.axes or not MATRIX_FUNCTIONS[expr.function].is_tall:
        return None
    matrix = f"{x.key}^T" if isinstance(x, Name) else "A^T"
    return f"it takes a matrix that has no more columns than rows: of a wide one, write {expr.function}({matrix})"


def _other_dimensions(kind: ValueKind, value: ValueKind, state: Name | None) -> str:
    """What to write for a value of other dimensions than those of a state, or of the first turn of a loop."""
    if kind.axes == tuple(reversed(value.axes)):
        return "write ^T behind it"
    if state is None:
        return "every turn has a value of the same dimensions"
    return f"declare 'state {state.id}: {value.declared}', or give the value these dimensions"


def _not_shared(target: Name, expr: Expr, names: Names, report: Report) -> None:
    """Report the first part of an expression that differs between parameters."""
    part, value = next(_differing(expr, names))
    what = f"'{part.key}'" if isinstance(part, Name) else "this"
    if value.kind is Kind.HOST:
        found = "differs between parameters"
        belong = "lr, wd, t, the sizes and params 'per param' belong to one parameter"
        help = f"{belong}; move {what} into what is reduced 'over params'"
        if isinstance(part, Name) and part.id == "t":
            help = "write step, the count of updates that all parameters share"
    else:
        found = f"is {value.meaning}"
        help = "reduce it with 'over params'"
    message = f"state '{target.id}' is {MEANING[Kind.SHARED]}, but {what} {found}"
    report("E301", message, part.span, help)


def _differing(expr: Expr, names: Names) -> Iterator[tuple[Expr, ValueKind]]:
    """The smallest parts of an expression that are not the same for all parameters: names, reductions, draws."""
    value = value_of(expr, names, silent)
    whole = isinstance(expr, Name) or is_draw(expr) or (isinstance(expr, Call) and is_reduction(expr))
    if value is None or value.is_constant or value.known is When.SHARED:
        return
    if whole:
        yield expr, value
    else:
        for part in children(expr):
            yield from _differing(part, names)


# ---------------------------------------------------------------- expressions


def value_of(expr: Expr, names: Names, report: Report, *, draw_allowed: bool = False) -> ValueKind | None:
    """The kind of an expression; None if an error in it was reported."""
    match expr:
        case Number():
            return CONSTANT
        case Name():
            return names.get(expr.array_key)
        case Text():
            help = "compare a flag with it in a guard: if kind == 'sqrt'"
            report("E405", f"the choice '{expr.value}' is no value", expr.span, help, "flag")
        case IsSet():
            help = f"declare 'flag has_{expr.name.id} = {expr.name.id} set' and guard the line with it"
            report("E405", f"'{expr.name.id} set' is no value", expr.span, help, "unset-params")
        case Unary(op="-"):
            return _numbers((expr.operand,), names, report)
        case Unary():
            return _conditions((expr.operand,), names, report)
        case Binary(op="and" | "or"):
            return _conditions((expr.left, expr.right), names, report)
        case Binary(op="@"):
            return matrices.product(expr, partial(value_of, names=names, report=report), report)
        case Transpose():
            return matrices.transpose(expr, partial(value_of, names=names, report=report), report)
        case Binary(op=op):
            value = _numbers((expr.left, expr.right), names, report)
            comparison = op in ("<", "<=", ">", ">=", "==", "!=")
            return replace(value, condition=True) if value is not None and comparison else value
        case Call(function=function) if is_draw(expr):
            if not draw_allowed and not expr.args:
                help = f"name it on a line of its own: z = {function}(); the name fixes which numbers are drawn"
                report("E306", "a draw inside an expression", expr.span, help)
            return ValueKind(expr.dims or ELEMENTS)
        case Call(function=function) if function in MATRIX_FUNCTIONS:
            return matrices.function(expr, partial(value_of, names=names, report=report), report)
        case Call() if is_reduction(expr):
            return _reduction(expr, names, report)
        case Call(function=function) if (known := elementwise_of(expr)) is not None and known.takes_matrix:
            value = _numbers(expr.args, names, report)
            if value is not None and len(value.axes) != 2:
                help = "it keeps the elements on one side of the diagonal, and makes the others 0"
                report("E307", f"{function} takes a matrix, but this is {value.meaning}", expr.args[0].span, help)
                return None
            return value
        case Call(function="where", args=(condition, *sides)):
            return _choice(condition, sides, names, report)
        case Call():
            return _numbers(expr.args, names, report)
    return None


def _all(exprs: Sequence[Expr], values: Sequence[ValueKind | None], report: Report) -> ValueKind | None:
    """The join of all values, None if one of them failed or their dimensions do not agree."""
    joined = CONSTANT
    for expr, value in zip(exprs, values, strict=True):
        if value is None:
            return None
        both = join(joined, replace(value, condition=False))
        if both is None:
            message = f"this is {value.meaning}, and what it meets is {joined.meaning}"
            report("E307", message, expr.span, _meeting_help(joined, value))
            return None
        joined = both
    return joined


def _meeting_help(a: ValueKind, b: ValueKind) -> str:
    """What to write where dimensions do not agree."""
    if a.axes == tuple(reversed(b.axes)):
        return "write ^T behind one of them"
    if len({*a.axes, *b.axes}) == 1:
        return "diag(v)@A multiplies the rows of a square matrix by the numbers of a vector, A@diag(v) its columns"
    return "elements meet where all dimensions are the same; '@' is the product of matrices"


def _numbers(exprs: Sequence[Expr], names: Names, report: Report) -> ValueKind | None:
    values = tuple(value_of(e, names, report) for e in exprs)
    for expr, value in zip(exprs, values, strict=True):
        if value is not None and value.condition:
            report("E305", "this is a condition, but a number is needed", expr.span, "write where(condition, 1, 0)")
            return None
    return _all(exprs, values, report)


def _conditions(exprs: Sequence[Expr], names: Names, report: Report) -> ValueKind | None:
    values = tuple(value_of(e, names, report) for e in exprs)
    for expr, value in zip(exprs, values, strict=True):
        if value is not None and not value.condition:
            report("E305", "this is a number, but a condition is needed", expr.span, "compare it, as in x > 0")
            return None
    joined = _all(exprs, values, report)
    return None if joined is None else replace(joined, condition=True)


def _choice(condition: Expr, sides: Sequence[Expr], names: Names, report: Report) -> ValueKind | None:
    """The kind of `where(condition, a, b)`."""
    values = (_conditions((condition,), names, report), _numbers(sides, names, report))
    return _all((condition, sides[0]), values, report)


_MATRIX: dict[Axes, Axes] = {ROWS: ROWS, COLS: COLS, ELEMENTS: ROWS, ELEMENTS[::-1]: ROWS}
"""The dimensions of what is reduced per matrix -> those of the reduction: there is one number for each matrix, which
its rows or columns have."""


def _reduction(call: Call, names: Names, report: Report) -> ValueKind | None:
    value = _numbers(call.args, names, report)
    if value is None or call.scope == WORKERS:
        return value
    reduced = None if value.is_constant else _reduced(value, call.scope)
    if reduced is None:
        scope = "" if call.scope is None else " over params" if call.scope == "params" else f" per {call.scope}"
        scope = " per column" if call.scope == "col" else scope
        message = f"nothing to reduce{scope}: this is {'a constant' if value.is_constant else value.meaning}"
        is_vector = call.scope in ("row", "col") and len(value.axes) == 1
        help = "leave the scope out" if is_vector else f"use the value itself, without {call.function}()"
        report("E302", message, call.args[0].span, help)
    return value if value.is_constant else reduced


def _reduced(value: ValueKind, scope: str | LineGroup | None) -> ValueKind | None:
    """The kind of a reduction, None if there is nothing to reduce."""
    if isinstance(scope, LineGroup):
        return ValueKind((scope,)) if value.axes in (ELEMENTS, (scope.lines,)) else None
    if scope in ("row", "col"):
        return ValueKind((value.axes[scope == "col"],)) if value.is_element else None
    if scope == "matrix":
        return ValueKind(_MATRIX[value.axes]) if value.axes in _MATRIX else None
    if scope == "params":
        return ValueKind((), When.SHARED) if value.known is not When.SHARED else None
    return ValueKind() if value.axes else None
