"""Gradients that are sent while backward still computes others.

Each goes to the owners of its parts as soon as it is complete. It may still be changed before it is pushed, as by
clipping: so its array is watched, and what was touched is sent once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.kvstore.base import Key
from runtime.kvstore.mpi.world import DATA, HEADER, Message, World
from runtime.ndarray import NDArray

OVERLAP = "RUNTIME_KVSTORE_OVERLAP"
"""The environment variable that, as 1, asks for this."""
_MEMORY: Any = NDArray.__dict__["_data"]
_WATCHED: dict[int, Callable[[], None]] = {}

Messages = tuple[list[Message], list[Message]]
"""What of a key this rank sends, and what it receives."""


class InFlight(NDArray):
    """An array that tells when somebody takes hold of its elements, and then is an ordinary one again."""

    __slots__ = ()

    def _touched(self) -> np.ndarray:
        self.__class__ = NDArray
        _WATCHED.pop(id(self))()
        return self._data

    def _replaced(self, data: np.ndarray) -> None:
        self._touched()
        self._data = data

    _data = property(_touched, _replaced)

    @property
    def shape(self) -> tuple[int, ...]:
        return _MEMORY.__get__(self).shape

    @property
    def dtype(self) -> type:
        return _MEMORY.__get__(self).dtype.type


class Early:
    """Keys whose gradients are on their way. Of each key there is one message to and from every other rank for each
    flush that it is in, whether or not a rank began with it before."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._begun: dict[Key, tuple[list[Any], list[int]]] = {}
        self._arrays: dict[Key, NDArray] = {}  # those that are watched
        self._touched: set[Key] = set()

    def begin(self, key: Key, tag: int, messages: Messages, array: NDArray) -> None:
        """Send the gradient of a key, that `array` is. `tag` is the key's number."""
        if key in self._begun:  # there was another backward pass
            self._touched.add(key)
            return
        self._start(key, tag, messages)
        self._arrays[key] = array
        _WATCHED[id(array)] = lambda: self._touched.add(key)
        array.__class__ = InFlight
        self._world.progress(request for requests, _ in self._begun.values() for request in requests)

    def has(self, key: Key, array: NDArray) -> bool:
        """Whether this array is on its way as the key's gradient, untouched."""
        return self._arrays.get(key) is array and key not in self._touched

    def finish(self, keys: Mapping[Key, tuple[int, Messages]], doing: str) -> int:
        """Have the gradients of these keys, of which `keys` has the numbers and the messages, from all ranks.

        Returns how many bytes were sent again.
        """
        for key, (tag, messages) in keys.items():
            if key not in self._begun:
                self._start(key, tag, messages)
        requests, peers = ([x for key in keys for x in self._begun[key][k]] for k in range(2))
        self._world.finish(requests, peers, DATA, doing)
        sends, receives = self._again(list(keys), [messages for _, messages in keys.values()], doing)
        self._world.exchange(sends, receives, DATA, doing)
        for key in keys:
            self._forget(key)
        return sum(memory.nbytes for _, (memory, _) in sends)

    def _start(self, key: Key, tag: int, messages: Messages) -> None:
        self._begun[key] = self._world.start(*messages, tag)

    def _again(self, keys: Sequence[Key], messages: Sequence[Messages], doing: str) -> Messages:
        """The messages of the keys that were touched after they had been sent."""
        world = self._world
        flags = np.zeros((world.size, len(keys)), np.uint8)
        flags[world.rank] = [key in self._touched for key in keys]
        own = world.message(flags[world.rank])
        world.exchange(
            [(r, own) for r in world.others], [(r, world.message(flags[r])) for r in world.others], HEADER, doing
        )
        sends = [m for k, (out, _) in enumerate(messages) for m in out if flags[world.rank, k]]
        receives = [m for k, (_, into) in enumerate(messages) for m in into if flags[m[0], k]]
        return sends, receives

    def _forget(self, key: Key) -> None:
        del self._begun[key]
        self._touched.discard(key)
        array = self._arrays.pop(key, None)
        if array is not None and _WATCHED.pop(id(array), None) is not None:
            array.__class__ = NDArray
