"""A bound of the elements of steps: by the sizes of what they are computed of, and where an average of gradients is
divided by the root of one of squares, by Cauchy and Schwarz's inequality.

With m = sum of a_i*g_i and v = sum of b_i*g_i^2 over the updates i, |m|/sqrt(v) is at most sqrt(sum of a_i^2/b_i).
Gradients proportional to a_i/b_i reach that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optgen.analysis.counts import CountDependence
from optgen.analysis.subject import Subject
from optgen.axes import Kind
from optgen.bounds import bounds, bounds_of
from optgen.expressions import Binary, Call, Expr, Name, Number, Unary, walk
from optgen.functions.interval import Bounds
from optgen.functions.table import elementwise_of, is_reduction, reduction_of
from optgen.polynomials import GRADIENT, Numbers, Polynomials, Terms, UnknownError, constant

LAST = 20000
COUNT = np.append(np.arange(1.0, LAST + 1.0), float(1 << 40))
"""The counts of updates for which a bound is computed: the first ones, and one after which the start is forgotten."""
INFINITE = np.full(COUNT.shape, math.inf)
LINEAR, SQUARE = (GRADIENT,), (GRADIENT, GRADIENT)


@dataclass(frozen=True)
class LargestStep:
    """The largest size of an element of a step, infinite where none is known. `of_averages`: by the inequality.

    `counts` says for which counts of updates it was computed, and is empty for all of them. `is_proved` is false where
    the equations may do something else at other counts.
    """

    size: float
    of_averages: bool = False
    counts: str = ""
    is_proved: bool = True


def largest_step(subject: Subject) -> LargestStep:
    """A bound of |w' - w| at the first 20000 updates and in the limit, at the values of params."""
    if not subject.is_straight or subject.spec.phases or _is_rough(subject):
        return LargestStep(math.inf)
    sizes = _Sizes(subject)
    with np.errstate(all="ignore"):
        size = float(sizes.of_step(subject.phases[0]).max())
    counts = CountDependence(sizes.equations, subject.values, sizes.bounds)
    if not (counts.is_read() or sizes.has_averages):
        return LargestStep(size)
    if counts.is_forgotten_after(LAST):
        return LargestStep(size, sizes.has_averages, f"for t up to {LAST} and t → ∞")
    return LargestStep(size, sizes.has_averages, f"for t up to {LAST} and t = 2⁴⁰", is_proved=False)


def _is_rough(subject: Subject) -> bool:
    calls = [e for _, x in subject.phases[0] for e in walk(x) if isinstance(e, Call)]
    return any(known.rounds == "much" for e in calls if (known := elementwise_of(e)) is not None)


class _Sizes:
    """The largest sizes of values, at each of COUNT. `bounds` has those of all names."""

    def __init__(self, subject: Subject) -> None:
        program = subject.programs[0]
        self.equations = dict(subject.phases[0])
        params = {name: Bounds(x, x) for name, x in subject.values.items() if x is not None}
        self.bounds = bounds(program, subject.spec) | params
        self.unset = {name for name, x in subject.values.items() if x is None}
        self.polynomials = Polynomials(program, subject.values, frozenset(), COUNT, {})
        self.states = {s.name for s in program.states if s.kind is Kind.ELEM and _is_zero(s.init)}
        self.is_clipped = subject.values["clip_gradient"] is not None
        self.has_averages = False

    def of_step(self, equations: Sequence[tuple[str, Expr]]) -> Numbers:
        """The size of w' - w."""
        increment = _increment(dict(equations)["w'"])
        return INFINITE if increment is None else self.of(increment)

    def of(self, expr: Expr) -> Numbers:
        try:
            return np.broadcast_to(np.abs(constant(self.polynomials.value(expr))), COUNT.shape)
        except (UnknownError, KeyError, TypeError):
            pass
        match expr:
            case Name(key=key) if key in self.equations and key != "w'":
                return self.of(self.equations[key])
            case Unary(op="-", operand=x):
                return self.of(x)
            case Binary(op="+" | "-", left=a, right=b):
                return self.of(a) + self.of(b)
            case Binary(op="*", left=a, right=b):
                x, y = self.of(a), self.of(b)
                return np.where((x == 0) | (y == 0), 0.0, x * y)
            case Binary(op="/", left=a, right=b):
                return self._quotient(a, b)
            case Call(function="where", args=(_, a, b)):
                return np.maximum(self.of(a), self.of(b))
            case Call(function="clip", args=(x, *limits)):
                largest = np.maximum.reduce([self.of(y) for y in limits])
                return np.minimum(self.of(x), largest) if self._holds_zero(limits) else largest
            case Call(function="sqrt", args=(x,)):
                return np.sqrt(self.of(x))
            case Call(args=args):
                bound = bounds_of(expr, self.bounds)
                known = elementwise_of(expr) or reduction_of(expr)
                found = [np.full(COUNT.shape, max(-bound.low, bound.high))]
                if known is not None and known.no_larger:  # up to rounding
                    found.append(np.maximum.reduce([self.of(x) for x in args]))
                return np.minimum.reduce(found)
        return INFINITE

    def _is_positive(self, expr: Expr) -> bool:
        """Whether a value is never below 0."""
        return bounds_of(expr, self.bounds).low >= 0

    def _holds_zero(self, limits: Sequence[Expr]) -> bool:
        """Whether 0 is between the limits of a clip, so that nothing is larger after it."""
        *low, high = limits
        is_low = all(self._is_unset(x) or bounds_of(x, self.bounds).high <= 0 for x in low)
        return is_low and (self._is_unset(high) or self._is_positive(high))

    def _is_unset(self, expr: Expr) -> bool:
        return isinstance(expr, Name) and expr.key in self.unset

    def _quotient(self, above: Expr, below: Expr) -> Numbers:
        if (found := self._of_averages(above, below)) is not None:
            self.has_averages = True
            return found
        try:
            return self.of(above) / np.abs(constant(self.polynomials.value(below)))
        except (UnknownError, KeyError, TypeError):
            return INFINITE

    # ------------------------------------------------------------ averages

    def _of_averages(self, above: Expr, below: Expr) -> Numbers | None:
        """The inequality for an average of gradients over the root of one of squares; None for what is none."""
        square = self._square_below(below)
        if square is None or self.is_clipped:
            return None
        try:
            linear = self.polynomials.value(above)
            a, b, decay = self._weights(linear, LINEAR)
            c, d, decay_of_squares = self._weights(square, SQUARE)
        except (UnknownError, KeyError, TypeError):
            return None
        if np.any(c < 0) or np.any(d < 0) or decay_of_squares < 0:  # then squares are taken away, too
            return None
        ratio = decay**2 / decay_of_squares if decay_of_squares else math.inf
        lags = COUNT - 1 if ratio == 1 else (1 - ratio ** (COUNT - 1)) / (1 - ratio)
        first = np.where(b == 0, 0.0, b**2 / d)
        rest = np.where((a == 0) | (COUNT == 1), 0.0, a**2 / c * lags)
        return np.broadcast_to(np.sqrt(first + rest), COUNT.shape)

    def _square_below(self, below: Expr) -> Terms | None:
        """What a denominator is at least the root of: sqrt(x), also plus what is not negative, or the largest of
        several."""
        match below:
            case Name(key=key) if key in self.equations:
                return self._square_below(self.equations[key])
            case Binary(op="+", left=a, right=b):
                return next(
                    (
                        found
                        for x, more in ((a, b), (b, a))
                        if self._is_positive(more) and (found := self._square_below(x)) is not None
                    ),
                    None,
                )
            case Call(function="max", args=args) if len(args) > 1:
                return next((found for x in args if (found := self._square_below(x)) is not None), None)
            case Call(function="sqrt", args=(x,)):
                return self._least(x)
        return None

    def _least(self, expr: Expr) -> Terms | None:
        """A polynomial in squares that an expression is at least."""
        if isinstance(expr, Name) and expr.key in self.equations:
            return self._least(self.equations[expr.key]) if self._is_largest(expr) else self._terms(expr)
        if isinstance(expr, Call) and expr.function == "max" and not is_reduction(expr):
            return next((found for x in expr.args if (found := self._least(x)) is not None), None)
        return self._terms(expr)

    def _is_largest(self, name: Name) -> bool:
        value = self.equations[name.key]
        return isinstance(value, Call) and value.function == "max"

    def _terms(self, expr: Expr) -> Terms | None:
        try:
            terms = self.polynomials.value(expr)
        except (UnknownError, KeyError, TypeError):
            return None
        known = {key: x for key, x in terms.items() if key != ()}  # a constant beside squares is an epsilon
        return known if known and np.all(np.asarray(terms.get((), 0.0)) >= 0) else None

    def _weights(self, terms: Terms, of: tuple[str, ...]) -> tuple[Numbers, Numbers, float]:
        """The weights of powers of gradients in a value: of the last update but one, of the last one, and by which
        factor those before fall. UnknownError for other values."""
        states = [key for key in terms if key != of]
        own = terms.get(of, 0.0)
        if not states:
            return np.float64(0.0), np.asarray(own), 1.0
        if len(states) > 1 or len(states[0]) != 1:
            raise UnknownError
        name = states[0][0].removeprefix("state ")
        change = self.polynomials.of(f"{name}'") if name in self.states else {}
        if change.keys() - {states[0], of} or of not in change or name not in self.states:
            raise UnknownError
        decay, share = (np.asarray(change.get(key, 0.0)) for key in (states[0], of))
        if decay.min() != decay.max() or share.min() != share.max():
            raise UnknownError
        return np.asarray(terms[states[0]]) * float(share.max()), np.asarray(own), float(decay.max())


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Number) and expr.value == 0


def _increment(expr: Expr) -> Expr | None:
    """What is added to w; None where that is not written so."""
    match expr:
        case Name(id="w", primed=False):
            return Number(0.0, "0", expr.span)
        case Binary(op="+" | "-" as op, left=a, right=b):
            left = _increment(a)
            if left is not None:
                return Binary(op, left, b, expr.span)
            right = _increment(b) if op == "+" else None
            return None if right is None else Binary("+", a, right, expr.span)
    return None
