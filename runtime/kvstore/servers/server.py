"""The process that holds a shard: as the primary, which fixes the order of changes, or as its replica, which follows.

A change is acknowledged when both processes have it. The service assigns the roles (`service`), with epochs that only
grow. A replica refuses to follow a primary of an earlier epoch than its own. So a primary that was replaced, and does
not know it yet, can acknowledge nothing.

One thread executes requests, in order. A few other threads answer questions about the state of the server, also while
that thread is busy. Ray brings the arrays of a request here before its turn, so that a worker that stands still
keeps no other worker waiting.
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
from runtime.kvstore import environment
from runtime.kvstore.servers.messages import Arrays, Message
from runtime.kvstore.servers.shard import Answer, Shard
from runtime.kvstore.servers.state_transfer import DONE, StateTransfer
from runtime.optimizer import named_classes

Reference = list[Any]
"""A reference to arrays in Ray's memory, in a list, which Ray hands on as it is; an empty list for none."""

MOVED: Answer = {"moved": True}, []
SILENT_SECONDS = 30.0
"""A worker that was not heard of for so long is not waited for."""
_REFERENCE_SECONDS = 10.0
"""How long a replica tries to read what a worker has put into Ray's memory. After that the primary sends its own."""
_REFUSED, _UNREADABLE, _UNREACHED = "refused", "unreadable", "unreached"


class Server:
    """An actor. `shard` is its number, `workers` how many there are, `beside` how many servers share this machine,
    `modules` those with optimizers written by hand.

    Roles: 'new', until it is told what it is; 'learner', a replica to be, which may lack changes that the primary has
    acknowledged; 'replica'; 'primary'; 'lost', in place of a shard whose two servers died at once.
    """

    def __init__(self, shard: int, workers: int, beside: int, modules: Sequence[str] = ()) -> None:
        from optgen.threads import cpus

        os.environ.setdefault("OPTGEN_NUM_THREADS", str(max(1, min(256, cpus.available() // beside))))
        named_classes.provide(modules)
        self._shard = Shard(shard)
        self._workers = range(workers)
        self._timeout = environment.timeout()
        self._role, self._epoch = "new", 0
        self._number = 0  # of the last change
        self._replica: Any = None
        self._transfer: StateTransfer | None = None
        self._role_changed = threading.Condition()
        self._seen = dict.fromkeys(self._workers, time.monotonic())

    # ------------------------------------------------------------ answered at once

    @ray.method(concurrency_group="control")
    def alive(self) -> None:
        """Never returns: Ray tells who waits for it when this process has died."""
        threading.Event().wait()

    @ray.method(concurrency_group="control")
    def view(self) -> Message:
        """Role, epoch and process id of this server, and how many servers have the shard as far as it knows."""
        return {"role": self._role, "epoch": self._epoch, "pid": os.getpid(), "copies": 1 + (self._replica is not None)}

    @ray.method(concurrency_group="control")
    def seen(self, worker: int) -> bool:
        """Note that a worker is alive. Whether this server is the primary, which alone needs to know."""
        now = time.monotonic()
        if now - max(self._seen.values()) > SILENT_SECONDS / 2:  # nobody was heard of: this process stood still
            self._seen = dict.fromkeys(self._workers, now)
        self._seen[worker] = now
        return self._role == "primary"

    @ray.method(concurrency_group="control")
    def waiting(self, request: Message) -> Answer:
        """The workers that a barrier, or a worker that is ahead, must wait for, as far as this shard knows."""
        if not self.seen(request["worker"]):
            return MOVED
        since = time.monotonic() - SILENT_SECONDS
        # Workers say to the first shard only that they are alive.
        silent = [] if self._shard.number else [w for w in self._workers if self._seen[w] < since]
        return self._shard.waiting(request, self._workers, silent)

    @ray.method(concurrency_group="control")
    def become_primary(self, epoch: int) -> bool:
        """Become the primary, without a replica. Returns False where this server lacks changes.

        A new server has no changes: it may become the primary in the first epoch, 1, alone.
        """
        with self._role_changed:
            if self._role == "primary" and epoch == self._epoch:  # it was told before
                return True
            lacks = self._role not in ("replica", "primary") and (self._role, epoch) != ("new", 1)
            if lacks or epoch <= self._epoch:
                return False
            if self._role != "primary":
                self._seen = dict.fromkeys(self._workers, time.monotonic())
            self._epoch, self._role, self._replica, self._transfer = epoch, "primary", None, None
            self._role_changed.notify_all()
        return True

    @ray.method(concurrency_group="control")
    def mark_lost(self) -> None:
        """Answer from now on that the shard is lost."""
        self._role = "lost"

    # ------------------------------------------------------------ the primary

    def call(self, request: Message, arrays: Arrays, reference: Reference) -> Answer:
        """Do what a worker requests; the answer has `error` where it cannot be done, and `moved` where this server is
        not the primary. `reference`: to the arrays, where they are in Ray's memory and the replica can read them."""
        if not self.seen(request["worker"]):
            return MOVED
        if not self._shard.changes(request):
            return self._done(request, arrays)
        self._limit_backlog()
        self._number += 1
        following = self._forward(request, None if reference else arrays, reference)
        answer = self._done(request, arrays)
        transfer = self._transfer  # which the other threads may take away
        if transfer is not None:
            transfer.keep(request, arrays)
        self._confirm(following, request, arrays)
        return answer

    def _done(self, request: Message, arrays: Arrays) -> Answer:
        """What the shard makes of a request. Its errors are those of the request, and the same on the replica."""
        try:
            return self._shard(request, arrays)
        except MemoryError:  # this process's own trouble, of which the other one may know nothing
            os._exit(1)
        except Exception as error:
            return {"error": str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"}, []

    def _forward(self, request: Message, arrays: Arrays | None, reference: Reference) -> Any:
        replica = self._replica
        if replica is None:
            return None
        return replica, replica.follow.remote(self._epoch, self._number, request, arrays, reference)

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
            except RayError:
                found = _UNREACHED
            if found == DONE:
                return
            # One that is not reached has died, as the service will say, or is out of reach for a while.
            with self._role_changed:
                seconds = 1.0 if found == _UNREACHED else 0.0
                if self._role_changed.wait_for(lambda old=replica: self._replica is not old, seconds):
                    return  # this server goes on alone
            if found == _REFUSED or time.monotonic() > deadline:
                os._exit(1)
            # The worker may have died, and its memory with it. Here the change is done.
            following = self._forward(request, arrays, [])

    # ------------------------------------------------------------ a new replica

    def begin_transfer(self, epoch: int, learner: Any) -> bool:
        """Begin to send the whole shard to a new server. Returns False: the transfer is not finished."""
        transfer = StateTransfer(epoch, learner, self._number, self._shard.snapshot(), self._timeout)
        with self._role_changed:
            if self._role != "primary" or epoch <= self._epoch:
                raise MXNetError("this server was told otherwise meanwhile")
            self._epoch, self._transfer = epoch, transfer
        return False

    def finish_transfer(self) -> bool:
        """Whether the new server has everything. From then on no change is acknowledged without it.

        RayError or MXNetError where it will never have everything.
        """
        transfer = self._transfer
        if transfer is not None and not transfer.is_loaded(0):
            return False
        number = 0 if transfer is None else transfer.replay()
        with self._role_changed:
            if transfer is None or self._transfer is not transfer:
                raise MXNetError("this server was told otherwise meanwhile, or has given up the new one")
            # Before it is told, for it may lead as soon as it is: then it must lack nothing.
            self._replica, self._transfer = transfer.learner, None
        if not ray.get(transfer.learner.become_replica.remote(transfer.epoch, number), timeout=self._timeout):
            raise MXNetError("the new server lacks changes")
        return True

    def _limit_backlog(self) -> None:
        """While more changes wait for a new server than may be kept, wait until it has made them.

        A new server that dies or fails meanwhile is given up. The service gives up one that stands still.
        """
        while (transfer := self._transfer) is not None and transfer.is_full():
            if not transfer.is_loaded(0.1):
                continue
            try:
                transfer.replay()
            except (RayError, MXNetError):
                with self._role_changed:
                    if self._transfer is transfer:
                        self._transfer = None

    # ------------------------------------------------------------ the replica

    def load(self, epoch: int, number: int, content: Message, arrays: Arrays) -> None:
        """Take all that the primary has, up to change `number`."""
        self._shard = Shard.restored(content, arrays)
        self._role, self._epoch, self._number = "learner", epoch, number

    def follow(self, epoch: int, number: int, request: Message, arrays: Arrays | None, reference: Reference) -> str:
        """Make change `number` of the primary, with `arrays` or those that `reference` refers to."""
        if epoch != self._epoch or self._role not in ("learner", "replica"):
            return _REFUSED
        if number == self._number + 1:
            try:
                found = ray.get(reference[0], timeout=_REFERENCE_SECONDS) if arrays is None else arrays
            except RayError:
                return _UNREADABLE
            self._done(request, found)
            self._number = number
        return DONE if number <= self._number else _REFUSED

    def become_replica(self, epoch: int, number: int) -> bool:
        """Become the replica, without which no change is acknowledged. False where changes up to `number` lack."""
        with self._role_changed:
            if epoch != self._epoch or self._role not in ("learner", "replica") or self._number < number:
                return False
            self._role = "replica"
        return True
