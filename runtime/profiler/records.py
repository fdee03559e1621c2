"""What was recorded, and whether anything is."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple


class Record(NamedTuple):
    """A part of the trace: its letter in Chrome's format, when it began, in ns, and how long it took, or its value."""

    phase: str
    category: str
    name: str
    start: int
    duration: int
    thread: int
    value: Any


records: list[Record] = []


class _State:
    """`set_state` sets `running`, and `pause` and `resume` set `paused`. `process` is the one that began to record, and
    `written` the number of records that a file has."""

    running = paused = False
    process = written = 0


state = _State()


def record(phase: str, category: str, name: str, start: int, duration: int = 0, value: Any = None) -> None:
    records.append(Record(phase, category, name, start, duration, threading.get_native_id(), value))


def active() -> bool:
    return state.running and not state.paused
