"""Workers of a DataLoader: processes or threads that make batches ahead of time.

A process hands a large array over as a file in memory, which it writes and this process maps and unlinks: nothing is
copied on this side, and a loader that is let go of leaves nothing behind, whatever has become of its workers.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from concurrent.futures.thread import BrokenThreadPool
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from runtime import random as mx_random
from runtime.arrays import to_host
from runtime.base import MXNetError
from runtime.context import Context, cpu
from runtime.ndarray import NDArray
from runtime.ndarray.creation import place

LARGE = 1 << 16
"""Arrays of so many bytes go through a file: below, a pipe is faster."""


class Workers:
    """`count` workers that make batches of `dataset`; `ahead` of them are made before they are asked for."""

    def __init__(
        self,
        dataset: Any,
        batchify: Callable[[Sequence[Any]], Any],
        count: int,
        threads: bool,
        ahead: int,
        timeout: float,
    ) -> None:
        self._make = _Maker(dataset, batchify)
        self._count = count
        self._threads = threads
        self._ahead = ahead
        self._timeout = timeout
        self._executor: Executor | None = None
        self._pid = 0

    def batches(self, numbers: Iterable[Sequence[int]]) -> Iterator[Any]:
        """The batches of these lists of sample numbers, in order."""
        try:
            yield from self._made(numbers)
        except (BrokenProcessPool, BrokenThreadPool) as error:
            self._executor = None
            raise MXNetError(
                f"DataLoader: a worker ended before its batch was made (out of memory?): {error}"
            ) from None

    def _made(self, numbers: Iterable[Sequence[int]]) -> Iterator[Any]:
        seed = int(np.random.randint(1 << 31))
        pool = self._pool()
        waiting: deque[Future] = deque()
        batches = map(list, numbers)
        if self._threads:
            jobs = ((self._make, batch) for batch in batches)
        else:
            jobs = ((_in_process, seed, i, batch) for i, batch in enumerate(batches))
        try:
            waiting.extend(pool.submit(*job) for job in islice(jobs, self._ahead))
            while waiting:
                batch = self._received(waiting.popleft())
                waiting.extend(pool.submit(*job) for job in islice(jobs, 1))
                yield batch
        finally:
            for future in waiting:
                future.cancel()

    def _received(self, future: Future) -> Any:
        try:
            return _loaded(future.result(self._timeout))
        except TimeoutError:
            if future.done():
                raise  # the data set's own
            self._end()
            raise TimeoutError(
                f"DataLoader: no batch within {self._timeout} s; give a longer timeout, or look at what the workers do"
            ) from None

    def _end(self) -> None:
        """End the processes: the program could not end before them, and one of them may never do so by itself."""
        executor, self._executor = self._executor, None
        if isinstance(executor, ProcessPoolExecutor):
            for process in list((executor._processes or {}).values()):
                process.kill()
        executor.shutdown(wait=False, cancel_futures=True)

    def _pool(self) -> Executor:
        """The workers, started with the first batches. A forked child starts threads of its own."""
        if self._executor is not None and self._pid != os.getpid() and not self._threads:
            raise MXNetError(
                "DataLoader: its worker processes belong to the process that this one was forked from; make a "
                "DataLoader here"
            )
        if self._executor is None or self._pid != os.getpid():
            self._pid = os.getpid()
            if self._threads:
                self._executor = ThreadPoolExecutor(self._count, "DataLoader")
            else:
                folder = tempfile.mkdtemp(prefix="runtime-loader-", dir=_memory())
                self._executor = ProcessPoolExecutor(self._count, initializer=_start, initargs=(self._make, folder))
                weakref.finalize(self._executor, _remove, folder, self._pid)
        return self._executor


def _memory() -> str | None:
    """A folder whose files are in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _remove(folder: str, pid: int) -> None:
    """Remove a folder of the process `pid`; what a forked child has of the loader is a copy, and leaves it alone.

    A worker may be about to write a last file: then the folder is not empty at the first try.
    """
    for _ in range(100):
        if os.getpid() == pid and os.path.exists(folder):
            shutil.rmtree(folder, ignore_errors=True)


class _Maker:
    """Makes the batch of a list of sample numbers."""

    def __init__(self, dataset: Any, batchify: Callable[[Sequence[Any]], Any]) -> None:
        self._dataset = dataset
        self._batchify = batchify

    def __call__(self, samples: list[int]) -> Any:
        return self._batchify([self._dataset[i] for i in samples])


# ---------------------------------------------------------------- in a worker process

_maker: _Maker
_folder: str


def _start(maker: _Maker, folder: str) -> None:
    global _maker, _folder
    _maker, _folder = maker, folder
    Context.default_ctx = cpu()  # whatever it is where the process was forked, as CUDA does not work in forked ones


def _in_process(seed: int, number: int, samples: list[int]) -> Any:
    """Batch number `number`; what is drawn for it follows from that and the seed alone."""
    drawn = int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
    random.seed(drawn)
    np.random.seed(drawn)
    mx_random.seed(drawn)
    return _packed(_maker(samples))


class _Array(NamedTuple):
    """An array on its way: its values, or the file they are in. `ctx` is None for one of NumPy's."""

    values: np.ndarray | str
    shape: tuple[int, ...]
    dtype: np.dtype
    ctx: tuple[str, int] | None


def _packed(batch: Any) -> Any:
    """The batch with its arrays ready to be sent."""
    if isinstance(batch, (list, tuple)):
        return type(batch)(map(_packed, batch)) if type(batch) in (list, tuple) else batch
    if isinstance(batch, dict):
        return {key: _packed(value) for key, value in batch.items()}
    if isinstance(batch, NDArray) and batch.stype == "default":
        return _sent(to_host(batch._data), (batch.context.device_type, batch.context.device_id))
    return _sent(batch, None) if isinstance(batch, np.ndarray) and batch.dtype != object else batch


def _sent(array: np.ndarray, ctx: tuple[str, int] | None) -> _Array:
    if array.nbytes < LARGE:
        return _Array(array, array.shape, array.dtype, ctx)
    handle, path = tempfile.mkstemp(dir=_folder)
    with open(handle, "wb") as file:
        np.ascontiguousarray(array).view(np.uint8).reshape(-1).tofile(file)
    return _Array(path, array.shape, array.dtype, ctx)


# ---------------------------------------------------------------- back here


def _loaded(batch: Any) -> Any:
    if isinstance(batch, _Array):
        data = batch.values
        if isinstance(data, str):
            data = np.asarray(np.memmap(data, batch.dtype, "r+", shape=batch.shape))
            os.unlink(batch.values)
        return data if batch.ctx is None else place(data, Context(*batch.ctx))
    if type(batch) in (list, tuple):
        return type(batch)(map(_loaded, batch))
    return {key: _loaded(value) for key, value in batch.items()} if isinstance(batch, dict) else batch
