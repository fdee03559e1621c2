"""Which threads share the work of a step: PyTorch's for tensors of PyTorch, or our own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from optgen.threads import pool


class Threads(Protocol):
    """Threads that run the parts of a task: `run` is called with `address`, the task, its argument and its elements."""

    run: int
    address: int

    def match_worker_count(self) -> None:
        """Before a task: have as many threads as are wanted now."""


class Sharing(Protocol):
    """Where threads come from."""

    def count(self) -> int:
        """How many threads a large step has."""

    def threads(self) -> Threads | None:
        """The threads, which may not have been started; None if the calling thread does all work."""


def shared(sharing: Sharing, elements: int) -> Threads | None:
    """The threads that share the work of a step of so many elements, started; None if they are too few, or there are no
    threads."""
    threads = sharing.threads() if elements >= pool.MIN_SHARED_ELEMENTS else None
    if threads is not None:
        threads.match_worker_count()
    return threads


class _Own:
    """The pool of this process, which the first large step makes."""

    def count(self) -> int:
        return pool.num_threads()

    def threads(self) -> Threads | None:
        return pool.pool() if pool.num_threads() > 1 and pool.supported() else None


OWN = _Own()
_here = threading.local()


def current() -> Sharing:
    """Where the threads come from of calls that are made now, on the calling thread."""
    found: Sharing = getattr(_here, "sharing", OWN)
    return found


@contextmanager
def using(sharing: Sharing) -> Iterator[None]:
    """Have calls that are made within share their work among these threads."""
    before, _here.sharing = current(), sharing
    try:
        yield
    finally:
        _here.sharing = before


def of(owners: Sequence[Any]) -> Sharing:
    """For a step of tensors of these objects. ValueError if OPTGEN_NUM_THREADS is wrong."""
    torch = sys.modules.get("torch")
    if torch is None or not owners or not isinstance(owners[0], getattr(torch, "Tensor", ())):
        return OWN
    from optgen.threads import openmp

    return openmp.of_pytorch() or OWN
