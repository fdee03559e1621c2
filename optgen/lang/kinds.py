"""Infers the kind of every value (docs/language.md, "kinds"): how many numbers it is, and when they are known.

The kind of an expression is the join of the kinds of its parts. A constant, a declared param and `step` are the same
for all parameters, so joined with a `shared` value they stay shared. A host value that differs between parameters
(`lr`, `t`, `rows`) joined with a shared value is `tensor`, one per parameter.

Conditions are values of the same kinds. Arithmetic takes numbers; `and`, `or`, `not` and `where` take conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from optgen.diagnostics import Span
from optgen.expressions import DRAWS, Binary, Call, Expr, IsSet, Name, Number, Text, Unary, children
from optgen.lang.builtins import TENSORS, is_reduction
from optgen.model import COUNTS, DIMENSIONS, EPSILON, PER_PARAMETER, Kind, Optimizer, Program, StateDecl


class Report(Protocol):
    """Takes an error, and the section that explains it if that is not the one of its code."""

    def __call__(self, code: str, message: str, span: Span, help: str, section: str | None = None, /) -> None: ...


MEANING = {
    Kind.HOST: "a host value",
    Kind.SHARED: "shared by all parameters",
    Kind.TENSOR: "per tensor",
    Kind.ROW: "per row",
    Kind.COL: "per column",
    Kind.ELEM: "per element",
}


@dataclass(frozen=True)
class ValueKind:
    """The kind of a value. `uniform`: host, and the same for all parameters. `condition`: true or false, no number."""

    kind: Kind
    uniform: bool = False
    condition: bool = False


CONSTANT = ValueKind(Kind.HOST, uniform=True)
Names = Mapping[str, ValueKind | None]
"""Kinds of values by key (`m`, `m'`). None marks one with a reported error, about which nothing more is reported."""


def join(a: ValueKind, b: ValueKind) -> ValueKind:
    """The kind of a value that is computed from both."""
    if a.uniform or b.uniform:
        return b if a.uniform else a
    if a.kind == b.kind:
        return a
    kinds = {a.kind, b.kind}
    if Kind.ELEM in kinds or kinds == {Kind.ROW, Kind.COL}:
        return ValueKind(Kind.ELEM)
    return ValueKind(next((k for k in (Kind.ROW, Kind.COL) if k in kinds), Kind.TENSOR))


def fits(value: ValueKind, kind: Kind) -> bool:
    """Whether a state of this kind can take the value, as it is or repeated."""
    if value.uniform or value.kind == kind:
        return True
    return kind not in (Kind.HOST, Kind.SHARED) and join(value, ValueKind(kind)).kind == kind


def base_names(optimizer: Optimizer, states: tuple[StateDecl, ...]) -> dict[str, ValueKind | None]:
    """The values that exist before the first equation."""
    names: dict[str, ValueKind | None] = dict.fromkeys(optimizer.all_params(), CONSTANT)
    names |= dict.fromkeys((*PER_PARAMETER, *COUNTS, *DIMENSIONS), ValueKind(Kind.HOST))
    names |= dict.fromkeys(TENSORS, ValueKind(Kind.ELEM))
    names |= {i.name: ValueKind(Kind.ELEM) for i in optimizer.inputs}
    names |= {s.name: ValueKind(s.kind) for s in states}
    return names | {"step": CONSTANT, EPSILON: CONSTANT}


def infer(program: Program, optimizer: Optimizer) -> dict[str, Kind]:
    """The kind of every name of a checked variant, by key: `m`, `m'`, `lr`, `d` and so on."""
    names = infer_values(program, base_names(optimizer, program.states), _never)
    return {key: value.kind for key, value in names.items() if value is not None}


def _never(code: str, message: str, span: Span, help: str, section: str | None = None) -> None:
    raise AssertionError(f"{code} in a checked spec: {message}")


def infer_values(program: Program, names: dict[str, ValueKind | None], report: Report) -> dict[str, ValueKind | None]:
    """Infer the kinds of what the equations define, and report errors. Returns `names` with these added."""
    declared = {s.name: s.kind for s in program.states} | {"w": Kind.ELEM}
    for equation in program.equations:
        target = equation.target
        value = value_of(equation.value, names, report, draw_allowed=True)
        if not target.primed:
            names[target.key] = value
            continue
        kind = declared.get(target.id)
        if value is not None and kind is not None:
            _check_state(target, kind, value, equation.value, names, report)
        names[target.key] = ValueKind(kind) if kind is not None else None
    return names


def check_start(state: StateDecl, start: Expr, names: Names, report: Report) -> None:
    """Report the start of a state that is no number, or of a kind that the state cannot take."""
    value = value_of(start, names, report)
    if value is not None:
        _check_state(Name(state.name, False, state.span), state.kind, value, start, names, report)


def _check_state(target: Name, kind: Kind, value: ValueKind, expr: Expr, names: Names, report: Report) -> None:
    if value.condition:
        report("E305", f"{target.key} is a number, but this is a condition", expr.span, "write where(condition, 1, 0)")
    elif fits(value, kind):
        return
    elif kind is Kind.SHARED:
        _not_shared(target, expr, names, report)
    else:
        message = f"state '{target.id}' is {MEANING[kind]}, but this is {MEANING[value.kind]}"
        if kind is Kind.HOST:
            help = f"a host value is known before any element is read; declare 'state {target.id}: {value.kind.value}'"
        else:
            help = f"declare 'state {target.id}: {join(value, ValueKind(kind)).kind.value}', or reduce the value"
        report("E301", message, expr.span, help)


def _not_shared(target: Name, expr: Expr, names: Names, report: Report) -> None:
    """Report the first part of an expression that differs between parameters."""
    part, value = next(_differing(expr, names))
    what = f"'{part.key}'" if isinstance(part, Name) else "this"
    if value.kind is Kind.HOST:
        found = "differs between parameters"
        help = f"lr, wd, t and the sizes belong to one parameter; move {what} into what is reduced 'over params'"
        if isinstance(part, Name) and part.id == "t":
            help = "write step, the count of updates that all parameters share"
    else:
        found = f"is {MEANING[value.kind]}"
        help = "reduce it with 'over params'"
    message = f"state '{target.id}' is {MEANING[Kind.SHARED]}, but {what} {found}"
    report("E301", message, part.span, help)


def _differing(expr: Expr, names: Names) -> Iterator[tuple[Expr, ValueKind]]:
    """The smallest parts of an expression that are not the same for all parameters: names, reductions, draws."""
    value = value_of(expr, names, lambda *error: None)  # errors were reported for the whole expression
    whole = isinstance(expr, Name) or (isinstance(expr, Call) and (expr.function in DRAWS or is_reduction(expr)))
    if value is None or value.uniform or value.kind is Kind.SHARED:
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
            return names.get(expr.key)
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
        case Binary(op=op):
            value = _numbers((expr.left, expr.right), names, report)
            comparison = op in ("<", "<=", ">", ">=", "==", "!=")
            return replace(value, condition=True) if value is not None and comparison else value
        case Call(function=function) if function in DRAWS:
            if not draw_allowed and not expr.args:
                help = f"name it on a line of its own: z = {function}(); the name fixes which numbers are drawn"
                report("E306", "a draw inside an expression", expr.span, help)
            return ValueKind(Kind.ELEM)
        case Call() if is_reduction(expr):
            return _reduction(expr, names, report)
        case Call(function="where", args=(condition, *sides)):
            return _all((_conditions((condition,), names, report), _numbers(sides, names, report)), condition=False)
        case Call():
            return _numbers(expr.args, names, report)
    return None


def _all(values: tuple[ValueKind | None, ...], *, condition: bool) -> ValueKind | None:
    """The join of all values, None if one of them failed."""
    joined = CONSTANT
    for value in values:
        if value is None:
            return None
        joined = join(joined, replace(value, condition=False))
    return replace(joined, condition=condition)


def _numbers(exprs: tuple[Expr, ...] | list[Expr], names: Names, report: Report) -> ValueKind | None:
    values = tuple(value_of(e, names, report) for e in exprs)
    for expr, value in zip(exprs, values, strict=True):
        if value is not None and value.condition:
            report("E305", "this is a condition, but a number is needed", expr.span, "write where(condition, 1, 0)")
            return None
    return _all(values, condition=False)


def _conditions(exprs: tuple[Expr, ...], names: Names, report: Report) -> ValueKind | None:
    values = tuple(value_of(e, names, report) for e in exprs)
    for expr, value in zip(exprs, values, strict=True):
        if value is not None and not value.condition:
            report("E305", "this is a number, but a condition is needed", expr.span, "compare it, as in x > 0")
            return None
    return _all(values, condition=True)


_REDUCED = {
    None: {Kind.ROW: Kind.TENSOR, Kind.COL: Kind.TENSOR, Kind.ELEM: Kind.TENSOR},
    "row": {Kind.ELEM: Kind.ROW},
    "col": {Kind.ELEM: Kind.COL},
    "matrix": {Kind.ROW: Kind.ROW, Kind.COL: Kind.COL, Kind.ELEM: Kind.ROW},
    "params": dict.fromkeys((Kind.HOST, Kind.TENSOR, Kind.ROW, Kind.COL, Kind.ELEM), Kind.SHARED),
}
"""Scope and kind of the argument -> kind of the reduction. Other combinations have nothing to reduce over."""


def _reduction(call: Call, names: Names, report: Report) -> ValueKind | None:
    value = _numbers(call.args, names, report)
    if value is None:
        return None
    kind = None if value.uniform else _REDUCED[call.scope].get(value.kind)
    if kind is None:
        scope = {None: "", "row": " per row", "col": " per column", "matrix": " per matrix", "params": " over params"}[
            call.scope
        ]
        message = f"nothing to reduce{scope}: this is {'a constant' if value.uniform else MEANING[value.kind]}"
        help = (
            "leave the scope out"
            if call.scope in ("row", "col") and value.kind in (Kind.ROW, Kind.COL)
            else (f"use the value itself, without {call.function}()")
        )
        report("E302", message, call.args[0].span, help)
        return None
    return ValueKind(kind)
