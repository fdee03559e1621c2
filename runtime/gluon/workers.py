"""Outer steps of a Trainer, as DiLoCo's, over several processes: each trains for itself, and in some updates the
kvstore sums their weights, where it else sums gradients in each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runtime.base import ArgumentError, MXNetError
from runtime.core import optgen_bridge
from runtime.kvstore import KVStore, KVStoreBase
from runtime.ndarray.ndarray import NDArray

DTYPES = ("float32", "float64")
"""The types of weights whose sums over workers are not rounded to 16 bits."""


def check(optimizer: Any, kvstore: str | KVStoreBase, on_store: bool | None, contexts: int, compression: Any) -> None:
    """ArgumentError for what cannot be combined with a mean over workers."""
    name, kind = type(optimizer).__name__, getattr(kvstore, "type", kvstore)
    if "async" in kind or not isinstance(kvstore, str | KVStore):
        raise ArgumentError(f"{name} has a mean over workers, which a '{kind}' kvstore cannot take; use 'dist_sync'")
    for is_so, what in (
        (on_store, "update_on_kvstore=True: each worker updates its weights"),
        (compression, "compression_params: weights are summed, and no gradients"),
        (contexts > 1, "several contexts: each worker has one"),
    ):
        if is_so:
            raise ArgumentError(f"{name} has a mean over workers; that does not go with {what}")


class OuterSteps:
    """The steps of an optimizer with a mean over workers, in two phases where that is due."""

    def __init__(self, optimizer: Any, store: KVStore) -> None:
        self._optimizer, self._store = optimizer, store
        self._outer = optgen_bridge.outer_step(optimizer.spec)

    def step(self, update: Callable[[], None], weights: Mapping[Any, NDArray]) -> None:
        """One update of these weights by `update`, which computes the phase that the optimizer says.

        MXNetError if the outer step is due for some of them only, or they are of other types; nothing has changed then.
        """
        due = self._is_due(weights)
        before = dict(self._optimizer._index_update_count)
        with self._phase(weights, 0):
            update()
        if due and before != self._optimizer._index_update_count:  # or a loss scaler has left the step out
            keys, arrays = list(weights), list(weights.values())
            self._store.pushpull(keys, arrays, out=arrays)
            for array in arrays:
                array /= self._store.num_workers
            with self._phase(weights, 1):
                update()

    def _is_due(self, weights: Mapping[Any, NDArray]) -> bool:
        """Whether the next update is one with an outer step."""
        optimizer, timing = self._optimizer, self._outer.timing
        counts = {i: optimizer._index_update_count.get(i, optimizer.begin_num_update) + 1 for i in weights}
        of_count = {n: optgen_bridge.is_due(timing, n, optimizer) for n in set(counts.values())}
        due = {i: of_count[count] for i, count in counts.items()}
        if any(due.values()):
            name = type(optimizer).__name__
            for i, is_due in due.items():
                if not is_due:
                    raise MXNetError(
                        f"{name}: an outer step is of all parameters, and '{optimizer.name_of(i)}' has had "
                        f"{counts[i] - 1} updates, where others have had {max(counts.values()) - 1}"
                    )
                dtype = weights[i]._data.dtype.name
                if dtype not in DTYPES:
                    raise MXNetError(
                        f"{name}: '{optimizer.name_of(i)}' is of {dtype}, and workers average weights of "
                        f"{' and '.join(DTYPES)}"
                    )
        return any(due.values())

    @contextlib.contextmanager
    def _phase(self, weights: Mapping[Any, NDArray], number: int) -> Iterator[None]:
        """Have updates compute a phase of the outer step's spec, and after that the optimizer be as it was."""
        optimizer, spec = self._optimizer, self._outer.spec
        own = {"spec": spec, "phases": spec.phases, "phase": spec.phases[number]}
        vars(optimizer).update(own)
        optimizer._due.update(((optimizer._device, i), number) for i in weights)
        try:
            yield
        finally:
            optimizer._due.clear()
            for name in own:
                del vars(optimizer)[name]
