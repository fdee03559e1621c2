"""The workers of a run: started, listened to, started again when they die, and stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.launch.output import Output, say
from runtime.launch.signals import Signals
from runtime.launch.worker import GRACE_SECONDS

_POLL_SECONDS = 0.2
"""A signal is seen after this long."""


@dataclass(frozen=True)
class End:
    """How an attempt of a worker ended."""

    status: int | None
    """Its exit status, minus the number of the signal that ended it, or None where its actor was lost."""
    lost: str = ""
    """What Ray says of an actor that was lost."""

    def __str__(self) -> str:
        if self.status is None:
            return f"its actor was lost ({self.lost})"
        if self.status >= 0:
            return f"exit status {self.status}"
        try:
            return f"ended by {signal.Signals(-self.status).name}"
        except ValueError:  # a real-time signal
            return f"ended by signal {-self.status}"

    @property
    def is_death(self) -> bool:
        """Whether a signal ended it or it was lost; else the script itself ended, as by an exception."""
        return self.status is None or self.status < 0

    @property
    def exit_status(self) -> int:
        """What a shell would say."""
        if self.status is None:
            return 1
        return 128 - self.status if self.status < 0 else self.status


@dataclass(frozen=True)
class _Attempt:
    """A rank that runs."""

    rank: int
    number: int  # 0, and one more after each restart
    worker: Any  # the handle of its actor
    output: Output


class Workers:
    """All ranks of a run.

    Parameters
    ----------
    ray: the module, connected.
    count: how many ranks.
    max_restarts: how often each is started again where it dies. An error of the script would only come again.
    make: of a rank and an attempt, makes the actor that runs the script: a `runtime.launch.worker.Worker`.
    """

    def __init__(self, ray: Any, count: int, max_restarts: int, make: Callable[[int, int], Any]) -> None:
        self._ray = ray
        self._count = count
        self._max_restarts = max_restarts
        self._make = make
        self._reads: dict[Any, _Attempt] = {}
        """What runs, by the reference of what it writes next. Who was heard goes to the end."""
        self._restarts: dict[int, int] = {}
        """By rank that was started again: how often."""

    def run(self, signals: Signals) -> int:
        """Run all ranks until they end, one gives up or a signal comes; the exit status of the launcher."""
        for rank in range(self._count):
            self._start(rank, 0)
        while self._reads:
            if signals.received is not None:
                self._stop()
                return 128 + signals.received
            ended = self._listen()
            if ended is None or ended[1].status == 0:
                continue
            attempt, end = ended
            if not end.is_death or attempt.number == self._max_restarts:
                self._stop()
                _say_gave_up(attempt, end)
                return end.exit_status
            again = self._restarts[attempt.rank] = attempt.number + 1
            say(f"worker {attempt.rank}: {end}; it is started again ({again} of {self._max_restarts})")
            self._start(attempt.rank, again)
        if self._restarts:
            counts = (f"worker {rank} {_times(count)}" for rank, count in sorted(self._restarts.items()))
            say(f"all workers have ended; started again: {', '.join(counts)}")
        return 0

    def _start(self, rank: int, number: int) -> None:
        output = Output(f"[{rank}] " if self._count > 1 else "")
        self._await(_Attempt(rank, number, self._make(rank, number), output))

    def _await(self, attempt: _Attempt) -> None:
        self._reads[attempt.worker.read.remote()] = attempt

    def _listen(self) -> tuple[_Attempt, End] | None:
        """Wait, a moment at most, for a rank to write or to end. What it wrote is passed on, how it ended returned."""
        ready, _ = self._ray.wait(list(self._reads), timeout=_POLL_SECONDS)
        if not ready:
            return None
        attempt = self._reads.pop(ready[0])
        try:
            written, status = self._ray.get(ready[0])
        except self._ray.exceptions.RayError as e:
            end = End(None, str(e).strip().partition("\n")[0].rstrip("."))
        else:
            for stream, data in written:
                attempt.output.write(stream, data)
            if status is None:
                self._await(attempt)
                return None
            end = End(status)
        attempt.output.end()
        self._ray.kill(attempt.worker)  # one that seemed lost may only have been out of reach
        return attempt, end

    def _stop(self) -> None:
        """Ask all that runs to end, and wait until it has."""
        for attempt in self._reads.values():
            attempt.worker.stop.remote()
        limit = time.monotonic() + GRACE_SECONDS + 5
        while self._reads and time.monotonic() < limit:
            self._listen()
        for attempt in self._reads.values():
            self._ray.kill(attempt.worker)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _say_gave_up(attempt: _Attempt, end: End) -> None:
    restarts = f" after {attempt.number} restart{'s' * (attempt.number > 1)}" if attempt.number else ""
    say(f"worker {attempt.rank} {'gave up' if end.is_death else 'failed'}{restarts}: {end}; the others were stopped")
    if attempt.output.last:
        say("\n    ".join(("its last lines:", *attempt.output.last)))
