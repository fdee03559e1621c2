"""That what a step writes is nobody else's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.execute.buffers import Tensor

Array = np.ndarray[Any, Any]


class Apart:
    """Tensors that a step always writes or reads. None that is written may share memory with another."""

    def __init__(self, written: Sequence[Tensor], read: Sequence[Tensor]) -> None:
        self._tensors, self._n = [*written, *read], len(written)
        self._spans = _spans(self._tensors)

    def check(self, more: Sequence[Tensor]) -> None:
        """ValueError naming two that share memory, of which one is written, if others are read, too."""
        spans = np.concatenate([self._spans, _spans(more)])
        present = np.flatnonzero(spans[:, 0] < spans[:, 1])
        begins, ends = spans[present].T
        order = present[np.lexsort((present < self._n, ends, begins))]
        begins, ends = spans[order].T
        written = order < self._n
        # How far those before reach, all of them or the written ones: who overlaps must meet the one that does so.
        furthest, furthest_written = (np.maximum.accumulate(x)[:-1] for x in (ends, np.where(written, ends, 0)))
        bad = np.flatnonzero(begins[1:] < np.where(written[1:], furthest, furthest_written))
        if bad.size:
            k = int(bad[0]) + 1
            other = int(np.argmax(ends[:k] if written[k] else np.where(written[:k], ends[:k], 0)))
            tensors = [*self._tensors, *more]
            raise ValueError(
                f"{tensors[order[other]].name} and {tensors[order[k]].name} share memory, and a step writes to it; "
                "pass a tensor that is used twice only once"
            )


def _spans(tensors: Sequence[Tensor]) -> Array:
    """Where each begins and ends, of shape (n, 2)."""
    begins = np.array([t.address for t in tensors], np.uint64)
    return np.stack([begins, begins + np.array([t.nbytes for t in tensors], np.uint64)], axis=1)
