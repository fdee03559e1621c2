"""What a call takes: calls of functions, and memory. Both are exact, and the same in every run.

Each subject is counted in a process of its own, which nothing has touched before: `python -m tests.counts.steps`.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

WARM = 5
"""So many calls come before those that are counted: the first ones bind and compile."""
MEASURED = 9
"""So many calls have their memory measured, and the median counts: now and then PyTorch frees something of its own."""


@dataclass(frozen=True)
class Row:
    """Something that is counted: `call`. `before` makes what it needs, and is not counted."""

    name: str
    call: Callable[[], Any]
    before: Callable[[], Any] = lambda: None


def report(rows: Iterable[Row]) -> None:
    """Print the counts of all rows as JSON. Garbage is collected between calls alone."""
    gc.disable()
    print(json.dumps({row.name: _work(row) for row in rows}))


def _work(row: Row) -> dict[str, int]:
    """The counts of one call: the functions of Python that were called, and those of C that these called; the bytes
    that were allocated at once, at most; the objects that were left to the collector of garbage."""
    for _ in range(WARM):
        row.before()
        row.call()
    calls = _calls(row)
    allocated, garbage = _memory(row)
    return {"Python calls": calls["call"], "C calls": calls["c_call"], "bytes": allocated, "garbage": garbage}


def _calls(row: Row) -> Counter[str]:
    """How often each event of `sys.setprofile` came. A generator that goes on is a call, too."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        counts[event] += 1

    row.before()
    sys.setprofile(count)
    row.call()
    sys.setprofile(None)
    counts["c_call"] -= 1  # the last one, which ends it
    return counts


def _memory(row: Row) -> tuple[int, int]:
    """The bytes of Python's objects and NumPy's arrays beyond those before a call, at most; and the objects that only
    the collector frees after it."""
    gc.collect()
    gc.freeze()  # what is there now: collections are quick then
    found = []
    tracemalloc.start()
    for _ in range(MEASURED):
        row.before()
        gc.collect()  # Python also forgets the freed objects that it keeps for the next ones, so all are allocated
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        row.call()
        peak = tracemalloc.get_traced_memory()[1]
        found.append((peak - before, gc.collect()))
    tracemalloc.stop()
    allocated, garbage = zip(*found, strict=True)
    return statistics.median(allocated), statistics.median(garbage)
