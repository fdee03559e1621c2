"""The step of an update under a constant gradient, after many updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from optgen.expressions import Expr, Unary
from optgen.model import Optimizer
from optgen.symbolic.algebra import NOWHERE, Algebra, NoClosedForm
from optgen.symbolic.recurrence import Equations, as_params, follow, fraction, number_of, short

_G = sp.Symbol("g", real=True, nonzero=True)
LONGEST = 40
"""The largest number of operations in a limit that a person reads."""


def steady_step(optimizer: Optimizer, phases: Sequence[Equations], values: Mapping[str, float | None]) -> Expr:
    """The limit of w' - w where every gradient is g, which is not 0, at these values of params.

    A state with s' = a*s + b, |a| < 1, tends to b/(1 - a); one with a = 1 grows without end; one with max(s, b), from
    0, is b. Raises NoClosedForm where a state does otherwise, or the step depends on the weight.
    """
    algebra = Algebra(optimizer)
    try:
        step = _step(algebra, phases, values)
    except (TypeError, NotImplementedError) as error:  # where SymPy cannot compare, or has no limit
        raise NoClosedForm(f"no closed form: {error}") from error
    if step.has(sp.Symbol("w", real=True)):
        raise NoClosedForm("no closed form: the step depends on the weight")
    if step.has(sp.oo, sp.zoo, sp.nan, sp.I, sp.Limit, sp.AccumBounds) or sp.count_ops(step) > LONGEST:
        raise NoClosedForm("no closed form that is short enough to read")
    by_sign = sp.simplify(step * abs(_G) / _G)
    step = step if by_sign.has(_G) else by_sign * sp.sign(_G)
    params = {x: sp.Float(number_of(x, algebra, values)) for x in step.free_symbols - {_G}}
    numbers = as_params(algebra, params) | {_G: sp.Float(1.0)}
    step = step.xreplace(algebra.complements)
    tree = fraction(step, numbers)
    return Unary("-", tree, NOWHERE) if step.xreplace(numbers).evalf() < 0 else tree


def _step(algebra: Algebra, phases: Sequence[Equations], values: Mapping[str, float | None]) -> sp.Expr:
    names = follow(algebra, phases, lambda _: _G, values)
    states = {sp.Symbol(x, real=True): algebra.values[x] for x in names if x != "w"}
    if any(value.has(sp.Symbol("w", real=True)) for value in states.values()):
        raise NoClosedForm("no closed form: a state depends on the weight, which moves on")
    solved: dict[sp.Symbol, sp.Expr] = {}
    endless: set[sp.Symbol] = set()
    while left := states.keys() - solved.keys():
        ready = [s for s in left if states[s].xreplace(solved).free_symbols & left <= {s}]
        if not ready:
            raise NoClosedForm("no closed form: states depend on each other")
        for symbol in sorted(ready, key=str):
            solved[symbol] = _limit_of(symbol, states[symbol].xreplace(solved), algebra, values)
            endless |= {symbol} if solved[symbol] == symbol else set()
    step = (algebra.values["w"] - sp.Symbol("w", real=True)).xreplace(solved)
    for symbol in sorted(endless, key=str):
        step = sp.limit(short(step), symbol, sp.oo)
    return sp.simplify(short(step))


def _limit_of(symbol: sp.Symbol, value: sp.Expr, algebra: Algebra, values: Mapping[str, float | None]) -> sp.Expr:
    """The limit of a state; the symbol itself for one that grows without end."""
    if isinstance(value, sp.Max):
        own, rest = [x for x in value.args if x.has(symbol)], [x for x in value.args if not x.has(symbol)]
        if rest and all(_factor(x, symbol, algebra, values) <= 1 for x in own):
            return sp.Max(*rest)
    factor = sp.simplify(sp.expand(short(value)).diff(symbol))
    rest = sp.simplify(value.xreplace({symbol: sp.Integer(0)}))
    if factor == 1 and rest.is_positive:
        return symbol
    if not _factor(value, symbol, algebra, values) < 1:
        raise NoClosedForm("no closed form: a state has no limit")
    return rest / (1 - factor)


def _factor(value: sp.Expr, symbol: sp.Symbol, algebra: Algebra, values: Mapping[str, float | None]) -> float:
    """The size of the factor of a symbol in a linear function of it."""
    factor = sp.simplify(sp.expand(short(value)).diff(symbol))
    if factor.has(symbol) or factor.has(_G):
        raise NoClosedForm("no closed form: a state is no linear function of its last value")
    return float(abs(factor.xreplace({x: sp.Float(number_of(x, algebra, values)) for x in factor.free_symbols})))
