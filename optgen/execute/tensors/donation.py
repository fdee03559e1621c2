"""Gradients that the caller gives away: a step may use their memory, so each of them is for one step."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from optgen.execute.tensors import watch
from optgen.ir import COMPUTE
from optgen.ir.storage import STORAGES


def check_donated(dtype: str, platform: str) -> None:
    """ValueError if gradients of that dtype cannot be donated on that platform."""
    if platform != "cpu":
        raise ValueError(f"donate_grads: a step on {platform} gains nothing by it; leave it out")
    if not STORAGES[dtype].is_exact(COMPUTE[dtype]):
        raise ValueError(
            f"donate_grads: gradients are {dtype}, and a step computes in float32, so their memory cannot hold what "
            "it computes; leave it out"
        )


class Donation:
    """The gradients that were donated, and those that steps have used."""

    def __init__(self) -> None:
        self._is_given = False
        self._mark: Callable[[], None] | None = None
        self._owners: Sequence[Any] = ()
        self._used: dict[int, tuple[Callable[[], Any], int]] = {}  # by parameter: the tensor, and its version then

    def give(self, tensors: Sequence[Any]) -> None:
        """Have the next step use these."""
        self._is_given, self._mark = True, watch.marker(watch.pytorch(tensors))
        self._owners = ()

    def give_found(self, grads: Sequence[Any]) -> None:
        """The same for the `.grad` of each parameter. RuntimeError if one is still as a step has left it."""
        for i, grad in enumerate(grads):
            used, version = self._used.get(i, (_nothing, 0))
            if grad is not None and used() is grad and _version(grad) == version:
                raise RuntimeError(
                    f"params[{i}].grad: an earlier step has used its memory (donate_grads=True); compute it anew "
                    "(zero_grad, backward) before the next step"
                )
        found = [grad for grad in grads if grad is not None]
        self._is_given, self._mark = True, watch.marker(watch.pytorch(found))
        self._owners = grads

    def check(self) -> None:
        """RuntimeError if a step has used the gradients."""
        if not self._is_given:
            raise RuntimeError("grads: an earlier step has used their memory (donate_grads=True); rebind(grads) first")

    def use(self) -> None:
        """Note that a step has used the gradients, and tell autograd."""
        self._is_given = False
        if self._mark is not None:
            self._mark()
        self._used |= {i: (weakref.ref(x), _version(x)) for i, x in enumerate(self._owners) if x is not None}
        self._owners = ()


def _version(grad: Any) -> int:
    """How often PyTorch has seen a tensor change in place."""
    return getattr(grad, "_version", 0)


def _nothing() -> None:
    """A tensor that is gone."""
