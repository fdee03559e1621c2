"""Parameters that are DTensors: which box of the whole tensor is here, and how processes add up what they have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed import ProcessGroup, all_reduce

from optgen.execute.buffers import Array
from optgen.execute.piece import Bounds, Box
from optgen.torch.memory import is_dtensor, local_tensor


@dataclass(frozen=True)
class Sharding:
    """How a DTensor is cut: over these dimensions of a device mesh. Over the others it is replicated."""

    mesh: Any
    dims: tuple[int, ...]

    def groups(self) -> list[ProcessGroup]:
        """The process groups, one for each dimension, whose processes together have the whole tensor once."""
        return [self.mesh.get_group(dim) for dim in self.dims]

    def places(self) -> list[tuple[int, ...]]:
        """The places in the mesh of the processes that together have the whole tensor once, one of which this is."""
        ranges = [
            range(self.mesh.size(dim)) if dim in self.dims else [k] for dim, k in enumerate(self.mesh.get_coordinate())
        ]
        return list(itertools.product(*ranges))

    def exchange(self) -> Callable[[list[int], Array], None]:
        """What brings each process the numbers of all: a sum, to which all but one process add 0."""
        groups = self.groups()

        def exchange(_members: list[int], numbers: Array) -> None:
            shared = torch.from_numpy(numbers)
            for group in groups:
                all_reduce(shared, group=group)

        return exchange


def sharding_of(x: Any) -> Sharding | None:
    """How a tensor is cut; None for one that is here as a whole."""
    mesh = getattr(x, "device_mesh", None)
    if mesh is None:
        return None
    dims = tuple(k for k, placement in enumerate(x.placements) if _shards(placement) and mesh.size(k) > 1)
    return Sharding(mesh, dims) if dims else None


def box_of(x: Any) -> Box | None:
    """The part of a DTensor that is here; None for a tensor that is here as a whole.

    ValueError if the parts of the processes are no boxes.
    """
    sharding = sharding_of(x)
    if sharding is None:
        return None
    bounds = [bounds_at(place, x.shape, sharding.mesh, x.placements) for place in sharding.places()]
    own = bounds_at(sharding.mesh.get_coordinate(), x.shape, sharding.mesh, x.placements)
    return Box(tuple(x.shape), tuple(bounds), bounds.index(own))


def bounds_at(coordinate: Sequence[int], whole: Sequence[int], mesh: Any, placements: Sequence[Any]) -> Bounds:
    """The offset and the shape of the part of a tensor that the process at a place of the mesh has."""
    from torch.distributed.tensor import _utils

    shape, offset = _utils._compute_local_shape_and_global_offset(
        torch.Size(whole), mesh.shape, list(coordinate), list(placements)
    )
    return tuple(map(int, offset)), tuple(map(int, shape))


def like(local: torch.Tensor, param: Any, shape: Sequence[int]) -> torch.Tensor:
    """The part of a state that is here, as a DTensor that is cut like its parameter.

    `shape` is that of the whole state. Axes that are as long as the parameter's are cut as these are; a state whose
    axes are not is the same in all processes. Of a parameter that is no DTensor, the tensor itself.
    """
    if not is_dtensor(param):
        return local
    from torch.distributed.tensor import DTensor, Replicate  # which only DTensors need

    placements = [
        p if _shards(p) and len(shape) > p.dim and shape[p.dim] == param.shape[p.dim] else Replicate()
        for p in param.placements
    ]
    whole = torch.empty(tuple(shape), device="meta")
    return DTensor.from_local(
        local, param.device_mesh, placements, run_check=False, shape=whole.shape, stride=whole.stride()
    )


def part_of(whole: torch.Tensor, param: torch.Tensor) -> torch.Tensor:
    """What is here of a tensor with the axes of a whole parameter, some of which may have length 1.

    A DTensor's part is what it has here.
    """
    if is_dtensor(whole):
        return local_tensor(whole)
    box = box_of(param)
    if box is None:
        return whole
    (offset, own), shape = box.bounds, box.shape
    for axis, size in enumerate(whole.shape[: len(shape)]):
        begin, length = offset[axis], own[axis]
        if size == shape[axis]:
            whole = whole.narrow(axis, begin, length)
    return whole


def _shards(placement: Any) -> bool:
    return getattr(placement, "dim", None) is not None
