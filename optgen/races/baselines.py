"""Stored baselines: what specs that come with optgen did in the default tasks, one JSON file of at most 4 kB each.

A race against a spec takes its entry from there if neither spec, task nor protocol has changed since. Losses have six
digits, and curves are kept at the best rates alone, of one seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optgen import specfiles
from optgen.facts import fact
from optgen.races import contender, protocol, store, task
from optgen.races.contender import Contender
from optgen.races.protocol import TrialPlan
from optgen.races.results import Entry, Race, Trial, number, whole
from optgen.races.task import TrainingTask

FORMAT = "optgen baseline 1"
LIMIT = 4096
"""Bytes of a file."""
_DIGITS = 16
"""Of a hash, in a file."""


@dataclass(frozen=True)
class Baseline:
    """What a spec did. `spec` and `sources`, of each task, are hashes of what was raced. `versions` are those of what
    it was raced with."""

    name: str
    spec: str
    sources: Mapping[str, str]
    seeds: tuple[int, ...]
    versions: Mapping[str, str]
    entries: tuple[Entry, ...]

    @fact
    def is_stale(self) -> bool:
        """Whether its spec, a task or the protocol has changed since."""
        own = contender.read(self.name)
        return not all(self._holds(own, name, task.source_of(name)) for name in self.sources)

    @property
    def other_versions(self) -> tuple[str, ...]:
        """The versions that it was raced with, as `torch 2.6.0`, where others are installed now."""
        now = store.versions()
        return tuple(f"{name} {x}" for name, x in self.versions.items() if now.get(name) != x and name != "protocol")

    def entry(self, own: Contender, of: TrainingTask, plan: TrialPlan) -> Entry | None:
        """The entry of a task, if it is what the contender would have in a race with this plan."""
        entry = next((x for x in self.entries if x.task == of.name), None)
        same = protocol.full(self.seeds) == plan
        return entry if same and self._holds(own, of.name, of.source) else None

    def _holds(self, own: Contender, name: str, source: str | None) -> bool:
        same = self.versions.get("protocol") == str(protocol.VERSION) and self.spec == own.identity[:_DIGITS]
        return same and source is not None and self.sources.get(name) == source[:_DIGITS]


def names() -> tuple[str, ...]:
    """The names of the specs with a baseline, sorted."""
    return tuple(sorted(path.stem.replace("+", "/") for path in specfiles.races().glob("*.json")))


def read(name: str) -> Baseline | None:
    """The baseline of a spec that comes with optgen; None if there is none. Raises ValueError for a damaged file."""
    if not specfiles.is_name(name):
        return None
    path = specfiles.races() / file_name(name)
    try:
        own = json.loads(path.read_bytes())
        return _decoded(own, name)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no baseline: {error!r}; remove it, or write it again: optgen race") from None


def file_name(name: str) -> str:
    """The file of a spec; torch/adam is in torch+adam.json."""
    return f"{name.replace('/', '+')}.json"


def encoded(race: Race, own: Contender, tasks: Sequence[TrainingTask], plan: TrialPlan) -> bytes:
    """The file of a contender's entries. Raises ValueError if it is too long."""
    words: dict[str, Any] = {"format": FORMAT, "name": own.name, "spec": own.identity[:_DIGITS]}
    words |= {"versions": dict(store.versions()), "seeds": list(plan.seeds), "tasks": {}}
    for each in tasks:
        entry = race.entry(own.name, each.name)
        trials = [[rate, *map(_short, own_trials)] for rate, own_trials in entry.by_rate.items()]
        curve = [[step, _rounded(loss, 5)] for step, loss in (entry.best[0].curve if entry.best else ())]
        sizes = {"state_bytes": entry.state_bytes, "parameters": entry.parameters}
        words["tasks"][each.name] = {"source": each.source[:_DIGITS], **sizes, "trials": trials, "curve": curve}
    data = json.dumps(words, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    if len(data) > LIMIT:
        raise ValueError(f"the baseline of {own.name} would have {len(data)} bytes, and {LIMIT} is the limit")
    return data


def _short(trial: Trial) -> list[Any]:
    """A trial in a file: loss, seconds, steps and seconds to the target."""
    found = [_rounded(trial.loss, 6), _rounded(trial.seconds, 3)]
    reached = [trial.steps_to_target, _rounded(trial.seconds_to_target, 3)]
    return found if trial.steps_to_target is None else [*found, *reached]


def _rounded(x: float | None, digits: int) -> float | None:
    return None if x is None else float(f"{x:.{digits}g}")


def _decoded(own: Mapping[str, Any], name: str) -> Baseline:
    if own["format"] != FORMAT:
        raise ValueError(f"format {own['format']!r}")
    seeds = tuple(map(whole, own["seeds"]))
    versions = {str(key): str(x) for key, x in own["versions"].items()}
    entries = tuple(_entry(name, task_name, each, seeds) for task_name, each in own["tasks"].items())
    sources = {str(task_name): str(each["source"]) for task_name, each in own["tasks"].items()}
    return Baseline(name, str(own["spec"]), sources, seeds, versions, entries)


def _entry(name: str, task_name: str, own: Mapping[str, Any], seeds: Sequence[int]) -> Entry:
    trials = [
        _trial(number(rate), seed, short)
        for rate, *each in own["trials"]
        for seed, short in zip(_in_order(seeds, len(each)), each, strict=True)
    ]
    entry = Entry(name, task_name, tuple(trials), whole(own["state_bytes"]), whole(own["parameters"]), stored=True)
    curve = tuple((whole(step), number(loss)) for step, loss in own["curve"])
    shown = (replace(x, curve=curve) if entry.best and x == entry.best[0] else x for x in trials)
    return replace(entry, trials=tuple(shown))


def _in_order(seeds: Sequence[int], n: int) -> Iterable[int]:
    """The seeds of a rate's trials: all, sorted, or the first one alone."""
    return sorted(seeds) if n > 1 else seeds[:1]


def _trial(rate: float, seed: int, short: Sequence[Any]) -> Trial:
    loss, seconds, steps, to_target = [*short, None, None][:4]
    reached = None if steps is None else whole(steps)
    return Trial(rate, seed, number(loss, none=True), (), number(seconds), reached, number(to_target, none=True))
