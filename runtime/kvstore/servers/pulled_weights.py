"""The weights that each worker last pulled, for optimizers that compensate for the delay of gradients (DC-ASGD)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from runtime.kvstore.base import Key
from runtime.kvstore.servers import messages
from runtime.kvstore.servers.messages import Arrays
from runtime.ndarray import NDArray
from runtime.optimizer import Optimizer, SpecOptimizer, Updater

_NAMES = {"DCASGD": "previous"}
"""The specs that have such a state, and its name."""


class PulledWeights:
    """w_bak(m) of Zheng et al. 2017, algorithm 2: the weights as worker m has last pulled them.

    A worker that has not pulled a key yet has it as it was when it, or the optimizer, came to the server.
    """

    def __init__(self) -> None:
        self._first: dict[Key, NDArray] = {}
        self._pulled: dict[tuple[int, Key], NDArray] = {}

    @staticmethod
    def needed(optimizer: Optimizer) -> bool:
        return isinstance(optimizer, SpecOptimizer) and optimizer.spec.name in _NAMES

    def begin(self, values: Mapping[Key, NDArray]) -> None:
        """Keep the first values of keys that are new."""
        self._first |= {key: value.copy() for key, value in values.items() if key not in self._first}

    def restart(self, key: Key, value: NDArray) -> None:
        """Start anew with another value of a key, for all workers."""
        self._pulled = {place: pulled for place, pulled in self._pulled.items() if place[1] != key}
        self._first[key] = value.copy()

    def keep(self, worker: int, values: Mapping[Key, NDArray]) -> None:
        """Keep the values that a worker pulls."""
        for key, value in values.items():
            if (worker, key) in self._pulled:
                value.copyto(self._pulled[worker, key])
            else:
                self._pulled[worker, key] = value.copy()

    def use(self, worker: int, values: Mapping[Key, NDArray], updater: Updater) -> None:
        """Write the weights that the worker pulled to the optimizer's states of these keys."""
        optimizer = updater.optimizer
        assert isinstance(optimizer, SpecOptimizer)
        updater.prepare(list(values), list(values.values()))
        for key, value in values.items():
            state = updater.states[key]
            inner = optimizer._pair(*state)[1] if optimizer.has_master(value) else state
            self._pulled.get((worker, key), self._first[key]).copyto(
                optimizer.unpacked(inner)[_NAMES[optimizer.spec.name]]
            )

    def dump(self, arrays: Arrays) -> list[Any]:
        """Put all into a message, for `load`."""
        first = [[None, key, value] for key, value in self._first.items()]
        pulled = [[worker, key, value] for (worker, key), value in self._pulled.items()]
        return [[w, key, list(v.shape), messages.put(v, None, arrays)] for w, key, v in [*first, *pulled]]

    @staticmethod
    def load(content: list[Any], arrays: Iterator[np.ndarray]) -> PulledWeights:
        found = PulledWeights()
        for worker, key, shape, form in content:
            value = messages.take(form, tuple(shape), arrays).copy()
            if worker is None:
                found._first[key] = value
            else:
                found._pulled[worker, key] = value
        return found
