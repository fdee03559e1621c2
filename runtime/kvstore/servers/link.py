"""A worker's way to the servers: it finds the primary of each shard, and asks again where one has died."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from runtime.base import MXNetError
from runtime.kvstore.servers import start
from runtime.kvstore.servers.messages import Arrays, Message
from runtime.kvstore.servers.service import name_of

BEAT_SECONDS = 2.0
"""How often a worker says that it is alive."""
_INLINE = 1 << 16
"""Messages of fewer bytes travel within the call; larger ones are put into Ray's memory once, where both servers read
them."""

Requests = Mapping[int, tuple[Message, Arrays]]
"""By shard."""


class Link:
    """The servers of the run `namespace`, in `shards` shards, to the worker `rank`."""

    def __init__(self, namespace: str, shards: int, rank: int) -> None:
        self.shards = shards
        self._namespace, self._rank = namespace, rank
        self._ray = start.load()
        self._primaries: dict[int, Any] = {}
        self._deaths = start.deaths(self._ray)
        self._timeout = start.timeout()

    def ask(self, requests: Requests, seconds: float | None = None) -> dict[int, tuple[Message, Arrays]]:
        """Send all requests at once, and wait for all answers: `seconds`, by default the time-out.

        A request whose server died, or ceased to be the primary, goes to the primary that there then is: servers see to
        it that it counts once. Raises MXNetError for what a server refuses, and for one that does not answer in time.
        """
        deadline = time.monotonic() + (seconds or self._timeout)
        answers: dict[int, tuple[Message, Arrays]] = {}
        self._check_connected()
        payloads = {shard: self._payload(arrays) for shard, (_, arrays) in requests.items()}
        while missing := [shard for shard in requests if shard not in answers]:
            if time.monotonic() > deadline:
                raise self._late(missing[0], requests[missing[0]][0]["do"])
            sent = {shard: self._send(shard, requests[shard][0], payloads[shard], deadline) for shard in missing}
            for shard, reference in sent.items():
                answer = self._answer(shard, reference, requests[shard][0]["do"], deadline)
                if answer is not None:
                    answers[shard] = answer
        for shard, (answer, _) in answers.items():
            if "error" in answer:
                raise MXNetError(f"server {shard}: {answer['error']}")
        return answers

    def ask_one(self, shard: int, request: Message, arrays: Arrays | None = None) -> tuple[Message, Arrays]:
        """The answer of one shard."""
        return self.ask({shard: (request, arrays or [])})[shard]

    def beat(self) -> None:
        """Tell the first shard that this worker is alive. MXNetError if Ray was shut down."""
        self._check_connected()
        primary = self._primaries.get(0)
        if primary is None:
            return
        try:
            self._ray.get(primary.seen.remote(self._rank), timeout=BEAT_SECONDS)
        except self._ray.exceptions.GetTimeoutError:
            pass  # it is busy, or dies
        except self._deaths:
            leading = self._leading(self._views(0))
            if leading is not None:
                self._primaries[0] = leading

    def _check_connected(self) -> None:
        if not self._ray.is_initialized():  # Ray would start, or connect to, whatever it finds
            raise MXNetError("Ray was shut down, and with it the way to the servers")

    def _payload(self, arrays: Arrays) -> list[Any]:
        return [self._ray.put(arrays)] if sum(array.nbytes for array in arrays) > _INLINE else arrays

    def _send(self, shard: int, request: Message, payload: list[Any], deadline: float) -> Any:
        primary = self._primaries.get(shard) or self._found(shard, deadline)
        self._primaries[shard] = primary
        return primary.call.remote(request, payload)

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
            f"({start.TIMEOUT})"
        )

    def _found(self, shard: int, deadline: float) -> Any:
        """The primary of a shard, as soon as there is one."""
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
                    f"worker {self._rank} has found no server {shard} within {self._timeout:g} s ({start.TIMEOUT}): is "
                    "the launcher still running?"
                )
            time.sleep(0.02)

    @staticmethod
    def _leading(views: list[tuple[Any, Message]]) -> Any:
        """The newest primary, if there is one."""
        leading = [(view["epoch"], actor) for actor, view in views if view["role"] == "primary"]
        return max(leading, key=lambda pair: pair[0])[1] if leading else None

    def _views(self, shard: int) -> list[tuple[Any, Message]]:
        """The servers of a shard that answer at once, and how they are."""
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
