"""Places of buffers in the block of a plan: buffers that are not needed at the same time share memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    size = 0
    placed: list[Buffer] = []
    for buffer in sorted((x for x in first if x.kind == "block"), key=lambda x: (-x.nbytes, first[x])):
        taken = sorted(
            (x.offset, x.offset + x.nbytes)
            for x in placed
            if first[x] <= last[buffer] and first[buffer] <= last[x]
        )  # fmt: skip
        buffer.offset = _gap(taken, buffer.nbytes)
        placed.append(buffer)
        size = max(size, buffer.offset + buffer.nbytes)
    return size


def _gap(taken: Sequence[tuple[int, int]], nbytes: int) -> int:
    """The lowest offset at which so many bytes are free."""
    offset = 0
    for start, stop in taken:
        if offset + nbytes <= start:
            break
        offset = max(offset, -(-stop // ALIGNMENT) * ALIGNMENT)
    return offset
