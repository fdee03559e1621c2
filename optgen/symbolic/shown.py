"""The equations to show: the cases that the known flags leave, and no factor or bound that is at its default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, children, walk, with_children
from optgen.model import PHASE, Equation, Flags, Loop, Optimizer
from optgen.truth import partial_truth

Values = Mapping[str, float | None]

_NOWHERE = Span(0, 0, 0)
_ONE = Number(1.0, "1", _NOWHERE)
_AT_FIRST = Binary("==", Name("t", False, _NOWHERE), _ONE, _NOWHERE)
_RAW, _GRADIENT, _FACTOR, _BOUND = (Name(n, False, _NOWHERE) for n in ("grad", "g", "rescale_grad", "clip_gradient"))
GRADIENT = Equation(_GRADIENT, Call("clip", (Binary("*", _FACTOR, _RAW, _NOWHERE), _BOUND), None, _NOWHERE), _NOWHERE)
"""The definition of the reserved name `g`."""


def equations(
    optimizer: Optimizer, flags: Flags | None = None, values: Values | None = None, *, evaluate: bool = False
) -> tuple[Equation, ...]:
    """The equations of an update, or of the weights to evaluate with.

    `flags` are the flags that are known: cases that they exclude are left out. `values` are the hyper-parameters that
    are known, by default those of the spec: a `rescale_grad` of 1 and a `clip_gradient` of none are not shown. Where
    both are left out, `grad` is `g`; otherwise the equation of `g` comes first, if some equation reads it.

    Raises ValueError if `flags` names one that the spec lacks.
    """
    known = _checked(optimizer, flags or {})
    given = {p.name: p.default for p in optimizer.all_params.values()} if values is None else values
    lines = optimizer.evaluate if evaluate else _with_starts(optimizer, known)
    chosen = [_at_defaults(e, given) for e in _cases(lines, known)]
    if _has_default_gradient(given) or not any(
        isinstance(e, Name) and e.id == "g" for q in chosen for e in walk(q.value)
    ):
        return tuple(chosen)
    return (_at_defaults(GRADIENT, given), *chosen)


def conditions(optimizer: Optimizer, shown: Sequence[Equation], flags: Flags | None) -> Iterator[tuple[str, Expr]]:
    """The flags in the guards of `shown` that follow from params, other flags or `rank`, each with its condition;
    `flags` are as for `equations`."""
    known = flags or {}
    guards = [line.guard for line in shown if line.guard is not None]
    read = {e.id for guard in guards for e in walk(guard) if isinstance(e, Name)}
    for flag in reversed(optimizer.flags):  # a condition reads flags above it
        if flag.name in read and flag.condition is not None:
            read |= flag.names
    for flag in optimizer.flags:
        if flag.name in read and flag.condition is not None and flag.name not in known:
            yield flag.name, _undecided(flag.condition, known)


def starts(optimizer: Optimizer, flags: Flags) -> Iterator[Equation]:
    """What the first update starts states from, as equations that hold if t = 1."""
    for state in optimizer.states:
        present = state.guard is None or partial_truth(state.guard, flags) is not False
        if present and (start := optimizer.start(state)) is not None:
            yield Equation(Name(state.name, False, state.span), start, state.span, _AT_FIRST)


def _with_starts(optimizer: Optimizer, flags: Flags) -> tuple[Equation, ...]:
    """The equations of an update, with the starts of states where the values are known that they read."""
    lines = list(optimizer.update)
    for start in reversed([*starts(optimizer, flags)]):
        reads = {e.id for e in walk(start.value) if isinstance(e, Name)}
        above = [k for k, e in enumerate(lines, 1) if e.target.id in reads and not e.target.primed]
        lines.insert(max(above, default=0), start)
    return tuple(lines)


def loops(equation: Equation) -> list[Loop]:
    """The loops around an equation, the outer ones first."""
    found: list[Loop] = []
    loop = equation.loop
    while loop is not None:
        found.insert(0, loop)
        loop = loop.outer
    return found


# ---------------------------------------------------------------- flags


def _checked(optimizer: Optimizer, flags: Flags) -> Flags:
    if unknown := [name for name in flags if name not in optimizer.flag_values()]:
        has = ", ".join(optimizer.flag_values()) or "none"
        raise ValueError(f"{optimizer.name}: no flag {', '.join(map(repr, unknown))}; its flags are: {has}")
    return flags


def _cases(lines: tuple[Equation, ...], flags: Flags) -> Iterator[Equation]:
    """The cases of each group that flags leave possible, up to the first one that is taken in any case."""
    phase = flags.get(PHASE)
    own = [e for e in lines if phase is None or e.phase in (None, phase)]
    for _, group in groupby(own, key=lambda e: (e.target.key, e.loop, e.phase)):
        for equation in group:
            verdict = True if equation.guard is None else partial_truth(equation.guard, flags)
            if verdict is False:
                continue
            guard = None if verdict or equation.guard is None else _undecided(equation.guard, flags)
            yield replace(equation, guard=guard)
            if verdict and equation.timing is None:
                break


def _undecided(condition: Expr, flags: Flags) -> Expr:
    """A condition without the sides of `and` and `or` that flags decide."""
    match condition:
        case Binary(op="and" | "or", left=a, right=b):
            left, right = _undecided(a, flags), _undecided(b, flags)
            if partial_truth(a, flags) is not None:
                return right
            return left if partial_truth(b, flags) is not None else replace(condition, left=left, right=right)
        case Unary(op="not", operand=x):
            return replace(condition, operand=_undecided(x, flags))
    return condition


# ---------------------------------------------------------------- the factor and the bound of gradients


def _has_default_gradient(values: Values) -> bool:
    return values.get("rescale_grad") == 1 and values.get("clip_gradient", 0.0) is None


def _at_defaults(equation: Equation, values: Values) -> Equation:
    return replace(equation, value=_plain(equation.value, values))


def _plain(expr: Expr, values: Values) -> Expr:
    """An expression without a factor of 1 on gradients, and without a bound that is none."""
    parts = [_plain(x, values) for x in children(expr)]
    match expr, parts:
        case Name(id="rescale_grad"), _ if values.get("rescale_grad") == 1:
            return _ONE
        case Name(id="grad"), _ if _has_default_gradient(values):
            return _GRADIENT
        case (Binary(op="*"), [one, x]) | (Binary(op="*"), [x, one]) if one is _ONE:
            return x
        case Call(function="abs"), [one] if one is _ONE:
            return one
        case Call(function="clip"), [x, bound] if bound == _BOUND and values.get("clip_gradient", 0.0) is None:
            return x
    return with_children(expr, parts)
