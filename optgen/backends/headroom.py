"""Room for LLVM: where it gets no memory, it ends the process. So what it may take is asked for before it is called."""

from __future__ import annotations

import mmap

BYTES = 32 << 20
"""More than LLVM takes to load one module, or to compile a short text."""
BYTES_OF_TEXT = 128
"""More than LLVM takes to compile a byte of text: 78 were measured for long chains of elementary functions."""
MAPPINGS = 8
"""More mappings than one load adds, whose pages have up to three protections."""


def check(text: str = "") -> None:
    """MemoryError if the process could not have MAPPINGS more mappings, or the memory to load a module and to compile a
    text, at this moment.

    They are given back untouched. Other threads may take them before LLVM does.
    """
    size = BYTES + BYTES_OF_TEXT * len(text)
    try:
        with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            _split(memory)
    except OSError as error:
        raise MemoryError(
            f"there is no room for LLVM, which needs {size >> 20} MB of memory and {MAPPINGS} mappings: free some, or "
            "raise the limit (ulimit -v, vm.max_map_count)"
        ) from error


def _split(memory: mmap.mmap) -> None:
    """Make MAPPINGS of the memory at least: a page that differs from the next one is a mapping of its own. The system
    joins neighbours that are alike, so two more are made, as the first and the last one may be parts of what lies
    beside the memory."""
    if hasattr(mmap, "MADV_DONTFORK"):  # elsewhere, only memory is limited
        for page in range(1, MAPPINGS + 2, 2):
            memory.madvise(mmap.MADV_DONTFORK, page * mmap.PAGESIZE, mmap.PAGESIZE)
