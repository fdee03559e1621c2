"""Optimizer states, one for each parameter, made when its first gradient comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.nd.ndarray import NDArray
from runtime.optimizer.optimizer import Optimizer


class Updater:
    """Applies an optimizer: `updater(index, grad, weight)`, or lists of the three."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[int, Any] = {}

    def __call__(
        self, index: int | Sequence[int], grad: NDArray | Sequence[NDArray], weight: NDArray | Sequence[NDArray]
    ) -> None:
        if isinstance(index, int):
            index, grad, weight = [index], [grad], [weight]
        for i, w in zip(index, weight, strict=True):
            if i not in self.states:
                self.states[i] = self.optimizer.create_state(i, w)
        states = [self.states[i] for i in index]
        chunk = self.optimizer.aggregate_num
        if chunk == 0:
            for i, w, g, state in zip(index, weight, grad, states, strict=True):
                self.optimizer.update(i, w, g, state)
        else:
            for start in range(0, len(index), chunk):
                part = slice(start, start + chunk)
                self.optimizer.update(index[part], weight[part], grad[part], states[part])


def get_updater(optimizer: Optimizer) -> Updater:
    """An Updater for `optimizer`."""
    return Updater(optimizer)
