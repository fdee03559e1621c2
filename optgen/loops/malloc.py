"""Has the C library keep freed memory for the next array, in the whole process, once the first kernel is made.

By default the C library gives large blocks back to the system and asks for new ones. The system clears their pages when
they are first touched, which takes five times as long as computing a tanh of them (3 MB, the output of a layer). An
iteration of LeNet on one thread went from 30 to 24 ms.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Options of glibc's mallopt."""
TRIM_THRESHOLD_BYTES = 1 << 27
"""Free memory at the end of the heap is kept up to this size."""
MMAP_THRESHOLD_BYTES = 1 << 25
"""Blocks of this size or more still come from the system one by one. It is the largest value that glibc allows."""


@functools.cache
def keep_freed_memory() -> None:
    """Set both thresholds, where the C library has them (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)
