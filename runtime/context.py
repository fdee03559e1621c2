"""Where an array lives.

`cpu(0)` and `cpu(1)` are the same memory but distinct contexts: code for several devices can be tried without any.
"""

from __future__ import annotations

import threading
from typing import ClassVar

from runtime.base import MXNetError


class Context:
    """A device: `device_type` 'cpu' or 'gpu' and `device_id`, counted from 0.

    `with Context("cpu", 1):` makes it the default for arrays created inside. Equal by value and hashable.
    """

    __slots__ = ("device_id", "device_type")
    devtype2id: ClassVar[dict[str, int]] = {"cpu": 1, "gpu": 2}

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in self.devtype2id:
            raise ValueError(f"unknown device type '{device_type}'; known: {', '.join(self.devtype2id)}")
        self.device_type = device_type
        self.device_id = device_id

    @property
    def device_typeid(self) -> int:
        return self.devtype2id[self.device_type]

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
        if self.device_type != "cpu":
            raise MXNetError(
                f"there is no device {self}: this runtime computes on the CPU (context.num_gpus() is {num_gpus()})"
            )

    def __enter__(self) -> Context:
        _entered.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.stack.pop()


class _Entered(threading.local):
    """The contexts whose blocks this thread is in, the first being the default."""

    def __init__(self) -> None:
        self.stack = [Context("cpu", 0)]


_entered = _Entered()


def cpu(device_id: int = 0) -> Context:
    """The CPU. Different ids are different contexts on the same memory."""
    return Context("cpu", device_id)


def gpu(device_id: int = 0) -> Context:
    """GPU number `device_id`. It can be named anywhere; creating an array there needs one (see `num_gpus`)."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs arrays can live on: none, this runtime computes on the CPU."""
    return 0


def current_context() -> Context:
    """The context in which arrays are created when none is given."""
    return _entered.stack[-1]
