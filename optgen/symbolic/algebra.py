"""Algebra on update equations. SymPy is imported only here, because that takes a third of a second.

The results are for reading. SymPy re-sorts sums and cancels factors, so they are never computed with.
"""

from __future__ import annotations

import functools

import sympy as sp

from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary
from optgen.functions.interval import ALL
from optgen.functions.table import FUNCTIONS, elementwise_of, reduction_of
from optgen.model import Flags, Interval, Optimizer

NOWHERE = Span(0, 0, 0)
_UNIT = Interval(0.0, 1.0, False, True)
_COMPARE = {"<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge, "==": sp.Eq, "!=": sp.Ne}
_READABLE = 24
"""The largest number of operations in a closed form. Expanding a long product could take for ever."""


class NoClosedForm(ValueError):
    """The equations have no closed form, for example because of random draws, or sums of rows and columns."""


def first_step(optimizer: Optimizer, flags: Flags) -> Expr:
    """The change of the weight, w' - w, at the first update (t = 1, states at their initial values), simplified.

    For rescale_grad = 1, wd = 0 and no clipping, so that `grad` and `g` are both written `g`. `flags` gives each flag
    of the spec a value. Raises NoClosedForm where there is none.
    """
    algebra = Algebra(optimizer)
    program = optimizer.program(flags)
    special = optimizer.timings or any(e.loop is not None for e in program.equations)
    if special or any(state.entries for state in program.states):
        raise NoClosedForm("no closed form: loops, histories, or equations of some updates only")
    starts = [(state.name, state.init) for state in program.states]
    for key, value in (*starts, *((e.target.key, e.value) for e in program.equations)):
        try:
            algebra.values[key] = algebra.expr(value)
        except NoClosedForm:
            raise
        except (TypeError, ValueError) as error:  # for example where SymPy would compare complex numbers
            raise NoClosedForm(f"no closed form: {error}") from error
    change = algebra.values["w'"] - algebra.values["w"]
    if change.has(sp.oo, sp.zoo, sp.nan, sp.I) or sp.count_ops(change) > _READABLE:
        raise NoClosedForm("no closed form that is short enough to read")
    change = sp.factor_terms(sp.expand(change, multinomial=False))
    return to_tree(sp.factor_terms(change.xreplace(algebra.complements)))


class Algebra:
    """Translates trees to SymPy.

    A parameter p in [0, 1) is written as 1 - q with q positive, so that sqrt((1 - p) g^2) becomes sqrt(1 - p)|g|.
    `complements` turns q back. `units` are these params.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.values: dict[str, sp.Expr] = {"t": sp.Integer(1), "step": sp.Integer(1)}
        self.complements: dict[sp.Symbol, sp.Expr] = {}
        self.units = frozenset(p.name for p in optimizer.all_params.values() if p.interval == _UNIT)
        self.optional = {p.name for p in optimizer.all_params.values() if p.optional}
        for name, param in optimizer.all_params.items():
            symbol = sp.Symbol(name, real=True)
            if param.interval == _UNIT:
                complement = sp.Symbol(f"1-{name}", positive=True)
                self.complements[complement] = 1 - symbol
                self.values[name] = 1 - complement
            elif param.interval is not None and param.interval.low >= 0:
                self.values[name] = sp.Symbol(name, positive=True)
            else:
                self.values[name] = symbol
        weight, gradient = sp.symbols("w g", real=True)
        self.values |= {
            "w": weight,
            "g": gradient,
            "grad": gradient,
            "wd": sp.Integer(0),
            "rescale_grad": sp.Integer(1),
        }

    def expr(self, expr: Expr) -> sp.Expr:
        match expr:
            case Number(text=text):
                return sp.oo if text == "inf" else sp.Rational(text)
            case Name(key=key):
                return self.values.setdefault(key, sp.Symbol(key, real=True))
            case Unary(op="-", operand=x):
                return -self.expr(x)
            case Unary(operand=x):
                return sp.Not(self.expr(x))
            case Binary(op=op, left=a, right=b) if op != "@":
                return self._binary(op, self.expr(a), self.expr(b))
            case Call():
                return self._call(expr)
        raise NoClosedForm(f"no closed form: {expr!r}")

    def _binary(self, op: str, a: sp.Expr, b: sp.Expr) -> sp.Expr:
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                if b == 0:
                    raise NoClosedForm("no closed form: a division by zero at the first step")
                return a / b
            case "^":
                if a.is_number and b.is_number and not (b.is_Integer and abs(b) <= 64):
                    raise NoClosedForm("no closed form: a power of numbers")
                return a**b
            case "and":
                return sp.And(a, b)
            case "or":
                return sp.Or(a, b)
        return _COMPARE[op](a, b)

    def _clip(self, x: Expr, low: Expr, high: Expr) -> sp.Expr:
        """Clip, with bounds that may be none taken as unset."""
        value = self.expr(x)
        if not (isinstance(low, Name) and low.id in self.optional):
            value = sp.Max(self.expr(low), value)
        if not (isinstance(high, Name) and high.id in self.optional):
            value = sp.Min(self.expr(high), value)
        return value

    def _call(self, expr: Call) -> sp.Expr:
        name, scope = expr.function, expr.scope
        if name == "clip":
            x, *bounds = expr.args
            optional = isinstance(bounds[0], Name) and bounds[0].id in self.optional
            low = bounds[0] if len(bounds) == 2 or optional else Unary("-", bounds[0], expr.span)
            return self._clip(x, low, bounds[-1])
        args = [self.expr(x) for x in expr.args]
        if name == "pow":  # whose powers of numbers are limited
            return self._binary("^", *args)
        if (known := elementwise_of(expr)) is not None and known.symbolic is not None:
            if not known.symbolic.of_numbers and args[0].is_number:
                raise NoClosedForm(f"no closed form: {name} of a number")
            return known.symbolic.form(sp, *args)
        if (reduction := reduction_of(expr)) is not None and scope is None and len(args) == 1:
            return sp.Function(name, nonnegative=reduction.bounds(ALL).low >= 0 or None, real=True)(*args)
        raise NoClosedForm(f"no closed form, because of {name}")


def to_tree(expr: sp.Expr) -> Expr:
    """A SymPy expression as a tree of the model."""
    match expr:
        case sp.Symbol():
            return Name(expr.name.removesuffix("'"), expr.name.endswith("'"), NOWHERE)
        case sp.Piecewise():
            return _pieces(expr)
        case sp.Mul() | sp.Number():
            return _product(expr)
        case sp.Pow(args=(base, exponent)):
            if exponent.could_extract_minus_sign():
                return _product(expr)
            root = exponent == sp.Rational(1, 2)
            return _call("sqrt", base) if root else Binary("^", to_tree(base), to_tree(exponent), NOWHERE)
        case sp.Add():
            return _sum(expr)
        case sp.And() | sp.Or():
            op = "and" if isinstance(expr, sp.And) else "or"
            return functools.reduce(lambda a, b: Binary(op, a, b, NOWHERE), map(to_tree, sorted(expr.args, key=str)))
        case sp.core.relational.Relational():
            op = next(op for op, relation in _COMPARE.items() if isinstance(expr, relation))
            return Binary(op, to_tree(expr.lhs), to_tree(expr.rhs), NOWHERE)
        case sp.Function() | sp.Max() | sp.Min():
            function = "ceil" if isinstance(expr, sp.ceiling) else str(expr.func).lower()
            if function not in FUNCTIONS:
                raise NoClosedForm(f"no closed form, because of {function}")
            if isinstance(expr, sp.atan2):
                return _call(function, *expr.args)
            return _call(function, *sorted(expr.args, key=lambda x: (_variability(x), str(x))))
    raise NoClosedForm(f"no closed form: {expr}")


def _call(function: str, *args: sp.Expr) -> Call:
    return Call(function, tuple(to_tree(x) for x in args), None, NOWHERE)


def _integer(value: int) -> Number:
    if value > 10**15:
        raise NoClosedForm("no closed form that is short enough to read")
    return Number(float(value), str(value), NOWHERE)


def _product(expr: sp.Expr) -> Expr:
    """A product as a minus sign, then numerator over denominator."""
    if expr.could_extract_minus_sign():
        return Unary("-", to_tree(-expr), NOWHERE)
    above, below = expr.as_numer_denom()
    if below != 1:
        return Binary("/", to_tree(above), to_tree(below), NOWHERE)
    if above.is_Integer:
        return _integer(int(above))
    factors = sorted(above.as_ordered_factors(), key=_variability)
    return functools.reduce(lambda a, b: Binary("*", a, b, NOWHERE), map(to_tree, factors))


def _variability(factor: sp.Expr) -> int:
    """The sort key of a factor: numbers first, then hyper-parameters, then values that differ between elements."""
    return 0 if factor.is_number else 2 if {"g", "w"} & {s.name for s in factor.free_symbols} else 1


def _sum(expr: sp.Add) -> Expr:
    """A sum with positive terms first, and numbers before symbols."""
    terms = sorted(expr.as_ordered_terms(), key=lambda x: (bool(x.could_extract_minus_sign()), not x.is_number))
    tree = to_tree(terms[0])
    for term in terms[1:]:
        minus = term.could_extract_minus_sign()
        tree = Binary("-" if minus else "+", tree, to_tree(-term if minus else term), NOWHERE)
    return tree


def _pieces(expr: sp.Piecewise) -> Expr:
    *rest, (last, _) = expr.args
    tree = to_tree(last)
    for value, condition in reversed(rest):
        tree = Call("where", (to_tree(condition), to_tree(value), tree), None, NOWHERE)
    return tree
