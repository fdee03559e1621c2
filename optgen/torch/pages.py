"""Huge pages for large states on the CPU.

PyTorch's allocator asks for none, and a step that streams through small pages is slower. NumPy asks for them in the
same way.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache

import torch

MIN_BYTES = 4 << 20
"""Smaller tensors are left as they are; the same limit as NumPy's."""


def with_huge_pages(new: torch.Tensor) -> torch.Tensor:
    """The same tensor, whose memory nobody has touched yet; Linux is asked to back it with huge pages if it is large.

    On a GPU, without memory, or on a system that has no such call, nothing is done.
    """
    size = new.nbytes
    if size >= MIN_BYTES and new.device.type == "cpu" and (madvise := _madvise()):
        first = -(-new.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        madvise(first, new.data_ptr() + size - first, mmap.MADV_HUGEPAGE)  # an error leaves it as it is
    return new


@cache
def _madvise() -> Callable[[int, int, int], int] | None:
    """`madvise` of the C library; None where there is none, or no huge pages."""
    found = getattr(ctypes.CDLL(None), "madvise", None) if hasattr(mmap, "MADV_HUGEPAGE") else None
    if found is not None:
        found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return found
