"""Batches made by a pool that the caller has: what libraries derive their own iterators from.

`DataLoader` has workers of its own and uses none of this.
"""

from __future__ import annotations

import io
import multiprocessing.pool  # noqa: F401 (libraries take it from `multiprocessing`, where MXNet's import puts it)
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

from runtime.context import Context, cpu_pinned
from runtime.ndarray import NDArray

_worker_dataset: Any = None
"""In a process of a pool: the data set."""


def _worker_initializer(dataset: Any, active_shape: bool = False, active_array: bool = False) -> None:
    """Give a process of a pool its data set. The two switches, of MXNet's `np`, are ignored."""
    global _worker_dataset
    _worker_dataset = dataset


def _thread_worker_initializer(active_shape: bool = False, active_array: bool = False) -> None:
    """Nothing: a thread has the data set already."""


def _worker_fn(samples: Sequence[int], batchify_fn: Callable[[list[Any]], Any], dataset: Any = None) -> bytes:
    """The pickled batch of these samples of the process' data set."""
    batch = batchify_fn([_worker_dataset[i] for i in samples])
    buffer = io.BytesIO()
    ForkingPickler(buffer).dump(batch)
    return buffer.getvalue()


def _thread_worker_fn(samples: Sequence[int], batchify_fn: Callable[[list[Any]], Any], dataset: Any) -> Any:
    """The batch of these samples."""
    return batchify_fn([dataset[i] for i in samples])


def _as_in_context(data: Any, ctx: Context) -> Any:
    """The batch with its arrays in another context; tuples become lists."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    return [_as_in_context(part, ctx) for part in data] if isinstance(data, (list, tuple)) else data


class _MultiWorkerIter:
    """The batches of `batch_sampler`, each the result of `worker_fn(samples, batchify_fn, dataset)` in `worker_pool`.

    `worker_pool` has `apply_async`, as those of `multiprocessing`. `prefetch` batches are asked for at once, and one
    more with each that is taken. With `dataset` the results are batches; without, pickled ones of the pool's processes.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[[list[Any]], Any],
        batch_sampler: Any,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._worker_fn = worker_fn
        self._dataset = dataset
        self._data_loader = data_loader  # kept, with its pool, for as long as there are batches
        self._pinned = cpu_pinned(pin_device_id) if pin_memory else None
        self._timeout = timeout
        self._iter = iter(batch_sampler)
        self._data_buffer: dict[int, Any] = {}
        self._sent_idx = 0
        self._rcvd_idx = 0
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return self

    def _push_next(self) -> None:
        """Ask for one more batch, if there is one."""
        samples = next(self._iter, None)
        if samples is not None:
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(
                self._worker_fn, (samples, self._batchify_fn, self._dataset)
            )
            self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        result = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        self._rcvd_idx += 1
        batch = ForkingPickler.loads(result) if self._dataset is None else result
        return batch if self._pinned is None else _as_in_context(batch, self._pinned)

    def next(self) -> Any:
        """As `next(iterator)`."""
        return next(self)
