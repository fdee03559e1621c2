"""The section of a spec's race: its stored baseline in the tasks that come with optgen, beside AdamW's."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

from optgen.pages import svg
from optgen.pages.html import Child, code, joined, parsed, table, tag
from optgen.pages.topic import PageSection, Topic
from optgen.races import baselines, pictures, ranks, task
from optgen.races.baselines import Baseline
from optgen.races.results import Entry, Race

BESIDE = "adamw"
HEAD = ("task", "rank", "held-out loss", "best rate", "over seeds")


def section(topic: Topic) -> PageSection | None:
    """None for a spec without a baseline."""
    own = baselines.read(topic.name) if topic.is_shipped else None
    if own is None:
        return None
    race, peers = _race(own), _peers(own)
    stale = "These results are stale: the spec, a task or how races are run has changed since. " if own.is_stale else ""
    versions = ", ".join(f"{name} {version}" for name, version in own.versions.items())
    head = HEAD if own.name == BESIDE else (*HEAD[:3], f"loss of {BESIDE}", *HEAD[3:])
    against = "" if own.name == BESIDE else f" --against {BESIDE}"
    parts: list[Child] = [
        table(head, (list(_row(entry, race, peers)) for entry in own.entries), "numbers"),
        tag(
            "p",
            f"{stale}The rate was tuned, and nothing else. The axes below say what a loss is. Ranks are among the "
            f"{len(peers)} stored baselines of the same versions; those whose difference over paired seeds {own.seeds} "
            f"may be none share a rank. Effects in tasks of this size say nothing of larger ones. Raced with "
            f"{versions}; again: ",
            code(f"optgen race {topic.name}{against}"),
            class_="note",
        ),
        *_pictures(race, download=topic.machine is not None),
    ]
    return PageSection("race", "Its race", joined(parts))


@functools.cache
def _all() -> Mapping[str, Baseline]:
    """All stored baselines."""
    found = {name: baselines.read(name) for name in baselines.names()}
    return {name: baseline for name, baseline in found.items() if baseline is not None}


def _peers(own: Baseline) -> list[Baseline]:
    """The stored baselines of the same versions, with which a seed gives the same weights and data: their losses are
    pairs."""
    return [x for x in _all().values() if x.versions == own.versions]


def _race(own: Baseline) -> Race:
    """The entries of a spec, and of what it is compared with, as a race."""
    other = _all().get(BESIDE) if own.name != BESIDE else None
    names = [entry.task for entry in own.entries]
    beside = [entry for entry in other.entries if entry.task in names] if other else []
    return Race(tuple(map(task.info, names)), (*own.entries, *beside), "")


def _row(entry: Entry, race: Race, peers: Sequence[Baseline]) -> Iterator[str]:
    of_task = [x for peer in peers for x in peer.entries if x.task == entry.task]
    shared = ranks.shared([x.loss_of_seed for x in of_task])
    rank = next((rank for rank, x in zip(shared, of_task, strict=True) if x.contender == entry.contender), None)
    beside = next((x for x in race.of(entry.task) if x.contender == BESIDE), None)
    yield race.task(entry.task).title
    yield "" if rank is None else str(rank)
    yield _loss(entry.mean_loss)
    if entry.contender != BESIDE:
        yield _loss(beside.mean_loss) if beside else ""
    yield "none" if entry.best_rate is None else f"{entry.best_rate:.2g}"
    yield f"{_loss(min(entry.losses))} to {_loss(max(entry.losses))}" if entry.losses else ""


def _loss(loss: float) -> str:
    return f"{loss:.4g}" if math.isfinite(loss) else "diverged"


def _pictures(race: Race, *, download: bool) -> Iterator[Child]:
    """How much the loss depends on the rate, in each task; a sentence where there is no matplotlib."""
    try:
        for info in race.tasks:
            picture = parsed(pictures.sensitivity(race, info.name))
            question = f"{info.title}. How much does the loss depend on the rate?"
            yield svg.figure(picture, question, picture if download else None)
    except ImportError as error:
        yield tag("p", str(error), class_="note")
