"""Parameters that are DTensors: which box of the whole tensor is here, and how processes add up what they have; and
those of PyTorch's first FSDP: pieces of many parameters in a row, without their rows, columns and bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed import ProcessGroup, all_reduce

from optgen.execute.buffers import Array
from optgen.execute.piece import Bounds, Box
from optgen.execute.rule import UpdateRule
from optgen.model import DIMENSIONS, Optimizer
from optgen.torch import features
from optgen.torch.memory import is_dtensor, local_tensor

FLAT = "a flat parameter of FullyShardedDataParallel (FSDP1)"


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
    shape, offset = features.shape_and_offset(coordinate, whole, mesh, placements)
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


# ---------------------------------------------------------------- FSDP1


def is_flat(param: torch.Tensor) -> bool:
    """Whether a parameter is one of FSDP1: a FlatParameter, or with `use_orig_params=True` a piece of one."""
    return getattr(param, "_is_flat_param", False) or getattr(param, "_fsdp_flattened", False)


def check_flat(rule: UpdateRule, param: torch.Tensor) -> None:
    """ValueError for a parameter of FSDP1, `params[0]`, if its update is not the same for each element alone."""
    if is_flat(param) and not _is_elementwise(rule, param):
        raise ValueError(
            f"params[0]: {FLAT}, which has lost the shapes of what it is made of, and {rule.spec.name} does not update "
            "each element for itself; shard the model with FSDP2, torch.distributed.fsdp.fully_shard"
        )


def _is_elementwise(rule: UpdateRule, param: torch.Tensor) -> bool:
    return not _reads_shapes(rule.spec) and rule.cut(tuple(param.shape)) == "anywhere"


def _reads_shapes(spec: Optimizer) -> bool:
    return spec.has_stages or spec.joins_params or not spec.reads.isdisjoint(DIMENSIONS)


def check_flat_options(
    name: str, params: Iterable[torch.Tensor], *, in_backward: bool, clip_norm: float | None
) -> None:
    """ValueError where the gradients of FSDP1 are not those that an option is about."""
    if not (in_backward or clip_norm is not None) or not any(map(is_flat, params)):
        return
    if in_backward:
        raise ValueError(
            f"{name}: in_backward=True with {FLAT}, whose gradient is summed over the processes after it was "
            "accumulated; leave in_backward out"
        )
    raise ValueError(
        f"{name}: clip_norm={clip_norm:g} with {FLAT}, of whose gradient each process has a part; leave clip_norm out, "
        "and call clip_grad_norm_ of the FullyShardedDataParallel before each step"
    )
