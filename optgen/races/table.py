"""A race as text of 80 columns: ranks, then a table for each task, then what was done and who is out."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from optgen.races import ranks
from optgen.races.results import Entry, Race, TaskInfo

WIDTH = 80
LONGEST = 26
"""Characters of a contender's name; longer ones are cut."""
LEGEND = """\
rank: contenders share one unless the 95 % interval of the mean of their
paired differences leaves out 0. +-: half the 95 % interval of the loss over
seeds. B/p: bytes of states a parameter, counts of updates included.
div: trials that diverged, of all."""
TO_TARGET = "steps, s: until the held-out loss is {}, means of seeds; - if not in all."
STORED = "*: from a stored baseline; its seconds are those of another machine."
AT_END = "!: the best rate is the least or the greatest that was tried."


def text(race: Race) -> str:
    """The race as text."""
    parts = [_overview(race)] if len(race.tasks) > 1 else []
    parts += [_of_task(race, task) for task in race.tasks]
    parts += [_notes(race), _folded(race.how)]
    out = [_folded(f"{x.contender} is out{f' of {x.task}' if x.task else ''}: {x.reason}") for x in race.refused]
    return "\n\n".join(part for part in [*parts, "\n".join(out)] if part)


def _overview(race: Race) -> str:
    """The rank of each contender in each task, the least sum of ranks first."""
    found = {(e.contender, task.name): rank for task in race.tasks for rank, e in race.ranks(task.name)}
    names = [task.name for task in race.tasks]
    order = sorted(race.contenders, key=lambda c: sum(found.get((c, name), len(race.contenders)) for name in names))
    longest = max(4, (WIDTH - LONGEST) // len(names) - 2)
    rows = [[cut(c), *(str(found.get((c, name), "-")) for name in names)] for c in order]
    return columns([["ranks", *(cut(name, longest) for name in names)], *rows])


def _of_task(race: Race, task: TaskInfo) -> str:
    """The table of a task, under what it is."""
    has_target = task.target is not None
    heads = ["contender", "rank", "loss", "+-", "rate", *(["steps", "s"] if has_target else ["s"]), "B/p", "div"]
    rows = [_row(entry, rank, has_target) for rank, entry in race.ranks(task.name)]
    title = textwrap.wrap(f"{task.name}: {task.title}; {task.loss_label}", WIDTH)
    return "\n".join([*title, columns([heads, *rows])])


def _row(entry: Entry, rank: int, has_target: bool) -> list[str]:
    best = entry.best
    steps = [x.steps_to_target for x in best]
    took = [x.seconds_to_target if has_target else x.seconds for x in best]
    return [
        cut(entry.contender, LONGEST - 1) + "*" * entry.stored,
        str(rank),
        _number(entry.mean_loss),
        _number(ranks.half_width(entry.losses), 2),
        ("" if entry.best_rate is None else f"{entry.best_rate:g}") + "!" * entry.is_at_end,
        *([_mean(steps)] if has_target else []),
        _mean(took),
        f"{entry.state_bytes / entry.parameters:.1f}" if entry.parameters else "-",
        f"{entry.diverged}/{len(entry.trials)}",
    ]


def _number(x: float, digits: int = 4) -> str:
    return f"{x:.{digits}g}" if math.isfinite(x) else "-"


def _mean(values: Sequence[float | None]) -> str:
    """The mean, or - if there is nothing, or a value is missing."""
    known = [x for x in values if x is not None]
    if not known or len(known) < len(values):
        return "-"
    mean = math.fsum(known) / len(known)
    return f"{mean:.0f}" if mean >= 99.5 else f"{mean:.2g}"


def _notes(race: Race) -> str:
    """What the columns and marks mean that are there."""
    targets = [f"{task.target:g} ({task.name})" for task in race.tasks if task.target is not None]
    lines = [*LEGEND.splitlines(), *(textwrap.wrap(TO_TARGET.format(", ".join(targets)), WIDTH) if targets else [])]
    lines += [STORED] if any(entry.stored for entry in race.entries) else []
    return "\n".join([*lines, *([AT_END] if any(entry.is_at_end for entry in race.entries) else [])])


def _folded(text: str) -> str:
    """Lines of at most 80 columns."""
    return "\n".join(line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, WIDTH) or [""])


def cut(name: str, longest: int = LONGEST) -> str:
    """A name of at most so many characters; a longer one has dots at its end."""
    return name if len(name) <= longest else f"{name[: longest - 2]}.."


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows as text: the first column to the left, the others to the right."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(x.rjust(n) for x, n in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in table
    )
