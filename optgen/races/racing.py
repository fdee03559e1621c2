"""A race as it runs: pairs of a contender and a task, which get trials until each has had all of its own."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from optgen.races import pool, protocol, store, trials
from optgen.races.contender import Contender
from optgen.races.protocol import BRACKET, Attempt, TrialPlan
from optgen.races.results import Entry, Refused
from optgen.races.task import TrainingTask, described
from optgen.races.trials import Outcome


@dataclass
class Pairing:
    """A contender in a task: its plan, and what its trials have come to. `refused` says why it is out."""

    contender: Contender
    task: TrainingTask
    plan: TrialPlan
    outcomes: dict[Attempt, Outcome] = field(default_factory=dict)
    running: set[Attempt] = field(default_factory=set)
    refused: str = ""

    @property
    def own_plan(self) -> TrialPlan:
        """The plan of this contender: one without a rate has nothing to tune."""
        return self.plan if self.contender.has_rate else protocol.without_rate(self.plan)

    @property
    def hint(self) -> float | None:
        """The centre of its rates; None where short runs are to find it. They cannot where the spec allows none of
        their rates: its usual one is the centre then."""
        own = self.contender
        if not any(map(own.allows, BRACKET)):
            return own.usual_rate
        return own.lr_hint if self.task.is_network or not own.has_rate else None

    def due(self) -> list[Attempt]:
        """The attempts to begin now."""
        if self.refused:
            return []
        losses = {attempt: outcome.trial.value for attempt, outcome in self.outcomes.items()}
        attempts = protocol.due(self.own_plan, self.hint, losses, self.contender.allows)
        return [x for x in attempts if x not in self.running]

    @property
    def left(self) -> float:
        """How many trials are left."""
        made = sum(1 / len(BRACKET) if attempt.is_short else 1.0 for attempt in self.outcomes)
        return 0.0 if self.refused else max(0.0, self.own_plan.trials - made)

    def seconds(self) -> list[float]:
        """The seconds of whole trials, as far as trials tell."""
        return [x.trial.seconds * (len(BRACKET) if a.is_short else 1) for a, x in self.outcomes.items()]

    def entry(self) -> Entry:
        """The result; short runs are no part of it."""
        own = {attempt: x for attempt, x in self.outcomes.items() if not attempt.is_short}
        found = tuple(own[attempt].trial for attempt in sorted(own, key=lambda x: (x.rate, x.seed)))
        last = list(own.values())[-1]
        return Entry(self.contender.name, self.task.name, found, last.state_bytes, last.parameters)


def in_processes(pairings: Sequence[Pairing], processes: int) -> None:
    """Run all trials of pairs, several at a time. Trials that were made before are taken from the store, which keeps
    new ones."""
    names = {(pairing.task.place, pairing.contender.name): pairing for pairing in pairings}
    for each in pairings:
        _take_stored(each)
    if not any(pairing.due() for pairing in pairings):
        return
    with pool.TrialPool(min(processes, sum(len(x.due()) for x in pairings))) as workers, _progress(pairings) as show:
        while True:
            while workers.has_room and (pairing := _next(pairings)) is not None:
                attempt = pairing.due()[0]
                pairing.running.add(attempt)
                workers.submit(pool.TrialJob(pairing.task.place, pairing.contender.name, attempt))
            if not any(pairing.running for pairing in pairings):
                return
            for job, outcome in workers.finished():
                pairing = names[job.task, job.contender]
                pairing.running.discard(job.attempt)
                if isinstance(outcome, str):
                    pairing.refused = pairing.refused or outcome
                else:
                    pairing.outcomes[job.attempt] = outcome
                    _keep(pairing, job.attempt, outcome)
                    _take_stored(pairing)
                show(pairing, processes)


def _take_stored(pairing: Pairing) -> None:
    """Have a pair take all trials that were made before, as far as it needs them."""
    missing: set[Attempt] = set()
    while attempts := [x for x in pairing.due() if x not in missing]:
        for attempt in attempts:
            outcome = store.get(pairing.task, pairing.contender, attempt)
            if outcome is None:
                missing.add(attempt)
            else:
                pairing.outcomes[attempt] = outcome


def _keep(pairing: Pairing, attempt: Attempt, outcome: Outcome) -> None:
    """Keep a trial for later races; a warning where it cannot be written, as the race needs it no more."""
    try:
        store.put(pairing.task, pairing.contender, attempt, outcome)
    except OSError as error:
        warnings.warn(f"trials are not kept, so an interrupted race begins anew: {error}", stacklevel=2)


def _next(pairings: Iterable[Pairing]) -> Pairing | None:
    """The pair whose trial is begun next: the one that has most to do, so that none is alone at the end. One of which
    nothing is known comes first."""
    ready = [pairing for pairing in pairings if pairing.due()]
    return max(ready, key=lambda x: x.left * _mean(x.seconds()) - len(x.running) * 1e-9, default=None)


def _mean(seconds: Sequence[float]) -> float:
    return statistics.fmean(seconds) if seconds else math.inf


def run_here(pairings: Sequence[Pairing]) -> None:
    """Run all trials of pairs in this process, one after the other."""
    with _progress(pairings) as show:
        for pairing in pairings:
            while attempts := pairing.due():
                try_here(pairing, attempts[0])
                show(pairing, 1)


def try_here(pairing: Pairing, attempt: Attempt) -> None:
    """Run one trial in this process. An error puts the contender out."""
    try:
        pairing.outcomes[attempt] = trials.run(pairing.task, pairing.contender, attempt)
    except Exception as error:
        pairing.refused = described(error)


def timed_here(pairing: Pairing, attempt: Attempt) -> float:
    """Run one trial in this process, after a first step that compiles its kernels: the seconds of a whole trial."""
    try:
        trials.prepare(pairing.task, pairing.contender, attempt)
    except Exception as error:
        pairing.refused = described(error)
        return 0.0
    begin = time.perf_counter()
    try_here(pairing, attempt)
    took = time.perf_counter() - begin
    if pairing.refused:
        return 0.0
    set_up = max(0.0, took - pairing.outcomes[attempt].trial.seconds)
    return set_up + pairing.seconds()[0]


@contextmanager
def _progress(pairings: Sequence[Pairing]) -> Iterator[Callable[[Pairing, int], None]]:
    """A bar over all trials, on a terminal alone. It is told after each trial, and of how many run at a time."""
    from tqdm import tqdm

    total = sum(pairing.left for pairing in pairings)
    layout = "{l_bar}{bar}| {n:.0f}/{total:.0f} trials{postfix}"
    with tqdm(total=total, bar_format=layout, leave=False, disable=None) as bar:

        def show(pairing: Pairing, processes: int) -> None:
            bar.set_description(f"{pairing.task.name} {pairing.contender.name}"[:40], refresh=False)
            bar.set_postfix_str(time_left(pairings, processes), refresh=False)
            bar.update(total - sum(x.left for x in pairings) - bar.n)

        yield show


def time_left(pairings: Sequence[Pairing], processes: int) -> str:
    """About how long the rest takes, by the trials that each pair, or others in its task, have had."""
    total = 0.0
    for pairing in pairings:
        others = [x for other in pairings if other.task.name == pairing.task.name for x in other.seconds()]
        if pairing.left and not others:
            return "time left not known yet"
        total += pairing.left * _mean(pairing.seconds() or others or [0.0])
    return f"about {length(total / processes)} left"


def length(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


def entries_of(pairings: Iterable[Pairing]) -> tuple[tuple[Entry, ...], tuple[Refused, ...]]:
    """The results of pairs, and who is out of which task, and why.

    Raises RuntimeError if nobody came through a task, as the task is to blame then.
    """
    done = list(pairings)
    for task in dict.fromkeys(pairing.task.name for pairing in done):
        own = [pairing for pairing in done if pairing.task.name == task]
        if all(pairing.refused for pairing in own):
            raise RuntimeError(f"{task}: no contender came through: {own[0].contender.name}: {own[0].refused}")
    out = tuple(Refused(x.contender.name, x.task.name, x.refused) for x in done if x.refused)
    return tuple(pairing.entry() for pairing in done if not pairing.refused), out
