"""The loader: batches of a dataset, made in this process or ahead of time by workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

from runtime.base import ArgumentError, count, numeric_types
from runtime.context import cpu_pinned
from runtime.gluon.data.batchify import default_batchify_fn, default_mp_batchify_fn
from runtime.gluon.data.dataset import Dataset
from runtime.gluon.data.pooled import (
    _as_in_context,
    _MultiWorkerIter,
    _thread_worker_fn,
    _thread_worker_initializer,
    _worker_fn,
    _worker_initializer,
)
from runtime.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from runtime.gluon.data.workers import Workers

__all__ = [
    "DataLoader",
    "ForkingPickler",
    "_MultiWorkerIter",
    "_as_in_context",
    "_thread_worker_fn",
    "_thread_worker_initializer",
    "_worker_fn",
    "_worker_initializer",
    "default_batchify_fn",
    "default_mp_batchify_fn",
]
"""What libraries import from here, those with an underscore for loaders of their own."""


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
    batchify_fn: makes a batch of a list of samples; see `gluon.data.batchify`.
    num_workers: processes (threads, with `thread_pool`) that make batches ahead; 0 makes them where they are asked for.
        Processes are started as `multiprocessing` is set to: forked, or spawned, where data set and functions must be
        such as can be pickled. Forked ones cannot use a GPU: keep the data set on the CPU, and bring batches to the
        GPU (`split_and_load`). What a process draws from `random`, `numpy.random` and `mx.random` follows from NumPy's
        generator here and the number of the batch, whatever the number of workers. They end with this process, and an
        error in one is raised here, with where it was raised there.
    pin_memory: give batches in the context `cpu_pinned(pin_device_id)`.
    prefetch: batches that are made ahead, at least one; by default two for each worker.
    timeout: seconds to wait for a batch, before TimeoutError.
    auto_reload: whether workers begin now, and with the next round when one ends, in place of when the first batch is
        asked for; see `refresh`.
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
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ) -> None:
        if not isinstance(timeout, numeric_types) or not timeout > 0:
            raise ArgumentError(f"timeout must be a positive number of seconds, not {timeout!r}")
        # Below 0 is 0, as in MXNet: scripts have -1 for none.
        num_workers = max(count("num_workers", num_workers, None), 0)
        ahead = 2 * num_workers if prefetch is None else max(count("prefetch", prefetch, None), 1)
        self._dataset = dataset
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn
        self._batch_sampler = _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        # Libraries that derive loaders of their own read these two.
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._iter: Iterator[Any] | None = None
        self._workers = None
        if num_workers > 0:
            self._workers = Workers(dataset, self._batchify_fn, num_workers, thread_pool, ahead, timeout)
        self._auto_reload = auto_reload
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        batches, self._iter = self._iter, None
        if batches is None:
            batches = self._batches()
        return self._reloading(batches) if self._auto_reload else batches

    def refresh(self) -> None:
        """Begin with the batches of the next iteration: workers make those that are made ahead."""
        self._iter = self._batches(begin=True)

    def clean(self) -> None:
        """Drop what `refresh` has begun with."""
        self._iter = None

    def _reloading(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        if self._iter is None:
            self.refresh()

    def _batches(self, begin: bool = False) -> Iterator[Any]:
        """The batches of one iteration; with `begin`, workers make the first ones now."""
        if self._workers is not None:
            batches = self._workers.begun(self._batch_sampler) if begin else self._workers.batches(self._batch_sampler)
        else:
            batches = (self._batchify_fn([self._dataset[i] for i in batch]) for batch in self._batch_sampler)
        if not self._pin_memory:
            return batches
        return (_as_in_context(batch, cpu_pinned(self._pin_device_id)) for batch in batches)

    def __len__(self) -> int:
        return len(self._batch_sampler)


def _batch_sampler(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Any, last_batch: str | None, batch_sampler: Any
) -> Sampler:
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "batch_sampler stands in place of batch_size, shuffle, sampler and last_batch: give it alone"
            )
        return batch_sampler
    if batch_size is None:
        raise ValueError("batch_size is needed where there is no batch_sampler")
    if sampler is not None and shuffle:
        raise ValueError("sampler decides the order: give it without shuffle")
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    return BatchSampler(sampler, batch_size, last_batch or "keep")
