"""A proof that two specs make the same updates at some settings, by induction over updates, in prime fields.

Both start as they do and make some updates: their weights are the same, and the ratio of some states of the two is the
same in the last updates, whatever the gradients. Then, from any weight, any states in these ratios, any gradient and a
high count, one more update leaves equal weights, and states in the same ratios. Params, weights, gradients and states
are random numbers of the field (`field.py`), so that what holds for them holds for all, but with a chance of less than
one in 2^100.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optgen.analysis.equations import CannotTellError, Steps
from optgen.analysis.field import PRIMES, Array, Field, FieldNumber
from optgen.analysis.settings import RATE, Setting, computed, is_decay, params_of, sampled, variant, whole
from optgen.expressions import Number, walk
from optgen.model import Optimizer, Program

POINTS = 4
"""How many random numbers each param, weight, gradient and state has at once."""
STARTS = 3
"""The updates before the induction."""
COUNTS = (7, 55440, 1000003)
"""The counts of the updates in the induction: low and high, primes and divisible by many."""


@dataclass(frozen=True)
class Pair:
    """Two specs with their settings, for a parameter of this shape. `sample` has the free params of the first one, and
    `programs` what variants of both need, which pairs of the same specs share."""

    first: Optimizer
    second: Optimizer
    settings: tuple[Setting, Setting]
    sample: Mapping[str, float]
    shape: tuple[int, int]
    programs: tuple[dict[Any, Program], dict[Any, Program]]

    @property
    def specs(self) -> tuple[Optimizer, Optimizer]:
        return self.first, self.second


def proved(pair: Pair, *, changing: bool) -> bool:
    """Whether both make the same updates, by algebra. `changing`: `lr` differs from update to update."""
    try:
        return all(_Proof(pair, Field(p), changing, seed).holds() for seed, p in enumerate(_primes(pair)))
    except (CannotTellError, ValueError, KeyError, IndexError):
        return False


def _primes(pair: Pair) -> list[int]:
    """Two primes modulo which all positive numbers in the equations are squares."""
    exprs = [e.value for spec in pair.specs for e in (*spec.update, *spec.evaluate)]
    exprs += [x for setting in pair.settings for x in setting.values.values() if x is not None]
    texts = {e.text for expr in exprs for e in walk(expr) if isinstance(e, Number) and e.value > 0 and e.text != "inf"}
    good = [p for p in PRIMES if all(Field(p).sign(Field(p).fraction(Fraction(t))) == 1 for t in texts)]
    if len(good) < 2:
        raise CannotTellError("a number that is no square")
    return good[:2]


class _Proof:
    def __init__(self, pair: Pair, field: Field, changing: bool, seed: int) -> None:
        self.pair, self.field, self.changing = pair, field, changing
        self.random = random.Random(f"{seed} {field.p}")
        self.free = self._params()

    # ------------------------------------------------------------ random numbers

    def _any(self, shape: tuple[int, int] = (1, 1)) -> FieldNumber:
        numbers = np.empty((POINTS, *shape), object)
        numbers.flat[:] = [self._nonzero() for _ in range(numbers.size)]
        return FieldNumber(numbers)

    def _params(self) -> dict[str, FieldNumber]:
        """Free params. Those that are not negative are squares; of a decay, what is left of 1 is one, too. The real
        numbers that they stand for differ from point to point, as conditions on params may."""
        real, found = [self._real() for _ in range(POINTS)], {}
        for p in params_of(self.pair.first).values():
            if p.is_int:
                found[p.name] = self.field.constant(repr(self.pair.sample[p.name]))
                continue
            has_sign = p.name != RATE and (p.interval is None or p.interval.low < 0)
            numbers = [self._nonzero() if has_sign else self._positive(is_decay(p)) for _ in range(POINTS)]
            own = np.array([x[p.name] for x in real])[:, None, None]
            found[p.name] = FieldNumber(np.array(numbers, object)[:, None, None], own)
        return found

    def _real(self) -> Mapping[str, float]:
        """Random real values, with which both specs run the equations that are compared."""
        real = sampled(params_of(self.pair.first), self.random)
        both = zip(self.pair.specs, self.pair.settings, strict=True)
        same = all(variant(x, setting, real) == variant(x, setting, self.pair.sample) for x, setting in both)
        return real if same else self.pair.sample

    def _nonzero(self) -> int:
        return self.random.randrange(1, self.field.p)

    def _positive(self, decay: bool) -> int:
        while True:
            x = self.random.randrange(2, self.field.p) ** 2 % self.field.p
            if not decay or self.field.sign((1 - x) % self.field.p) == 1:
                return x

    # ------------------------------------------------------------ both specs

    def _values(self, side: int) -> dict[str, Any]:
        """The params of one of the specs as they are now."""
        spec, setting = self.pair.specs[side], self.pair.settings[side]
        found: dict[str, Any] = {
            p.name: None if p.default is None else self.field.constant(repr(p.default))
            for p in spec.all_params.values()
        }
        known = setting.values.items()
        return found | {p: None if x is None else computed(x, self.free, self.field) for p, x in known}

    def _steps(self, side: int, w: FieldNumber, t: int, states: dict[str, FieldNumber]) -> Steps:
        spec, setting = self.pair.specs[side], self.pair.settings[side]
        fixed = whole(spec, setting.values, self.pair.sample)
        flags = variant(spec, setting, self.pair.sample)
        assert flags is not None
        return Steps(
            spec, flags, self.field, self.pair.shape, self._values(side), fixed, w, t, states, self.pair.programs[side]
        )

    def _update(self, both: tuple[Steps, Steps]) -> bool:
        """One update of both with the same gradients; whether their weights are the same."""
        if self.changing:
            self.free |= {RATE: self._new_rate()}
        phases = len(self.pair.first.phases) or 1
        gradients = [self._any(self.pair.shape) for _ in range(phases)]
        inputs = [self._any(self.pair.shape) for _ in self.pair.first.inputs]
        for side, steps in enumerate(both):
            steps.values = self._values(side)
            steps.step(gradients, {x.name: e for x, e in zip(steps.optimizer.inputs, inputs, strict=True)})
        a, b = both
        return _equal(a.w, b.w) and _equal(a.evaluated(), b.evaluated())

    def _new_rate(self) -> FieldNumber:
        old = self.free[RATE]
        numbers = np.array([self._positive(False) for _ in range(POINTS)], object)
        return FieldNumber(numbers[:, None, None], old.real)

    # ------------------------------------------------------------ the induction

    def holds(self) -> bool:
        if RATE not in self.free and self.changing:
            return False
        w = self._any(self.pair.shape)
        both = self._steps(0, w, 0, {}), self._steps(1, w, 0, {})
        ratios: dict[tuple[str, str], Array] = {}
        for update in range(STARTS):
            if not self._update(both):
                return False
            before, ratios = ratios, dict(self._ratios(both))
            if update == STARTS - 1:
                ratios = {k: r for k, r in ratios.items() if k in before and np.array_equal(r, before[k])}
        return all(self._goes_on(both, dict(ratios), t) for t in COUNTS)

    def _ratios(self, both: tuple[Steps, Steps]) -> Iterator[tuple[tuple[str, str], Array]]:
        """The pairs of states of both that differ by one factor at each point, with this factor."""
        for a, x in both[0].states.items():
            for b, y in both[1].states.items():
                ratio = self._ratio(x, y)
                if ratio is not None:
                    yield (a, b), ratio

    def _ratio(self, x: FieldNumber, y: FieldNumber) -> Array | None:
        if x.numbers.shape[1:] != y.numbers.shape[1:] or not y.numbers.all() or not x.numbers.all():
            return None
        own = [np.broadcast_to(e.numbers, (POINTS, *e.numbers.shape[1:])) for e in (x, y)]
        found = self.field.binary("/", *map(FieldNumber, own)).numbers
        first = found[:, :1, :1]
        return first if np.array_equal(found, np.broadcast_to(first, found.shape)) else None

    def _goes_on(self, both: tuple[Steps, Steps], ratios: dict[tuple[str, str], Array], t: int) -> bool:
        """Whether an update from states in these ratios leaves equal weights, and states in them. A ratio that does
        not stay is given up, as far as weights stay equal without it."""
        while True:
            w = self._any(self.pair.shape)
            states = [self._random_states(steps) for steps in both]
            used: dict[str, str] = {}
            for (a, b), ratio in ratios.items():
                if a not in used and b not in used.values():
                    used[a] = b
                    states[0][a] = FieldNumber(states[1][b].numbers * ratio % self.field.p)
            after = self._steps(0, w, t, states[0]), self._steps(1, w, t, states[1])
            if not self._update(after):
                return False
            found = {k: r for k, r in self._ratios(after) if k in ratios and np.array_equal(r, ratios[k])}
            lost = [(a, b) for a, b in used.items() if (a, b) not in found]
            if not lost:
                return True
            ratios = {k: r for k, r in ratios.items() if k not in lost}

    def _random_states(self, steps: Steps) -> dict[str, FieldNumber]:
        return {name: self._any(x.numbers.shape[1:]) for name, x in steps.states.items()}


def _equal(a: FieldNumber, b: FieldNumber) -> bool:
    return bool(np.all(a.numbers == b.numbers))
