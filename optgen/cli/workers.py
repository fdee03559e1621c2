"""Work shared by processes: LLVM compiles one module at a time in each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from optgen.execute.cpu import cpus

R = TypeVar("R")
PER_PROCESS = 8
"""Kernels that take longer than it takes to start a process."""
MOST = 8
"""Processes; more would wait for the one that starts them and reads what they made."""


@contextmanager
def each(function: Callable[..., R], work: Sequence[tuple[Any, ...]]) -> Iterator[Iterator[R]]:
    """`function(*arguments)` for all of `work`, in this order; function and arguments are such as can be pickled."""
    columns = tuple(zip(*work, strict=True))
    processes = min(cpus.available(), len(work) // PER_PROCESS, MOST)
    if processes < 2:
        yield map(function, *columns)
        return
    # Not forked: a lock that another thread holds at that moment would never be released in the copy.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(processes, context, initializer=_begin)
    try:
        yield executor.map(function, *columns)
    finally:
        executor.shutdown(cancel_futures=True)


def _begin() -> None:
    """A worker ends with the process that started it, which alone hears of Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
