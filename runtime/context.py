"""Where an array lives.

`cpu(0)` and `cpu(1)` are the same memory but distinct contexts: code for several devices can be tried without any.
`gpu(0)` and `gpu(1)` are devices of CUDA.
"""

from __future__ import annotations

import functools
from typing import ClassVar

from runtime.base import MXNetError, did_you_mean
from runtime.core import backend
from runtime.core.scope import ThreadStack


class _DefaultOfThread(type):
    """Makes `Context.default_ctx`, readable and assignable, what `current_context()` is in this thread."""

    @property
    def default_ctx(cls) -> Context:
        return _entered.stack[-1]

    @property
    def _default_ctx(cls) -> ThreadStack:
        """What MXNet calls the contexts that this thread has entered; its `value` is the innermost."""
        return _entered

    @default_ctx.setter
    def default_ctx(cls, ctx: Context) -> None:
        _entered.stack[-1] = ctx


class Context(metaclass=_DefaultOfThread):
    """A device: `device_type` 'cpu', 'gpu', 'cpu_pinned' or 'cpu_shared' and `device_id`, counted from 0.

    `with Context("cpu", 1):` makes it the default for arrays created inside, in this thread. Equal by value and
    hashable. `Context(context)` is a copy. `on_cpu` says whether it is memory of the CPU.
    """

    __slots__ = ("device_id", "device_type", "on_cpu")
    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {name: number for number, name in devtype2str.items()}

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in self.devstr2type:
            raise ValueError(f"unknown device type '{device_type}'{did_you_mean(str(device_type), self.devstr2type)}")
        self.device_type = device_type
        self.device_id = device_id
        self.on_cpu = device_type != "gpu"

    @property
    def device_typeid(self) -> int:
        """The device type as MXNet counts them."""
        return self.devstr2type[self.device_type]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Context) and (self.device_type, self.device_id) == (other.device_type, other.device_id)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def require(self) -> None:
        """MXNetError unless arrays can live here."""
        if self.on_cpu:
            return
        count, missing = backend.devices()
        if not count:
            raise MXNetError(f"there is no device {self}: {missing}")
        if not 0 <= self.device_id < count:
            raise MXNetError(f"there is no device {self}: GPUs are counted from 0, and num_gpus() is {count}")

    def empty_cache(self) -> None:
        """Free the memory that is cached for new arrays on a GPU. The memory of the CPU is freed with its arrays."""
        self.require()
        if not self.on_cpu:
            with backend.device_scope(self):
                backend.xp_for(self).get_default_memory_pool().free_all_blocks()

    def __enter__(self) -> Context:
        _entered.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.stack.pop()


_context = functools.lru_cache(Context)  # the same object for the same arguments: comparing contexts is then quick


def cpu(device_id: int = 0) -> Context:
    """The CPU. Different ids are different contexts on the same memory."""
    return _context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Memory of the CPU from which a GPU would copy faster; here memory like any other."""
    return _context("cpu_pinned", device_id)


def cpu_shared(device_id: int = 0) -> Context:
    """Memory of the CPU for several processes; here memory like any other."""
    return _context("cpu_shared", device_id)


def gpu(device_id: int = 0) -> Context:
    """GPU number `device_id`. It can be named anywhere; creating an array there needs one (see `num_gpus`)."""
    return _context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs arrays can live on: 0 where CuPy, the driver of CUDA or a device is missing."""
    return backend.devices()[0]


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """The free and the total memory of a GPU, in bytes."""
    ctx = gpu(device_id)
    ctx.require()
    with backend.device_scope(ctx):
        return backend.xp_for(ctx).cuda.runtime.memGetInfo()


_entered = ThreadStack(cpu)


def current_context() -> Context:
    """The context in which arrays are created when none is given."""
    return _entered.stack[-1]
