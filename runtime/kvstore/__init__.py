"""Values by key: sums over contexts, with the optimizer's update where the values live.

kv = kvstore.create("device")
kv.init(3, weight)
kv.push(3, gradients)  # one of each context
kv.pull(3, out=weights)
"""

from runtime.kvstore import factory  # noqa: F401 (enters the stores that `create` makes)
from runtime.kvstore.base import KVStoreBase, TestStore, check_name, create
from runtime.kvstore.local import KVStore

__all__ = ["KVStore", "KVStoreBase", "TestStore", "check_name", "create"]
