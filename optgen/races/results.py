"""What a race has found: trials, the entries of contenders in tasks, and all of them, as JSON and back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from optgen.facts import fact
from optgen.races import ranks

Point = tuple[float, float, float, float]
"""A rate, then the mean, the least and the greatest loss over seeds; infinity where a trial diverged."""


class Diverged(Exception):
    """A loss that was reported is not finite: the trial ends. A task lets it pass."""


@dataclass(frozen=True)
class Trial:
    """One training run at one rate with one seed.

    `loss` is the last held-out loss; None if the run diverged. `curve` has pairs of step and held-out loss. `seconds`
    are of all steps but the first, in which kernels are compiled. `steps_to_target` and `seconds_to_target` are None
    where the target was not reached, or there is none.
    """

    rate: float
    seed: int
    loss: float | None
    curve: tuple[tuple[int, float], ...]
    seconds: float
    steps_to_target: int | None
    seconds_to_target: float | None

    @property
    def value(self) -> float:
        """The loss that trials are compared by: infinity for one that diverged."""
        return math.inf if self.loss is None else self.loss


@dataclass(frozen=True)
class Entry:
    """What a contender did in a task.

    `state_bytes` are those of all states of its optimizer at the end, for `parameters` numbers that were trained.
    `stored`: the trials were not run for this race, but come from a stored baseline, whose seconds are those of the
    machine that it was measured on.
    """

    contender: str
    task: str
    trials: tuple[Trial, ...]
    state_bytes: int
    parameters: int
    stored: bool = False

    @fact
    def by_rate(self) -> Mapping[float, tuple[Trial, ...]]:
        """The trials at each rate, the least first, by seed."""
        ordered = sorted(self.trials, key=lambda trial: (trial.rate, trial.seed))
        rates = dict.fromkeys(trial.rate for trial in ordered)
        return {rate: tuple(trial for trial in ordered if trial.rate == rate) for rate in rates}

    @fact
    def best_rate(self) -> float | None:
        """Of the rates with most seeds, the one of the least mean loss; None if there is none without divergence."""
        most = max(map(len, self.by_rate.values()), default=0)
        means = {rate: mean(trials) for rate, trials in self.by_rate.items() if len(trials) == most}
        best = min(means, key=means.__getitem__, default=None)
        return best if best is not None and math.isfinite(means[best]) else None

    @property
    def best(self) -> tuple[Trial, ...]:
        """The trials at the best rate, by seed; none if all rates diverged."""
        return () if self.best_rate is None else self.by_rate[self.best_rate]

    @property
    def losses(self) -> tuple[float, ...]:
        """The losses at the best rate, by seed."""
        return tuple(trial.value for trial in self.best)

    @property
    def loss_of_seed(self) -> Mapping[int, float]:
        """The same, as what is paired with other contenders."""
        return {trial.seed: trial.value for trial in self.best}

    @property
    def mean_loss(self) -> float:
        """The mean loss at the best rate; infinity if there is none."""
        return mean(self.best)

    @property
    def diverged(self) -> int:
        """How many trials diverged."""
        return sum(trial.loss is None for trial in self.trials)

    @property
    def is_at_end(self) -> bool:
        """Whether the best of several rates is the least or the greatest, so that there may be a better one."""
        tried = list(self.by_rate)
        return len(tried) > 1 and self.best_rate in (tried[0], tried[-1])

    def sensitivity(self) -> list[Point]:
        """Loss over rate."""
        return [
            (rate, mean(trials), min(x.value for x in trials), max(x.value for x in trials))
            for rate, trials in self.by_rate.items()
        ]


def mean(trials: Sequence[Trial]) -> float:
    """The mean loss of trials; infinity if one diverged, or there is none."""
    return math.fsum(x.value for x in trials) / len(trials) if trials else math.inf


@dataclass(frozen=True)
class Refused:
    """A contender that is out of a task, or of all (`task` is empty), and why."""

    contender: str
    task: str
    reason: str


@dataclass(frozen=True)
class TaskInfo:
    """What a table or a picture says of a task. `loss_label` names the loss with its unit. `target`: the held-out loss
    to which steps and seconds are counted, if any. Raises ValueError for words that no file and no line can have."""

    name: str
    title: str
    loss_label: str
    target: float | None

    def __post_init__(self) -> None:
        if not is_file_name(self.name):
            raise ValueError(f"the name of a task is {FILE_NAME}, not {self.name!r}")
        for text in (self.title, self.loss_label):
            if not (isinstance(text, str) and text.strip() and text.isprintable()):
                raise ValueError(f"the title and the loss of a task are lines of text, not {text!r}")


FILE_NAME = "at most 50 letters, digits, spaces and any of . _ + -, the first no sign"


def is_file_name(name: Any) -> bool:
    """Whether files can be called by a name, in any folder."""
    return isinstance(name, str) and re.fullmatch(r"\w[\w .+-]{0,49}", name) is not None


@dataclass(frozen=True)
class Race:
    """All entries of a race. `how` says what was tuned, and how. `versions` are those of what it ran with. `refused`
    are contenders that could not be raced. `shown.ShownRace` is one with a table and pictures."""

    tasks: tuple[TaskInfo, ...]
    entries: tuple[Entry, ...]
    how: str
    versions: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()

    @property
    def contenders(self) -> tuple[str, ...]:
        """The names of the contenders, in order."""
        return tuple(dict.fromkeys(entry.contender for entry in self.entries))

    def task(self, name: str) -> TaskInfo:
        """The task of this name. Raises KeyError."""
        return next((x for x in self.tasks if x.name == name), None) or _missing(name, [x.name for x in self.tasks])

    def of(self, task: str) -> tuple[Entry, ...]:
        """The entries of a task. Raises KeyError."""
        self.task(task)
        return tuple(entry for entry in self.entries if entry.task == task)

    def entry(self, contender: str, task: str) -> Entry:
        """The entry of a contender in a task. Raises KeyError."""
        entries = {entry.contender: entry for entry in self.of(task)}
        return entries.get(contender) or _missing(contender, list(entries))

    def ranks(self, task: str) -> list[tuple[int, Entry]]:
        """The entries of a task with their ranks, from 1; the best first. `optgen.races.ranks` says who shares one."""
        entries = self.of(task)
        found = zip(ranks.shared([entry.loss_of_seed for entry in entries]), entries, strict=True)
        return sorted(found, key=lambda pair: (pair[0], pair[1].mean_loss))

    def to_json(self) -> str:
        """The race as JSON, which `from_json` reads."""
        own = {"format": FORMAT, **asdict(self)}
        return json.dumps(own, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The race that `to_json` wrote. Raises ValueError for anything else."""
        try:
            own = json.loads(text)
            if own["format"] != FORMAT:
                raise ValueError(f"format {own['format']!r}, and this version reads {FORMAT!r}")
            tasks = tuple(TaskInfo(**{**x, "target": number(x["target"], none=True)}) for x in own["tasks"])
            versions = {str(name): str(x) for name, x in own["versions"].items()}
            refused = tuple(Refused(**{name: word(x) for name, x in each.items()}) for each in own["refused"])
            return cls(tasks, tuple(map(entry_of, own["entries"])), word(own["how"]), versions, refused)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"these are no results of a race: {error!r}") from None


FORMAT = "optgen race 1"


def entry_of(own: Mapping[str, Any]) -> Entry:
    """An entry that was read from JSON. Raises ValueError, TypeError or KeyError for what is none."""
    trials = tuple(map(trial_of, own["trials"]))
    state_bytes, parameters = whole(own["state_bytes"]), whole(own["parameters"])
    return Entry(word(own["contender"]), word(own["task"]), trials, state_bytes, parameters, own["stored"] is True)


def trial_of(own: Mapping[str, Any]) -> Trial:
    """A trial that was read from JSON. Raises ValueError, TypeError or KeyError for what is none."""
    curve = tuple((whole(step), number(loss)) for step, loss in own["curve"])
    steps = own["steps_to_target"]
    return Trial(
        number(own["rate"]),
        whole(own["seed"]),
        number(own["loss"], none=True),
        curve,
        number(own["seconds"]),
        None if steps is None else whole(steps),
        number(own["seconds_to_target"], none=True),
    )


def number(x: Any, none: bool = False) -> Any:
    """A finite float that was read from JSON, or None where that is allowed. Raises ValueError for anything else."""
    if x is None and none:
        return None
    if isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x):
        raise ValueError(f"expected a number, not {x!r}")
    return float(x)


def word(x: Any) -> str:
    """A text that was read from JSON. Raises ValueError for anything else."""
    if not isinstance(x, str):
        raise ValueError(f"expected a text, not {x!r}")
    return x


def whole(x: Any) -> int:
    """A whole number from 0 that was read from JSON. Raises ValueError for anything else."""
    if isinstance(x, bool) or not isinstance(x, int) or x < 0:
        raise ValueError(f"expected a whole number, not {x!r}")
    return x


def _missing(name: str, known: Sequence[str]) -> Any:
    raise KeyError(f"no {name!r} in this race; there are {', '.join(known)}")
