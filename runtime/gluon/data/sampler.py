"""The order in which samples come, and how they form batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.base import count


class Sampler:
    """Numbers of samples, in an order. Subclasses define `__iter__` and `__len__`."""

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__()")


class SequentialSampler(Sampler):
    """`start, start + 1, ...`: `length` of them."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = count("length", length, 0)
        self._start = count("start", start, None)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """The numbers below `length`, in a new order each time, from NumPy's global generator (`numpy.random.seed`)."""

    def __init__(self, length: int) -> None:
        self._length = count("length", length, 0)

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.permutation(self._length).tolist())

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The numbers of the samples of `dataset` for which `fn(sample)` holds; each is looked at once, now."""

    def __init__(self, fn: Callable[[Any], bool], dataset: Sequence[Any]) -> None:
        self._numbers = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers from `sampler`.

    `last_batch` says what happens to a last, smaller one: 'keep' gives it, 'discard' drops it, 'rollover' puts it
    before the next round.
    """

    def __init__(self, sampler: Sampler | Sequence[int], batch_size: int, last_batch: str = "keep") -> None:
        if last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"last_batch must be 'keep', 'discard' or 'rollover', not {last_batch!r}")
        self._sampler = sampler
        self._batch_size = count("batch_size", batch_size)
        self._last_batch = last_batch
        self._left: list[int] = []

    def __iter__(self) -> Iterator[list[int]]:
        batch, self._left = self._left, []
        for i in self._sampler:
            batch.append(i)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left = batch

    def __len__(self) -> int:
        samples = len(self._sampler) + len(self._left)
        return -(-samples // self._batch_size) if self._last_batch == "keep" else samples // self._batch_size
