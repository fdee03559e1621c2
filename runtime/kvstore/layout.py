"""Where keys lie in a flat buffer, and how that is cut among owners: the ranks of a job, or the shards of a service."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.core import optgen_bridge
from runtime.kvstore.base import Key

ShardGranularity = Literal["anywhere", "blocks", "tensors", "never"]
"""Where a key may be cut: at any block of its elements ("blocks": if partial sums are exchanged); between keys; or not
even there, when all keys need one owner."""
KEY_ALIGNMENT_ELEMENTS = 64
"""Keys begin at multiples of so many elements: at least a cache line, and whole words of compressed gradients."""


@dataclass(frozen=True)
class Slot:
    """The place of a key: `size` elements from `begin`, in C order."""

    key: Key
    shape: tuple[int, ...]
    begin: int
    size: int

    @property
    def end(self) -> int:
        return self.begin + self.size


@dataclass(frozen=True)
class Part:
    """What one owner has of a key: elements [begin, end) of the flat buffer, of which the first is element `offset` of
    the key. It is empty where the owner has none."""

    slot: Slot
    begin: int
    end: int

    @property
    def offset(self) -> int:
        return self.begin - self.slot.begin if self.end > self.begin else 0

    @property
    def size(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True)
class Layout:
    """Keys of one element type, side by side in the order given; owner r has elements [cuts[r], cuts[r + 1])."""

    slots: Mapping[Key, Slot]
    cuts: tuple[int, ...]

    @property
    def size(self) -> int:
        """Elements of the flat buffer."""
        return self.cuts[-1]

    @property
    def owners(self) -> int:
        return len(self.cuts) - 1

    def part(self, key: Key, owner: int) -> Part:
        """What an owner has of a key."""
        slot = self.slots[key]
        begin, end = (min(max(cut, slot.begin), slot.end) for cut in self.cuts[owner : owner + 2])
        return Part(slot, begin, end)

    def parts(self, keys: Sequence[Key], owner: int) -> list[Part]:
        """What an owner has of each of these keys."""
        return [self.part(key, owner) for key in keys]

    def runs(self, keys: Sequence[Key], owner: int) -> Iterator[tuple[int, int]]:
        """The ranges of the flat buffer that hold what an owner has of these keys, as few as possible, ascending.

        The gap behind a key that only aligns the next one is taken along.
        """
        begin = end = 0
        for part in sorted(self.parts(keys, owner), key=lambda part: part.slot.begin):
            if not part.size:
                continue
            if end > begin and part.begin <= _aligned(end):
                end = part.end
                continue
            if end > begin:
                yield begin, end
            begin, end = part.begin, part.end
        if end > begin:
            yield begin, end


def layout(
    shapes: Mapping[Key, tuple[int, ...]],
    cuts: Mapping[Key, ShardGranularity],
    owners: int,
    work: Mapping[Key, float] | None = None,
) -> Layout:
    """Keys of these shapes, whose `work` is cut as evenly among owners as `cuts` allows; without it, their elements."""
    slots: dict[Key, Slot] = {}
    end = 0
    for key, shape in shapes.items():
        slots[key] = slot = Slot(key, tuple(shape), _aligned(end), math.prod(shape))
        end = slot.end
    if "never" in cuts.values():
        return Layout(slots, (0, *[end] * owners))
    ordered = [slot for slot in slots.values() if slot.size]
    works = [slot.size if work is None else work[slot.key] for slot in ordered]
    *starts, total = itertools.accumulate(works, initial=0)
    found = [0]
    for r in range(1, owners):
        wanted = total * r / owners
        k = bisect_right(starts, wanted) - 1
        cut = _nearest(ordered[k], (wanted - starts[k]) / works[k], cuts[ordered[k].key]) if ordered else 0
        found.append(max(cut, found[-1]))
    return Layout(slots, (*found, end))


def _nearest(slot: Slot, share: float, cut: ShardGranularity) -> int:
    """The place nearest to that which leaves a share of a slot, from 0 to 1, before it, of those where it may be
    cut."""
    unit = slot.size if cut == "tensors" else optgen_bridge.block()
    inside = (int(slot.size * share) + unit // 2) // unit * unit
    return slot.begin + min(inside, slot.size)


def _aligned(end: int) -> int:
    return -(-end // KEY_ALIGNMENT_ELEMENTS) * KEY_ALIGNMENT_ELEMENTS
