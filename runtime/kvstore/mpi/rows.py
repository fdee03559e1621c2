"""Keys whose gradients are row-sparse: each is updated, whole, by one rank, and only rows travel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from runtime.core import dtypes
from runtime.kvstore.base import Key
from runtime.kvstore.mpi.world import DATA, Message, World
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import RowSparseNDArray, sum_rows
from runtime.ndarray.sparse.densify import as_dense
from runtime.ndarray.updates.sums import total

Rows = tuple[np.ndarray, np.ndarray]
"""Their numbers (int64, ascending) and the rows themselves."""


def summed(arrays: Sequence[NDArray], value: NDArray) -> RowSparseNDArray:
    """A copy of the sum of arrays, with their rows, or all, in the type of a value."""
    found = total(arrays, value.context)
    if found.stype == "row_sparse":
        rows, indices = found._rows, found._indices.copy()
    else:
        rows, indices = found._data, np.arange(len(value))
    return RowSparseNDArray(dtypes.convert(rows, np.dtype(value.dtype)), indices, value.shape, value.context)


class RowSparseKeys:
    """`keys`, those of them that have an owner, which is a rank, and the messages of a flush."""

    def __init__(self, world: World) -> None:
        self.keys: set[Key] = set()
        self.owners: dict[Key, int] = {}
        self.sent = 0  # bytes, by this rank, in all
        self._world = world
        self._owned_elements = [0] * world.size

    def assign_owners(self, values: Mapping[Key, NDArray]) -> None:
        """Give each key that has no owner to the rank that has least; so on all ranks, in the same order."""
        for key, value in values.items():
            if key not in self.owners:
                self.owners[key] = owner = self._owned_elements.index(min(self._owned_elements))
                self._owned_elements[owner] += math.prod(value.shape)

    def owns(self, key: Key) -> bool:
        """Whether this rank updates the key."""
        return self.owners[key] == self._world.rank

    def reduce_to_owners(self, grads: Mapping[Key, RowSparseNDArray]) -> dict[Key, RowSparseNDArray | None]:
        """The sum of all ranks' gradients of each key, in their order, on the rank that owns it; None elsewhere."""
        world = self._world
        rows = {key: (np.ascontiguousarray(g._indices, np.int64), np.ascontiguousarray(g._rows))
                for key, g in grads.items()}  # fmt: skip
        out = {r: {key: x for key, x in rows.items() if self.owners[key] == r} for r in world.others}
        own = [key for key in rows if self.owns(key)]
        arrived = self._exchange_rows(out, {r: own for r in world.others}, rows)
        arrived[world.rank] = rows
        return {key: self._sum(grad, [arrived[r][key] for r in range(world.size)]) if key in own else None
                for key, grad in grads.items()}  # fmt: skip

    def _sum(self, own: RowSparseNDArray, terms: Sequence[Rows]) -> RowSparseNDArray:
        if len(terms) == 1:
            return own
        indices, rows = (np.concatenate(column) for column in zip(*terms, strict=True))
        indices, rows = sum_rows(indices, rows)
        return RowSparseNDArray(rows, indices, own.shape, own.context)

    def broadcast_rows(
        self, values: Mapping[Key, NDArray], changed: Mapping[Key, np.ndarray | None], replace: bool
    ) -> None:
        """Write to `values` on all ranks the rows that their owners have changed (None: all); `replace`: the others
        are 0."""
        world = self._world
        with as_dense(list(values.values())) as arrays:
            dense = {key: array._data for key, array in zip(values, arrays, strict=True)}
            own = {}
            for key in filter(self.owns, dense):
                indices = np.arange(len(dense[key])) if changed[key] is None else changed[key]
                own[key] = indices, np.ascontiguousarray(dense[key][indices])
            theirs = {r: [key for key in dense if self.owners[key] == r] for r in world.others}
            for arrived in self._exchange_rows(dict.fromkeys(world.others, own), theirs, dense).values():
                for key, (indices, rows) in arrived.items():
                    if replace:
                        dense[key][...] = 0
                    dense[key][indices] = rows

    def _exchange_rows(
        self,
        out: Mapping[int, Mapping[Key, Rows]],
        wanted: Mapping[int, Sequence[Key]],
        like: Mapping[Key, np.ndarray | Rows],
    ) -> dict[int, dict[Key, Rows]]:
        """Send rows to ranks, and have those of the keys wanted from each; `like` has rows of the same kind."""
        counts = {r: np.array([len(indices) for indices, _ in rows.values()], np.int64) for r, rows in out.items()}
        coming = {r: np.empty(len(keys), np.int64) for r, keys in wanted.items()}
        self._send({r: [c] for r, c in counts.items()}, {r: [c] for r, c in coming.items()})
        found: dict[int, dict[Key, Rows]] = {}
        for r, keys in wanted.items():
            found[r] = {}
            for key, count in zip(keys, coming[r].tolist(), strict=True):
                rows = like[key][1] if isinstance(like[key], tuple) else like[key]
                found[r][key] = np.empty(count, np.int64), np.empty((count, *rows.shape[1:]), rows.dtype)
        self._send(
            {r: [array for pair in rows.values() for array in pair] for r, rows in out.items()},
            {r: [array for pair in rows.values() for array in pair] for r, rows in found.items()},
        )
        return found

    def _send(self, out: Mapping[int, Sequence[np.ndarray]], into: Mapping[int, Sequence[np.ndarray]]) -> None:
        sends, receives = self._messages(out), self._messages(into)
        self.sent += sum(memory.nbytes for _, (memory, _) in sends)
        self._world.exchange(sends, receives, DATA, "the exchange of rows")

    def _messages(self, arrays: Mapping[int, Sequence[np.ndarray]]) -> list[Message]:
        return [(r, self._world.message(array)) for r, several in arrays.items() for array in several if array.size]
