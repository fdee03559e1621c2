"""What a rank does with the gradients of all ranks for its part of the keys: sum them, or update the values."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from runtime import random
from runtime.base import MXNetError
from runtime.context import Context, cpu
from runtime.core import optgen_bridge
from runtime.kvstore.base import Key
from runtime.kvstore.layout import ShardGranularity
from runtime.kvstore.mpi.agreement import Description, HyperParameterDigest, digest
from runtime.kvstore.mpi.bucket import OwnedPart
from runtime.kvstore.mpi.partials import Extent, Partials
from runtime.kvstore.mpi.world import World
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray
from runtime.ndarray.updates.sums import total
from runtime.optimizer import Optimizer, Updater
from runtime.optimizer.optimizer import HALVES
from runtime.optimizer.spec import SpecOptimizer

Items = Mapping[Key, OwnedPart]
RowGrads = Mapping[Key, RowSparseNDArray | None]


class Sum:
    """The value becomes the sum."""

    clears_other_rows = True
    """Whether rows that are not in a row-sparse gradient become 0."""

    def cut(self, key: Key, dtype: np.dtype, shape: tuple[int, ...]) -> ShardGranularity:
        """Where a key may be cut."""
        return "anywhere"

    def work(self, key: Key, dtype: np.dtype, shape: tuple[int, ...]) -> float:
        """The work of updating a key, in elements."""
        return math.prod(shape)

    def takes_row_sparse(self, dtype: np.dtype) -> bool:
        """Whether row-sparse gradients are to stay so."""
        return True

    def digest(self, keys: tuple[Key, ...]) -> bytes:
        """Of `describe`."""
        return digest(self.describe(keys))

    def describe(self, keys: tuple[Key, ...]) -> Description:
        """What must be the same on all ranks."""
        return {"what becomes of pushed values": type(self).__name__}

    def prepare(self, items: Items, contexts: Mapping[Key, Context]) -> Callable[[], None]:
        """What to do with these items at each flush."""
        own = [(item.grads, item.weight) for item in items.values() if item.weight.size]

        def run() -> None:
            for grads, weight in own:
                _add(grads, weight)

        return run

    def apply_rows(self, grads: RowGrads, values: Mapping[Key, NDArray]) -> dict[Key, np.ndarray | None]:
        """Update the values of row-sparse gradients (None: those that another rank has). The rows of these that have
        changed; None: all."""
        for key, grad in grads.items():
            if grad is not None:
                grad.copyto(values[key])
        return {key: grad._indices for key, grad in grads.items() if grad is not None}


class Function(Sum):
    """A function of key, sum and value changes the value: where the whole key is."""

    clears_other_rows = False

    def __init__(self, function: Callable[[Key, NDArray, NDArray], None]) -> None:
        self._function = function

    def cut(self, key: Key, dtype: np.dtype, shape: tuple[int, ...]) -> ShardGranularity:
        return "tensors"

    def prepare(self, items: Items, contexts: Mapping[Key, Context]) -> Callable[[], None]:
        own = {key: item for key, item in items.items() if item.weight.size}

        def run() -> None:
            for key, item in own.items():
                shape, context = item.part.slot.shape, contexts[key]
                pushed = np.empty_like(item.weight)
                _add(item.grads, pushed)
                weight = NDArray(item.weight.reshape(shape), context)
                self._function(key, NDArray(pushed.reshape(shape), context), weight)

        return run

    def apply_rows(self, grads: RowGrads, values: Mapping[Key, NDArray]) -> dict[Key, np.ndarray | None]:
        for key, grad in grads.items():
            if grad is not None:
                self._function(key, grad, values[key])
        return dict.fromkeys(grads)


class OptimizerUpdate(Sum):
    """An optimizer updates the value, from the gradients themselves if it is made of equations.

    On every rank it is given all keys of a flush, those of which nothing is here as empty pieces: so counts and
    schedules go on alike, and ranks meet where equations sum over a tensor. `extents` tells of a key what each rank
    owns of it.
    """

    clears_other_rows = False

    def __init__(self, world: World, updater: Updater, extents: Callable[[Key], list[Extent]]) -> None:
        self.updater, self.optimizer = updater, updater.optimizer
        self._world, self._partials = world, Partials(world, extents)
        self._numbers = HyperParameterDigest(self.optimizer)
        self._pieces: dict[Key, optgen_bridge.Piece] = {}

    @contextlib.contextmanager
    def with_pieces(self) -> Iterator[Updater]:
        """The updater, whose optimizer knows of the pieces meanwhile: it may be that of other stores, too."""
        optimizer = self.optimizer
        optimizer.pieces = self._pieces
        optimizer.exchange = self._partials.exchange if self._world.size > 1 else None
        try:
            yield self.updater
        finally:
            del optimizer.pieces, optimizer.exchange  # as they are by default

    def cut(self, key: Key, dtype: np.dtype, shape: tuple[int, ...]) -> ShardGranularity:
        try:
            return self.optimizer.cut_of(key, dtype.name, shape)
        except ValueError as error:
            raise MXNetError(f"{type(self.optimizer).__name__} cannot update key {key!r}: {error}") from None

    def work(self, key: Key, dtype: np.dtype, shape: tuple[int, ...]) -> float:
        return self.optimizer.work_of(key, dtype.name, shape)

    def takes_row_sparse(self, dtype: np.dtype) -> bool:
        return not isinstance(self.optimizer, SpecOptimizer) or self._is_lazy(dtype)

    def _is_lazy(self, dtype: np.dtype) -> bool:
        """Whether equations, given a row-sparse gradient, change no other rows."""
        optimizer = self.optimizer
        if not isinstance(optimizer, SpecOptimizer) or not optimizer.lazy_update:
            return False
        return optimizer._rule(dtype.name, optimizer.multi_precision and dtype.name in HALVES).lazy

    def digest(self, keys: tuple[Key, ...]) -> bytes:
        return self._numbers.digest(keys)

    def describe(self, keys: tuple[Key, ...]) -> Description:
        return self._numbers.describe(keys)

    def prepare(self, items: Items, contexts: Mapping[Key, Context]) -> Callable[[], None]:
        calls = {}
        for key, (weight, grads) in self.place(items, contexts).items():
            columns = calls.setdefault(weight._data.dtype, ([], [], []))
            for column, x in zip(columns, (key, grads, weight), strict=True):
                column.append(x)

        def run() -> None:
            with self.with_pieces() as updater:
                for keys, grads, weights in calls.values():
                    self._partials.keys = keys
                    updater(keys, grads, weights)

        return run

    def place(self, items: Items, contexts: Mapping[Key, Context]) -> dict[Key, tuple[NDArray, list[NDArray]]]:
        """The weights and gradients of items, as the optimizer takes them, and notes of which keys they are pieces."""
        self._partials.forget()
        found = {}
        for key, item in items.items():
            shape, context = item.part.slot.shape, contexts[key]
            if item.whole and item.weight.size == item.part.slot.size:
                self._pieces.pop(key, None)
                of = shape
            else:
                self._pieces[key] = optgen_bridge.piece(item.part.offset, shape)
                of = (item.weight.size,)
            found[key] = (
                NDArray(item.weight.reshape(of), context),
                [NDArray(g.reshape(of), context) for g in item.grads],
            )
        return found

    def own_rows(self, key: Key, value: NDArray, here: bool) -> NDArray:
        """The weight of a key of row-sparse gradients: all of it on one rank, and nothing on the others."""
        if here:
            self._pieces.pop(key, None)
            return value
        self._pieces[key] = optgen_bridge.piece(0, value.shape)
        return NDArray(np.empty(0, value.dtype), value.context)

    def apply_rows(self, grads: RowGrads, values: Mapping[Key, NDArray]) -> dict[Key, np.ndarray | None]:
        weights = [self.own_rows(key, values[key], grad is not None) for key, grad in grads.items()]
        given = [NDArray(np.empty(0, w.dtype), w.context) if g is None else g
                 for g, w in zip(grads.values(), weights, strict=True)]  # fmt: skip
        with self.with_pieces() as updater:
            for dtype in dict.fromkeys(w.dtype for w in weights):
                of = [(k, g, w) for k, g, w in zip(grads, given, weights, strict=True) if w.dtype == dtype]
                keys, gradients, own = (list(column) for column in zip(*of, strict=True))
                self._partials.keys = keys
                updater(keys, gradients, own)
        return {key: grad._indices if self._is_lazy(np.dtype(values[key].dtype)) else None
                for key, grad in grads.items() if grad is not None}  # fmt: skip


def share_seed(world: World, optimizer: Optimizer) -> None:
    """Have rank 0's seed of random draws, if there is none."""
    if not isinstance(optimizer, SpecOptimizer) or optimizer.seed is not None:
        return
    seed = np.array([random.generator.integers(1 << 63)], np.int64)
    world.broadcast([seed], "the seed of random draws")
    optimizer.seed = int(seed[0])


def _add(terms: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Write the sum of arrays, in their order, to another one."""
    if len(terms) == 1:
        np.copyto(out, terms[0])
    else:
        total([NDArray(term, cpu()) for term in terms], cpu(), out)
