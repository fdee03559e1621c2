"""What a kvstore is, how one is made by name, and the smallest one."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from runtime.base import MXNetError, did_you_mean
from runtime.ndarray import NDArray
from runtime.optimizer import Optimizer
from runtime.registry import Registry

Key = int | str


class KVStoreBase:
    """The interface of all stores, which those of others implement and register:

    @kvstore.KVStoreBase.register
    class MyStore(kvstore.KVStoreBase): ...


    kv = kvstore.create("mystore")

    A Trainer needs `broadcast`, `pushpull`, `is_capable` and `type`; `set_optimizer` and the two for its states where
    the store is capable of 'optimizer'.
    """

    OPTIMIZER = "optimizer"
    """A capability: to update values with an optimizer."""

    kv_registry: ClassVar[Registry] = Registry("kvstore")
    """The classes that were registered, by name."""

    @staticmethod
    def register(klass: type[KVStoreBase]) -> type[KVStoreBase]:
        """Class decorator: `create` knows the store by its class name, in any case. It is made without arguments."""
        registry = KVStoreBase.kv_registry
        if klass.__name__ in registry:
            before = registry.get(klass.__name__)
            warnings.warn(
                f"kvstore {klass.__module__}.{klass.__name__} replaces {before.__module__}.{before.__name__}",
                stacklevel=2,
            )
        return registry.register(klass)

    def broadcast(self, key: Key, value: NDArray, out: NDArray | Sequence[NDArray], priority: int = 0) -> None:
        """Write the `value` of rank 0 to `out` on every rank."""
        raise NotImplementedError(f"{type(self).__name__} has no broadcast")

    def pushpull(
        self,
        key: Key,
        value: NDArray | Sequence[NDArray],
        out: NDArray | Sequence[NDArray] | None = None,
        priority: int = 0,
    ) -> None:
        """Write the sum of `value` over contexts and ranks to `out`, or to `value` itself where `out` is None."""
        raise NotImplementedError(f"{type(self).__name__} has no pushpull")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update values with `optimizer` from now on: what is pushed are gradients."""
        raise NotImplementedError(f"{type(self).__name__} cannot update values with an optimizer")

    def is_capable(self, capability: str) -> bool:
        """Whether the store can do this; the one capability that is asked for is 'optimizer'."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it is capable of")

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Send gradients in few bits."""
        raise NotImplementedError(f"{type(self).__name__} does not compress gradients")

    def save_optimizer_states(self, fname: str | os.PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file; `dump_optimizer`: its hyper-parameters, too."""
        raise NotImplementedError(f"{type(self).__name__} has no optimizer with states to save")

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read what `save_optimizer_states` wrote."""
        raise NotImplementedError(f"{type(self).__name__} has no optimizer with states to load")

    @property
    def type(self) -> str:
        """The name that `create` knows the store by."""
        raise NotImplementedError(f"{type(self).__name__} has no type")

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        raise NotImplementedError(f"{type(self).__name__} has no rank")

    @property
    def num_workers(self) -> int:
        """How many processes there are."""
        raise NotImplementedError(f"{type(self).__name__} has no num_workers")


def averages_weights(optimizer: Any, kind: str | None) -> bool:
    """Whether an optimizer has a mean over workers, and a store of this type, or None, is one of several."""
    spec = getattr(optimizer, "spec", None)
    return spec is not None and spec.has_workers and kind is not None and "dist" in kind


def refuse_workers(optimizer: Any, kind: str) -> None:
    """MXNetError for an optimizer with a mean over workers, where these exchange gradients."""
    if averages_weights(optimizer, kind):
        raise MXNetError(
            f"{type(optimizer).__name__} has a mean over workers, each of which trains for itself: use gluon.Trainer, "
            f"which then leaves gradients out of the '{kind}' kvstore"
        )


PROVIDED: dict[str, Callable[[str], KVStoreBase]] = {}
"""The stores of this package: what makes one of that name. `factory` enters them."""


def knows_optimizer(capability: str) -> bool:
    """Whether a capability is 'optimizer', in any case; ValueError for what is none."""
    if capability.lower() != KVStoreBase.OPTIMIZER:
        raise ValueError(f"unknown capability '{capability}'; known: {KVStoreBase.OPTIMIZER}")
    return True


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The least that a Trainer can work with: it sums over contexts, and keeps nothing."""

    __test__ = False  # not a test, whatever pytest makes of the name

    def broadcast(self, key: Key, value: NDArray, out: NDArray | Sequence[NDArray], priority: int = 0) -> None:
        for array in _listed(out):
            value.copyto(array)

    def pushpull(
        self,
        key: Key,
        value: NDArray | Sequence[NDArray],
        out: NDArray | Sequence[NDArray] | None = None,
        priority: int = 0,
    ) -> None:
        values = _listed(value)
        context = values[0].context
        total = functools.reduce(NDArray.__add__, (v.as_in_context(context) for v in values))
        for array in values if out is None else _listed(out):
            total.copyto(array)

    @staticmethod
    def is_capable(capability: str) -> bool:
        return not knows_optimizer(capability)

    @property
    def type(self) -> str:
        return "teststore"

    @property
    def rank(self) -> int:
        return 0

    @property
    def num_workers(self) -> int:
        return 1


def _listed(arrays: NDArray | Sequence[NDArray]) -> Sequence[NDArray]:
    return [arrays] if isinstance(arrays, NDArray) else arrays


def create(name: str = "local") -> KVStoreBase:
    """A new store.

    Parameters
    ----------
    name: in any case, that of a class that was registered, or one of these:
        'local', 'device' (also 'local_allreduce_cpu', 'local_allreduce_device', 'local_update_cpu'): over the contexts
            of this process;
        'nccl': as 'device', but an MXNetError where there is no GPU;
        'dist_sync' (also 'dist', 'dist_device_sync', 'dist_sync_device'): over the ranks of `mpiexec`, in step;
        'dist_async' (also 'dist_device_async', 'dist_async_device'): over the workers of `python -m runtime.launch`,
            each at its own pace, with the values on servers.

    The stores of this process use NCCL where CuPy finds it. The 'dist' ones go through the memory of the host: sums
    and updates in them are the CPU's, wherever parameters are.

    Raises ValueError for any other name, and ImportError, which names the extra, where the engine of a 'dist' one is
    not installed.
    """
    name = check_name(name)
    if name in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry.get(name)()
    return PROVIDED[name](name)


def check_name(name: str) -> str:
    """The name in lower case; ValueError where neither MXNet nor a registered class has it."""
    if not isinstance(name, str):
        raise TypeError(f"the type of a kvstore is a string, such as 'local', not {name!r}")
    known = (*PROVIDED, *KVStoreBase.kv_registry)
    if name.lower() not in known:
        raise ValueError(f"unknown kvstore '{name}'{did_you_mean(name.lower(), known)}")
    return name.lower()
