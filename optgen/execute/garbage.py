"""The garbage collector, which has nothing to do while tensors are bound."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Turn the garbage collector off: among 100,000 new tensors that stay, each of its runs takes longer and finds
    none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
