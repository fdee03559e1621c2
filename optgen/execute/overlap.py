"""The check that no tensor which a step writes shares memory with another tensor of the step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from optgen.execute.buffers import Array, Tensor


class OverlapCheck:
    """The tensors that every step writes or reads, and the ranges of addresses where they are."""

    def __init__(self, written: Sequence[Tensor], read: Sequence[Tensor]) -> None:
        self._tensors, self._n_written = [*written, *read], len(written)
        self._ranges = _address_ranges(self._tensors)
        # `written`, once no two of these tensors share memory: as lists, which are searched sooner for few tensors.
        self._separate: tuple[list[int], list[int]] | None = None

    @property
    def written(self) -> tuple[Array, Array]:
        """Where the tensors with elements that are written begin and end, in order, as two arrays of uint64."""
        ranges = self._ranges[: self._n_written]
        ranges = ranges[ranges[:, 0] < ranges[:, 1]]
        begins, ends = ranges[np.argsort(ranges[:, 0])].T
        return np.ascontiguousarray(begins), np.ascontiguousarray(ends)

    @property
    def touched(self) -> tuple[Array, Array]:
        """The same of those that are written or read. Tensors that share memory are one range."""
        ranges = self._ranges[self._ranges[:, 0] < self._ranges[:, 1]]
        if not len(ranges):
            return self.written
        begins, ends = ranges[np.argsort(ranges[:, 0])].T
        furthest = np.maximum.accumulate(ends)
        apart = begins[1:] >= furthest[:-1]
        return begins[np.append(True, apart)], furthest[np.append(apart, True)]

    def check_no_overlap(self, more: Sequence[Tensor], *, written: bool = False) -> None:
        """ValueError naming two tensors that share memory, one of them written; `more` are read or written as well."""
        if written or self._separate is None or self._is_written(more, *self._separate):
            self._check_all(more, written=written)
            begins, ends = self.written
            self._separate = begins.tolist(), ends.tolist()

    @staticmethod
    def _is_written(tensors: Sequence[Tensor], begins: list[int], ends: list[int]) -> bool:
        """Whether one of the tensors has memory in a range. The ranges are in ascending order, and no two overlap."""
        return any(bisect_right(ends, t.address) < bisect_left(begins, t.address + t.nbytes) for t in tensors)

    def _check_all(self, more: Sequence[Tensor], *, written: bool) -> None:
        ranges = np.concatenate([self._ranges, _address_ranges(more)])
        present = np.flatnonzero(ranges[:, 0] < ranges[:, 1])
        begins, ends = ranges[present].T
        is_written = np.arange(len(ranges)) < self._n_written
        is_written[len(self._tensors) :] = written
        order = present[np.lexsort((is_written[present], ends, begins))]
        begins, ends = ranges[order].T
        is_written = is_written[order]
        # In the order of their beginnings, a tensor overlaps an earlier one if it begins before the furthest end of
        # those. A written tensor may overlap no earlier one; a read tensor, none that is written.
        furthest, furthest_written = (np.maximum.accumulate(x)[:-1] for x in (ends, np.where(is_written, ends, 0)))
        bad = np.flatnonzero(begins[1:] < np.where(is_written[1:], furthest, furthest_written))
        if bad.size:
            k = int(bad[0]) + 1
            other = int(np.argmax(ends[:k] if is_written[k] else np.where(is_written[:k], ends[:k], 0)))
            tensors = [*self._tensors, *more]
            raise ValueError(
                f"{tensors[order[other]].name} and {tensors[order[k]].name} share memory, and a step writes to it; "
                "pass a tensor that is used twice only once"
            )


def _address_ranges(tensors: Sequence[Tensor]) -> Array:
    """The first address of each tensor and the one behind its last, of shape (n, 2)."""
    begins = np.array([t.address for t in tensors], np.uint64)
    return np.stack([begins, begins + np.array([t.nbytes for t in tensors], np.uint64)], axis=1)
