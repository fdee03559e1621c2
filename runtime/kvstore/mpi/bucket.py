"""The memory of dense keys, and what a flush moves of it between the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runtime.core import optgen_bridge
from runtime.kvstore.base import Key
from runtime.kvstore.compression import GradientCompression
from runtime.kvstore.layout import KEY_ALIGNMENT_ELEMENTS, Part, ShardGranularity, layout
from runtime.kvstore.mpi.world import Message, World


@dataclass(frozen=True)
class OwnedPart:
    """What this rank updates of a key: its part of the value, and of each rank's gradient, in their order.

    All are one-dimensional, and empty where the part is. `whole`: the key is not to be cut.
    """

    part: Part
    grads: list[np.ndarray]
    weight: np.ndarray
    whole: bool


@dataclass(frozen=True)
class Traffic:
    """The messages of a flush: gradients to the owners of their parts, then new values from there to all."""

    grads: tuple[list[Message], list[Message]]
    values: tuple[list[Message], list[Message]]

    @property
    def sent(self) -> int:
        """Bytes that this rank sends."""
        return sum(memory.nbytes for sends, _ in (self.grads, self.values) for _, (memory, _) in sends)


class Bucket:
    """Keys of one element type: `values` and gradients, `grads`, each in one flat buffer, so that nothing is packed.

    `layout` says where keys lie, and which rank owns what. Of its own part a rank has the gradients of all of them.
    """

    def __init__(
        self,
        world: World,
        shapes: Mapping[Key, tuple[int, ...]],
        dtype: np.dtype,
        cuts: Mapping[Key, ShardGranularity],
        work: Mapping[Key, float],
        compression: GradientCompression | None,
    ) -> None:
        self._world = world
        self._shapes = dict(shapes)
        self.dtype = dtype
        size = layout(shapes, cuts, 1).size
        self.values, self.grads = (optgen_bridge.aligned((size,), dtype) for _ in range(2))
        self.cut(cuts, work, compression)

    def cut(
        self,
        cuts: Mapping[Key, ShardGranularity],
        work: Mapping[Key, float],
        compression: GradientCompression | None,
    ) -> None:
        """Cut the `work` of updating the keys among the ranks, where `cuts` allows it. Nothing moves, as every rank has
        all values."""
        own = self._world.rank
        self.cuts, self._compression = dict(cuts), compression
        self.layout = layout(self._shapes, cuts, self._world.size, work)
        # The first element of what arrives.
        self._base = self.layout.cuts[own] // KEY_ALIGNMENT_ELEMENTS * KEY_ALIGNMENT_ELEMENTS
        count = self.layout.cuts[own + 1] - self._base
        end = self.layout.cuts[own + 1]
        self._arrived = [
            self.grads[self._base : end]
            if r == own and compression is None
            else optgen_bridge.aligned((count,), self.dtype)
            for r in range(self._world.size)
        ]
        if compression is not None:
            self._words = np.zeros(compression.words(self.layout.size), np.uint32)
            self._arrived_words = [np.zeros(compression.words(count), np.uint32) for _ in self._arrived]

    @property
    def is_compressed(self) -> bool:
        return self._compression is not None

    def slot(self, flat: np.ndarray, key: Key) -> np.ndarray:
        """The memory of a key in `values` or `grads`, in its shape."""
        slot = self.layout.slots[key]
        return flat[slot.begin : slot.end].reshape(slot.shape)

    def item(self, key: Key) -> OwnedPart:
        """What this rank updates of a key."""
        part = self.layout.part(key, self._world.rank)
        grads = [arrived[part.begin - self._base : part.end - self._base] if part.size else arrived[:0]
                 for arrived in self._arrived]  # fmt: skip
        whole = self.cuts[key] in ("tensors", "never")
        return OwnedPart(part, grads, self.values[part.begin : part.end], whole)

    # ------------------------------------------------------------ flushes

    def traffic(self, keys: Sequence[Key]) -> Traffic:
        """What goes to and fro for these keys."""
        own = self._world.rank
        runs = [list(self.layout.runs(keys, r)) for r in range(self._world.size)]
        return Traffic(
            (
                [(r, self._gradient(begin, end)) for r in self._world.others for begin, end in runs[r]],
                [(r, self._arriving(r, begin, end)) for r in self._world.others for begin, end in runs[own]],
            ),
            (
                [(r, self._message(self.values[b:e])) for b, e in runs[own] for r in self._world.others],
                [(r, self._message(self.values[b:e])) for r in self._world.others for b, e in runs[r]],
            ),
        )

    def _gradient(self, begin: int, end: int) -> list:
        if self._compression is None:
            return self._message(self.grads[begin:end])
        return self._message(self._words[self._in_words(begin, end)])

    def _arriving(self, rank: int, begin: int, end: int) -> list:
        begin, end = begin - self._base, end - self._base
        if self._compression is None:
            return self._message(self._arrived[rank][begin:end])
        return self._message(self._arrived_words[rank][self._in_words(begin, end)])

    def _in_words(self, begin: int, end: int) -> slice:
        """The words of these elements: `begin` is where one begins."""
        return slice(begin // self._compression.per_word, self._compression.words(end))

    def _message(self, array: np.ndarray) -> list:
        return self._world.message(array)

    def pack(self, keys: Sequence[Key]) -> None:
        """Have in few bits what is sent, if gradients are compressed."""
        if self._compression is None:
            return
        for key in keys:
            slot = self.layout.slots[key]
            words = self._compression.pack(key, 0, self.grads[slot.begin : slot.end])
            self._words[self._in_words(slot.begin, slot.end)] = words

    def unpack(self, keys: Sequence[Key]) -> None:
        """Have the gradients that arrived, this rank's own among them, in numbers."""
        if self._compression is None:
            return
        own = self._world.rank
        for part in self.layout.parts(keys, own):
            if part.size:
                here = part.begin - self._base, part.end - self._base
                self._arrived_words[own][self._in_words(*here)] = self._words[self._in_words(part.begin, part.end)]
                for words, numbers in zip(self._arrived_words, self._arrived, strict=True):
                    self._compression.unpack(words[self._in_words(*here)], numbers[slice(*here)])
