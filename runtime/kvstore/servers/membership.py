"""A store as one of several workers: it joins the servers, waits for others, and leaves."""

from __future__ import annotations

import itertools
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable

from runtime.base import ArgumentError, MXNetError
from runtime.kvstore import environment
from runtime.kvstore.local import KVStore
from runtime.kvstore.servers import resharding
from runtime.kvstore.servers.connection import BEAT_SECONDS, Requests, ServerConnection
from runtime.kvstore.servers.messages import Arrays, Message

_PARTING_SECONDS = 5.0
"""A worker that ends tries for so long to tell the servers."""
_LONGEST_BEAT = 4 * BEAT_SECONDS
"""The longest interval between reports that the worker is alive, where they fail: well within what servers wait."""
_LONGEST_PAUSE = 1.0
"""The longest interval at which a worker that waits for others asks about them."""

_stores = itertools.count()
_log = logging.getLogger(__name__)


class WorkerMembership(KVStore):
    """The base of ServerStore, which says what the arguments are."""

    def __init__(
        self,
        name: str,
        link: ServerConnection,
        rank: int,
        num_workers: int,
        attempt: int = 0,
        closing: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name)
        self._connection, self._rank, self._num_workers, self._closing = link, rank, num_workers, closing
        self._timeout = environment.timeout()
        self._bound: int | None = None
        self._barriers = 0  # how many this worker has come to
        # Newer than those of this rank's processes before, and of this process's stores before.
        self._mine = {"worker": rank, "incarnation": [attempt, next(_stores)]}
        self._restarts: dict[int, int] = {}  # by worker that was started again: how often
        self._number, barriers = self._joined()
        self._acknowledged = self._number
        # A script that is started again comes to its first barriers again, which the others have long passed.
        self._barriers_at_push = barriers if attempt else 0
        self._ended = threading.Event()
        weakref.finalize(self, self._ended.set)
        threading.Thread(target=_beat, args=(link, self._ended), name="kvstore", daemon=True).start()

    def _joined(self) -> tuple[int, int]:
        """Tell the servers that this worker is there: its last push that is done, and the barriers before it."""
        answers = [answer for answer, _ in self._all({"do": "join"})]
        return resharding.completed([(a["number"], a["shards"]) for a in answers]), max(a["barriers"] for a in answers)

    def close(self) -> None:
        """Leave the servers: others no longer wait for this worker. It is done when the process ends, too."""
        if self._ended.is_set():
            return
        self._ended.set()
        try:
            self._all({"do": "leave"}, _PARTING_SECONDS)
        finally:
            self._closing()

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def num_workers(self) -> int:
        return self._num_workers

    @property
    def restarts(self) -> dict[int, int]:
        """How often each worker that died was started again, as far as the servers' last answer says."""
        return dict(self._restarts)

    @property
    def acknowledged(self) -> int:
        """How many pushes of this rank the servers have, those before a restart included: where to go on after it."""
        return self._acknowledged

    @property
    def counts(self) -> tuple[int, int]:
        """How many pushes this worker has made, and to how many barriers it has come."""
        return self._number, self._barriers

    def count_from(self, pushes: int, barriers: int) -> None:
        """Go on as if this worker had made so many pushes and come to so many barriers, as a script that goes back to
        where it had. Servers pass over pushes that they have, and it passes barriers that the others have passed.
        """
        self._number, self._barriers, self._barriers_at_push = pushes, barriers, 0

    # ------------------------------------------------------------ waiting for others

    def set_staleness(self, bound: int | None) -> None:
        """From now on a push of this worker waits until it is at most `bound` pushes ahead of every other one.

        Workers that have ended, or were not heard of for 30 s, do not count. None: pushes do not wait.
        """
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool) or bound < 0):
            raise ArgumentError(f"the bound on staleness is a number of pushes, 0 or more, or None, not {bound!r}")
        self._bound = bound

    def _keep_pace(self) -> None:
        """Wait until the next push is not too far ahead."""
        bound = self._bound
        if bound is None:
            return
        request = {"do": "pace", "number": self._number - bound}

        def behind() -> list[int]:
            """A push may have gone to any of the shards."""
            found = self._ask_one(0, request)[0]["waiting"]
            for shard in range(1, self._connection.shards):
                if not found:
                    break
                behind_there = self._ask_one(shard, request)[0]["waiting"]
                found = [worker for worker in found if worker in behind_there]
            return found

        self._wait(behind, f"push {self._number + 1} (staleness {bound})")

    def barrier(self) -> None:
        """Wait until all workers have come here; those that have ended, or were not heard of for 30 s, do not count."""
        self._barriers += 1
        self._ask_one(0, {"do": "arrive", "number": self._barriers})
        request = {"do": "barrier", "number": self._barriers}
        self._wait(lambda: self._ask_one(0, request)[0]["waiting"], f"barrier {self._barriers}")

    _barrier = barrier

    def _barriers_now(self) -> int:
        self._barriers, self._barriers_at_push = max(self._barriers, self._barriers_at_push), 0
        return self._barriers

    def _wait(self, missing: Callable[[], list[int]], what: str) -> None:
        """Ask until no worker is missing; MXNetError with those that are when the time is over.

        Each time it waits an eighth of what it has waited: many that wait for long must not keep the servers busy.
        """
        began = time.monotonic()
        while workers := missing():
            waited = time.monotonic() - began
            if waited > self._timeout:
                names = ", ".join(map(str, workers))
                raise MXNetError(
                    f"{what}: worker {self._rank} has waited {self._timeout:g} s ({environment.TIMEOUT}) for worker "
                    f"{names}"
                )
            time.sleep(min(max(waited / 8, 0.0005), _LONGEST_PAUSE))

    # ------------------------------------------------------------ requests

    def _ask(self, requests: Requests, seconds: float | None = None) -> dict[int, tuple[Message, Arrays]]:
        """The answers to requests by shard, which say who asks: servers refuse what comes from a worker's past."""
        signed = {s: (self._mine | request, arrays) for s, (request, arrays) in requests.items()}
        answers = self._connection.ask(signed, seconds)
        for answer, _ in answers.values():
            self._note_restarts(answer.get("restarts", ()))
        return answers

    def _note_restarts(self, restarts: Iterable[tuple[int, int]]) -> None:
        """Log, once, each worker that was started again: results of this run may not be those of another."""
        for worker, count in restarts:
            if count > self._restarts.get(worker, 0):
                self._restarts[worker] = count
                _log.warning("worker %d died, and was started again (%d so far)", worker, count)

    def _ask_one(self, shard: int, request: Message, arrays: Arrays | None = None) -> tuple[Message, Arrays]:
        """The answer of one shard."""
        return self._ask({shard: (request, arrays or [])})[shard]

    def _all(self, request: Message, seconds: float | None = None) -> list[tuple[Message, Arrays]]:
        """The answers of all shards, in order."""
        answers = self._ask({shard: (request, []) for shard in range(self._connection.shards)}, seconds)
        return [answers[shard] for shard in range(self._connection.shards)]


def _beat(link: ServerConnection, ended: threading.Event) -> None:
    """Tell the servers now and then that a worker is alive, until it has ended or Ray was shut down. It knows nothing
    of the store, which would otherwise never go."""
    pause = BEAT_SECONDS
    while not ended.wait(pause) and link.is_connected():
        try:
            link.beat()
            pause = BEAT_SECONDS
        except Exception:  # whatever is wrong with Ray may pass
            pause = min(2 * pause, _LONGEST_BEAT)
