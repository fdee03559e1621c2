"""The protocol of a race: which trials a contender gets, decided by the losses of those that it has had.

1. Seven rates, a factor of the square root of 10 apart, with the first seed. Their centre is the spec's `lr_hint`. A
   spec without one first has five short runs, of a fifth of the steps and a factor of 10 apart, the best of which is
   the centre.
2. Three more rates with the first seed, one after the other. While the best rate is the least or the greatest that was
   tried, the next one lies beyond it; otherwise it lies halfway between the best rate and a neighbour. The five short
   runs cost one of these three.
3. The other seeds, at the best rate and its neighbours; at the best three, if the best rate is at an end. The rate of
   the least mean loss over all seeds is the contender's.

Rates that a spec does not allow (`param lr = 0.1 in [0, 1]`) are left out, and as many more are tried as in 2.

So every contender has the work of the same number of trials, 16 with three seeds, and the same seeds. A spec that reads
no rate has nothing to tune, and one trial for each seed.

`due` is a function of what is known and nothing else: a race that was interrupted goes on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

VERSION = 1
"""Results of another protocol are not compared with those of this one."""
BRACKET = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The rates of the short runs, which together are as long as one trial."""
SHORT = 1 / len(BRACKET)
"""The part of its steps that a short run makes."""
STEP = 0.5
"""Between rates, in powers of ten."""
WINDOW = 3
"""At how many rates all seeds are tried."""


@dataclass(frozen=True)
class TrialPlan:
    """How many rates are tried around the centre, how many more, and the seeds. `rates` is odd."""

    rates: int
    more: int
    seeds: tuple[int, ...]

    @property
    def trials(self) -> int:
        """The trials of a contender."""
        return self.rates + self.more + min(WINDOW, self.rates) * (len(self.seeds) - 1)

    def __str__(self) -> str:
        n = len(self.seeds)
        seeds = f"{n} seed{'s' * (n != 1)} at the best {min(WINDOW, self.rates)}"
        return f"{self.rates + self.more} rates, {seeds}: {self.trials} trials"


def full(seeds: Sequence[int]) -> TrialPlan:
    """The plan of a race that nothing limits."""
    return TrialPlan(7, 3, tuple(seeds))


def without_rate(plan: TrialPlan) -> TrialPlan:
    """The plan of a contender that has no rate."""
    return TrialPlan(1, 0, plan.seeds)


@dataclass(frozen=True)
class Attempt:
    """A trial that is to be made. A short one ends after a part of its steps."""

    rate: float
    seed: int
    is_short: bool = False


Allows = Callable[[float], bool]
"""Whether a contender takes a rate."""
Losses = Mapping[Attempt, float]
"""The loss of each attempt that was made; infinity where it diverged."""


def due(plan: TrialPlan, hint: float | None, losses: Losses, allows: Allows = lambda rate: True) -> list[Attempt]:
    """The attempts that are to be made now, in any order; none once all have been. `hint` is a rate that is allowed;
    without it, one of BRACKET is."""
    first = plan.seeds[0]
    bracket = [Attempt(rate, first, is_short=True) for rate in BRACKET if allows(rate)] if hint is None else []
    if any(attempt not in losses for attempt in bracket):
        return missing(bracket, losses)
    centre = hint if hint is not None else min(bracket, key=losses.__getitem__).rate
    own = Rates(centre, first, losses, allows)
    middle = plan.rates // 2
    around = sorted(range(-middle, middle + 1), key=abs)  # the centre first, as the most likely one
    powers = [k * STEP for k in around if k == 0 or own.allows(k * STEP)]
    if any(own.attempt(power) not in losses for power in powers):
        return missing(map(own.attempt, powers), losses)
    for _ in range(plan.rates - len(powers) + max(0, plan.more - (hint is None))):
        powers.append(own.next(powers))
        if own.attempt(powers[-1]) not in losses:
            return [own.attempt(powers[-1])]
    window = own.window(powers)
    return missing((Attempt(own.rate(power), seed) for seed in plan.seeds[1:] for power in window), losses)


def missing(attempts: Iterable[Attempt], losses: Losses) -> list[Attempt]:
    """The attempts that have not been made."""
    return [attempt for attempt in attempts if attempt not in losses]


@dataclass(frozen=True)
class Rates:
    """The rates of a contender with the first seed, as powers of ten times the centre."""

    centre: float
    seed: int
    losses: Losses
    allowed: Allows

    def rate(self, power: float) -> float:
        """The rate, with three digits, as people write it."""
        return float(f"{self.centre * 10**power:.3g}")

    def allows(self, power: float) -> bool:
        """Whether the spec takes the rate."""
        return self.allowed(self.rate(power))

    def attempt(self, power: float) -> Attempt:
        return Attempt(self.rate(power), self.seed)

    def loss(self, power: float) -> float:
        return self.losses[self.attempt(power)]

    def next(self, powers: Sequence[float]) -> float:
        """The power to try next: beyond the best one if that is at an end, else within the wider of the gaps beside it;
        of two as wide, within that on the side of the lower loss. What lies beyond must be allowed."""
        tried = sorted(powers)
        best = min(tried, key=self.loss)
        if best == tried[0] and self.allows(best - STEP):
            return best - STEP
        if best == tried[-1] and self.allows(best + STEP):
            return best + STEP
        at = tried.index(best)
        beside = [*tried[max(0, at - 1) : at], *tried[at + 1 : at + 2]] or [best]
        other = min(beside, key=lambda power: (-abs(power - best), self.loss(power)))
        return (best + other) / 2

    def window(self, powers: Sequence[float]) -> list[float]:
        """The best power and its neighbours."""
        tried = sorted(powers)
        at = tried.index(min(tried, key=self.loss))
        start = min(max(0, at - 1), max(0, len(tried) - WINDOW))
        return tried[start : start + WINDOW]


def fitting(seconds: float, work: Sequence[float], seeds: Sequence[int]) -> TrialPlan | None:
    """The largest plan that takes no longer than `seconds`, the same for all contenders; None if none does.

    `work` has the seconds of a trial of each contender. Seeds are given up last: without them nothing tells a
    difference from chance.
    """
    total = math.fsum(work)
    return next((plan for plan in _plans(seeds) if plan.trials * total <= seconds), None)


def least(seeds: Sequence[int]) -> TrialPlan:
    """The smallest plan."""
    return _plans(seeds)[-1]


def _plans(seeds: Sequence[int]) -> list[TrialPlan]:
    return [TrialPlan(rates, more, tuple(seeds[:n])) for n in range(len(seeds), 0, -1) for rates, more in SIZES]


SIZES = ((7, 3), (7, 1), (5, 1), (3, 1))
"""The plans that a budget chooses from: rates around the centre, and more of them."""
