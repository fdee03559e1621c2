"""Sharded parameters that are updated whole, each by its owner, with the interface of `BoundTensors`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from optgen.execute.rule import UpdateRule
from optgen.torch import owned_states
from optgen.torch.bound import BoundTensors
from optgen.torch.memory import has_sparse_rows, local_tensor, placed_like
from optgen.torch.naming import naming
from optgen.torch.owners import Owners
from optgen.torch.scalars import count_of, step_tensor
from optgen.torch.state import STEP, StateKeys
from optgen.torch.transport import ShardGroup, Traveller


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
        self._has_step = keys.has_step or owned_states.draws(rule, params)
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
        if self._find_kinds() != self._kinds or any(map(owned_states.shards, self._kept)):
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
        return [(grad, *owned_states.shards(kept)) for grad, kept in zip(gradients, self._kept, strict=True)]

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
                found += [(group, x) for x in owned_states.take_whole(self._kept[i], group, owner)]
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
                self._bound = BoundTensors(
                    self._rule, wholes, kept, ids, self._keys, seed=self._seed,
                    describe=lambda whole: describe(params[id(whole)])
                )  # fmt: skip
                self._bound.set(self._values, self._factor)
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
