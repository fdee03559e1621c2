"""What some versions of PyTorch have, and older ones have not.

The code asks for a feature here, and never for a version. What docstrings say of versions is for readers. Where a
feature is missing, the way that always works is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

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
