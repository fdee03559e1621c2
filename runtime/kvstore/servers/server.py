"""The process that holds a shard: as the primary, which fixes the order of changes, or as its replica, which follows.

A change is acknowledged when both have it. Who is what, the service says (`service`), by epochs that only grow: a
replica refuses to follow a primary of an earlier epoch than its own, so that a primary that was replaced, and does not
know it yet, can acknowledge nothing.

Requests are done by one thread, in order; another few answer how things are, also while that one is busy.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError

from runtime.base import MXNetError
from runtime.kvstore.servers import start
from runtime.kvstore.servers.messages import Arrays, Message
from runtime.kvstore.servers.shard import Answer, Shard
from runtime.optimizer import wire

Payload = list[Any]
"""The arrays of a message, or one reference to a list of them in Ray's memory."""

MOVED: Answer = {"moved": True}, []
SILENT_SECONDS = 30.0
"""A worker that was not heard of for so long is not waited for."""
_DONE, _REFUSED, _UNREADABLE, _UNREACHED = "done", "refused", "unreadable", "unreached"
_DEATHS = start.deaths(ray)


class Server:
    """An actor. `shard` is its number, `workers` how many there are, `beside` how many servers share this machine,
    `modules` those with optimizers written by hand.

    Roles: 'new', until it is told what it is; 'learner', a replica to be, which may lack changes that the primary has
    acknowledged; 'replica'; 'primary'; 'lost', in place of a shard whose two servers died at once.
    """

    def __init__(self, shard: int, workers: int, beside: int, modules: Sequence[str] = ()) -> None:
        from optgen.execute import cpus

        os.environ.setdefault("OPTGEN_NUM_THREADS", str(max(1, min(256, cpus.available() // beside))))
        wire.provide(modules)
        self._shard = Shard(shard)
        self._workers = range(workers)
        self._timeout = start.timeout()
        self._role, self._epoch = "new", 0
        self._number = 0  # of the last change
        self._replica: Any = None
        self._learner: Any = None
        self._loading: Any = None
        self._backlog: list[tuple[int, Message, Arrays]] = []  # what the learner does not have yet
        self._told = threading.Condition()
        self._seen = dict.fromkeys(self._workers, time.monotonic())

    # ------------------------------------------------------------ answered at once

    @ray.method(concurrency_group="control")
    def alive(self) -> None:
        """Never returns: Ray tells who waits for it when this process has died."""
        threading.Event().wait()

    @ray.method(concurrency_group="control")
    def view(self) -> Message:
        """How things are here."""
        return {"role": self._role, "epoch": self._epoch, "pid": os.getpid(), "copies": 1 + (self._replica is not None)}

    @ray.method(concurrency_group="control")
    def seen(self, worker: int) -> None:
        """A worker says that it is alive."""
        self._seen[worker] = time.monotonic()

    @ray.method(concurrency_group="control")
    def lead(self, epoch: int) -> bool:
        """Be the primary from now on, alone. False where this server cannot, as it lacks changes.

        A new one has none, and may lead in the first epoch, 1, only.
        """
        with self._told:
            lacks = self._role not in ("replica", "primary") and (self._role, epoch) != ("new", 1)
            if lacks or epoch <= self._epoch:
                return False
            if self._role != "primary":
                self._seen = dict.fromkeys(self._workers, time.monotonic())
            self._epoch, self._role, self._replica, self._learner = epoch, "primary", None, None
            self._backlog = []
            self._told.notify_all()
        return True

    @ray.method(concurrency_group="control")
    def mourn(self) -> None:
        """Tell whoever asks that the shard is lost."""
        self._role = "lost"

    # ------------------------------------------------------------ the primary

    def call(self, request: Message, payload: Payload) -> Answer:
        """Do what a worker requests; the answer has `error` where it cannot be done, and `moved` where this server is
        not the primary."""
        if self._role != "primary":
            return MOVED
        arrays = _arrays(payload, self._timeout)
        if request["do"] in ("barrier", "pace"):
            return self._waiting(request), []
        if not self._shard.changes(request):
            return self._done(request, arrays)
        self._number += 1
        following = self._forward(request, payload)
        answer = self._done(request, arrays)
        if self._learner is not None:
            self._backlog.append((self._number, request, arrays))
        self._confirm(following, request, arrays)
        return answer

    def _done(self, request: Message, arrays: Arrays) -> Answer:
        """What the shard makes of a request. Its errors are those of the request, and the same on the replica."""
        if request["do"] == "join":
            self.seen(request["worker"])
        try:
            return self._shard(request, arrays)
        except MemoryError:  # this process's own trouble, of which the other one may know nothing
            os._exit(1)
        except Exception as error:
            return {"error": str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"}, []

    def _waiting(self, request: Message) -> Message:
        """For which workers a barrier, or a worker that is ahead, must wait."""
        since = time.monotonic() - SILENT_SECONDS
        silent = [w for w in self._workers if self._seen[w] < since]
        of = self._shard.missing if request["do"] == "barrier" else self._shard.behind
        return {"waiting": of(request["number"], self._workers, silent)}

    def _forward(self, request: Message, payload: Payload) -> Any:
        replica = self._replica
        return (
            None if replica is None else (replica, replica.follow.remote(self._epoch, self._number, request, payload))
        )

    def _confirm(self, following: Any, request: Message, arrays: Arrays) -> None:
        """Wait until the replica has the change too, or the service says to go on without one.

        Where neither comes in time, or the replica follows another primary by now, the change must not be acknowledged:
        this process ends, and the service sees to it that the other one leads.
        """
        deadline = time.monotonic() + self._timeout
        while following is not None:
            replica, reference = following
            try:
                found = ray.get(reference, timeout=max(deadline - time.monotonic(), 0))
            except GetTimeoutError:
                found = _REFUSED
            except _DEATHS:
                found = _UNREACHED
            if found == _DONE:
                return
            # One that is not reached has died, as the service will say, or is out of reach for a while.
            with self._told:
                seconds = 1.0 if found == _UNREACHED else 0.0
                if self._told.wait_for(lambda old=replica: self._replica is not old, seconds):
                    return  # this server goes on alone
            if found == _REFUSED or time.monotonic() > deadline:
                os._exit(1)
            # The worker may have died, and its memory with it. Here the change is done.
            following = self._forward(request, [ray.put(arrays)])

    # ------------------------------------------------------------ a new replica

    def adopt(self, epoch: int, learner: Any) -> None:
        """Give all there is to a new server, which then follows."""
        content, arrays = self._shard.snapshot()
        with self._told:
            if self._role != "primary" or epoch <= self._epoch:
                raise MXNetError("this server was told otherwise meanwhile")
            self._epoch, self._learner, self._backlog = epoch, learner, []
        self._loading = learner.load.remote(epoch, self._number, content, [ray.put(arrays)])

    def adopted(self) -> bool:
        """Whether the new server has everything: from then on nothing is acknowledged without it."""
        learner = self._learner
        if learner is None or not ray.wait([self._loading], timeout=0)[0]:
            return False
        ray.get(self._loading)
        for number, request, arrays in self._backlog:
            ray.get(learner.follow.remote(self._epoch, number, request, [ray.put(arrays)]), timeout=self._timeout)
        ray.get(learner.settle.remote(self._epoch), timeout=self._timeout)
        with self._told:
            if self._learner is learner:
                self._replica, self._learner, self._loading, self._backlog = learner, None, None, []
        return True

    # ------------------------------------------------------------ the replica

    def load(self, epoch: int, number: int, content: Message, payload: Payload) -> None:
        """Take all that the primary has, up to change `number`."""
        self._shard = Shard.restored(content, _arrays(payload, self._timeout))
        self._role, self._epoch, self._number = "learner", epoch, number

    def follow(self, epoch: int, number: int, request: Message, payload: Payload) -> str:
        """Do what the primary does."""
        if epoch != self._epoch or self._role not in ("learner", "replica"):
            return _REFUSED
        if number == self._number + 1:
            try:
                arrays = _arrays(payload, self._timeout)
            except RayError:
                return _UNREADABLE
            self._done(request, arrays)
            self._number = number
        return _DONE if number <= self._number else _REFUSED

    def settle(self, epoch: int) -> None:
        """Nothing is acknowledged without this server any more."""
        with self._told:
            if epoch == self._epoch and self._role == "learner":
                self._role = "replica"


def _arrays(payload: Payload, timeout: float) -> Arrays:
    """The arrays of a message. Those in Ray's memory are read there, and not copied."""
    if payload and isinstance(payload[0], ray.ObjectRef):
        return ray.get(payload[0], timeout=timeout)
    return payload
