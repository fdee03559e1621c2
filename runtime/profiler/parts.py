"""Parts that a program names: tasks, frames and events, counters and markers."""

from __future__ import annotations

import time

from runtime.base import ArgumentError
from runtime.profiler.records import active, record


class _Named:
    name: str

    def __str__(self) -> str:
        return self.name


class Domain(_Named):
    """A name for a group of parts."""

    def __init__(self, name: str) -> None:
        self.name = name

    def new_task(self, name: str) -> Task:
        """A `Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A `Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A `Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A `Marker` of this domain."""
        return Marker(self, name)


class _Span(_Named):
    """The base class of what takes time from `start` to `stop`, or within a `with` block."""

    def __init__(self, category: str, name: str) -> None:
        self.name = name
        self._category = category
        self._begin: int | None = None

    def start(self) -> None:
        """Begin."""
        self._begin = time.perf_counter_ns()

    def stop(self) -> None:
        """End; nothing is recorded without a `start`, or while the profiler does not run."""
        begin, self._begin = self._begin, None
        if begin is not None and active():
            record("X", self._category, self.name, begin, time.perf_counter_ns() - begin)

    def __enter__(self) -> _Span:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class Task(_Span):
    """A piece of work, of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(str(domain), name)


class Frame(Task):
    """One of many like passes, such as a batch, of a domain."""


class Event(_Span):
    """A piece of work, of no domain."""

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter(_Named):
    """A number that changes in time, of a domain: `counter += 1`."""

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.name = name
        self._category = str(domain)
        self.value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Have this value from here on."""
        self.value = value if isinstance(value, int | float) else float(value)  # JSON has no numbers of NumPy
        if active():
            record("C", self._category, self.name, time.perf_counter_ns(), value=self.value)

    def increment(self, delta: float = 1) -> None:
        """Add to the value."""
        self.set_value(self.value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Take from the value."""
        self.set_value(self.value - delta)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self


class Marker:
    """A moment, of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self._category = f"{domain},instant_marker"

    def mark(self, scope: str = "process") -> None:
        """Mark this moment, for all of 'global', 'process', 'thread', 'task' or 'marker'."""
        letters = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}
        if scope not in letters:
            raise ArgumentError(f"Marker.mark: scope is one of {', '.join(letters)}, not {scope!r}")
        if active():
            record("i", self._category, self.name, time.perf_counter_ns(), value=letters[scope])
