"""Which kvstore a Trainer works with, and whether that updates the weights: MXNet's rules, in one place."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from runtime import kvstore as kvs
from runtime.base import ArgumentError
from runtime.gluon.parameter import Parameter
from runtime.kvstore import KVStore, KVStoreBase

MAX_LOCAL_STORE_ELEMENTS = 16 * 1024 * 1024
"""With a parameter of more elements than this, a 'local' store leaves the updates to the contexts."""

Choice = tuple[KVStoreBase | None, bool | None]
"""The store, and whether it updates the weights: None where there is no store."""


def check(kvstore: Any) -> None:
    """TypeError for what is neither a store, nor a name, nor None; ValueError for an unknown name."""
    if isinstance(kvstore, str):
        kvs.check_name(kvstore)
    elif kvstore is not None and not isinstance(kvstore, KVStoreBase):
        raise TypeError(f"kvstore is a name, such as 'device', a KVStoreBase or None, not {kvstore!r}")


def choose(
    kvstore: str | KVStoreBase | None, on_store: bool | None, params: Sequence[Parameter], devices: int
) -> Choice:
    """The store for `params`, which are in `devices` contexts. `on_store` is what the user asked for, None for nothing.

    One context needs no store, unless it is one of several processes or has row-sparse weights, which live in the
    store alone.

    Raises ArgumentError, which is a ValueError, for what cannot be combined.
    """
    if any(param._stype != "default" for param in params):
        return _for_sparse_weights(kvstore, on_store), True
    store = _store(kvstore, devices)
    kind = "" if store is None else store.type
    if any(param._grad_stype != "default" for param in params):
        if store is not None and not isinstance(store, KVStore):
            raise ArgumentError(f"a kvstore of type '{kind}' cannot sum row-sparse gradients; use 'local' or 'device'")
        if on_store is False and "dist" in kind:
            raise ArgumentError(
                f"with row-sparse gradients a '{kind}' kvstore updates the weights: update_on_kvstore=True"
            )
        return store, None if store is None else "dist" in kind if on_store is None else on_store
    if on_store is False and "async" in kind:
        raise ArgumentError(f"a '{kind}' kvstore updates the weights: update_on_kvstore=True")
    if on_store and (store is None or not store.is_capable(KVStoreBase.OPTIMIZER)):
        what = "without a kvstore (one context needs none)" if store is None else f"with a kvstore of type '{kind}'"
        raise ArgumentError(f"update_on_kvstore=True is not possible {what}; leave it out")
    if store is None:
        return None, None
    return store, _by_default(store, params) if on_store is None else on_store


def _for_sparse_weights(kvstore: Any, on_store: bool | None) -> KVStoreBase:
    if on_store is False:
        raise ArgumentError("row-sparse weights are updated in the kvstore: update_on_kvstore=False is not possible")
    if not isinstance(kvstore, (str, KVStore)):
        raise TypeError(f"row-sparse weights need a kvstore, such as 'device', not {kvstore!r}")
    store = kvs.create(kvstore) if isinstance(kvstore, str) else kvstore
    if not isinstance(store, KVStore) or not store.is_capable(KVStoreBase.OPTIMIZER):
        raise ArgumentError(f"a kvstore of type '{store.type}' cannot update row-sparse weights; use 'device'")
    return store


def _store(kvstore: str | KVStoreBase | None, devices: int) -> KVStoreBase | None:
    if not isinstance(kvstore, str):
        return kvstore
    return None if devices == 1 and "dist" not in kvstore else kvs.create(kvstore)


def _by_default(store: KVStoreBase, params: Sequence[Parameter]) -> bool:
    if "async" in store.type:
        return True
    wanted = bool(int(os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")))
    large = store.type == "local" and any(math.prod(param.shape) > MAX_LOCAL_STORE_ELEMENTS for param in params)
    return wanted and not large and store.is_capable(KVStoreBase.OPTIMIZER)
