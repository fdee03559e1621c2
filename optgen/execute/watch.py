"""Tensors of PyTorch that a step is bound to: whether they still are the memory that was bound, and what autograd is
told of a step's writes.

PyTorch is not imported here: a caller who has such tensors has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from optgen.execute.buffers import Tensor


class Watch:
    """The memory, shapes, dtypes and strides of tensors when this was made: of those that are like PyTorch's.

    Only such tensors can get other memory (`p.data = x`, `module.to`) or another shape (`p.t_()`), or lose their memory
    (`untyped_storage().resize_`). The memory that `p.data = x` replaces is kept alive. `owners` are these tensors.
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._tensors = [t for t in tensors if hasattr(t.owner, "data_ptr")]
        self.owners = [t.owner for t in self._tensors]
        self._places = [_place(x) for x in self.owners]
        self._addresses, self._shapes, self._dtypes, self._strides = ([p[k] for p in self._places] for k in range(4))
        self._stored = [t for t in self._tensors if hasattr(t.owner, "untyped_storage")]
        self._storages = [t.owner.untyped_storage() for t in self._stored]
        self._sizes = [s.nbytes() for s in self._storages]

    def matches(self, owners: Sequence[Any]) -> bool:
        """Whether these tensors, in this order, have the same memory, shapes, dtypes and strides."""
        # Called at each step. Lists one after the other take the least time, and leave the garbage collector no work.
        try:
            return (
                [x.data_ptr() for x in owners] == self._addresses
                and [s.nbytes() for s in self._storages] == self._sizes
                and [x.shape for x in owners] == self._shapes
                and [x.dtype for x in owners] == self._dtypes
                and [x.stride() for x in owners] == self._strides
            )
        except (AttributeError, RuntimeError):  # not of PyTorch's kind, or without an address (sparse, a wrapper)
            return False

    def check(self, advice: str) -> None:
        """ValueError naming a tensor that has changed, with this advice."""
        if self.matches(self.owners):
            return
        name = next(self._changed())
        raise ValueError(
            f"{name}: no longer the memory, shape or dtype that was bound (as after p.data = ..., module.to(...) or "
            f"resize_); {advice}"
        )

    def _changed(self) -> Iterator[str]:
        for t, place in zip(self._tensors, self._places, strict=True):
            if _place(t.owner) != place:
                yield t.name
        for t, storage, size in zip(self._stored, self._storages, self._sizes, strict=True):
            if storage.nbytes() != size:
                yield t.name


def _place(x: Any) -> tuple[Any, ...]:
    try:
        return x.data_ptr(), x.shape, x.dtype, x.stride()
    except RuntimeError:  # no address any more
        return ()


def pytorch_owners(tensors: Iterable[Tensor]) -> list[Any]:
    """The tensors of PyTorch among the owners of tensors, each once."""
    kind = getattr(sys.modules.get("torch"), "Tensor", ())
    return list({id(t.owner): t.owner for t in tensors if isinstance(t.owner, kind)}.values())


def mark_written(owners: list[Any]) -> None:
    """Tell autograd that these tensors of PyTorch have changed: a `backward` that needs the old values is refused.

    Autograd does not see the writes of a step. Without this, gradients would silently be those of the new values.
    """
    if owners:
        sys.modules["torch"].autograd.graph.increment_version(owners)
