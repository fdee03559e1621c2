"""Tensors of PyTorch that a step is bound to: whether they still are the memory that was bound, and what autograd is
told of a step's writes.

PyTorch is not imported here: a caller who has such tensors has imported it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from optgen.execute.buffers import Tensor
from optgen.execute.tensors import places


class Watch:
    """The memory, shapes, dtypes and strides of tensors when this was made: of those that are like PyTorch's.

    Only such tensors can get other memory (`p.data = x`, `module.to`) or another shape (`p.t_()`), or lose their memory
    (`untyped_storage().resize_`). The memory that `p.data = x` replaces is kept alive. `owners` are these tensors.
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._tensors = [t for t in tensors if hasattr(t.owner, "data_ptr")]
        self.owners = [t.owner for t in self._tensors]
        self._storages = [x.untyped_storage() if hasattr(x, "untyped_storage") else None for x in self.owners]
        if not self.owners:  # NumPy's arrays stay where they are
            return
        self._reader = places.reader(self.owners, [s for s in self._storages if s is not None])
        self._addresses = self._reader.addresses.tobytes()
        self._places = list(map(_place, self.owners, self._storages))

    def check(self, advice: str) -> None:
        """ValueError naming a tensor that has changed, with this advice."""
        if not self.owners or (self._reader.read(self.owners) and self._reader.addresses.tobytes() == self._addresses):
            return
        raise ValueError(
            f"{self._changed()}: no longer the memory, shape or dtype that was bound (as after p.data = ..., "
            f"module.to(...) or resize_); {advice}"
        )

    def _changed(self) -> str:
        """The name of a tensor that has changed."""
        now = map(_place, self.owners, self._storages)
        return next(t.name for t, new, old in zip(self._tensors, now, self._places, strict=True) if new != old)


def _place(x: Any, storage: Any) -> tuple[Any, ...]:
    try:
        return x.data_ptr(), places.geometry(x), None if storage is None else storage.nbytes()
    except RuntimeError:  # no address any more
        return ()


def pytorch_owners(tensors: Iterable[Tensor]) -> list[Any]:
    """The tensors of PyTorch among the owners of tensors, each once."""
    return pytorch(t.owner for t in tensors)


def pytorch(objects: Iterable[Any]) -> list[Any]:
    """The tensors of PyTorch among objects, each once."""
    kind = getattr(sys.modules.get("torch"), "Tensor", ())
    return list({id(x): x for x in objects if isinstance(x, kind)}.values())


def marker(owners: list[Any]) -> Callable[[], None] | None:
    """A function that tells autograd that these tensors of PyTorch have changed; None if there are none.

    A `backward` that needs the old values is then refused. Autograd does not see the writes of a step. Without this,
    gradients would silently be those of the new values.
    """
    return functools.partial(sys.modules["torch"].autograd.graph.increment_version, owners) if owners else None
