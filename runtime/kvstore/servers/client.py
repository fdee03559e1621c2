"""The store 'dist_async' as a worker sees it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.context import Context, cpu
from runtime.core import files
from runtime.core.dtypes import element_type
from runtime.kvstore.base import Key, refuse_workers
from runtime.kvstore.compression import GradientCompression
from runtime.kvstore.groups import Groups
from runtime.kvstore.local import Arrays, _check_alike, _required, _unrecorded
from runtime.kvstore.servers import messages, pull_results, resharding, shard_assignment
from runtime.kvstore.servers.connection import ServerConnection
from runtime.kvstore.servers.membership import WorkerMembership
from runtime.kvstore.servers.messages import Message, Place
from runtime.kvstore.servers.worker_optimizer import WorkerOptimizer
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray
from runtime.optimizer import Optimizer, serialization, states


class _Entry:
    """A key whose value is on the servers."""

    context: Context = cpu()

    def __init__(self, place: Place) -> None:
        self.place = place
        self.shape, self.stype = place.shape, place.stype


class ServerStore(WorkerMembership):
    """Values on servers, which update them with each push as it arrives; pulls read the newest.

    All processes (workers) that are given the same servers share the values. Without an optimizer the value of a key
    becomes what is pushed, whoever pushed it last. A push goes to the shards of its keys, returns when both servers of
    each have it, and is applied exactly once, also if one of them dies meanwhile: then the other one is alone for a
    while.

    Keys that are initialized after `set_optimizer` are cut among the shards where their elements are updated one by
    one; others, and those that came earlier, lie whole on one shard.

    Everything raises MXNetError as in KVStore, and if a server does not answer within RUNTIME_KVSTORE_TIMEOUT seconds.

    Parameters
    ----------
    name: the type.
    link: the way to the servers.
    rank, num_workers: which worker this is, of how many.
    attempt: how often this worker has been restarted. Then keys, optimizer and pushes are those on the servers.
    closing: is called when the store is closed.
    """

    def __init__(
        self,
        name: str,
        link: ServerConnection,
        rank: int,
        num_workers: int,
        attempt: int = 0,
        closing: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name, link, rank, num_workers, attempt, closing)
        self._worker_optimizer: WorkerOptimizer | None = None
        self._push_compression: GradientCompression | None = None
        self._optimizers = self._assigned = self._restores = 0  # how many there were

    # ------------------------------------------------------------ values

    @_unrecorded
    def init(self, key: Key | Sequence[Key], value: Arrays) -> None:
        """Give each key the value of rank 0; the other workers wait for that.

        Keys that servers have from before a restart or a checkpoint keep the values that they have there.
        """
        given = self._new("init", key, value)
        places, loads = self._lookup(list(given))
        if self._rank == 0:
            new = {k: v for k, v in given.items() if k not in places}
            found = shard_assignment.places_for(new, loads, self._optimizer)
            self._give({"do": "init"}, new, found)
            places |= found

        def missing() -> list[int]:
            if len(places) < len(given):
                places.update(self._lookup(list(given))[0])
            return [] if len(places) == len(given) else [0]

        self._wait(missing, f"init of keys {_few(given)}")
        for k, v in given.items():
            shard_assignment.check_same(k, v, places[k], self._rank)
        self._values.update({k: _Entry(places[k]) for k in given})

    def _lookup(self, keys: Sequence[Key]) -> tuple[dict[Key, Place], list[int]]:
        answer, _ = self._ask_one(0, {"do": "lookup", "keys": list(keys)})
        return {k: Place.load(place) for k, place in answer["keys"]}, answer["loads"] or [0] * self._connection.shards

    def _give(self, request: Message, values: Mapping[Key, NDArray], places: Mapping[Key, Place]) -> None:
        """Send values with a request. Shard 0 has it last: it is what other workers ask whether it was done."""
        for shard in reversed(range(self._connection.shards)):
            keys, arrays = shard_assignment.given(values, places, shard)
            if keys:
                self._ask_one(shard, request | {"keys": keys}, arrays)

    @_unrecorded
    def assign(self, key: Key | Sequence[Key], value: Arrays) -> None:
        """Replace the values of keys by those of rank 0; the other workers wait for that.

        Their optimizer states begin anew. All workers must call it, as often as rank 0 does.
        """
        values = {k: arrays[-1] for k, arrays in self._initialized("assign", key, value).items()}
        self._assigned += 1
        if self._rank == 0:
            self._give({"do": "assign", "count": self._assigned}, values, self._places())
        self._wait(lambda: [0] if self._counted("assigned") < self._assigned else [], "assign")

    @_unrecorded
    def push(self, key: Key | Sequence[Key], value: Arrays, priority: int = 0) -> None:
        """Send the sum of the values of each key: the servers update the keys' values with it.

        All keys of a call travel together, and are updated together.
        """
        self._exchange(self._pushed("push", key, value), {})

    @_unrecorded
    def pull(
        self, key: Key | Sequence[Key], out: Arrays | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Write the newest value of each key to its arrays in `out`; `ignore_sparse`: but not to row-sparse ones."""
        groups = self._initialized("pull", key, _required("pull", "out", out))
        wanted = pull_results.wanted(groups, ignore_sparse)
        self._fetch({"do": "pull"}, wanted)

    def _fetch(self, request: Message, wanted: Groups) -> None:
        """Request values of keys from all shards that have some, and write them where they are wanted."""
        places = {k: self._values[k].place for k in wanted}
        keys = pull_results.by_shard(places)
        answers = self._ask({shard: (request | {"keys": of}, []) for shard, of in keys.items()})
        pull_results.write(answers, places, wanted)

    @_unrecorded
    def pushpull(self, key: Key | Sequence[Key], value: Arrays, out: Arrays | None = None, priority: int = 0) -> None:
        """`push`, and `pull` to `out`, or to `value` itself where `out` is None, in one exchange with each server."""
        groups = self._initialized("pushpull", key, value if out is None else out)
        self._exchange(self._pushed("pushpull", key, value), pull_results.wanted(groups, True))

    def _pushed(self, operation: str, key: Any, value: Any) -> dict[Key, NDArray]:
        groups = self._initialized(operation, key, value)
        for k, arrays in groups.items():
            _check_alike(k, arrays)
            if self._push_compression is not None and arrays[0].stype == "default":
                self._push_compression.check(k, 0, arrays[0]._data)
        return {k: self._total(k, arrays) for k, arrays in groups.items()}

    def _exchange(self, sums: Mapping[Key, NDArray], wanted: Groups) -> None:
        """Push, and write what is wanted of what it makes of the values."""
        self._keep_pace()
        number = self._number + 1
        hyper, for_all = ({}, False) if self._worker_optimizer is None else self._worker_optimizer.changes()
        places = {k: self._values[k].place for k in wanted}
        pulled = pull_results.by_shard(places)
        pushed = shard_assignment.gradients(sums, self._places(), self._push_compression, self._connection.shards)
        shards = [s for s, (keys, _) in enumerate(pushed) if keys or for_all] or [0]
        if number < self._acknowledged:  # the worker went back to where it was before: servers have this push
            shards = []
        request = {"do": "push", "number": number, "hyper": hyper, "barriers": self._barriers_now(), "shards": shards}
        requests: dict[int, tuple[Message, list[np.ndarray]]]
        requests = {s: ({"do": "pull", "keys": keys}, []) for s, keys in pulled.items()}
        for s in shards:
            keys, arrays = pushed[s]
            requests[s] = (request | {"keys": keys, "pull": pulled.get(s, [])}, arrays)
        self._number = number
        answers = self._ask(requests)
        self._acknowledged = max(number, self._acknowledged)
        pull_results.write(answers, places, wanted)
        if self._worker_optimizer is not None:
            self._worker_optimizer.sent(hyper)
            updates = [answers[s][0].get("updates", 0) for s in shards]
            known = [] if len(shards) == self._connection.shards else [self._worker_optimizer.updates]
            self._worker_optimizer.updated(max(updates + known))

    def _rows(self, key: Key, ids: NDArray) -> RowSparseNDArray:
        (shard,) = self._values[key].place.owners
        rows = np.unique(ids.asnumpy().astype(np.int64))
        if len(rows) and not 0 <= rows[0] <= rows[-1] < self._values[key].shape[0]:
            raise MXNetError(f"row_sparse_pull: key {key!r} has {self._values[key].shape[0]} rows, not one {rows[-1]}")
        answer, arrays = self._ask_one(shard, {"do": "rows", "key": key}, [rows])
        return messages.take(answer["form"], self._values[key].shape, iter(arrays))

    # ------------------------------------------------------------ updates

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Have the servers update values with the optimizer of rank 0; the other workers wait for it.

        Its hyper-parameters may be changed later: what a worker changes goes with its next push, and holds for all;
        but `rescale_grad` is that of the worker that pushes. All workers must call it, as often as rank 0 does.
        """
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"set_optimizer takes an Optimizer, not {type(optimizer).__name__}; see optimizer.create")
        refuse_workers(optimizer, self._type)
        if optimizer.phases:
            phases = " and ".join(optimizer.phases)
            raise MXNetError(
                f"{type(optimizer).__name__}: a step has phases, {phases}, each with gradients at the weights that the "
                f"one before has set, but servers of a '{self._type}' kvstore update whenever some worker pushes: use "
                "'dist_sync'"
            )
        if optimizer.given:
            raise MXNetError(
                f"{type(optimizer).__name__}: each step reads {' and '.join(optimizer.given)}, but servers of a "
                f"'{self._type}' kvstore update with the gradients of one worker after the other: use 'dist_sync'"
            )
        text = serialization.dumps(optimizer)
        if self._connection.shards > 1:
            shard_assignment.check(self._places(), optimizer)
        self._optimizers += 1
        request = {"do": "optimizer", "count": self._optimizers, "text": text}
        if self._rank == 0:
            for shard in reversed(range(self._connection.shards)):  # the first shard has it last: then all have it
                self._ask_one(shard, request)
        self._wait(lambda: [0] if self._counted("optimizers") < self._optimizers else [], "set_optimizer")
        self._worker_optimizer = WorkerOptimizer(optimizer, self._counted("updates"))

    def _counted(self, what: str) -> int:
        return self._ask_one(0, {"do": "lookup", "keys": []})[0][what]

    def set_updater(self, updater: Callable) -> None:
        """MXNetError: servers cannot call a function of this process."""
        raise MXNetError(
            f"the servers of a '{self._type}' kvstore cannot call a function of this process: use set_optimizer, with "
            "a spec (optimizer.register_spec) or a class of a module that they can import"
        )

    _set_updater = set_updater

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Send dense gradients in few bits: `{"type": "2bit", "threshold": 0.5}`, or '1bit'.

        What the sum over contexts loses is added to the next one of its key, on this worker.
        """
        self._push_compression = GradientCompression(compression_params)

    @property
    def compression(self) -> GradientCompression | None:
        return self._push_compression

    # ------------------------------------------------------------ states

    def save_optimizer_states(self, fname: str | os.PathLike[str], dump_optimizer: bool = False) -> None:
        """Write states and update counts of all shards to one file, as other stores do."""
        self._with_optimizer("save")
        answers = self._all({"do": "states", "arguments": bool(dump_optimizer)})
        files.write(fname, resharding.join_states([arrays[0].tobytes() for _, arrays in answers], self._places()))

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read what any store's `save_optimizer_states` wrote. One worker calls it, while no other one pushes."""
        mirror = self._with_optimizer("load")
        content = Path(fname).read_bytes()
        try:
            parts, header = resharding.cut_states(content, self._places(), self._connection.shards)
            optimizer = states.restored(mirror.optimizer, header)
            for what in ("check states", "load states"):
                self._ask({s: ({"do": what}, [np.frombuffer(part, np.uint8)]) for s, part in enumerate(parts)})
        except MXNetError as error:
            raise MXNetError(f"'{os.fspath(fname)}': {error}") from None
        mirror.loaded(optimizer)

    def evaluated(self, keys: Sequence[Key]) -> list[NDArray]:
        """The weights to evaluate a network with: what the servers' optimizer makes of the values, as new arrays."""
        entries = {k: self._values[k].place for k in keys}
        found = {k: [NDArray(np.empty(p.shape, element_type(p.dtype)), cpu())] for k, p in entries.items()}
        self._fetch({"do": "evaluate"}, found)
        return [found[k][0] for k in keys]

    def _with_optimizer(self, operation: str) -> WorkerOptimizer:
        if self._worker_optimizer is None:
            raise MXNetError(f"there are no states to {operation}: this kvstore has no optimizer (see set_optimizer)")
        return self._worker_optimizer

    @property
    def _optimizer(self) -> Optimizer | None:
        return None if self._worker_optimizer is None else self._worker_optimizer.optimizer

    def _places(self) -> dict[Key, Place]:
        return {k: entry.place for k, entry in self._values.items()}

    def snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """All that servers have, for `restore`: arrays by name, and a header that JSON can hold.

        It is taken while no worker pushes, that is, between two barriers. `header["pushes"]` is the number of the last
        push of each worker, as pairs.
        """
        content, arrays = resharding.join_snapshots(self._all({"do": "snapshot"}))
        return {str(i): array for i, array in enumerate(arrays)}, content

    def restore(self, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> None:
        """Go on from a snapshot, of any number of shards. All workers call it; that of rank 0 is used.

        It has the values of all keys that were initialized here; others are initialized with what it has. The optimizer
        of this worker gets the hyper-parameters that it had. Raises MXNetError for what does not fit.
        """
        if self._num_workers == 1:  # it may have done so before it was started again
            self._restores = self._counted("restores")
        self._restores += 1
        saved = None if header["optimizer"] is None else serialization.loads(header["optimizer"])
        if self._rank == 0:
            content = (dict(header), [arrays[str(i)] for i in range(len(arrays))])
            places = shard_assignment.places_again(header, self._places(), saved, self._connection.shards)
            parts = resharding.cut_snapshot(content, places, self._connection.shards)
            for shard, (part, own) in reversed(list(enumerate(parts))):
                self._ask_one(shard, part | {"do": "restore", "count": self._restores}, own)
        self._wait(lambda: [0] if self._counted("restores") < self._restores else [], "restore")
        places, _ = self._lookup(list(self._values))
        self._values.update({k: _Entry(place) for k, place in places.items()})
        self._number, _ = self._joined()
        self._acknowledged = self._number
        if self._worker_optimizer is not None and saved is not None:
            self._worker_optimizer.restored(saved)


def _few(keys: Mapping[Key, Any]) -> str:
    names = [repr(k) for k in keys]
    return ", ".join(names if len(names) < 6 else [*names[:5], "..."])
