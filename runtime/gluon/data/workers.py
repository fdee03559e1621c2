"""Workers of a DataLoader: threads that make batches ahead of time, or that each have a process that does."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from itertools import islice
from queue import SimpleQueue
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.gluon.data.process import Make, Process, WorkerEnded
from runtime.gluon.data.transfer import Batch


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
        self._pool: _Pool | None = None

    def batches(self, numbers: Iterable[Sequence[int]]) -> Iterator[Any]:
        """The batches of these lists of sample numbers, in order, begun with when the first is asked for.

        An iterator that is let go of keeps no batch: those that are being made are dropped when they are done.
        """
        yield from self.begun(numbers)

    def begun(self, numbers: Iterable[Sequence[int]]) -> Iterator[Any]:
        """The same, begun with now."""
        if self._pool is None or self._pool.pid != os.getpid():
            self._pool = _Pool(self._make, self._count, self._threads)
        pool = self._pool
        made = _submitted(pool, numbers)
        waiting = deque(islice(made, self._ahead))
        return self._in_turn(pool, made, waiting)

    def _in_turn(self, pool: _Pool, made: Iterator[Future], waiting: deque[Future]) -> Iterator[Any]:
        try:
            while waiting:
                waiting.extend(islice(made, 1))
                yield self._received(pool, waiting.popleft())
        finally:
            if pool.pid == os.getpid():
                for future in waiting:
                    future.cancel()

    def _received(self, pool: _Pool, future: Future) -> Any:
        if pool.pid != os.getpid():
            raise MXNetError(
                "DataLoader: these batches are made for the process that this one was forked from; iterate over the "
                "loader anew here"
            )
        if not wait([future], min(self._timeout, threading.TIMEOUT_MAX)).done:
            self._drop(pool)
            raise TimeoutError(
                f"DataLoader: no batch within {self._timeout} s; give a longer timeout, or look at what the workers do"
            )
        try:
            batch = future.result()
        except WorkerEnded:
            self._drop(pool)
            raise
        finally:
            del future  # else it and its error would hold each other, and with them the workers
        return batch.unpacked() if isinstance(batch, Batch) else batch

    def _drop(self, pool: _Pool) -> None:
        """End the processes, one of which may never do so by itself; the next batches have new ones."""
        pool.kill()
        if self._pool is pool:
            self._pool = None


class _Pool:
    """Workers of the process `pid`, each asked by a thread, until there is no reference to this object."""

    def __init__(self, make: Make, count: int, threads: bool) -> None:
        self.pid = os.getpid()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._workers: list[Process | _Here] = []
        try:
            for _ in range(count):
                self._workers.append(_Here(make) if threads else Process(make))
        except BaseException:
            self.kill()
            raise
        for worker in self._workers:  # daemons: a data set that does not answer would keep the program from ending
            threading.Thread(target=_serve, args=(self._jobs, worker), name="DataLoader", daemon=True).start()
        weakref.finalize(self, _end, self._jobs, count, self.pid)

    def submit(self, seed: int, number: int, samples: list[Any]) -> Future:
        """The batch of these samples, as soon as a worker has made it."""
        future: Future = Future()
        self._jobs.put((future, seed, number, samples))
        return future

    def kill(self) -> None:
        """End the processes at once."""
        for worker in self._workers:
            worker.kill()


_Job = tuple[Future, int, int, list[Any]]


def _submitted(pool: _Pool, numbers: Iterable[Sequence[int]]) -> Iterator[Future]:
    """The batches of these lists of sample numbers; an error of the sampler comes in its turn."""
    seed = int(np.random.randint(1 << 31))
    try:
        for number, samples in enumerate(numbers):
            yield pool.submit(seed, number, list(samples))
    except Exception as error:
        failed: Future = Future()
        failed.set_exception(error)
        yield failed


def _serve(jobs: SimpleQueue[_Job | None], worker: Process | _Here) -> None:
    while _served(jobs.get(), worker):
        pass
    worker.close()


def _served(job: _Job | None, worker: Process | _Here) -> bool:
    """Do a job, of which nothing is kept: False if there are no more."""
    if job is None:
        return False
    future, seed, number, samples = job
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(worker.make(seed, number, samples))
        except BaseException as error:
            future.set_exception(error)
        finally:
            del future, job  # else an error would hold them, which they hold
    return True


def _end(jobs: SimpleQueue[_Job | None], count: int, pid: int) -> None:
    if os.getpid() == pid:
        for _ in range(count):
            jobs.put(None)


class _Here:
    """The counterpart of Process for `thread_pool=True`: the thread that asks makes the batch."""

    def __init__(self, make: Make) -> None:
        self._make = make

    def make(self, seed: int, number: int, samples: list[Any]) -> Any:
        return self._make(samples)

    def close(self) -> None:
        pass

    def kill(self) -> None:
        pass


class _Maker:
    """Makes the batch of a list of sample numbers."""

    def __init__(self, dataset: Any, batchify: Callable[[Sequence[Any]], Any]) -> None:
        self._dataset = dataset
        self._batchify = batchify

    def __call__(self, samples: list[Any]) -> Any:
        return self._batchify([self._dataset[i] for i in samples])
