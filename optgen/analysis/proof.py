"""A proof that two specs make the same updates at some settings, by induction over updates, in prime fields.

Both start as they do and make some updates: their weights are the same, and the ratio of some states of the two is the
same. Then, from any weight, any states in these ratios, any gradient and any later count, one more update leaves equal
weights, and states in the same ratios. Params, weights, gradients, states and the count are random numbers of the field
(`field.py`), so that an equation of rational formulas that holds for them holds for all, but with a chance of less than
one in 2^100. An order that nothing decides comes in both ways. With at most `MOST_COINS` independent ones in an update,
the chance that an outcome comes at no point is less than one in 10^8; with more, nothing is proved. Of updates that
belong to timings, as `every 10`, one of each kind is compared.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from optgen.analysis.equations import CannotTellError, LateUpdate, Steps
from optgen.analysis.field import PRIMES, Array, Field, FieldNumber
from optgen.analysis.settings import RATE, Setting, computed, is_decay, params_of, variant, whole
from optgen.expressions import Number, walk
from optgen.model import Optimizer, Program

POINTS = 160
"""How many random numbers each param, weight, gradient and state has at once."""
FEW = 4
"""The same where it is looked first, as most formulas that differ do so there."""
MOST_COINS = 4
"""How many signs that nothing decides an update can have. At 2*POINTS points, all of their outcomes are seen."""
STARTS = 3
"""The most updates before the induction."""
MOST_TIMINGS = 4


Ratios = Mapping[tuple[str, str], Array]
"""By the names of a state of each spec, what the first is divided by the second at each point."""


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
        first, second = map(Field, _primes(pair))
        tries = ((first, FEW), (first, POINTS), (second, POINTS))
        return all(_Proof(pair, p, changing, seed, points).holds() for seed, (p, points) in enumerate(tries))
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
    def __init__(self, pair: Pair, field: Field, changing: bool, seed: int, points: int) -> None:
        self.pair, self.field, self.changing, self.points = pair, field, changing, points
        self.random = random.Random(f"{seed} {field.p}")
        self.free = self._params()

    # ------------------------------------------------------------ random numbers

    def _any(self, shape: tuple[int, int] = (1, 1)) -> FieldNumber:
        numbers = np.empty((self.points, *shape), object)
        numbers.flat[:] = [self._nonzero() for _ in range(numbers.size)]
        return FieldNumber(numbers)

    def _params(self) -> dict[str, FieldNumber]:
        """Free params. Those that are not negative are squares; of a decay, what is left of 1 is one, too."""
        found = {}
        for p in params_of(self.pair.first).values():
            if p.is_int:
                found[p.name] = self.field.constant(repr(self.pair.sample[p.name]))
                continue
            low = 0.0 if p.name == RATE else -math.inf if p.interval is None else p.interval.low
            numbers = [self._nonzero() if low < 0 else self._positive(is_decay(p)) for _ in range(self.points)]
            found[p.name] = FieldNumber(np.array(numbers, object)[:, None, None], least=low)
        return found

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

    def _steps(
        self, side: int, w: FieldNumber, states: dict[str, FieldNumber] | None = None, late: LateUpdate | None = None
    ) -> Steps:
        """A spec before its first update, or with some states before a `late` one."""
        spec, setting = self.pair.specs[side], self.pair.settings[side]
        fixed = whole(spec, setting.values, self.pair.sample)
        flags = variant(spec, setting, self.pair.sample)
        assert flags is not None
        return Steps(
            spec, flags, self.field, self.pair.shape, self._values(side), fixed, w,
            states=states or {}, programs=self.pair.programs[side], late=late,
        )  # fmt: skip

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
        numbers = np.array([self._positive(False) for _ in range(self.points)], object)
        return FieldNumber(numbers[:, None, None], least=0.0)

    # ------------------------------------------------------------ the induction

    def holds(self) -> bool:
        """Whether both make the same updates. How many updates are the first ones is tried, from one on."""
        if RATE not in self.free and self.changing:
            return False
        w, coins = self._any(self.pair.shape), 0.0
        both, ratios = (self._steps(0, w), self._steps(1, w)), dict[tuple[str, str], Array]()
        for update in range(1, STARTS + 1):
            coins += self._coins_of_update(both)
            if coins > MOST_COINS:
                return False
            before, ratios = ratios, dict(self._ratios(both))
            same = {k: r for k, r in ratios.items() if k in before and np.array_equal(r, before[k])}
            if self._goes_on(both, ratios if update == 1 else same, update + 1):
                return True
        return False

    def _coins_of_update(self, both: tuple[Steps, Steps]) -> float:
        """Make an update of both; how many coins were thrown, infinitely many if their weights differ."""
        same, coins = self._update(both), self.field.coins()
        return coins if same else math.inf

    def _late(self, both: tuple[Steps, Steps], first: int) -> Iterator[LateUpdate]:
        """The kinds of updates from the `first` one on that timings make, each with a random count."""
        timings = {steps.when(timing) for steps in both for timing in steps.optimizer.timings}
        always = {(start, every) for start, every in timings if every == 1 and start <= first}
        if len(timings - always) > MOST_TIMINGS:
            raise CannotTellError("many timings")
        count = FieldNumber(self._any().numbers, least=float(first))
        for size in range(len(timings - always) + 1):
            for due in combinations(sorted(timings - always), size):
                yield LateUpdate(count, frozenset(always.union(due)))

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
        own = [np.broadcast_to(e.numbers, (self.points, *e.numbers.shape[1:])) for e in (x, y)]
        found = self.field.binary("/", *map(FieldNumber, own)).numbers
        first = found[:, :1, :1]
        return first if np.array_equal(found, np.broadcast_to(first, found.shape)) else None

    def _goes_on(self, both: tuple[Steps, Steps], ratios: Ratios, first: int) -> bool:
        """Whether all kinds of updates from the `first` one on, from states in these ratios, leave equal weights, and
        states in them. A ratio that does not stay is given up, as far as weights stay equal without it."""
        kinds, known = list(self._late(both, first)), 0
        while known < len(kinds):  # kinds in a row that keep all ratios
            kept = self._kept(both, ratios, kinds[0])
            if kept is None:
                return False
            known = known + 1 if len(kept) == len(ratios) else 1
            ratios, kinds = kept, [*kinds[1:], kinds[0]]
        return True

    def _kept(self, both: tuple[Steps, Steps], ratios: Ratios, late: LateUpdate) -> Ratios | None:
        """The ratios without those that an update does not keep; None if weights differ."""
        while True:
            w = self._any(self.pair.shape)
            states = [self._random_states(steps) for steps in both]
            used: dict[str, str] = {}
            for (a, b), ratio in ratios.items():
                if a not in used and b not in used.values():
                    used[a] = b
                    states[0][a] = FieldNumber(states[1][b].numbers * ratio % self.field.p)
            after = self._steps(0, w, states[0], late), self._steps(1, w, states[1], late)
            if self._coins_of_update(after) > MOST_COINS:
                return None
            found = {k: r for k, r in self._ratios(after) if k in ratios and np.array_equal(r, ratios[k])}
            lost = [(a, b) for a, b in used.items() if (a, b) not in found]
            if not lost:
                return {k: ratios[k] for k in used.items()}
            ratios = {k: r for k, r in ratios.items() if k not in lost}

    def _random_states(self, steps: Steps) -> dict[str, FieldNumber]:
        return {name: self._any(x.numbers.shape[1:]) for name, x in steps.states.items()}


def _equal(a: FieldNumber, b: FieldNumber) -> bool:
    return bool(np.all(a.numbers == b.numbers))
