"""The garbage collector, which has nothing to do while tensors are bound."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Turn the garbage collector off. While 100,000 new objects are made that all stay, each of its runs takes longer
    than the last, and none finds anything to free."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
