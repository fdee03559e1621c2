"""The transfer of a shard to a new server while workers go on."""

from __future__ import annotations

from collections import deque
from typing import Any

import ray

from runtime.base import MXNetError
from runtime.kvstore.servers.messages import Arrays, Message
from runtime.kvstore.servers.shard import Answer

DONE = "done"
"""The answer of a server that has made a change."""
_MAX_BACKLOG_BYTES = 1 << 26
"""At most so many bytes of changes are kept for a new server, or as many as its snapshot has, if these are more."""
_CHANGE_OVERHEAD_BYTES = 1 << 10
"""The approximate size of a change without its arrays."""


class StateTransfer:
    """The learner loads a snapshot of the shard, then makes the changes that came after it, in order.

    The primary keeps these changes (`keep`) until the learner can make them (`replay`).

    Parameters
    ----------
    epoch: of the primary, and so of the learner.
    learner: the new server.
    number: of the last change that `snapshot` has.
    snapshot: all that the shard has.
    timeout: the seconds that a change may take.
    """

    def __init__(self, epoch: int, learner: Any, number: int, snapshot: Answer, timeout: float) -> None:
        content, arrays = snapshot
        self.epoch, self.learner = epoch, learner
        self._number = number  # of the last change that the learner has, or loads
        self._timeout = timeout
        self._max_backlog_bytes = max(_MAX_BACKLOG_BYTES, _size(arrays))
        self._kept: deque[tuple[Message, Arrays]] = deque()
        self._bytes = 0
        self._loading = learner.load.remote(epoch, number, content, arrays)

    def keep(self, request: Message, arrays: Arrays) -> None:
        """Keep a change that the shard has made, for the learner."""
        self._kept.append((request, arrays))
        self._bytes += _size(arrays) + _CHANGE_OVERHEAD_BYTES

    def is_full(self) -> bool:
        """Whether the learner must make the changes that are kept before the shard makes more."""
        return self._bytes > self._max_backlog_bytes

    def is_loaded(self, seconds: float) -> bool:
        """Whether the learner has loaded the snapshot, or died. Waits for `seconds` at most."""
        return bool(ray.wait([self._loading], timeout=seconds)[0])

    def replay(self) -> int:
        """Let a learner that has loaded make the changes that were kept. Returns the number of the last one.

        RayError or MXNetError where it has not made one of them. It must not become a replica then.
        """
        ray.get(self._loading)
        while self._kept:
            request, arrays = self._kept[0]
            following = self.learner.follow.remote(self.epoch, self._number + 1, request, arrays, [])
            found = ray.get(following, timeout=self._timeout)
            if found != DONE:
                raise MXNetError(f"the new server has not made change {self._number + 1}: it is {found}")
            self._number += 1
            self._kept.popleft()
            self._bytes -= _size(arrays) + _CHANGE_OVERHEAD_BYTES
        return self._number


def _size(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays)
