"""Equations as a linear recurrence on a quadratic, and the largest curvature at which it is stable.

On the loss h*w^2/2 the gradient is h*w. Where an update is then a linear map A of weight and states, it is stable if
all roots of det(z - A) lie within the unit circle. A root crosses it, as h grows from 0, at 1, at -1 or as a pair of
complex ones. Each of these is an equation in h (the conditions of Jury, 1961), whose solutions are all curvatures where
stability can change.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from optgen.expressions import Binary, Expr, Name, Number, children, walk, with_children
from optgen.model import Optimizer
from optgen.symbolic.algebra import NOWHERE, Algebra, NoClosedForm, to_tree

LARGEST_ORDER = 4
"""The largest number of weights and states of a recurrence that is solved."""
LONGEST, MOST_TERMS, FEW_TERMS = 150, 1000, 100
"""What SymPy is given has at most so many operations, and terms when it is expanded; fewer where powers of it are
taken. More could take for ever."""
NEAR = 1e-6
Equations = Sequence[tuple[str, Expr]]
"""Keys and values of the equations of a phase."""
_GRADIENT = sp.Symbol("g", real=True, nonzero=True)
_H = sp.Symbol("curvature h", positive=True)  # no name of a spec has a space

OTHER_SIZES = (1e-6, 1e-3, 1e3)
"""Frozen states have other sizes, at which the same curvature must be the first one."""


@dataclass(frozen=True)
class LargestCurvature:
    """The curvature `bound` times `scale` is the largest stable one; `value` is the product at the given values.

    `scale` has all that depends on frozen states; a number 1 without any. `times_rate` is the bound times the rate lr,
    if that does not depend on lr.
    """

    bound: Expr
    times_rate: Expr | None
    scale: Expr
    value: float
    has_scale: bool


def largest_curvature(
    optimizer: Optimizer, phases: Sequence[Equations], frozen: Sequence[str], values: Mapping[str, float | None]
) -> LargestCurvature:
    """The largest curvature at which many updates are stable, at these values of params. `phases` are the equations of
    one variant, in order. States in `frozen` keep positive values.

    Raises NoClosedForm where the update is no linear map, or has too many states, or is stable nowhere.
    """
    algebra = Algebra(optimizer)
    names = follow(algebra, phases, lambda weight: _H * weight, values, frozen)
    matrix = _matrix(algebra, names)
    numbers = {
        x: sp.Float(1.0 if x.name in frozen else number_of(x, algebra, values)) for x in matrix.free_symbols - {_H}
    }
    candidates = [x for condition in _conditions(matrix, numbers) for x in _solutions(condition, numbers)]
    known = [(complex(x.xreplace(numbers).evalf()), x) for x in candidates]
    real = [(x.real, of) for x, of in known if abs(x.imag) < NEAR * abs(x) and x.real > 0]
    ends = [0.0, *sorted(x for x, _ in real)]
    stable = [_radius(matrix, numbers, (a + b) / 2) < 1 for a, b in zip(ends, [*ends[1:], 2 * ends[-1]], strict=True)]
    if not real or not stable[0] or all(stable):
        raise NoClosedForm("no closed form: it is stable at no curvature, or at every one")
    end = ends[stable.index(False)]
    found = next(x for value, x in real if value == end)
    if found.is_Float:
        raise NoClosedForm("no closed form: the largest curvature is the root of a polynomial of high degree")
    for size in OTHER_SIZES:
        others = {x: sp.Float(size) if x.name in frozen else value for x, value in numbers.items()}
        if _first(candidates, others) is not found:
            raise NoClosedForm("no closed form: which curvature is the largest depends on the states that are frozen")
    return _bound(algebra, found, frozen, numbers)


def _first(candidates: Sequence[sp.Expr], numbers: Mapping[sp.Symbol, sp.Float]) -> sp.Expr | None:
    """The least of some curvatures that is real and above 0."""
    known = [(complex(x.xreplace(numbers).evalf()), x) for x in candidates]
    real = [(x.real, of) for x, of in known if abs(x.imag) < NEAR * abs(x) and x.real > 0]
    return min(real, key=lambda pair: pair[0])[1] if real else None


def follow(
    algebra: Algebra,
    phases: Sequence[Equations],
    gradient: Callable[[sp.Expr], sp.Expr],
    values: Mapping[str, float | None],
    frozen: Sequence[str] = (),
) -> list[str]:
    """Compute the equations of an update after many updates, with the gradient at a weight, and return the names that
    it carries: the weight and the states on which that depends. `algebra.values` then has their values after it, as
    functions of the symbols that are called like them. `values` are those of params.

    Raises NoClosedForm where a param is set that may be none, as `clip_gradient`, or a value is too long.
    """
    _reserve(algebra, phases, values)
    symbols, params = dict(algebra.values), frozenset(values)
    for name in frozen:
        algebra.values[name] = algebra.values[f"{name}'"] = sp.Symbol(name, positive=True) ** 2  # its roots are simple
    kept = {key.removesuffix("'") for equations in phases for key, _ in equations if key.endswith("'")} - {*frozen}
    for name in kept:
        algebra.values[name] = symbols.get(name, sp.Symbol(name, real=True))
    for equations in phases:
        raw = gradient(algebra.values["w"])
        algebra.values |= {"grad": raw, "g": algebra.values["rescale_grad"] * raw}
        for key, value in equations:
            if key.removesuffix("'") not in frozen:
                algebra.values[key] = short(algebra.expr(after_long(value, algebra.units, params)))
        algebra.values |= {name: algebra.values[f"{name}'"] for name in kept if f"{name}'" in algebra.values}
    carried, wanted = list[str](), ["w"]
    while wanted:
        name = wanted.pop()
        carried.append(name)
        used = {str(x) for x in algebra.values[name].free_symbols}
        wanted += sorted(kept & used - {*carried, *wanted})
    return carried


def _reserve(algebra: Algebra, phases: Sequence[Equations], values: Mapping[str, float | None]) -> None:
    """Give the reserved params symbols, where they are not at their defaults."""
    read = {e.id for equations in phases for _, x in equations for e in walk(x) if isinstance(e, Name)}
    read |= {"clip_gradient", "rescale_grad"} if "g" in read else set()
    for name in sorted(read & algebra.optional):
        if values.get(name) is not None:
            raise NoClosedForm(f"no closed form: {name} is set")
    for name, plain in (("wd", 0.0), ("rescale_grad", 1.0)):
        if values.get(name, plain) != plain:
            algebra.values[name] = sp.Symbol(name, real=True)


def short(expr: sp.Expr, longest: int = LONGEST, most: int = MOST_TERMS) -> sp.Expr:
    """An expression that SymPy expands and simplifies in little time. Raises NoClosedForm for another one."""
    if sp.count_ops(expr) > longest or terms(expr) > most:
        raise NoClosedForm("no closed form: the equations are too long")
    return expr


def terms(expr: sp.Expr) -> int:
    """At most how many terms an expanded expression has."""
    counts = [terms(x) for x in expr.args]
    match expr:
        case sp.Add():
            return sum(counts)
        case sp.Mul():
            return math.prod(counts)
        case sp.Pow(exp=sp.Integer() as n):
            k = abs(int(n))
            return math.comb(counts[0] + k - 1, k)
    return max(counts, default=1)


def after_long(expr: Expr, units: frozenset[str], params: frozenset[str]) -> Expr:
    """An expression after many updates: powers beta^t of what is below 1 are 0, and the count is above any number.
    `units` are the `params` in [0, 1). Raises NoClosedForm where it depends on the count otherwise."""
    match expr:
        case Binary(op="^", left=base, right=exponent) if _is_below_one(base, units) and _grows(exponent):
            return Number(0.0, "0", expr.span)
        case Binary(op="<" | "<=" | "==" | ">" | ">=" | "!=" as op, left=left, right=right) if _counts(
            left, right, params
        ):
            holds = op == "!=" or (op != "==" and (op in ("<", "<=")) == _grows(right))
            return Binary("<" if holds else ">", Number(0.0, "0", expr.span), Number(1.0, "1", expr.span), expr.span)
        case Name(id="t" | "step"):
            raise NoClosedForm("no closed form: the update depends on the count")
    return with_children(expr, [after_long(x, units, params) for x in children(expr)])


def _is_below_one(base: Expr, units: frozenset[str]) -> bool:
    return (isinstance(base, Name) and base.id in units) or (isinstance(base, Number) and 0 <= base.value < 1)


def _grows(expr: Expr) -> bool:
    """Whether an expression is the count, or that plus or times a number."""
    match expr:
        case Name(id="t" | "step"):
            return True
        case Binary(op="+" | "-", left=x, right=Number()) | Binary(op="+", left=Number(), right=x):
            return _grows(x)
        case (
            Binary(op="*", left=Number(value=value), right=x) | Binary(op="*" | "/", left=x, right=Number(value=value))
        ):
            return value > 0 and _grows(x)
    return False


def _counts(left: Expr, right: Expr, params: frozenset[str]) -> bool:
    """Whether one side of a comparison is the count, and the other a number or a param."""

    def stays(x: Expr) -> bool:
        return isinstance(x, Number) or (isinstance(x, Name) and not x.primed and x.id in params)

    return (_grows(left) and stays(right)) or (_grows(right) and stays(left))


def _matrix(algebra: Algebra, names: Sequence[str]) -> sp.Matrix:
    """The update as a linear map."""
    if len(names) > LARGEST_ORDER:
        raise NoClosedForm("no closed form: too many states")
    symbols = [sp.Symbol(x, real=True) for x in names]
    rows = []
    for name in names:
        value = sp.expand(short(algebra.values[name]))
        row = [value.diff(x) for x in symbols]
        if any(x.free_symbols & {*symbols} for x in row) or value.xreplace(dict.fromkeys(symbols, sp.Integer(0))) != 0:
            raise NoClosedForm("no closed form: the update is no linear map of weight and states")
        rows.append(row)
    return sp.Matrix(rows)


def _conditions(matrix: sp.Matrix, numbers: Mapping[sp.Symbol, sp.Float]) -> list[sp.Expr]:
    """What is 0 where a root of the characteristic polynomial is on the unit circle; with numbers in the place of
    params where it would be long."""
    found = _jury(matrix)[:2] if _size(matrix) <= MOST_TERMS else []
    own = matrix if _size(matrix) <= FEW_TERMS else matrix.xreplace(numbers)
    return [sp.numer(sp.together(x)) for x in (*found, *_jury(own)[len(found) :])]


def _size(matrix: sp.Matrix) -> int:
    """At most how many terms the determinant has."""
    return math.prod(max(1, sum(terms(x) for x in matrix.row(i) if x != 0)) for i in range(matrix.rows))


def _jury(matrix: sp.Matrix) -> list[sp.Expr]:
    """Polynomials that are 0 where a root is 1, -1, or one of a pair on the unit circle."""
    z = sp.Symbol("z")
    polynomial = matrix.charpoly(z)
    found = [polynomial.as_expr().subs(z, 1), polynomial.as_expr().subs(z, -1)]
    _, *rest = polynomial.all_coeffs()
    if len(rest) == 2:
        found.append(1 - rest[1])
    elif len(rest) == 3:
        a2, a1, a0 = rest
        found.append(1 - a1 + a0 * a2 - a0**2)
    elif len(rest) == 4:  # the polynomial is z^2 - c*z + 1 times z^2 + (a3 + c)*z + a0, with c*(1 - a0) = a1 - a3
        a3, a2, a1, a0 = rest
        found.append((a2 - 1 - a0) * (1 - a0) ** 2 + (a1 - a3) * (a3 * (1 - a0) + a1 - a3))
    return found


def _solutions(condition: sp.Expr, numbers: Mapping[sp.Symbol, sp.Float]) -> list[sp.Expr]:
    """The curvatures at which a condition is 0; numbers where there is no short formula for them."""
    if terms(condition) > MOST_TERMS:
        condition = condition.xreplace(numbers)
    polynomial = sp.Poly(sp.expand(condition), _H)
    is_short = sum(map(sp.count_ops, polynomial.all_coeffs())) <= LONGEST and not condition.has(sp.Float)
    if polynomial.degree() <= 2 and is_short:
        return list(sp.roots(polynomial)) if polynomial.degree() > 0 else []
    values = [float(x.xreplace(numbers).evalf()) for x in polynomial.all_coeffs()]
    return [sp.Float(x.real) for x in np.roots(values) if abs(x.imag) <= NEAR * abs(x)]


def _radius(matrix: sp.Matrix, numbers: Mapping[sp.Symbol, sp.Float], h: float) -> float:
    """The largest size of an eigenvalue."""
    found = np.array(matrix.xreplace({**numbers, _H: sp.Float(h)}).evalf().tolist(), np.float64)
    return float(np.abs(np.linalg.eigvals(found)).max())


def number_of(symbol: sp.Symbol, algebra: Algebra, values: Mapping[str, float | None]) -> float:
    """The value of a symbol: of a param, or of what a param is less than 1. NoClosedForm for other symbols."""
    if symbol in algebra.complements:
        return 1 - float(values[symbol.name.removeprefix("1-")] or 0.0)
    found = values.get(symbol.name)
    if found is None:
        raise NoClosedForm(f"no closed form: {symbol} has no value")
    return float(found)


def _bound(
    algebra: Algebra, curvature: sp.Expr, frozen: Sequence[str], numbers: Mapping[sp.Symbol, sp.Float]
) -> LargestCurvature:
    """The largest curvature, apart from what depends on frozen states."""
    own = {x for x in curvature.free_symbols if x.name in frozen}
    found = sp.factor(short(curvature))
    bound, scale = found.as_independent(*own, as_Add=False) if own else (found, sp.Integer(1))
    params = as_params(algebra, numbers)
    rate = sp.simplify(bound * algebra.values["lr"])
    has_rate = algebra.values["lr"] in rate.free_symbols
    shown = {**algebra.complements, **{x: sp.sqrt(x) for x in own}}
    trees = [fraction(x.xreplace(shown), params) for x in (bound, rate, scale)]
    value = float(bound.xreplace(numbers).evalf())
    return LargestCurvature(trees[0], None if has_rate else trees[1], trees[2], value, bool(own))


def as_params(algebra: Algebra, numbers: Mapping[sp.Symbol, sp.Float]) -> dict[sp.Symbol, sp.Float]:
    """The values of symbols, of params in the place of what these are less than 1."""
    return {
        sp.Symbol(x.name.removeprefix("1-"), real=True) if x in algebra.complements else x: (
            1 - value if x in algebra.complements else value
        )
        for x, value in numbers.items()
    }


def fraction(expr: sp.Expr, numbers: Mapping[sp.Symbol, sp.Float]) -> Expr:
    """The size of a fraction, as factors that are positive at the given values."""
    above, below = sp.fraction(sp.together(expr))
    trees = [_factors(x, numbers) for x in (above, below)]
    return trees[0] if below == 1 else Binary("/", trees[0], trees[1], NOWHERE)


def _factors(expr: sp.Expr, numbers: Mapping[sp.Symbol, sp.Float]) -> Expr:
    if expr.is_number:
        return to_tree(abs(expr))
    try:
        number, factors = sp.factor_list(expr)
    except sp.PolynomialError:  # a root of a sum, for example
        return to_tree(expr if expr.xreplace(numbers).evalf() > 0 else -expr)
    number = abs(number)
    trees = [to_tree(number)] if number != 1 or not factors else []
    for base, exponent in sorted(factors, key=lambda f: (f[0].has(_GRADIENT), f[0].is_Add, str(f[0]))):
        positive = base if base.xreplace(numbers).evalf() > 0 else -base
        trees.append(to_tree(positive if exponent == 1 else positive ** sp.sympify(exponent)))
    return functools.reduce(lambda a, b: Binary("*", a, b, NOWHERE), trees)
