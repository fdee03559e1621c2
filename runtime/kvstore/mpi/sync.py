"""The store whose ranks sum gradients and update values together: `dist_sync` and its like."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime import autograd
from runtime.base import MXNetError
from runtime.context import cpu
from runtime.core import dtypes, files
from runtime.core.backend import to_host
from runtime.kvstore import environment
from runtime.kvstore.base import Key
from runtime.kvstore.compression import GradientCompression
from runtime.kvstore.local import Arrays, KVStore, Update, _check_alike, _unrecorded
from runtime.kvstore.mpi import state_files
from runtime.kvstore.mpi.agreement import DIGEST_BYTES, Agreement, Description, digest
from runtime.kvstore.mpi.bucket import Bucket
from runtime.kvstore.mpi.overlap import OVERLAP, OverlappedSends
from runtime.kvstore.mpi.partials import Extent
from runtime.kvstore.mpi.plan import Plan, description_of
from runtime.kvstore.mpi.rows import RowSparseKeys, summed
from runtime.kvstore.mpi.updates import Function, OptimizerUpdate, Sum, share_seed
from runtime.kvstore.mpi.world import DATA, world
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray
from runtime.ndarray.sparse.densify import as_dense
from runtime.ndarray.updates.sums import total
from runtime.optimizer import Optimizer, Updater, state_sharding

_MAX_PLANS = 256
"""How many sets of keys that were flushed together are remembered."""


class SyncKVStore(KVStore):
    """Values by key, the same on every rank of an MPI job: `mpiexec -n 4 python train.py`.

    What is pushed is summed over the contexts of a rank, then over the ranks. The sum becomes the value or, once there
    is an optimizer, is the gradient that updates it: each rank updates its part of every key, and has the states of
    that part alone.

    `push` only records the values as they are then. They may be changed afterwards, except for an array that was given
    to `bind_gradient_buffer`. The first `pull`, `barrier`, save or load, or the second push of a key, *flushes* all
    that is recorded. These calls, `init`, `set_optimizer` and all others that change how values are updated must be
    made by all ranks, in the same order and with the same keys, shapes, types and hyper-parameters. A difference is
    an MXNetError on all ranks: what was recorded is dropped, and nothing has changed.

    All of this is in the memory of the host: gradients of GPUs are copied there, and new values back.

    Everything else is as in the store of one process. A rank that waits longer than `timeout` seconds (600, or
    RUNTIME_KVSTORE_TIMEOUT) for others raises MXNetError, which names them.
    """

    def __init__(self, name: str = "dist_sync") -> None:
        super().__init__(name)
        self._world = world()
        self._agreement = Agreement(self._world)
        self._update_rule: Sum = Sum()
        self._buckets: dict[Key, Bucket] = {}  # of each dense key that was pushed
        self._slots: dict[Key, np.ndarray] = {}  # where its gradients are
        self._sparse = RowSparseKeys(self._world)
        self._recorded: dict[Key, RowSparseNDArray | None] = {}  # None: in the bucket
        self._updated: set[Key] = set()
        self._plans: dict[tuple[Key, ...], Plan] = {}
        overlap = self.num_workers > 1 and os.environ.get(OVERLAP, "0") == "1"
        self._overlap = OverlappedSends(self._world) if overlap else None
        self._tags: dict[Key, int] = {}  # of messages of single keys
        self.bytes_sent = 0
        """Bytes of gradients and values that this rank has sent in flushes."""

    @property
    def rank(self) -> int:
        return self._world.rank

    @property
    def num_workers(self) -> int:
        return self._world.size

    @property
    def timeout(self) -> float:
        """Seconds to wait for other ranks; of all such stores of this process."""
        return self._world.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._world.timeout = environment.checked_timeout(seconds)

    @_unrecorded
    def barrier(self) -> None:
        """Flush, and wait until all ranks are here."""
        self._flush()
        self._agree("barrier", {})

    _barrier = barrier

    def _agree(self, operation: str, what: Description) -> None:
        """Wait until all ranks are about to do the same; MXNetError where they are not."""
        description = {"the operation": f"{operation} of a '{self.type}' kvstore", **what}
        self._agreement.agree(operation, digest(description) + bytes(DIGEST_BYTES), lambda: description)

    # ------------------------------------------------------------ values

    @_unrecorded
    def init(self, key: Key | Sequence[Key], value: Arrays) -> None:
        """Give each key the value that rank 0 has for it. A key can be initialized once."""
        before = dict(self._values)
        super().init(key, value)
        new = {k: v if v.context.on_cpu else v.as_in_context(cpu()) for k, v in self._values.items() if k not in before}
        try:
            self._agree("init", {"the keys": list(new), **description_of(new), OVERLAP: self._overlap is not None})
            for k, array in new.items():
                if array.stype == "row_sparse":
                    new[k] = RowSparseNDArray(array.asnumpy(), np.arange(len(array)), array.shape, array.context)
            self._world.broadcast([_memory(a) for a in new.values()], "init")
        except BaseException:
            self._values = before
            raise
        self._values.update(new)
        self._tags |= {k: next(self._world.tags) for k in new} if self._overlap is not None else {}

    @_unrecorded
    def assign(self, key: Key | Sequence[Key], value: Arrays) -> None:
        """Flush, and give each key the value that rank 0 has for it. Its optimizer states begin anew."""
        groups = self._initialized("assign", key, value)
        self._flush()
        self._agree("assign", {"the keys": list(groups)})
        super().assign(key, value)
        with as_dense([self._values[k] for k in groups]) as dense:
            self._world.broadcast([a._data for a in dense], "assign")

    @_unrecorded
    def push(self, key: Key | Sequence[Key], value: Arrays, priority: int = 0) -> None:
        """Record the sum of the values of each key, in the type of the key's value."""
        groups = self._initialized("push", key, value)
        for k, arrays in groups.items():
            _check_alike(k, arrays)
        if any(map(self._recorded.__contains__, groups)):
            self._flush()
        by_rows = [k for k, a in groups.items() if k in self._sparse.keys or self._stays_row_sparse(k, a[0].stype)]
        for k in by_rows:
            self._make_row_sparse(k)
        slots = {k: self._slot(k) for k in groups if k not in self._sparse.keys}
        for k, slot in slots.items():
            compression = self._compression_of(slot.dtype)
            if compression is not None:
                compression.check(k, 0, slot.reshape(-1))
        for k, arrays in groups.items():
            if k in slots:
                if self._overlap is None or not self._overlap.is_sent(k, arrays[0]):
                    self._write(slots[k], arrays)
                self._recorded[k] = None
            else:
                self._recorded[k] = summed(arrays, self._values[k])

    @_unrecorded
    def pull(
        self, key: Key | Sequence[Key], out: Arrays | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Flush, and write the value of each key to its arrays in `out`, or, with `ignore_sparse`, to dense ones."""
        self._flush()
        super().pull(key, out, priority, ignore_sparse)

    @_unrecorded
    def row_sparse_pull(
        self, key: Key | Sequence[Key], out: Arrays | None = None, priority: int = 0, row_ids: Arrays | None = None
    ) -> None:
        """Flush, and write rows of the value of each key to its row-sparse arrays in `out`."""
        self._flush()
        super().row_sparse_pull(key, out, priority, row_ids)

    def bind_gradient_buffer(self, key: Key, array: NDArray) -> Callable[[autograd.Variable], None] | None:
        """Give a gradient the memory that pushes of this key write to, so that pushing it copies nothing.

        It must then stay as it is from a push to the next flush, and be that of the key's only context. An array of
        another element type than the key's value, or of a key with row-sparse gradients, stays where it is.

        With RUNTIME_KVSTORE_OVERLAP=1, on all ranks, returns what is to be called when backward has completed the
        gradient: it is sent then, while others are still computed.
        """
        self._initialized("bind_gradient_buffer", key, array)
        value = self._values[key]
        if array.stype != "default" or not array.context.on_cpu or array.dtype != value.dtype:
            return None
        if key in self._sparse.keys or key in self._recorded:
            return None
        slot = self._slot(key)
        slot[...] = array._data
        array._data = slot
        return None if self._overlap is None else functools.partial(self._send_early, key)

    def _send_early(self, key: Key, variable: autograd.Variable) -> None:
        """Send a gradient that is complete, ahead of its push."""
        slot = self._slots.get(key)
        if variable.grad._data is slot and self._compression_of(slot.dtype) is None:
            bucket = self._buckets[key]
            self._overlap.begin(key, self._tags[key], bucket.traffic([key]).grads, variable)

    def _finish(self, bucket: Bucket, keys: Sequence[Key], doing: str) -> None:
        messages = {k: (self._tags[k], bucket.traffic([k]).grads) for k in keys}
        self.bytes_sent += self._overlap.finish(messages, doing)

    # ------------------------------------------------------------ what is recorded

    def _stays_row_sparse(self, key: Key, stype: str) -> bool:
        """Whether a gradient is row-sparse and is to stay so; MXNetError if dense ones have updated this key."""
        if stype != "row_sparse" or not self._update_rule.takes_row_sparse(np.dtype(self._values[key].dtype)):
            return False
        rule = self._update_rule
        if isinstance(rule, OptimizerUpdate) and (key in self._updated or rule.updater.states_synced.get(key)):
            raise MXNetError(
                f"push: the states of key {key!r} are where dense gradients go; a row-sparse one cannot follow: "
                "convert it with tostype('default')"
            )
        return True

    def _make_row_sparse(self, key: Key) -> None:
        """Let the gradients of a key be row-sparse from now on."""
        if key not in self._sparse.keys:
            self._sparse.keys.add(key)
            self._buckets.pop(key, None)
            self._slots.pop(key, None)
            self._plans.clear()

    def _write(self, slot: np.ndarray, arrays: list[NDArray]) -> None:
        """Have the sum in the memory of a key."""
        found = to_host(total(arrays, arrays[0].context, slot)._data)
        if found is not slot:
            np.copyto(slot, found if found.dtype == slot.dtype else dtypes.convert(found, slot.dtype))

    def _slot(self, key: Key) -> np.ndarray:
        """The memory of a dense gradient."""
        if key not in self._slots:
            self._make_bucket(np.dtype(self._values[key].dtype))
        return self._slots[key]

    def _make_bucket(self, dtype: np.dtype) -> None:
        """Make a bucket of all dense keys of this type that are in none; their values move there."""
        keys = [k for k, v in self._values.items()
                if v.dtype == dtype.type and k not in self._buckets and k not in self._sparse.keys]  # fmt: skip
        shapes = {k: self._values[k].shape for k in keys}
        bucket = Bucket(self._world, shapes, dtype, *self._cuts(shapes, dtype), self._compression_of(dtype))
        for k in keys:
            value, memory = self._values[k], bucket.slot(bucket.values, k)
            memory[...] = value.asnumpy()
            if value.stype == "row_sparse":
                self._values[k] = RowSparseNDArray(memory, np.arange(len(value)), value.shape, value.context)
            else:
                self._values[k] = NDArray(memory, value.context)
            self._buckets[k], self._slots[k] = bucket, bucket.slot(bucket.grads, k)
        self._buckets = {k: self._buckets[k] for k in self._values if k in self._buckets}  # on all ranks in one order

    def _cuts(self, shapes: Mapping[Key, tuple[int, ...]], dtype: np.dtype) -> tuple[dict[Key, Any], dict[Key, float]]:
        """Where keys may be cut, and the work of updating them."""
        rule = self._update_rule
        cuts = {k: rule.cut(k, dtype, shape) for k, shape in shapes.items()}
        return cuts, {k: rule.work(k, dtype, shape) for k, shape in shapes.items()}

    def _compression_of(self, dtype: np.dtype) -> GradientCompression | None:
        """What compresses gradients of this type: those that are floats."""
        return None if dtype.kind in "iub" else self._compression

    # ------------------------------------------------------------ flushes

    def _flush(self) -> None:
        """Exchange and apply what is recorded, with all other ranks."""
        if not self._recorded:
            return
        recorded, self._recorded = self._recorded, {}
        plan = self._plans.get(tuple(recorded))
        if plan is None:
            plan = self._plan(recorded)
        update_rule = self._update_rule

        def describe() -> Description:
            return {**plan.description, **update_rule.describe(plan.keys)}

        self._agreement.agree("the flush of what was pushed", plan.digest + update_rule.digest(plan.keys), describe)
        with self._world.report_failures(plan.doing):  # whatever stops this rank now
            if isinstance(update_rule, OptimizerUpdate):
                share_seed(self._world, update_rule.optimizer)
            self._exchange_gradients(plan)
            plan.update()
            for _, _, traffic in plan.dense:
                self._world.exchange(*traffic.values, DATA, "the exchange of new values")
            if plan.rows:
                self._update_rows({k: recorded[k] for k in plan.rows})
        self.bytes_sent, self._sparse.sent = self.bytes_sent + plan.sent + self._sparse.sent, 0
        self._updated.update(plan.keys)

    def _update_rows(self, grads: Mapping[Key, RowSparseNDArray]) -> None:
        """The flush of keys with row-sparse gradients."""
        values = {k: self._values[k] for k in grads}
        self._sparse.assign_owners(values)
        changed = self._update_rule.apply_rows(self._sparse.reduce_to_owners(grads), values)
        self._sparse.broadcast_rows(values, changed, self._update_rule.clears_other_rows)

    def _exchange_gradients(self, plan: Plan) -> None:
        """Have those of all ranks where the owners of dense keys read them."""
        for bucket, keys, _ in plan.dense:
            bucket.pack(keys)
        for bucket, keys, traffic in plan.dense:
            if self._overlap is not None and self._compression_of(bucket.dtype) is None:
                self._finish(bucket, keys, "the exchange of gradients")
            else:
                self._world.exchange(*traffic.grads, DATA, "the exchange of gradients")
            bucket.unpack(keys)

    def _plan(self, recorded: Mapping[Key, Any]) -> Plan:
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        values = {k: v for k, v in self._values.items() if k in recorded}
        plan = Plan.of(self._type, values, self._buckets, self._update_rule, self._compression)
        self._plans[tuple(recorded)] = plan
        return plan

    def _extents(self, key: Key) -> list[Extent]:
        """The first element that each rank owns of a key, and the number of elements."""
        size = self._values[key].size
        if key in self._sparse.owners:
            owner = self._sparse.owners[key]
            return [(0, size if r == owner else 0) for r in range(self.num_workers)]
        layout = self._buckets[key].layout
        parts = [layout.part(key, r) for r in range(self.num_workers)]
        return [(part.offset, part.size) for part in parts]

    def _state_share(self, key: Key) -> state_sharding.Share:
        """Which ranks have states of a key; rank 0 has what was loaded, and belongs to no key that was pushed."""
        if key in self._sparse.owners:
            return state_sharding.Share(self._sparse.owners[key], None)
        if key not in self._buckets:
            return state_sharding.Share(0, None)
        sizes = [size for _, size in self._extents(key)]
        whole = self._buckets[key].cuts[key] in ("tensors", "never")
        return state_sharding.Share(sizes.index(max(sizes)), None if whole else self._values[key].shape)

    # ------------------------------------------------------------ updates

    @_unrecorded
    def share_seed(self, optimizer: Optimizer) -> None:
        """Have `optimizer`, with which each rank updates values of its own, draw alike on all, from rank 0's seed."""
        if getattr(optimizer, "seed", 0) is None:
            self._agree("share_seed", {})
            share_seed(self._world, optimizer)

    @_unrecorded
    def set_updater(self, updater: Update) -> None:
        """Update values with `updater(key, pushed, value)`, which changes `value` in place, on one rank each."""
        self._flush()
        optimizing = isinstance(updater, Updater)
        extents = weakref.WeakMethod(self._extents)  # the store goes when the last user of it does
        update_rule = OptimizerUpdate(self._world, updater, lambda k: extents()(k)) if optimizing else Function(updater)
        for k, bucket in self._buckets.items():
            # What it cannot update is refused before anything changes.
            update_rule.cut(k, bucket.dtype, self._values[k].shape)
        super().set_updater(updater)
        self._update_rule = update_rule
        self._updated.clear()
        self._repartition()

    _set_updater = set_updater

    @_unrecorded
    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Send dense gradients in few bits: `{"type": "2bit", "threshold": 0.5}`, or '1bit'.

        What a gradient loses is added to the next one of its key. It is the sum over a rank's contexts that is sent so.
        """
        compression = GradientCompression(compression_params)
        self._flush()
        self._compression = compression
        self._repartition()

    def _repartition(self) -> None:
        """Share the keys among the ranks as the update that is set allows it."""
        self._plans.clear()
        for bucket in dict.fromkeys(self._buckets.values()):
            if self._overlap is not None and not bucket.is_compressed:  # what is on its way goes where parts were
                self._finish(bucket, list(bucket.layout.slots), "an exchange of gradients that are not used")
            shapes = {k: slot.shape for k, slot in bucket.layout.slots.items()}
            bucket.cut(*self._cuts(shapes, bucket.dtype), self._compression_of(bucket.dtype))

    # ------------------------------------------------------------ states

    @_unrecorded
    def save_optimizer_states(self, fname: str | os.PathLike[str], dump_optimizer: bool = False) -> None:
        """Flush, and write states and update counts of all ranks to one file, which rank 0 does; any number of ranks
        can read it. `dump_optimizer`: hyper-parameters, too."""
        updater = self._optimizing("save")
        self._flush()
        self._agree("save_optimizer_states", {"dump_optimizer": bool(dump_optimizer)})
        with self._world.report_failures("save_optimizer_states"):
            content = updater.get_states(dump_optimizer)
        contents = self._world.gather_bytes(content, [0], "save_optimizer_states")

        def write() -> None:
            files.write(fname, state_sharding.merged(contents, self._state_share))

        state_files.on_rank_0(self._world, write, "save_optimizer_states")

    @_unrecorded
    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Flush, and take what `save_optimizer_states` wrote, whatever the number of ranks was; rank 0 reads the file.

        Raises MXNetError, with nothing changed, for a file that is none of these, and for states that do not fit.
        """
        updater = self._optimizing("load")
        self._flush()
        self._agree("load_optimizer_states", {})
        content = state_files.on_rank_0(self._world, Path(fname).read_bytes, "load_optimizer_states")
        weights = self._weights()
        with self._update_rule.with_pieces():
            state_files.load(self._world, updater, content, weights, os.fspath(fname))

    @_unrecorded
    def evaluated(self, keys: Sequence[Key]) -> list[NDArray]:
        """Flush, and return new arrays: the weights to evaluate a network with (`Updater.evaluate`)."""
        updater = self._optimizing("evaluate with")
        self._flush()
        self._agree("evaluated", {"the keys": list(keys)})
        for k in keys:
            if k not in self._sparse.keys:
                self._slot(k)
        values = {k: NDArray(self._values[k].asnumpy(), self._values[k].context) for k in keys}
        weights = {k: w for k, w in self._weights().items() if k in values}
        with self._world.report_failures("evaluated"), self._update_rule.with_pieces():
            found = updater.evaluate(
                list(weights), [w if w.stype == "default" else w.tostype("default") for w in weights.values()]
            )
        for k, array in zip(weights, found, strict=True):
            flat = values[k]._data.reshape(-1)
            parts = [flat[offset : offset + size] for offset, size in self._extents(k)]
            parts[self.rank][...] = array._data.reshape(-1)
            self._world.allgather(parts, "evaluated")
        return list(values.values())

    def _weights(self) -> dict[Key, NDArray]:
        """What this rank updates of each key that was pushed; of those that others update, empty pieces."""
        contexts = {k: v.context for k, v in self._values.items()}
        placed = self._update_rule.place({k: b.item(k) for k, b in self._buckets.items()}, contexts)
        rows = {k: self._update_rule.own_rows(k, self._values[k], self._sparse.owns(k)) for k in self._sparse.owners}
        return {k: weight for k, (weight, _) in placed.items()} | rows


def _memory(array: NDArray) -> np.ndarray:
    return array._rows if isinstance(array, RowSparseNDArray) else array._data
