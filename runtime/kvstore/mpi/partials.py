"""Partial results of equations that sum over a tensor of which each rank updates a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from runtime.core import optgen_bridge
from runtime.kvstore.base import Key
from runtime.kvstore.mpi.world import DATA, World

Extent = tuple[int, int]
"""The part of a key that a rank owns: its first element, and how many there are."""


class Partials:
    """Exchanges them for `keys`, which are being updated; `extents` tells of a key what each rank owns of it.

    It is called by what is bound to an optimizer, so it holds no optimizer itself: arrays would outlive their store.
    """

    def __init__(self, world: World, extents: Callable[[Key], list[Extent]]) -> None:
        self.keys: Sequence[Key] = ()
        self._world, self._extents = world, extents
        self._blocks: dict[tuple[Key, ...], list[list[Extent]]] = {}

    def forget(self) -> None:
        """Ask again what each rank owns."""
        self._blocks.clear()

    def exchange(self, members: list[int], partials: np.ndarray) -> None:
        """See `optgen.execute.piece.Exchange`; `members` are places in `keys`."""
        keys = tuple(self.keys[m] for m in members)
        rows = self._blocks.get(keys)
        if rows is None:
            rows = self._blocks[keys] = self._blocks_of(keys)
        message, world = self._world.message, self._world
        world.exchange(
            [(r, message(partials[b:e])) for b, e in rows[world.rank] for r in world.others],
            [(r, message(partials[b:e])) for r in world.others for b, e in rows[r]],
            DATA,
            "the exchange of partial sums",
        )

    def _blocks_of(self, keys: Sequence[Key]) -> list[list[Extent]]:
        """The blocks, of all of these keys in order, that each rank owns: where they begin and end."""
        found: list[list[Extent]] = [[] for _ in range(self._world.size)]
        begin, block = 0, optgen_bridge.block()
        for key in keys:
            extents = self._extents(key)
            for ranges, (offset, size) in zip(found, extents, strict=True):
                own = begin + offset // block, begin + -(-(offset + size) // block)
                if size and ranges and ranges[-1][1] == own[0]:
                    ranges[-1] = ranges[-1][0], own[1]
                elif size:
                    ranges.append(own)
            begin += -(-sum(size for _, size in extents) // block)
        return found
