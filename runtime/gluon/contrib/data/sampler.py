"""The sampler that takes every n-th sample, from each start in turn."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.base import count
from runtime.gluon.data import Sampler


class IntervalSampler(Sampler):
    """Every `interval`-th number below `length`, from 0 on; with `rollover` then those from 1 on, and so forth until
    all have come."""

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        self._length, self._interval = count("length", length, 0), count("interval", interval)
        if interval > length:
            raise ValueError(f"interval must be at most the length, {length}, not {interval}")
        self._starts = interval if rollover else 1

    def __iter__(self) -> Iterator[int]:
        for start in range(self._starts):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length if self._starts == self._interval else -(-self._length // self._interval)
