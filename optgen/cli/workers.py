"""Runs work in several processes, because LLVM compiles one module at a time in each."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from optgen import children
from optgen.threads import cpus

R = TypeVar("R")
KERNELS_PER_PROCESS = 8
"""The smallest number of kernels for which starting a process pays."""
MAX_PROCESSES = 8
"""More processes would wait for the one that starts them and reads their results."""


@contextmanager
def each(function: Callable[..., R], work: Sequence[tuple[Any, ...]]) -> Iterator[Iterator[R]]:
    """The results of `function(*arguments)` for all of `work`, in order. Function and arguments must be picklable."""
    columns = tuple(zip(*work, strict=True))
    processes = min(cpus.available(), len(work) // KERNELS_PER_PROCESS, MAX_PROCESSES)
    if processes < 2:
        yield (function(*arguments) for arguments in work)
        return
    # Not forked: a lock that another thread holds at that moment would never be released in the child.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(processes, context, initializer=children.begin)
    try:
        yield executor.map(function, *columns)
    finally:
        executor.shutdown(cancel_futures=True)
