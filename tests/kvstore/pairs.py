"""Servers without processes: what the tests of dist_async put in place of Ray where it is not Ray that they test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import runtime as mx
from runtime.kvstore.local import KVStore
from runtime.kvstore.servers.client import ServerStore
from runtime.kvstore.servers.shard import Shard
from runtime.optimizer import states


class Pairs:
    """Shards in this process, in place of a ServerConnection: each a primary and a replica, either of which fails now
    and then."""

    def __init__(self, shards: int, fails: Callable[[], int] = lambda: 0) -> None:
        self.shards = shards
        self._fails = fails
        self.pairs = [[Shard(s), Shard(s)] for s in range(shards)]
        self.workers = range(2)
        self.silent: list[int] = []
        self.asked: list[int] = []  # the shards that the last request went to

    def ask(self, requests: Any, seconds: float | None = None) -> dict[int, Any]:
        self.asked = list(requests)
        return {shard: self._ask(shard, request, _read_only(arrays)) for shard, (request, arrays) in requests.items()}

    def beat(self) -> None:
        pass

    def is_connected(self) -> bool:
        return True

    def _ask(self, shard: int, request: Any, arrays: Any) -> Any:
        """Ask until there is an answer: after a failure the survivor is the primary, and gets a new replica."""
        while True:
            primary, replica = self.pairs[shard]
            if request["do"] in ("barrier", "pace"):
                return primary.waiting(request, self.workers, self.silent)
            when = self._fails()
            if not primary.changes(request):
                return _copied(primary(request, arrays))
            if when in (1, 2):  # the primary fails, before or after the replica has it
                if when == 2:
                    replica(request, arrays)
                self.pairs[shard] = [replica, _copy(replica)]
                continue
            answer = primary(request, arrays)
            if when == 3:  # the replica fails, and is replaced
                self.pairs[shard] = [primary, _copy(primary)]
                return _copied(answer)
            replica(request, arrays)
            if when == 4:  # the primary fails when both have it, but its answer is lost
                self.pairs[shard] = [replica, _copy(replica)]
                continue
            return _copied(answer)

    def check_replicas(self) -> None:
        for primary, replica in self.pairs:
            (ours, arrays), (theirs, others) = primary.snapshot(), replica.snapshot()
            assert ours == theirs
            if ours["optimizer"] is not None:
                (header, of_ours), (same, of_theirs) = (states.checked(x.pop().tobytes()) for x in (arrays, others))
                assert header == same
                arrays, others = [*arrays, *of_ours.values()], [*others, *of_theirs.values()]
            assert all(map(np.array_equal, arrays, others))


def _copy(shard: Shard) -> Shard:
    return Shard.restored(*shard.snapshot())


def _read_only(arrays: Any) -> Any:
    """As Ray gives them."""
    found = [array.copy() for array in arrays]
    for array in found:
        array.flags.writeable = False
    return found


def _copied(answer: Any) -> Any:
    """What was sent does not change any more."""
    return answer[0], [array.copy() for array in answer[1]]


def store(pairs: Pairs, rank: int = 0, attempt: int = 0) -> ServerStore:
    return ServerStore("dist_async", pairs, rank, 2, attempt)  # type: ignore[arg-type]


def sgd(**arguments: Any) -> mx.optimizer.Optimizer:
    """What adds a gradient to the weight."""
    return mx.optimizer.create("sgd", learning_rate=1, rescale_grad=-1, **arguments)


def values(kv: KVStore, shapes: dict[Any, tuple[int, ...]]) -> list[np.ndarray]:
    out = [mx.nd.zeros(shape) for shape in shapes.values()]
    kv.pull(list(shapes), out=out)
    return [array.asnumpy() for array in out]
