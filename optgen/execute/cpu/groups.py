"""Groups of small tensors. One thread makes all sweeps over a group before it goes on to the next one, so that a later
sweep finds in the caches what an earlier one has read. docs/trials/threads.md says what else was tried.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from optgen.backends import machine
from optgen.execute import buffers
from optgen.execute.buffers import Array
from optgen.execute.kernel import StepStruct
from optgen.execute.table import StepTable, TablePart

GROUP_BYTES = machine.value("groups.group_bytes")
"""Tensors are put together until they and their states have so many bytes."""
LARGEST_BYTES = machine.value("groups.largest_bytes")
"""A tensor with more bytes is in no group: a core's share of the caches does not hold it."""
LEAST_GROUPS = machine.value("groups.least_groups")
"""The least number of groups for each thread. With fewer, one thread may have much more to do than another, and in the
caches of all threads there is room for all tensors anyway."""


def group_ends(sizes: Sequence[int], threads: int) -> list[int]:
    """Where groups end, of consecutive tensors of so many bytes, of which the small ones come first; [] for none."""
    ends, total = [], 0
    for i, size in enumerate(sizes):
        if size > LARGEST_BYTES:
            break
        total += size
        if total >= GROUP_BYTES or i + 1 == len(sizes) or sizes[i + 1] > LARGEST_BYTES:
            ends.append(i + 1)
            total = 0
    return ends if len(ends) >= LEAST_GROUPS * threads else []


class Groups:
    """The parts that a table is cut into: `count` groups, and what is behind the last one, on all threads.

    Each part has a structure that points into the arrays of the table. Hyper-parameters, which lie by number and then
    by tensor, and the workspace are its own. `elements` are those of the tensors of all groups.
    """

    def __init__(self, table: StepTable, ends: Sequence[int]) -> None:
        n = len(table.members)
        self.count, self.elements = len(ends), int(table.sizes[: ends[-1]].sum())
        self._hyper_index = table.kernel.hyper_index
        one = ("size", "t", "cols", "id", "index", "present")
        self._words_per_tensor = {"buffers": len(table.kernel.buffer_index), **dict.fromkeys(one, 1)}
        self._bounds = [(low, high) for low, high in itertools.pairwise((0, *ends, n)) if low < high]
        places = np.arange(max(len(self._hyper_index), 1) * n).reshape(-1, n)
        self._places = np.concatenate([places[:, low:high].ravel() for low, high in self._bounds])
        self._hyper, self._workspace = np.zeros(places.size), np.zeros(0)
        self._structs = [StepStruct(n=high - low) for low, high in self._bounds]

    def set_hyper(self, hyper: Array) -> None:
        """Take over the hyper-parameters of the table, [number][tensor]."""
        np.take(hyper.ravel(), self._places, out=self._hyper)

    def set_seed(self, seed: int) -> None:
        for struct in self._structs:
            struct.seed = seed

    def update(self, whole: StepStruct, workspace: Callable[[StepStruct], int]) -> None:
        """Take over the addresses in the table's structure. `workspace` says how many doubles a part needs."""
        for part, (struct, (low, _)) in enumerate(zip(self._structs, self._bounds, strict=True)):
            for name, words in self._words_per_tensor.items():
                start = getattr(whole, name)
                setattr(struct, name, None if start is None else start + 8 * words * low)
            struct.hyper = self._hyper.ctypes.data + 8 * len(self._hyper_index) * low
            if part >= self.count:
                struct.parallel, struct.pool = whole.parallel, whole.pool
        needed = [workspace(struct) for struct in self._structs]
        self._workspace = buffers.aligned((sum(needed),), "float64")
        for struct, begin in zip(self._structs, itertools.accumulate(needed, initial=0), strict=False):
            struct.workspace = self._workspace.ctypes.data + 8 * begin

    def parts(self, order: Array) -> tuple[list[TablePart], list[TablePart]]:
        """What is behind the groups, and the groups; `order` are the numbers of the table's tensors."""
        row = self._hyper_index.get("step")
        found = []
        for struct, (low, high) in zip(self._structs, self._bounds, strict=True):
            shared = None if row is None else struct.hyper + 8 * row * (high - low)
            found.append(TablePart(ctypes.addressof(struct), order.ctypes.data + 8 * low, shared))
        return found[self.count :], found[: self.count]
