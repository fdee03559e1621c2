"""Places of buffers in the block of a plan: buffers that are not needed at the same time share memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from runtime.plan.steps import Buffer, Step

ALIGNMENT = 64
"""Buffers begin with a cache line."""


def assign(forward: Sequence[Step], backward: Sequence[Step], kept: Iterable[Buffer]) -> int:
    """Set the offsets of the buffers of both parts, and return the size of the block.

    What the forward part leaves for the backward part stays as it is, so that this can run again; `kept` are results.
    """
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    end = len(forward) + len(backward)
    for at, step in enumerate((*forward, *backward)):
        for buffer in (*step.writes, *step.reads):
            first.setdefault(buffer, at)
            last[buffer] = at if first[buffer] >= len(forward) or at < len(forward) else end
    last.update(dict.fromkeys(kept, end))
    buffers = sorted((x for x in first if x.kind == "block"), key=lambda x: (-x.nbytes, first[x]))
    begin, until, start, stop = (np.zeros(len(buffers), np.int64) for _ in range(4))  # of those that have a place
    for k, buffer in enumerate(buffers):
        begin[k], until[k] = first[buffer], last[buffer]
        at_once = np.flatnonzero((begin[:k] <= until[k]) & (until[:k] >= begin[k]))
        buffer.offset = _gap(start[at_once], stop[at_once], buffer.nbytes)
        start[k], stop[k] = buffer.offset, buffer.offset + buffer.nbytes
    return int(stop.max(initial=0))


def _gap(start: np.ndarray, stop: np.ndarray, nbytes: int) -> int:
    """The lowest offset at which so many bytes are free, where memory from each `start` to before its `stop` is not."""
    order = np.argsort(start)
    ends = -(-np.maximum.accumulate(stop[order]) // ALIGNMENT) * ALIGNMENT
    offsets = np.concatenate([[0], ends])
    room = np.append(start[order], np.iinfo(np.int64).max) - offsets
    return int(offsets[np.argmax(room >= nbytes)])
