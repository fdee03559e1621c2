"""Gradients that are sent while backward still computes others.

A gradient goes to the owners of its parts as soon as backward has completed it. The script may still change it before
it is pushed, as clipping does. A gradient that changed is sent once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime import autograd
from runtime.kvstore.base import Key
from runtime.kvstore.mpi.world import DATA, HEADER, Message, World
from runtime.ndarray import NDArray

OVERLAP = "RUNTIME_KVSTORE_OVERLAP"
"""The environment variable that, as 1, asks for this."""

Messages = tuple[list[Message], list[Message]]
"""The messages of a key: those that this rank sends, and those that it receives."""


class OverlappedSends:
    """The keys whose gradients are in flight.

    Each key has one message to and from every other rank for each flush that it is in, whether a rank sent it ahead of
    its push or in the flush.

    Only code that was given the array of a gradient can change it (`Variable.exposed`). A gradient that is exposed when
    it is sent is copied, and compared with the copy when it is pushed. One that is exposed later counts as changed.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._in_flight: dict[Key, tuple[list[Any], list[int]]] = {}  # requests, and the ranks that they are for
        world.keep(self._in_flight)
        self._variables: dict[Key, autograd.Variable] = {}  # whose gradients were sent ahead of their push
        self._copies: dict[Key, np.ndarray] = {}  # of exposed gradients, as they were sent; the memory is kept
        self._copied: set[Key] = set()
        self._changed: set[Key] = set()

    def begin(self, key: Key, tag: int, messages: Messages, variable: autograd.Variable) -> None:
        """Send the gradient of `variable`, which is that of the key. `tag` is the key's MPI tag."""
        if key in self._in_flight:  # there was another backward pass
            self._changed.add(key)
            return
        if variable.exposed:
            self._copy(key, variable.grad._data)
        self._start(key, tag, messages)
        self._variables[key] = variable
        self._world.progress(request for requests, _ in self._in_flight.values() for request in requests)

    def is_sent(self, key: Key, array: NDArray) -> bool:
        """Whether this array was sent as the key's gradient, and is as it was then. If not, `finish` sends the key's
        gradient again."""
        variable = self._variables.get(key)
        if variable is None:
            return False
        if variable.grad is not array or self._is_changed(key, variable):
            self._changed.add(key)
        return key not in self._changed

    def finish(self, keys: Mapping[Key, tuple[int, Messages]], doing: str) -> int:
        """Return when the gradients of these keys have come from all ranks; `keys` maps them to tags and messages.

        Returns the number of bytes that were sent again.
        """
        for key, (tag, messages) in keys.items():
            if key not in self._in_flight:
                self._start(key, tag, messages)
        requests, peers = ([x for key in keys for x in self._in_flight[key][k]] for k in range(2))
        self._world.finish(requests, peers, DATA, doing)
        sends, receives = self._changed_messages(list(keys), [messages for _, messages in keys.values()], doing)
        self._world.exchange(sends, receives, DATA, doing)
        for key in keys:
            self._forget(key)
        return sum(memory.nbytes for _, (memory, _) in sends)

    def _start(self, key: Key, tag: int, messages: Messages) -> None:
        self._in_flight[key] = self._world.start(*messages, tag)

    def _copy(self, key: Key, gradient: np.ndarray) -> None:
        held = self._copies.get(key)
        if held is None or (held.shape, held.dtype) != (gradient.shape, gradient.dtype):
            held = self._copies[key] = np.empty_like(gradient)
        np.copyto(held, gradient)
        self._copied.add(key)

    def _is_changed(self, key: Key, variable: autograd.Variable) -> bool:
        if key in self._copied:
            return _bytes(self._copies[key]) != _bytes(variable.grad._data)
        return variable.exposed

    def _changed_messages(self, keys: Sequence[Key], messages: Sequence[Messages], doing: str) -> Messages:
        """The messages of the keys whose gradients changed, on any rank, after they had been sent."""
        world = self._world
        flags = np.zeros((world.size, len(keys)), np.uint8)
        flags[world.rank] = [key in self._changed for key in keys]
        own = world.message(flags[world.rank])
        world.exchange(
            [(r, own) for r in world.others], [(r, world.message(flags[r])) for r in world.others], HEADER, doing
        )
        sends = [m for k, (out, _) in enumerate(messages) for m in out if flags[world.rank, k]]
        receives = [m for k, (_, into) in enumerate(messages) for m in into if flags[m[0], k]]
        return sends, receives

    def _forget(self, key: Key) -> None:
        del self._in_flight[key]
        self._variables.pop(key, None)
        self._copied.discard(key)
        self._changed.discard(key)


def _bytes(array: np.ndarray) -> memoryview:
    """The memory of a contiguous array. Views of bytes are compared as memory, so that NaN equals itself."""
    return memoryview(array.reshape(-1).view(np.uint8))
