"""What states hold: sums of gradients or of their squares, each times a weight, as the equations prove it.

An equation `m' = A*m + B*g`, whose A and B are numbers that params and the count tell, makes of m a sum of gradients.
The sum of their weights follows, so that m over it is the mean of gradients: whether m is a mean, is corrected for its
start at 0, or is a sum, as of SGD with momentum. `optgen.torch.convert` takes states over by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from optgen.axes import Kind
from optgen.expressions import Call, Expr, Name, Number, walk
from optgen.facts import fact
from optgen.functions.table import is_draw, is_reduction
from optgen.lang.builtins import CONSTANTS
from optgen.model import COUNTS, PHASE, Flags, Optimizer, Program, StateDecl
from optgen.polynomials import GRADIENT, NEW_WEIGHT, WEIGHT, Numbers, Polynomials, Terms, UnknownError, Values, constant

MOST = 4096
"""How many updates are looked at together."""
NOTHING = 1e-20
"""A share of a start that is taken for 0."""
LONG = 1 << 50
"""A count after which nothing of the start is left, unless nothing is ever lost."""


@dataclass(frozen=True)
class Average:
    """What a state holds: the sum over the updates of the gradient to the `power` 1 or 2, each times a weight.

    The gradient is that which a step is given. `decay` times the weight of the parameter is added to it. With
    `is_largest`, the state is the largest value of such a sum so far. With `of_weights`, it is an average of the
    parameter's weights, which starts as these. `start` is its number before the first update.
    """

    power: int
    decay: float
    start: float
    is_largest: bool
    of_weights: bool
    _factors: Callable[[Numbers], tuple[Numbers, Numbers]] = field(compare=False)
    _shares: dict[int, tuple[float, float]] = field(compare=False, default_factory=dict)

    def share(self, count: int) -> tuple[float, float]:
        """The sum of the weights after so many updates, and the share of the start that is left."""
        if count not in self._shares:
            self._shares[count] = self._share(count)
        return self._shares[count]

    def _share(self, count: int) -> tuple[float, float]:
        total, kept, last = 0.0, 1.0, count
        while last > 0 and abs(kept) > NOTHING:
            counts = np.arange(last, max(last - MOST, 0), -1, dtype=np.float64)
            a, b = (np.broadcast_to(x, counts.shape) for x in self._factors(counts))
            if a.min() == a.max() and b.min() == b.max() and self._is_constant:
                rest = float(a[0]) ** last
                geometric = last if a[0] == 1 else (1 - rest) / (1 - float(a[0]))
                return total + kept * float(b[0]) * geometric, kept * rest
            left = kept * np.cumprod(a)
            total += float(np.sum(b * np.concatenate(([kept], left[:-1]))))
            kept, last = float(left[-1]), last - len(counts)
        return total, kept if abs(kept) > NOTHING else 0.0

    @property
    def steady(self) -> float | None:
        """The sum of the weights after many updates; None if it grows with the count."""
        a, b = (float(np.asarray(x)) for x in self._factors(np.float64(LONG)))
        return b / (1 - a) if abs(a) < 1 else None

    @property
    def memory(self) -> float:
        """Over how many updates the gradients reach back, after many updates."""
        a = float(np.asarray(self._factors(np.float64(LONG))[0]))
        return 1 / (1 - a) if abs(a) < 1 else math.inf

    @property
    def _is_constant(self) -> bool:
        some = np.array([1.0, 2.0, 3.0, 1000.0, LONG])
        return all(len(np.unique(np.broadcast_to(x, some.shape))) == 1 for x in self._factors(some))


class States:
    """What the states of a program hold, with these values of params and sizes of the parameter.

    `skipped` are the names that are not computed in every update.
    """

    def __init__(self, program: Program, numbers: Values, skipped: frozenset[str] = frozenset()) -> None:
        self.program, self._numbers, self._skipped = program, numbers, skipped
        self._equations = {e.target.key: e.value for e in program.equations}
        self._kinds = {s.name: s.kind for s in program.states}
        self._computed: dict[int, dict[str, float]] = {}
        self.averages = {s.name: x for s in program.states if (x := self._average(s)) is not None}

    def _at(self, counts: Numbers, kept: Mapping[str, Numbers] | None = None) -> Polynomials:
        return Polynomials(self.program, self._numbers, self._skipped, counts, kept or {})

    def start_of(self, state: StateDecl) -> float | None:
        """The number that a state starts as; None if it starts otherwise."""
        match state.init:
            case Number(value=x):
                return x
            case Name(id=name) if name in self._numbers:
                return self._numbers[name]
        return None

    def _average(self, state: StateDecl) -> Average | None:
        if state.kind is not Kind.ELEM or state.entries:
            return None
        largest = self._largest_of(state)
        key = f"{state.name}'" if largest is None else largest

        def parts(counts: Numbers) -> tuple[Numbers, Numbers, int, float]:
            with np.errstate(all="ignore"):
                return self._parts(self._at(counts).of(key), key.removesuffix("'"))

        def factors(counts: Numbers) -> tuple[Numbers, Numbers]:
            return parts(counts)[:2]

        try:
            _, _, power, decay = parts(np.float64(LONG))
            factors(np.arange(1.0, 4.0))
        except (UnknownError, KeyError):
            return None
        start, of_weights = self.start_of(state), power == 0
        if not _last(factors(np.float64(LONG))[0]):
            return None  # the last gradient alone
        if of_weights != starts_as_weight(state) or (start is None and not of_weights):
            return None
        return Average(power, decay, start or 0.0, largest is not None, of_weights, factors)

    def _largest_of(self, state: StateDecl) -> str | None:
        """The other state of which a state is the largest value so far."""
        match self._equations.get(f"{state.name}'"):
            case Call(function="max", args=(Name(primed=False) as own, Name(primed=True) as other)):
                return other.key if own.id == state.name else None
        return None

    def _parts(self, terms: Terms, name: str) -> tuple[Numbers, Numbers, int, float]:
        """The factors of the state before and of the gradient, its power, and the weight decay in it. The power is 0
        where there is the new weight in the place of a gradient."""
        own, rest = terms.get((f"state {name}",), 0.0), dict(terms)
        rest.pop((f"state {name}",), None)
        if rest.keys() == {(NEW_WEIGHT,)}:
            return own, rest[NEW_WEIGHT,], 0, 0.0
        linear, square = (GRADIENT,), (GRADIENT, GRADIENT)
        if rest.keys() <= {linear, (WEIGHT,)} and linear in rest:
            return own, rest[linear], 1, _last(rest.get((WEIGHT,), 0.0) / rest[linear])
        if rest.keys() <= {square, (GRADIENT, WEIGHT), (WEIGHT, WEIGHT)} and square in rest:
            decay = _last(rest.get((GRADIENT, WEIGHT), 0.0) / rest[square]) / 2
            if math.isclose(_last(rest.get((WEIGHT, WEIGHT), 0.0) / rest[square]), decay**2, abs_tol=1e-12):
                return own, rest[square], 2, decay
        raise UnknownError

    def computed(self, count: int) -> dict[str, float]:
        """The states of one number that follow from params and counts alone, after so many updates."""
        if count not in self._computed:
            with np.errstate(all="ignore"):
                self._computed[count] = self._compute(count)
        return self._computed[count]

    def _compute(self, count: int) -> dict[str, float]:
        starts = {s.name: self.start_of(s) for s in self.program.states if s.kind is Kind.HOST}
        values: dict[str, Numbers] = {name: x for name, x in starts.items() if x is not None}
        known = dict[str, Numbers]()
        while known.keys() != values.keys():
            known = values
            values = {name: values[name] for name in self._next(values, 1.0)}
        for t in range(1, count + 1 if values else 1):
            values = self._next(values, float(t))
        return {name: float(x) for name, x in values.items()}

    def _next(self, values: Mapping[str, Numbers], count: float) -> dict[str, Numbers]:
        """The states after one more update, but for those that are not known."""
        after, found = self._at(count, values), dict[str, Numbers]()
        for name in values:
            try:
                found[name] = constant(after.of(f"{name}'"))
            except (UnknownError, KeyError):
                continue
        return found

    # ------------------------------------------------------------ two programs

    def has_same(self, state: StateDecl, other: States) -> bool:
        """Whether another program has the same state: one of its name, kind and start, with the same equations."""
        theirs = next((s for s in other.program.states if s.name == state.name), None)
        if theirs is None or (theirs.kind, theirs.init, theirs.entries, theirs.axes) != (
            state.kind, state.init, state.entries, state.axes
        ):  # fmt: skip
            return False
        name = Name(state.name, True, state.span)
        return self._is_same(name, name, other)

    def _is_same(self, own: Expr, theirs: Expr, other: States) -> bool:
        """Whether two expressions, with all that they read, are the same equations."""
        if own != theirs:
            return False
        for name in (x for x in walk(own) if isinstance(x, Name)):
            a, b = self._equations.get(name.key), other._equations.get(name.key)
            if (a is None) != (b is None) or (name.key in self._skipped) != (name.key in other._skipped):
                return False
            if a is not None and b is not None and not self._is_same(a, b, other):
                return False
        return True

    # ------------------------------------------------------------ the count

    @fact
    def counted(self) -> frozenset[str]:
        """The states whose use depends on the count: they are read, through whatever, by an equation of tensors that
        reads the count, or a number that follows from it, as corrections of a start at 0 do."""
        found = set[str]()
        for value in self._equations.values():
            if not self._is_number(value) and self._reads_count(value):
                found |= self._states_in(value, set())
        return frozenset(found)

    def _names_in(self, expr: Expr) -> Iterator[str]:
        yield from (x.key for x in walk(expr) if isinstance(x, Name))

    def _is_number(self, expr: Expr) -> bool:
        """Whether a value follows from params, counts and states of one number alone."""
        if any(isinstance(x, Call) and (is_reduction(x) or is_draw(x)) for x in walk(expr)):
            return False
        for key in self._names_in(expr):
            if key in self._equations:
                if not self._is_number(self._equations[key]):
                    return False
            elif not (key in self._numbers or key in COUNTS or key in CONSTANTS or self._kinds.get(key) is Kind.HOST):
                return False
        return True

    def _reads_count(self, expr: Expr) -> bool:
        """Whether a value reads the count, a state of one number, or a number that does; not by way of tensors."""
        for key in self._names_in(expr):
            if key in self._equations:
                value = self._equations[key]
                if self._is_number(value) and self._reads_count(value):
                    return True
            elif key in COUNTS or self._kinds.get(key) is Kind.HOST:
                return True
        return False

    def _states_in(self, expr: Expr, seen: set[str]) -> set[str]:
        """The states that a value is computed of."""
        found = set[str]()
        for key in set(self._names_in(expr)) - seen:
            seen.add(key)
            found |= {key.removesuffix("'")} & self._kinds.keys()
            if key in self._equations:
                found |= self._states_in(self._equations[key], seen)
        return found


def states_of(spec: Optimizer, flags: Flags, numbers: Values) -> States:
    """What the states of a variant hold. Of a step with phases, it is what the last one makes of them, unless an
    earlier one sets them, too."""
    chosen = {**flags, PHASE: spec.phases[-1]} if spec.phases else flags
    timed = {e.target.key for e in spec.update if e.timing is not None}
    early = {e.target.key for e in spec.update if e.target.primed and e.phase not in (None, chosen.get(PHASE))}
    return States(spec.program(chosen), numbers, frozenset(timed | early))


def starts_as_weight(state: StateDecl) -> bool:
    """Whether a state starts as the weight."""
    return isinstance(state.init, Name) and state.init.id == WEIGHT


def _last(x: Numbers) -> float:
    """A number, or that of the first of several counts."""
    return float(np.ravel(x)[0])
