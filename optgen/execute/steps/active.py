"""The parameters that a step updates: with every set of parameters that have gradients, tables of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.execute.buffers import Tensor, numpy_dtype
from optgen.execute.cpu.ranges import ReadableRanges
from optgen.execute.kernel import BufferTensors, LoadedKernel
from optgen.execute.overlap import OverlapCheck
from optgen.execute.protocols import BoundTable, Runner
from optgen.execute.tensors import places


@dataclass
class ActiveSet:
    """The parameters numbered by `members`: `tables` of those of one kernel each, and what runs a step over them.

    `mark_written` tells autograd what it writes, None where that is nothing of PyTorch's. `moving` are the gradients
    that the tables read, where they may be elsewhere at the next step. `participants` are those of the
    step's transaction.
    """

    members: list[int]
    tables: Sequence[BoundTable]
    runner: Runner
    mark_written: Callable[[], None] | None
    moving: MovingGradients | None = None

    def __post_init__(self) -> None:
        self.participants = (self.runner,)


def written_by(groups: Mapping[LoadedKernel, list[int]], tensors: BufferTensors) -> list[Tensor]:
    """The parameters and states that kernels write, each for its members."""
    written = [
        tensors[b.name][i]
        for kernel, members in groups.items()
        for b in kernel.native.buffers
        if b.written and b.name in tensors
        for i in members
    ]
    return [t for t in written if t is not None]


class MovingGradients:
    """Dense gradients of PyTorch's kind, of which only addresses change, as `backward` makes them after `zero_grad`.

    `found` has the gradient of each parameter, None where there is none. `bound` are the same gradients, by the
    parameters' numbers, as `tables` read them. `apart`: none may share memory with another, or with a tensor that the
    step reads, as the step writes to them.

    Of new gradients, a storage that was freed (`resize_(0)`) is noticed. One that was made smaller is not: to ask for
    the sizes of storages takes longer than all the rest. PyTorch's own operators do not ask either.
    """

    def __init__(
        self,
        found: list[Any],
        bound: Mapping[int, Tensor],
        tables: Sequence[BoundTable],
        overlap: OverlapCheck,
        *,
        apart: bool,
    ) -> None:
        self._tables, self._reader = tables, places.reader(found, [])
        self._addresses = self._reader.addresses.tobytes()
        sizes, items = np.zeros(len(found), np.uint64), np.ones(len(found), np.uint64)
        for i, t in bound.items():
            sizes[i], items[i] = t.nbytes, numpy_dtype(t.dtype).itemsize
        others = overlap.touched if apart else overlap.written
        self._ranges = ReadableRanges(self._reader.addresses, sizes, items, *others)
        self._sizes, self._apart = sizes, apart
        # The imaginary parts of a conjugate, which are the negative of what is in memory, lie two apart: only one
        # element alone is in C order.
        self._may_be_negative = [i for i, t in bound.items() if t.size == 1 and hasattr(found[i], "is_neg")]

    def move(self, found: list[Any]) -> bool:
        """Have the tables read these gradients; False if they differ in more than their addresses."""
        if not self._reader.read(found):
            return False
        for i in self._may_be_negative:
            if found[i].is_neg():
                return False
        now = self._reader.addresses.tobytes()
        if now == self._addresses:
            return True
        if not self._ranges.are_readable() or (self._apart and not self._are_apart()):
            return False
        self._addresses = b""  # whatever interrupts this, the next step begins anew
        for table in self._tables:
            table.move_gradients(self._reader.addresses[table.order])
        self._addresses = now
        return True

    def _are_apart(self) -> bool:
        """Whether no two gradients share memory."""
        begins = self._reader.addresses.astype(np.uint64)
        order = np.argsort(begins, kind="stable")
        order = order[self._sizes[order] > 0]
        return bool((begins[order[:-1]] + self._sizes[order[:-1]] <= begins[order[1:]]).all())
