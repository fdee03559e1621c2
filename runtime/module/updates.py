"""From gradients to weights: in a kvstore that has the optimizer, or by an Updater in each context."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from runtime import kvstore as kvs
from runtime.kvstore import KVStoreBase
from runtime.ndarray import NDArray
from runtime.optimizer import Updater

MAX_LOCAL_STORE_ELEMENTS = 16 * 1024 * 1024
"""With an argument of more elements than this, a 'local' store leaves the updates to the contexts."""

Blocks = Sequence[Sequence[NDArray]]
"""For each parameter its arrays, one in each context."""


def choose(
    kvstore: str | KVStoreBase | None, devices: int, params: Mapping[str, NDArray]
) -> tuple[KVStoreBase | None, bool]:
    """The store, and whether it updates the weights. One context of one process needs none."""
    if isinstance(kvstore, str):
        kvs.check_name(kvstore)
        store = None if devices == 1 and "dist" not in kvstore else kvs.create(kvstore)
    elif kvstore is None or isinstance(kvstore, KVStoreBase):
        store = kvstore
    else:
        raise TypeError(f"kvstore is a name, such as 'device', a KVStoreBase or None, not {kvstore!r}")
    if store is None or not store.is_capable(KVStoreBase.OPTIMIZER):
        return store, False
    if "async" in store.type:
        return store, True
    large = max((math.prod(x.shape) for x in params.values()), default=0) > MAX_LOCAL_STORE_ELEMENTS
    wanted = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") not in ("0", "false", "False")
    return store, wanted and not (store.type == "local" and large)


def on_store(store: Any, names: Sequence[str], weights: Blocks, grads: Sequence[Sequence[NDArray | None]]) -> None:
    """Push the gradients of all parameters that have some, and pull their weights."""
    rows = [(n, w, g) for n, w, g in zip(names, weights, grads, strict=True) if g[0] is not None]
    if rows:
        keys, outs, pushed = ([row[i] for row in rows] for i in range(3))
        store.push(keys, pushed)
        store.pull(keys, outs, ignore_sparse=False)


def in_contexts(
    updaters: Sequence[Updater],
    store: Any,
    names: Sequence[str],
    weights: Blocks,
    grads: Sequence[Sequence[NDArray | None]],
) -> None:
    """Sum gradients over contexts, if there is a store for it, and update all weights of each context together.

    An optimizer knows parameters by name, here as in a store.
    """
    rows = [(n, w, g) for n, w, g in zip(names, weights, grads, strict=True) if g[0] is not None]
    if store is not None:
        for name, _, g in rows:
            store.pushpull(name, g)
    for k, updater in enumerate(updaters):
        updater([name for name, _, _ in rows], [g[k] for _, _, g in rows], [w[k] for _, w, _ in rows])
