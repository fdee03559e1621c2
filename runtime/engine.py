"""The bulk size: how many operators MXNet's engine runs together. Operators here run when they are called, so the size
is stored for code that sets it, and has no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_bulk_size = 0


def set_bulk_size(size: int) -> int:
    """Set the size; returns the one before."""
    global _bulk_size
    before, _bulk_size = _bulk_size, int(size)
    return before


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """`with bulk(size):` the size is `size` inside."""
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
