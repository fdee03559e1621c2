"""From a data set to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime import ndarray as nd
from runtime.gluon.data.dataset import Dataset
from runtime.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from runtime.ndarray import NDArray


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Samples as one array with an axis more, in front; samples that are tuples, as a list of such arrays."""
    if isinstance(data[0], NDArray):
        stacked = np.stack([x._data for x in data])
        return nd.array(stacked, data[0].context, stacked.dtype)
    if isinstance(data[0], tuple):
        return [default_batchify_fn(column) for column in zip(*data, strict=True)]
    stacked = np.asarray(data)
    return nd.array(stacked, dtype=stacked.dtype)


class DataLoader:
    """The batches of a data set, anew at each iteration.

    Parameters
    ----------
    dataset: anything with `__getitem__` and `__len__`.
    batch_size: samples in a batch.
    shuffle: whether the order is drawn anew for each iteration.
    sampler: the order, in place of `shuffle`.
    last_batch: 'keep', 'discard' or 'rollover'; see `BatchSampler`.
    batch_sampler: lists of sample numbers, in place of the four above.
    batchify_fn: makes a batch of a list of samples.
    """

    def __init__(
        self,
        dataset: Dataset | Sequence[Any],
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | Sequence[int] | None = None,
        last_batch: str | None = None,
        batch_sampler: Sampler | None = None,
        batchify_fn: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        self._dataset = dataset
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn
        if batch_sampler is not None:
            if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
                raise ValueError(
                    "batch_sampler stands in place of batch_size, shuffle, sampler and last_batch: give it alone"
                )
            self._batch_sampler = batch_sampler
            return
        if batch_size is None:
            raise ValueError("batch_size is needed where there is no batch_sampler")
        if sampler is not None and shuffle:
            raise ValueError("sampler decides the order: give it without shuffle")
        if sampler is None:
            sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
        self._batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batch_sampler:
            yield self._batchify_fn([self._dataset[i] for i in batch])

    def __len__(self) -> int:
        return len(self._batch_sampler)
