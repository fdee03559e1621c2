"""A worker's connection to the servers: it finds the primary of each shard, and asks again where one has died."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from runtime.base import MXNetError
from runtime.kvstore import environment
from runtime.kvstore.servers import ray_setup
from runtime.kvstore.servers.messages import Arrays, Message
from runtime.kvstore.servers.service import name_of

BEAT_SECONDS = 2.0
"""The interval at which a worker reports that it is alive."""
_MAX_INLINE_BYTES = 1 << 16
"""Messages of at most so many bytes travel within the call. Larger ones are put into Ray's memory, where both servers
read them."""
_WAITS = ("barrier", "pace")
"""Requests that servers answer also while they are busy with others."""

Requests = Mapping[int, tuple[Message, Arrays]]
"""By shard."""


class ServerConnection:
    """The servers of the run `namespace`, in `shards` shards, to the worker `rank`."""

    def __init__(self, namespace: str, shards: int, rank: int) -> None:
        self.shards = shards
        self._namespace, self._rank = namespace, rank
        self._ray = ray_setup.load()
        self._primaries: dict[int, Any] = {}
        self._deaths = ray_setup.deaths(self._ray)
        self._timeout = environment.timeout()

    def ask(self, requests: Requests, seconds: float | None = None) -> dict[int, tuple[Message, Arrays]]:
        """Send all requests at once, and wait for all answers: `seconds`, by default the time-out.

        A request whose server died, or ceased to be the primary, goes to the primary that there then is: servers see to
        it that it counts once. Raises MXNetError for what a server refuses, and for one that does not answer in time.
        """
        deadline = time.monotonic() + (seconds or self._timeout)
        answers: dict[int, tuple[Message, Arrays]] = {}
        if not self.is_connected():
            raise MXNetError("Ray was shut down, and with it the way to the servers")
        while missing := [shard for shard in requests if shard not in answers]:
            if time.monotonic() > deadline:
                raise self._late(missing[0], requests[missing[0]][0]["do"])
            sent = {shard: self._send(shard, *requests[shard], deadline) for shard in missing}
            for shard, reference in sent.items():
                answer = self._answer(shard, reference, requests[shard][0]["do"], deadline)
                if answer is not None:
                    answers[shard] = answer
        for shard, (answer, _) in answers.items():
            if "error" in answer:
                raise MXNetError(f"server {shard}: {answer['error']}")
        return answers

    def beat(self) -> None:
        """Report to the first shard that this worker is alive. Errors of Ray that are no death are raised."""
        primary = self._primaries.get(0) or self._leading(self._views(0))
        if primary is None:
            return
        try:
            heard = self._ray.get(primary.seen.remote(self._rank), timeout=BEAT_SECONDS)
        except self._deaths:
            heard = False
        if not heard and self._primaries.get(0) is primary:
            self._primaries.pop(0, None)

    def is_connected(self) -> bool:
        """Whether this process is connected to Ray. Without a connection, a call would start or find some Ray."""
        return self._ray.is_initialized()

    def _payload(self, arrays: Arrays) -> tuple[Any, list[Any]]:
        """What is sent of arrays: what the primary is given, and what it gives its replica to read them by.

        A reference of its own is what Ray reads before the call begins; in a list it stays a reference.
        """
        if sum(array.nbytes for array in arrays) <= _MAX_INLINE_BYTES:
            return arrays, []
        reference = self._ray.put(arrays)
        return reference, [reference]

    def _send(self, shard: int, request: Message, arrays: Arrays, deadline: float) -> Any:
        primary = self._primaries.get(shard) or self._found(shard, deadline)
        self._primaries[shard] = primary
        if request["do"] in _WAITS:
            return primary.waiting.remote(request)
        # Arrays are put anew each time: Ray may have lost them.
        return primary.call.remote(request, *self._payload(arrays))

    def _answer(self, shard: int, reference: Any, what: str, deadline: float) -> tuple[Message, Arrays] | None:
        """What a server answers; None where another must be asked."""
        errors = self._ray.exceptions
        try:
            answer, arrays = self._ray.get(reference, timeout=max(deadline - time.monotonic(), 0))
            if "moved" not in answer:
                return answer, arrays
        except errors.GetTimeoutError:
            raise self._late(shard, what) from None
        except (*self._deaths, errors.ObjectLostError):
            pass
        except errors.RayError as error:
            raise MXNetError(f"server {shard} failed at '{what}' of worker {self._rank}: {error}") from error
        self._primaries.pop(shard, None)
        return None

    def _late(self, shard: int, what: str) -> MXNetError:
        return MXNetError(
            f"server {shard} has not answered '{what}' of worker {self._rank} within {self._timeout:g} s "
            f"({environment.TIMEOUT})"
        )

    def _found(self, shard: int, deadline: float) -> Any:
        """The primary of a shard, as soon as there is one."""
        began = time.monotonic()
        while True:
            views = self._views(shard)
            leading = self._leading(views)
            if leading is not None:
                return leading
            if any(view["role"] == "lost" for _, view in views):
                raise MXNetError(
                    f"server {shard} is lost: both of its processes died before one could be replaced, and the values "
                    "they held are gone; start again from the last checkpoint"
                )
            if time.monotonic() > deadline:
                raise MXNetError(
                    f"worker {self._rank} has found no server {shard} within {self._timeout:g} s "
                    f"({environment.TIMEOUT}): is the launcher still running?"
                )
            time.sleep(min(max((time.monotonic() - began) / 8, 0.02), 0.5))

    @staticmethod
    def _leading(views: list[tuple[Any, Message]]) -> Any:
        """The newest primary, if there is one."""
        leading = [(view["epoch"], actor) for actor, view in views if view["role"] == "primary"]
        return max(leading, key=lambda pair: pair[0])[1] if leading else None

    def _views(self, shard: int) -> list[tuple[Any, Message]]:
        """The servers of a shard that answer at once, and their `view`."""
        ray, asked = self._ray, {}
        for entry in ray.util.list_named_actors(all_namespaces=True):
            if entry["namespace"] == self._namespace and entry["name"].startswith(name_of(shard, "")):
                try:
                    actor = ray.get_actor(entry["name"], namespace=self._namespace)
                    asked[actor.view.remote()] = actor
                except (ValueError, ray.exceptions.RayActorError):
                    continue  # it has died since
        found = []
        if asked:
            for reference in ray.wait(list(asked), num_returns=len(asked), timeout=0.5)[0]:
                try:
                    found.append((asked[reference], ray.get(reference)))
                except ray.exceptions.RayError:
                    continue
        return found
