"""A stand-in for a device that is not there: tensors that say that they are on it, and a way to it on which nothing
comes before it is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch.utils._pytree import tree_map

from optgen.torch.host import Link, Pairs


class OnDevice(torch.Tensor):
    """A tensor that says that it is on a device; `held` has its numbers."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, device: str = "cuda:0", requires_grad: bool = False) -> OnDevice:
        make: Any = torch.Tensor._make_wrapper_subclass  # type: ignore[attr-defined]
        form = {"strides": inner.stride(), "dtype": inner.dtype, "device": device, "requires_grad": requires_grad}
        return cast(OnDevice, make(cls, inner.size(), **form))

    def __init__(self, inner: torch.Tensor, device: str = "cuda:0", requires_grad: bool = False) -> None:
        self.held = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = dict(kwargs or {})
        devices = [x.device for x in args if isinstance(x, OnDevice)]
        to_host = "device" in own and torch.device(own["device"]).type == "cpu"
        if own.get("device") is not None:
            own["device"] = "cpu"
        plain = {key: x for key, x in own.items() if key != "pin_memory"}
        out = func(*tree_map(_inner, args), **tree_map(_inner, plain))
        if func._schema.name.endswith("_"):
            return args[0]
        if to_host or func._schema.name == "aten::_local_scalar_dense":
            return out
        return tree_map(lambda x: cls(x, str(devices[0])) if isinstance(x, torch.Tensor) else x, out)


def _inner(x: Any) -> Any:
    return x.held if isinstance(x, OnDevice) else x


class LateLink(Link):
    """Copies to the host are made when they are waited for, and those to the device at the next ones to the host.

    `log` has what was done, in order. Until a copy is made, what it will write is NaN.
    """

    log: list[str]

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._sent: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._asked: list[list[tuple[torch.Tensor, torch.Tensor]]] = []
        self.log = []
        LINKS.append(self)

    def fetch(self, pairs: Pairs) -> Callable[[], None]:
        self.finish()
        self.log.append(f"fetch {len(pairs)}")
        asked = [(to, _inner(values)) for to, values in pairs]
        self._asked.append(asked)
        for to, _ in asked:
            with torch.no_grad():
                to.fill_(float("nan"))

        def wait() -> None:
            self.log.append("wait")
            while any(asked is x for x in self._asked):  # and what was asked for before
                for to, values in self._asked.pop(0):
                    with torch.no_grad():
                        to.copy_(values)

        return wait

    def send(self, pairs: Pairs) -> None:
        self.log.append(f"send {len(pairs)}")
        self._sent += pairs
        for to, _ in pairs:
            torch.autograd.graph.increment_version(to)

    def finish(self) -> None:
        """What the device computes next sees what was sent."""
        for to, values in self._sent:
            cast(OnDevice, to).held.copy_(values)
        self._sent = []


LINKS: list[LateLink] = []
"""The links that were made, in order."""
