"""What PyTorch has not: some versions of it, features of newer ones, and all of them huge pages for large states.

The code asks for a feature here, and never for a version. What docstrings say of versions is for readers. Where a
feature is missing, the way that always works is taken.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

# ---------------------------------------------------------------- of versions

HAS_MUON = hasattr(torch.optim, "Muon")
"""`torch.optim.Muon` is there since PyTorch 2.9. Without it, `optgen.torch` has no class of that name."""
MUON_MISSING = f"PyTorch has it from 2.9 on, and this is {torch.__version__}"
"""What errors say of that."""
ADAMW_IS_ADAM = issubclass(torch.optim.AdamW, torch.optim.Adam)
"""`torch.optim.AdamW` is a subclass of Adam since PyTorch 2.7, and refuses sparse gradients in its words."""


def shape_and_offset(
    coordinate: Sequence[int], whole: Sequence[int], mesh: Any, placements: Sequence[Any]
) -> tuple[Sequence[int], Sequence[int]]:
    """The shape and the offset of the part of a DTensor that the process at a place of its mesh has.

    PyTorch computes them for any place since 2.8. An older one does so for the process's own place alone, which a
    stand-in for the mesh tells it.
    """
    from torch.distributed.tensor import _utils

    shape = torch.Size(whole)
    at_any_place = getattr(_utils, "_compute_local_shape_and_global_offset", None)
    if at_any_place is not None:
        found = at_any_place(shape, mesh.shape, list(coordinate), list(placements))
    else:
        stand_in: Any = _MeshAt(mesh, list(coordinate))
        found = _utils.compute_local_shape_and_global_offset(shape, stand_in, list(placements))
    return tuple(found[0]), tuple(found[1])


@dataclass(frozen=True)
class _MeshAt:
    """A device mesh as the process at another place sees it."""

    mesh: Any
    coordinate: list[int]

    @property
    def ndim(self) -> int:
        return int(self.mesh.ndim)

    def size(self, dim: int) -> int:
        return int(self.mesh.size(dim))

    def get_coordinate(self) -> list[int]:
        return self.coordinate


# ---------------------------------------------------------------- huge pages

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
