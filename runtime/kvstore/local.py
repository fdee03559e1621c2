"""The store of one process: sums over its contexts, and updates of the values by an optimizer."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime import autograd
from runtime.base import ArgumentError, MXNetError
from runtime.core import files
from runtime.kvstore import nccl
from runtime.kvstore.base import Key, KVStoreBase, knows_optimizer, refuse_workers
from runtime.kvstore.compression import GradientCompression
from runtime.kvstore.groups import Groups, grouped
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray, retain
from runtime.ndarray.updates.sums import total
from runtime.optimizer import Optimizer, Updater, get_updater, states

NAMES = ("local", "device", "local_allreduce_cpu", "local_allreduce_device", "local_update_cpu")
"""What `create` calls these, beside 'nccl'. They do the same, but that only the 'device' ones compress gradients."""

STORAGES = ("default", "row_sparse")
Update = Callable[[Key, NDArray, NDArray], None]
Arrays = NDArray | Sequence[NDArray] | Sequence[Sequence[NDArray]]
"""The value of a key, its values in several contexts, or as many of either as there are keys."""


def _unrecorded(method: Callable) -> Callable:
    """The method with recording paused: stores are also used inside `autograd.record()`."""

    @functools.wraps(method)
    def paused(*args: Any, **kwargs: Any) -> Any:
        with autograd.pause():
            return method(*args, **kwargs)

    return paused


class KVStore(KVStoreBase):
    """Values by key, all keys being numbers or all names.

    A value is in the context of what it was initialized with. What is pushed is summed over contexts, there; where the
    sum is only to be written to several GPUs, NCCL sums between these. The sum becomes the value of the key or, once
    there is an optimizer, is the gradient that updates it. Values are dense or row-sparse; what is pushed or pulled is
    converted to the type it is written to. `priority` is taken for the sake of scripts that give it: all is done in the
    order of calls.

    Everything raises MXNetError for keys that are not initialized and values whose shapes do not fit, and ArgumentError
    for what is no key or no value; nothing has changed then.
    """

    def __init__(self, name: str = "local") -> None:
        self._type = name
        self._values: dict[Key, NDArray] = {}
        self._sums: dict[Key, NDArray] = {}  # of the last push: memory for that of the next
        self._arrived: dict[tuple[Key, int], NDArray] = {}  # likewise, for what came from other devices
        self._updater: Updater | Update | None = None
        self._compression: GradientCompression | None = None

    @property
    def type(self) -> str:
        return self._type

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1

    def is_capable(self, capability: str) -> bool:
        return knows_optimizer(capability)

    def barrier(self) -> None:
        """Wait for the other processes: there are none."""

    _barrier = barrier

    # ------------------------------------------------------------ values

    @_unrecorded
    def init(self, key: Key | Sequence[Key], value: Arrays) -> None:
        """Give each key its first value, of which a copy is kept. A key can be initialized once."""
        self._values.update({k: array.copy() for k, array in self._new("init", key, value).items()})

    @_unrecorded
    def assign(self, key: Key | Sequence[Key], value: Arrays) -> None:
        """Replace the values of keys, by those of rank 0 where there are several processes.

        Their optimizer states, which may hold the values in another precision, begin anew.
        """
        for k, arrays in self._initialized("assign", key, value).items():
            arrays[-1].copyto(self._values[k])
            if isinstance(self._updater, Updater):
                self._updater.states.pop(k, None)
                self._updater.states_synced.pop(k, None)

    @_unrecorded
    def push(self, key: Key | Sequence[Key], value: Arrays, priority: int = 0) -> None:
        """Sum the values of each key; the sum becomes the key's value, or updates it.

        An optimizer updates all keys of a call together. One made from equations reads the values themselves, in the
        kernel that updates: their sum is never in memory.
        """
        groups = self._initialized("push", key, value)
        for k, arrays in groups.items():
            _check_alike(k, arrays)
            if self._compression is not None and arrays[0].stype == "default":
                for i, array in enumerate(arrays):
                    self._compression.check(k, i, array._data)
        if isinstance(self._updater, Updater):
            self._updater(*self._update(groups))
            return
        for k, arrays in groups.items():
            pushed = self._total(k, arrays)
            if self._updater is None:
                pushed.copyto(self._values[k])
            else:
                self._updater(k, pushed, self._values[k])

    @_unrecorded
    def pull(
        self, key: Key | Sequence[Key], out: Arrays | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Write the value of each key to its arrays in `out`; `ignore_sparse`: but not to row-sparse ones."""
        for k, arrays in self._initialized("pull", key, _required("pull", "out", out)).items():
            for array in arrays:
                if array.stype == "default" or not ignore_sparse:
                    self._values[k].copyto(array)

    @_unrecorded
    def pushpull(self, key: Key | Sequence[Key], value: Arrays, out: Arrays | None = None, priority: int = 0) -> None:
        """`push`, and `pull` to `out`, or to `value` itself where `out` is None."""
        out = value if out is None else out
        wanted = self._initialized("pushpull", key, out)
        if not self._all_reduced(key, value, wanted):
            self.push(key, value, priority)
            self.pull(key, out, priority)

    def _all_reduced(self, key: Any, value: Any, wanted: Groups) -> bool:
        """Whether NCCL has written the sums where they are wanted; the values have them, too, then."""
        first = next(iter(wanted.values()), None)
        if first is None or first[0]._ctx.on_cpu or self._updater is not None or self._compression is not None:
            return False
        groups = self._initialized("push", key, value)
        if not nccl.all_reduce(groups, wanted):
            return False
        for k in groups:
            wanted[k][0].copyto(self._values[k])
        return True

    @_unrecorded
    def broadcast(self, key: Key | Sequence[Key], value: Arrays, out: Arrays, priority: int = 0) -> None:
        """`init`, and `pull` to `out`."""
        self.init(key, value)
        self.pull(key, out, priority)

    @_unrecorded
    def row_sparse_pull(
        self, key: Key | Sequence[Key], out: Arrays | None = None, priority: int = 0, row_ids: Arrays | None = None
    ) -> None:
        """Write rows of the row-sparse value of each key to its row-sparse arrays in `out`, which then have no others.

        `row_ids` are their numbers, in any order and shape, repeated or not: an array for each array in `out`, or, with
        one key, one for all of them.
        """
        groups = self._initialized("row_sparse_pull", key, _required("row_sparse_pull", "out", out))
        row_ids = _required("row_sparse_pull", "row_ids", row_ids)
        if not isinstance(key, (list, tuple)):
            count = sum(map(len, groups.values()))
            rows = [row_ids] if isinstance(row_ids, NDArray) else row_ids
            row_ids = list(rows) * count if len(rows) == 1 else rows
        wanted = grouped("row_sparse_pull", key, row_ids)
        for k, arrays in groups.items():
            if len(arrays) != len(wanted[k]):
                raise MXNetError(f"row_sparse_pull: {len(arrays)} arrays, but {len(wanted[k])} row_ids, for key {k!r}")
            for what, array in (("the value", self._values[k]), *(("an array for the value", a) for a in arrays)):
                if array.stype != "row_sparse":
                    raise MXNetError(f"row_sparse_pull: {what} of key {k!r} is '{array.stype}', not 'row_sparse'")
        for k, arrays in groups.items():
            for array, ids in zip(arrays, wanted[k], strict=True):
                self._rows(k, ids).copyto(array)

    def bind_gradient_buffer(self, key: Key, array: NDArray) -> Callable[[autograd.Variable], None] | None:
        """Give `array`, which the only context will push as the gradient of this key, memory of the store, so that a
        push copies nothing. In this store the array keeps its memory.

        Returns None, or a function to call with the variable of the gradient whenever backward has completed it.
        """
        return None

    # ------------------------------------------------------------ updates

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update values with `optimizer` from now on; its indices are the keys."""
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"set_optimizer takes an Optimizer, not {type(optimizer).__name__}; see optimizer.create")
        refuse_workers(optimizer, self.type)
        self.set_updater(get_updater(optimizer))

    def share_seed(self, optimizer: Optimizer) -> None:
        """Give `optimizer` the same seed of random draws in all processes. There is only one process here."""

    def set_updater(self, updater: Update) -> None:
        """Update values with `updater(key, pushed, value)`, which changes `value` in place."""
        if not callable(updater):
            raise TypeError(f"an updater is a function of key, pushed sum and value, not {updater!r}")
        self._updater = updater

    _set_updater = set_updater

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Send dense gradients in few bits: `{"type": "2bit", "threshold": 0.5}`, or '1bit'.

        What a gradient loses is added to the next one of its key and context. Only a 'device' store does so.
        """
        if "device" not in self._type:
            raise MXNetError(f"a '{self._type}' kvstore does not compress gradients; use 'device'")
        self._compression = GradientCompression(compression_params)

    @property
    def compression(self) -> GradientCompression | None:
        """What compresses gradients, and keeps what they have lost so far; None: nothing does."""
        return self._compression

    def save_optimizer_states(self, fname: str | os.PathLike[str], dump_optimizer: bool = False) -> None:
        """Write states and update counts to a file (safetensors); `dump_optimizer`: hyper-parameters, too."""
        files.write(fname, self._optimizing("save").get_states(dump_optimizer))

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read what `save_optimizer_states` wrote.

        Raises MXNetError, with nothing changed, for a file that is none of these, and for states that do not fit.
        """
        states.load(fname, [self._optimizing("load")], [self._values])

    @_unrecorded
    def evaluated(self, keys: Sequence[Key]) -> list[NDArray]:
        """The weights to evaluate a network with, after at least one update: the values of these keys, or new arrays
        (`Updater.evaluate`)."""
        return self._optimizing("evaluate with").evaluate(keys, [self._values[k] for k in keys])

    def _optimizing(self, operation: str) -> Updater:
        if not isinstance(self._updater, Updater):
            raise MXNetError(f"there are no states to {operation}: this kvstore has no optimizer (see set_optimizer)")
        return self._updater

    def _update(self, groups: Groups) -> tuple[list[Key], list[Any], list[NDArray]]:
        """Keys, their gradients or lists of these, and their values, for an updater."""
        counts = {len(arrays) for arrays in groups.values()}
        dense = all(array.stype == "default" for arrays in groups.values() for array in arrays)
        if self._updater.optimizer.sums_gradients and dense and len(counts) == 1 and counts != {1}:
            grads = [self._received(k, arrays) for k, arrays in groups.items()]
        else:
            grads = [self._total(k, arrays) for k, arrays in groups.items()]
        return list(groups), grads, [self._values[k] for k in groups]

    def _received(self, key: Key, arrays: list[NDArray]) -> list[NDArray]:
        """What arrives of a key's dense values, where the key's value is."""
        context = self._values[key].context
        if self._compression is not None:
            return [NDArray(self._compression(key, i, a._data, context), context) for i, a in enumerate(arrays)]
        on_cpu = context.on_cpu
        return [
            a if (on_cpu and a._ctx.on_cpu) or a._ctx == context else self._landed((key, i), a)
            for i, a in enumerate(arrays)
        ]

    def _landed(self, place: tuple[Key, int], array: NDArray) -> NDArray:
        """A copy of a value from another device, in memory that stays: what is bound to it need not be bound anew."""
        held = self._arrived.get(place)
        if held is None or held.dtype != array.dtype:
            held = self._arrived[place] = array.as_in_context(self._values[place[0]].context)
            return held
        return array.copyto(held)

    def _total(self, key: Key, arrays: list[NDArray]) -> NDArray:
        context, last = self._values[key].context, self._sums.get(key)
        if arrays[0].stype == "default":
            arrays = self._received(key, arrays)
        found = total(arrays, context, None if last is None else last._data)
        if found.stype == "default" and len(arrays) > 1:
            self._sums[key] = found
        return found

    def _rows(self, key: Key, ids: NDArray) -> RowSparseNDArray:
        try:
            return retain(self._values[key], ids.reshape((-1,)))
        except ValueError as error:
            raise MXNetError(f"row_sparse_pull: key {key!r}: {error}") from None

    # ------------------------------------------------------------ checks

    def _grouped(self, operation: str, key: Any, value: Any) -> Groups:
        """Values by key; the keys are of the kind that this store has."""
        groups = grouped(operation, key, value)
        has = next(iter(self._values), None)
        for k in groups:
            if has is not None and isinstance(k, str) != isinstance(has, str):
                raise MXNetError(
                    f"{operation}: the keys of this kvstore are {'names' if isinstance(has, str) else 'numbers'}, such "
                    f"as {has!r}, and key {k!r} is none"
                )
        return groups

    def _new(self, operation: str, key: Any, value: Any) -> dict[Key, NDArray]:
        """The first values of keys that have none."""
        groups = self._grouped(operation, key, value)
        for k, arrays in groups.items():
            if k in self._values or len(arrays) > 1:
                raise MXNetError(f"{operation}: key {k!r} is initialized twice; init and broadcast take every key once")
            if arrays[0].stype not in STORAGES:
                raise MXNetError(
                    f"{operation}: the value of key {k!r} is stored as '{arrays[0].stype}', not as one of {STORAGES}"
                )
        return {k: arrays[0] for k, arrays in groups.items()}

    def _initialized(self, operation: str, key: Any, value: Any) -> Groups:
        """Values by key, of the shapes of what the store has for these keys."""
        groups = self._grouped(operation, key, value)
        for k, arrays in groups.items():
            if k not in self._values:
                raise MXNetError(f"{operation}: key {k!r} is not initialized; call init or broadcast first")
            shape = self._values[k].shape
            for array in arrays:
                if array.shape != shape:
                    raise MXNetError(f"{operation}: key {k!r} has shape {shape}, and an array shape {array.shape}")
        return groups


def _check_alike(key: Key, arrays: Sequence[NDArray]) -> None:
    """What is summed must be of one type and one storage."""
    first = arrays[0]
    if first.stype not in STORAGES:
        raise MXNetError(f"push: a value of key {key!r} is stored as '{first.stype}', not as one of {STORAGES}")
    for array in arrays[1:]:
        if (array.stype, array.dtype) != (first.stype, first.dtype):
            raise MXNetError(
                f"push: the values of key {key!r} differ: one is '{first.stype}' of {first.dtype.__name__}, another "
                f"'{array.stype}' of {array.dtype.__name__}"
            )


def _required(operation: str, name: str, value: Any) -> Any:
    if value is None:
        raise ArgumentError(f"{operation} needs {name}")
    return value
