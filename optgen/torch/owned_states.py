"""States of sharded parameters that are updated whole: at the owner, and cut into DTensors for state dicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

from optgen.execute.rule import UpdateRule
from optgen.torch import state as states
from optgen.torch.bound import kernel_of, memory_of
from optgen.torch.memory import is_dtensor, local_tensor
from optgen.torch.owners import Owners
from optgen.torch.protocols import Owner
from optgen.torch.scalars import count_of, step_tensor
from optgen.torch.shards import sharding_of
from optgen.torch.state import STEP, StateKeys
from optgen.torch.transport import ShardGroup, Traveller, from_owners

Kept = dict[str, Any]
"""What `optimizer.state[p]` holds."""


def draws(rule: UpdateRule, params: Iterable[torch.Tensor]) -> bool:
    """Whether states of some parameters are rounded at random, so that the count is kept."""
    kernels = (rule.kernel(tuple(p.shape)) for p in params)
    return any(b.format.needs_draws for kernel in kernels for b in kernel.states.values())


def shards(kept: Kept) -> list[str]:
    """The names of states that are DTensors, as state dicts have them."""
    return sorted(key for key, x in kept.items() if isinstance(x, torch.Tensor) and is_dtensor(x))


# ---------------------------------------------------------------- from and to state dicts


def take_whole(kept: Kept, group: ShardGroup, owner: int) -> list[Traveller]:
    """Have `kept` hold the states that are in shards whole, at the owner, and no longer at others.

    The result is what is to travel for that. ValueError for states that other processes have.
    """
    found = []
    for key in shards(kept):
        x = kept[key]
        cut = [k for k, placement in enumerate(x.placements) if not placement.is_replicate()]
        if x.device_mesh != group.mesh or not set(cut) <= set(group.sharding.dims) or _is_partial(x):
            raise ValueError(
                f"state['{key}']: a DTensor placed {x.placements} on {x.device_mesh}, where its parameter is cut over "
                f"the dimensions {group.sharding.dims} of {group.mesh}"
            )
        part = local_tensor(x)
        whole = torch.empty(x.shape, dtype=x.dtype, device=part.device) if owner == group.rank else None
        found.append(Traveller(owner, group.bounds(x.shape, x.placements), part, whole))
        if whole is None:
            del kept[key]
        else:
            kept[key] = whole
    return found


def _is_partial(x: Any) -> bool:
    return any(placement.is_partial() for placement in x.placements)


def as_saved(optimizer: Owner) -> Any:
    """The states of an optimizer as state dicts have them. Where owners have some, all ranks must call this together.

    States of the parameter's shape are DTensors that are cut like it, and others are cut along their first axis. Of
    numbers that all ranks have, and of what is no tensor, each rank has its own.
    """
    owners, state = optimizer.owners, optimizer.state
    every = dict.fromkeys(p for group in optimizer.param_groups for p in group["params"])
    gone = {p for p in state if isinstance(p, torch.Tensor) and p not in every}
    if gone:  # from all groups, and a state dict has no number for it
        state = defaultdict(dict, {p: kept for p, kept in state.items() if p not in gone})
    owned = [p for p in every if p in owners.places and p in state and sharding_of(p) is not None]
    if not owned:
        return state
    found: defaultdict[Any, Kept] = defaultdict(dict, state)
    for group, members in _by_group(owners, owned).items():
        found |= _in_group(owners, group, members, state)
    return found


def _in_group(
    owners: Owners, group: ShardGroup, members: Mapping[int, torch.Tensor], state: Mapping[Any, Kept]
) -> dict[Any, Kept]:
    """The states, in shards, of parameters that a group of processes shares, by their numbers."""
    described: dict[int, list[tuple[str, Any]]] = {}
    for own in _gathered(group, {k: _description(state[p]) for k, p in members.items() if owners.is_here(p)}):
        described |= own
    found: dict[Any, Kept] = {}
    travellers = []
    for k, p in members.items():
        found[p] = {}
        for key, form in described[k]:
            if form is None:
                found[p][key] = state[p][key]
                continue
            found[p][key], traveller = _in_shards(p, group, owners.places[p].rank, state[p].get(key), *form)
            travellers.append(traveller)
    from_owners(group, travellers)
    return found


def _by_group(owners: Owners, params: Sequence[torch.Tensor]) -> dict[ShardGroup, dict[int, torch.Tensor]]:
    """The parameters that each group of processes shares, by their numbers."""
    found: dict[ShardGroup, dict[int, torch.Tensor]] = {}
    for k, p in enumerate(params):
        found.setdefault(owners.group_of(p), {})[k] = p
    return found


def _gathered(group: ShardGroup, own: Any) -> list[Any]:
    """An object of each process."""
    gathered: list[Any] = [None] * group.size
    dist.all_gather_object(gathered, own, group=group.group)
    return gathered


def _description(kept: Kept) -> list[tuple[str, Any]]:
    """Of each state its name, and the shape, dtype and device of one that is here alone."""

    def form(key: str, x: Any) -> Any:
        is_here_alone = isinstance(x, torch.Tensor) and not is_dtensor(x) and key != STEP
        return (tuple(x.shape), x.dtype, x.device.type) if is_here_alone else None

    return [(key, form(key, x)) for key, x in kept.items()]


def _in_shards(
    param: Any,
    group: ShardGroup,
    owner: int,
    whole: torch.Tensor | None,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    device: str,
) -> tuple[torch.Tensor, Traveller]:
    """A state as a DTensor without values, or as a tensor of one number, and what brings the values."""
    from torch.distributed.tensor import DTensor

    placements = _placements(param, group, shape, dtype)
    bounds = group.bounds(shape, placements)
    part = torch.empty(bounds[group.rank][1], dtype=dtype, device=param.device if device != "cpu" else "cpu")
    traveller = Traveller(owner, bounds, part, whole)
    if not shape:
        return part, traveller
    stride = torch.empty(shape, device="meta").stride()
    return DTensor.from_local(part, group.mesh, placements, run_check=False, shape=torch.Size(shape), stride=stride), (
        traveller
    )


def _placements(param: Any, group: ShardGroup, shape: tuple[int, ...], dtype: torch.dtype) -> Sequence[Any]:
    """How a state is cut: blocks of codes are neighbours in a row, so that codes are cut between rows."""
    from torch.distributed.tensor import Replicate, Shard

    if shape == tuple(param.shape) and dtype != torch.uint8:
        return param.placements  # type: ignore[no-any-return]
    first = group.sharding.dims[0] if shape else -1
    return [Shard(0) if dim == first else Replicate() for dim in range(group.mesh.ndim)]


# ---------------------------------------------------------------- before the first step


def make(
    owners: Owners,
    rule: UpdateRule,
    param: torch.Tensor,
    kept: Kept,
    keys: StateKeys,
) -> None:
    """Have `kept` hold the states of a parameter before the next step: whole, at the owner.

    DTensors stay as they are until that step. ValueError for a tensor that does not fit.
    """
    if keys.has_step:
        count_of(kept.get(STEP, 0), STEP)
        kept[STEP] = step_tensor(kept.get(STEP), keys.scalar_dtype(kept))
    if shards(kept):
        return
    if owners.is_here(param):
        _bindable(rule, owners.whole(param), kept, keys)
        return
    given = [key for key in kept if key != STEP]
    if given:  # whole ones, of a state dict; the owner has the same
        _bindable(rule, torch.empty(param.shape, dtype=param.dtype, device=param.device), dict(kept), keys)
    for key in given:
        del kept[key]


def _bindable(rule: UpdateRule, whole: torch.Tensor, kept: Kept, keys: StateKeys) -> None:
    memory = memory_of(rule, whole)
    states.bindable(kernel_of(rule, memory), kept, memory, rule.values, {}, keys)
