"""Room for LLVM: where it gets no memory, it ends the process. So what it may take is asked for before it is called."""

from __future__ import annotations

import mmap

BYTES = 32 << 20
"""More than LLVM takes to compile or to load one module: 8 MB for a megabyte of text."""
MAPPINGS = 8
"""More mappings than one load adds, whose pages have up to three protections."""


def check() -> None:
    """MemoryError if the process could not have BYTES more memory, or MAPPINGS more mappings, at this moment.

    They are given back untouched. Other threads may take them before LLVM does.
    """
    # Neighbours of different protection, as the system makes one mapping of neighbours that are alike.
    sizes = [mmap.PAGESIZE] * (MAPPINGS - 1) + [BYTES]
    protections = [mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE] * (MAPPINGS // 2)
    taken: list[mmap.mmap] = []
    try:
        for size, protection in zip(sizes, protections, strict=True):
            taken.append(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, protection))
    except OSError as error:
        raise MemoryError(
            f"there is no room for LLVM, which needs {BYTES >> 20} MB of memory and {MAPPINGS} mappings: free some, or "
            "raise the limit (ulimit -v, vm.max_map_count)"
        ) from error
    finally:
        for each in taken:
            each.close()
