"""`optgen.race`: a person's own training function, in the process that it is in."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

from optgen.model import Optimizer
from optgen.races import contender, how, protocol, racing, store
from optgen.races.contender import CannotRaceError, Contender
from optgen.races.protocol import TrialPlan
from optgen.races.racing import Pairing, length
from optgen.races.results import Refused
from optgen.races.shown import ShownRace
from optgen.races.task import Train, of_function

_UNITS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600}


def race(
    train: Train,
    specs: Sequence[str | os.PathLike[str] | Optimizer],
    budget: str | float = "10min",
    seeds: int | Sequence[int] = 3,
) -> ShownRace:
    """Compare optimizers on a model of your own, each with the same number of trials.

    `train(make_optimizer, seed, report)` trains once: `make_optimizer(net, steps)` is the optimizer to step with a
    closure, `seed` is what all that is random begins with, and `report(step, loss)` takes a held-out loss, several
    times and at the end. `specs` are names, paths, chains with arguments, as "adam(beta2=0.99) with lookahead", or what
    `optgen.parse` returned. `budget` is a time, as "90s", "10min", "2h" or seconds: the first trial of each contender
    is timed, and fewer rates, then fewer seeds, are tried where all would take longer. `seeds` is their number, or they
    themselves.

    Nothing is kept from one call to the next. The result prints as a table, shows itself in a notebook, and `save`
    writes it to a folder.

    Raises SpecErrors, FileNotFoundError and ValueError for a spec or an argument that is wrong, and RuntimeError if no
    contender comes through, or if the least race would take longer than the budget.
    """
    seconds, task, own_seeds = _seconds(budget), of_function(train), _seeds(seeds)
    if isinstance(specs, str | os.PathLike | Optimizer):
        raise TypeError(f"specs: a list of optimizers, as ['adamw', {str(specs)!r}]")
    contenders, refused = [], []
    for spec in specs:
        try:
            contenders.append(contender.read(spec))
        except CannotRaceError as error:
            refused.append(Refused(str(spec), "", str(error)))
    if not contenders:
        raise ValueError(f"nobody to race: {refused[0].reason}" if refused else "specs: there are none")
    _check_different(contenders)
    full = protocol.full(own_seeds)
    pairings = [Pairing(x, task, full) for x in contenders]
    plan, cut = _fitted(pairings, full, seconds, str(budget))
    for pairing in pairings:
        pairing.plan = plan
    racing.run_here(pairings)
    entries, out = racing.entries_of(pairings)
    words = how.described(contenders, [task], plan, cut)
    return ShownRace((task.info,), entries, words, store.versions(), (*refused, *out))


def _fitted(pairings: Sequence[Pairing], full: TrialPlan, seconds: float, budget: str) -> tuple[TrialPlan, str]:
    """The plan for a budget, by the time of the first trial of each pair, which is made here; and what was cut."""
    timed = [(pairing, racing.timed_here(pairing, pairing.due()[0])) for pairing in pairings]
    work = [took for pairing, took in timed if pairing.outcomes]
    plan = protocol.fitting(seconds, work, full.seeds)
    needed = full.trials * math.fsum(work)
    if plan == full:
        return full, ""
    if plan is None:
        least = protocol.least(full.seeds)
        raise RuntimeError(
            f"budget={budget!r} is too little: {len(work)} contenders with {least.trials} trials each, the least there "
            f"is, take about {length(least.trials * math.fsum(work))}; give that, race fewer, or train fewer steps"
        )
    return plan, f"Cut for a budget of {budget}: all {full.trials} trials would have taken about {length(needed)}."


def _seconds(budget: str | float) -> float:
    """The seconds of a budget. Raises ValueError."""
    if isinstance(budget, int | float) and not isinstance(budget, bool):
        seconds = float(budget)
    else:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(\w+)\s*", str(budget))
        if match is None or match[2] not in _UNITS:
            raise ValueError(f"budget: a time as '90s', '10min' or '2h', or seconds, not {budget!r}")
        seconds = float(match[1]) * _UNITS[match[2]]
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"budget: a time above 0, not {budget!r}")
    return seconds


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    """The seeds. Raises ValueError."""
    found = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not found or len(set(found)) < len(found) or any(not isinstance(x, int) or x < 0 for x in found):
        raise ValueError(f"seeds: how many, at least 1, or different whole numbers, not {seeds!r}")
    return found


def _check_different(contenders: Sequence[Contender]) -> None:
    """ValueError for two contenders of one name, or that compute the same."""
    names: set[str] = set()
    for own in contenders:
        if own.name in names:
            raise ValueError(f"'{own.name}' stands there twice")
        names.add(own.name)
    contender.check_different(contenders)
