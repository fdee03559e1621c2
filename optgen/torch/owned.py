"""Sharded parameters that are updated whole, each by its owner, with the interface of `BoundTensors`; and their states,
whole at the owner and DTensors in state dicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from optgen.execute.rule import UpdateRule
from optgen.torch import state as states
from optgen.torch.bound import BoundTensors, kernel_of, memory_of, restarts_at_rows
from optgen.torch.forms import count_of, step_tensor
from optgen.torch.memory import has_sparse_rows, is_dtensor, local_tensor, placed_like, sharding_of
from optgen.torch.owners import Owners, ShardGroup, Traveller, from_owners
from optgen.torch.rules import Owner
from optgen.torch.spelling import naming
from optgen.torch.state import STEP, StateKeys

# ---------------------------------------------------------------- states: which come to the owner, and how

Kept = dict[str, Any]
"""What `optimizer.state[p]` holds."""


def draws(rule: UpdateRule, params: Iterable[torch.Tensor]) -> bool:
    """Whether some parameters, or states of them, are rounded at random, so that the count is kept."""
    kernels = (rule.kernel(tuple(p.shape)) for p in params)
    return rule.weights == "stochastic" or any(
        b.format.needs_draws for kernel in kernels for b in kernel.states.values()
    )


def states_in_shards(kept: Kept) -> list[str]:
    """The names of states that are DTensors, as state dicts have them."""
    return sorted(key for key, x in kept.items() if isinstance(x, torch.Tensor) and is_dtensor(x))


# ---------------------------------------------------------------- from and to state dicts


def take_whole(kept: Kept, group: ShardGroup, owner: int) -> list[Traveller]:
    """Have `kept` hold the states that are in shards whole, at the owner, and no longer at others.

    The result is what is to travel for that. ValueError for states that other processes have.
    """
    found = []
    for key in states_in_shards(kept):
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


def make_owned(
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
    if states_in_shards(kept):
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
    by_row = restarts_at_rows(rule, memory)
    states.bindable(kernel_of(rule, memory), kept, memory, rule.values, {}, keys, by_row=by_row)


# ---------------------------------------------------------------- the step


class OwnedTensors:
    """A step of a rule over sharded parameters, whose states stand in `kept`, a dict for each: whole at the owner, and,
    but for the count, nowhere else.

    A step is `prepare` on all ranks. Then parameters and gradients come to the owners, with the states that are still
    in shards (`coming`). `attempt` takes them, and is then, as `run`, that of the `BoundTensors` that the owner has. At
    last the parameters go back (`going`).
    """

    is_capturable = False
    may_fail = True

    def __init__(
        self,
        rule: UpdateRule,
        params: Sequence[torch.Tensor],
        kept: Sequence[dict[str, Any]],
        ids: Sequence[int],
        keys: StateKeys,
        owners: Owners,
        describe: Callable[[torch.Tensor], str],
        *,
        seed: int,
        donate_grads: bool,
    ) -> None:
        if rule.spec.inputs:
            names = " and ".join(x.name for x in rule.spec.inputs)
            raise ValueError(
                f"params[0]: sharded, and {rule.spec.name} updates it whole with {names}, which others write beside "
                "its states; keep it unsharded"
            )
        self.params, self._rule, self._kept, self._ids, self._keys = params, rule, kept, ids, keys
        self._owners, self._describe, self._seed, self._donates = owners, describe, seed, donate_grads
        self._own = [i for i, p in enumerate(params) if owners.is_here(p)]
        self._has_step = keys.has_step or draws(rule, params)
        if self._has_step and not keys.counts_in_python:
            for states in kept:
                states[STEP] = step_tensor(states.get(STEP), keys.scalar_dtype(states))
        self._bound: BoundTensors | None = None
        self._values: dict[str, Any] = {}
        self._factor = 1.0
        self._active: list[bool] = []
        self._bounds = [owners.group_of(p).bounds(p.shape, p.placements) for p in params]  # type: ignore[attr-defined]
        self._kinds = self._find_kinds()
        self._phase: str | None = None
        self._given: Mapping[str, float] = {}

    @property
    def bound_params(self) -> Sequence[torch.Tensor]:
        """The parameters by the numbers that errors of `prepare` have."""
        return self.params

    @property
    def counts(self) -> np.ndarray[Any, Any]:
        """The numbers of updates, as all ranks know them."""
        return np.array([count_of(kept.get(STEP, 0), STEP) for kept in self._kept], np.int64)

    def is_current(self) -> bool:
        """Whether the states at the owner are those that were bound, and none came in shards since."""
        if self._find_kinds() != self._kinds or any(map(states_in_shards, self._kept)):
            return False
        return self._bound is None or self._bound.is_current()

    def _find_kinds(self) -> list[tuple[torch.dtype, torch.device]]:
        return [(p.dtype, p.device) for p in self.params]

    def unmoved(self) -> Sequence[torch.Tensor]:
        """All parameters, as ranks bind the same ones."""
        return self.params

    def keeps(self, state: Mapping[torch.Tensor, Any]) -> bool:
        """Whether this is where the states stand."""
        return all(state.get(p) is kept for p, kept in zip(self.params, self._kept, strict=True))

    # ------------------------------------------------------------ before ranks exchange anything

    def set(self, values: Mapping[str, Any], gradient_factor: float) -> None:
        """Have the next update use these params."""
        own = {name: [x[i] for i in self._own] if isinstance(x, list) else x for name, x in values.items()}
        self._values |= own
        self._factor = gradient_factor
        if self._bound is not None:
            self._bound.set(own, gradient_factor)

    def prepare(self, phase: str | None, given: Mapping[str, float]) -> None:
        """Look which parameters have gradients; ValueError for one that cannot come to the owner."""
        self._phase, self._given = phase, given
        for i, p in enumerate(self.params):
            if has_sparse_rows(p.grad):
                raise ValueError(f"params[{i}].grad: sparse, and its parameter is sharded and updated whole")
            mesh, own = (getattr(x, "device_mesh", None) for x in (p.grad, p))
            if p.grad is not None and mesh != own:
                raise ValueError(
                    f"params[{i}].grad: {'no DTensor' if mesh is None else f'on {mesh}'}, and its parameter is one on "
                    f"{own}; make it a DTensor there, with torch.distributed.tensor.distribute_tensor, or with "
                    "DTensor.from_local of the part that is here"
                )
        self._active = [p.grad is not None for p in self.params]

    def plan(self) -> list[Hashable]:
        """What all ranks must do alike: for each parameter, how its gradient is placed, and which states are in
        shards."""
        gradients = [None if p.grad is None else str(getattr(p.grad, "placements", "")) for p in self.params]
        return [(grad, *states_in_shards(kept)) for grad, kept in zip(gradients, self._kept, strict=True)]

    def words(self, k: int, entry: Any) -> str:
        """An entry of `plan` in words."""
        grad, *states = entry
        gradient = "no gradient" if grad is None else f"a gradient placed {grad}"
        return f"{self._describe(self.params[k])} has {gradient} and states {states or 'that are no DTensors'}"

    # ------------------------------------------------------------ a step

    def coming(self) -> list[tuple[ShardGroup, Traveller]]:
        """What owners need: parameters with their gradients, and states in shards, which the owner's dicts then
        hold whole, and those of others no longer."""
        found = []
        for i, p in enumerate(self.params):
            group, owner = self._owners.group_of(p), self._owners.places[p].rank
            try:
                found += [(group, x) for x in take_whole(self._kept[i], group, owner)]
            except ValueError as error:
                raise ValueError(f"{self._describe(p)}: {error}") from None
            if self._active[i]:
                grad = local_tensor(placed_like(p, p.grad)).detach().to(p.dtype)
                whole = self._owners.whole(p) if owner == group.rank else None
                if whole is not None:
                    whole.grad = torch.empty_like(whole) if whole.grad is None else whole.grad
                parts = (local_tensor(p).detach(), whole), (grad, None if whole is None else whole.grad)
                found += [(group, Traveller(owner, self._bounds[i], *pair)) for pair in parts]
        return found

    def attempt(self) -> None:
        """At owners: take parameters, gradients and states as they came, and attempt their update."""
        own = [self.params[i] for i in self._own]
        wholes = [self._owners.whole(p) for p in own]
        for i, whole in zip(self._own, wholes, strict=True):
            if not self._active[i]:
                whole.grad = None
        if not own:
            return
        with naming(own, self._describe):
            if self._bound is None:
                kept, ids = [self._kept[i] for i in self._own], [self._ids[i] for i in self._own]
                describe, params = self._describe, dict(zip(map(id, wholes), own, strict=True))
                bound = BoundTensors(
                    self._rule, wholes, kept, ids, self._keys, seed=self._seed,
                    describe=lambda whole: describe(params[id(whole)])
                )  # fmt: skip
                bound.set(self._values, self._factor)
                self._bound = bound
            self._bound.prepare(self._phase, self._given)
            if self._bound.may_fail:
                self._bound.attempt()

    def undo(self) -> None:
        """`BoundTensors.undo` at owners."""
        if self._bound is not None:
            self._bound.undo()

    def run(self) -> None:
        """One update of the own parameters, and the counts of all."""
        try:
            if self._bound is not None:
                self._bound.run()
        finally:
            self._count()

    def _count(self) -> None:
        """Count the update of parameters that others own."""
        if self._has_step and self._phase in (None, *self._rule.spec.phases[:1]):
            for i, kept in enumerate(self._kept):
                if self._active[i] and not self._owners.is_here(self.params[i]):
                    kept[STEP] += 1
        if self._donates:
            for p in self.params:
                p.grad = None

    def going(self) -> list[tuple[ShardGroup, Traveller]]:
        """The parameters that were updated."""
        found = []
        for i, p in enumerate(self.params):
            if self._active[i]:
                group, owner = self._owners.group_of(p), self._owners.places[p].rank
                whole = self._owners.whole(p) if owner == group.rank else None
                found.append((group, Traveller(owner, self._bounds[i], local_tensor(p).detach(), whole)))
        return found
