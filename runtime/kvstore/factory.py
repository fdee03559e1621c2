"""The stores that `create` makes by name: each name with what makes it.

The modules of the 'dist' stores are imported when one is made: they need the extras `mpi` and `ray`.
"""

from __future__ import annotations

from runtime.base import MXNetError
from runtime.core.backend import devices
from runtime.kvstore.base import PROVIDED, KVStoreBase
from runtime.kvstore.local import NAMES, KVStore


def _between_gpus(name: str) -> KVStoreBase:
    count, missing = devices()
    if not count:
        raise MXNetError(
            f"kvstore '{name}' sums gradients between GPUs, and there is none: {missing}; 'local' and 'device' sum "
            "over contexts of a process"
        )
    return KVStore(name)


def _over_mpi(name: str) -> KVStoreBase:
    from runtime.kvstore.mpi.sync import SyncKVStore

    return SyncKVStore(name)


def _over_ray(name: str) -> KVStoreBase:
    from runtime.kvstore.servers.create import create

    return create(name)


PROVIDED |= {
    "nccl": _between_gpus,
    **dict.fromkeys(("dist", "dist_sync", "dist_device_sync", "dist_sync_device"), _over_mpi),
    **dict.fromkeys(("dist_async", "dist_device_async", "dist_async_device"), _over_ray),
    **dict.fromkeys(NAMES, KVStore),
}
