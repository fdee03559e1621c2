"""Parameters of groups, bound: sorted by what they have in common, and each sort bound to the kernels of a rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from optgen.execute.choice import Restarts
from optgen.execute.rule import UpdateRule
from optgen.torch.bound import BoundTensors
from optgen.torch.host import HostTensors, is_on_host, parts
from optgen.torch.memory import check_flat, check_layout, is_flat, sharding_of
from optgen.torch.owned import OwnedTensors
from optgen.torch.owners import is_owned
from optgen.torch.replaced import check_replaced
from optgen.torch.rules import Owner, blocks_by_row, decode_states, decode_uncoded, load
from optgen.torch.spelling import naming
from optgen.torch.values import GroupValues

Bound = BoundTensors | OwnedTensors | HostTensors


class Sort(NamedTuple):
    """What parameters have in common that are bound together: the kind of their group, dtype, device, sharding, dtype
    of scalars, restarts of blocks, number of gradients that are summed, and whether these are of rows."""

    kind: Any
    dtype: torch.dtype
    device: torch.device
    sharding: Any
    scalar_dtype: torch.dtype
    blocks: Restarts
    gradients: int
    by_row: bool

    def __str__(self) -> str:
        layout = (" in shards" if self.sharding is not None else "") + (" with sparse gradients" if self.by_row else "")
        return f"{self.dtype} on {self.device}{layout}"


Buckets = dict[Sort, list[torch.Tensor]]


@dataclass(frozen=True)
class BoundGroups:
    """Parameters that are bound together. `each` are the values of the group of each parameter, `groups` are the same,
    each once."""

    bound: Bound
    each: Sequence[GroupValues]
    groups: Sequence[GroupValues]

    def changes(self) -> Mapping[str, Any]:
        """The params that have changed in some group, as a step takes them."""
        if len(self.groups) == 1:
            return self.groups[0].changed
        return self.values(set().union(*[values.changed for values in self.groups]))

    def is_split(self, differing: frozenset[str]) -> bool:
        """Whether groups now differ in more than these params, so that they must be bound apart."""
        if len(self.groups) == 1:
            return False
        differ = any([values.on_gpu.tensors or not differing.issuperset(values.changed) for values in self.groups])
        return differ and len({values.kind for values in self.groups}) > 1

    def values(self, names: Collection[str]) -> dict[str, Any]:
        """Params as they are now: a number where all parameters have the same, else a list with one for each."""
        found: dict[str, Any] = {}
        for name in names:
            each = [values.arguments.values[name] for values in self.each]
            found[name] = each[0] if each.count(each[0]) == len(each) else each
        return found


class Binder:
    """What binds parameters of some groups, of whose values these are the last looks.

    `new_states` are the states that were made for the parameters, which the optimizer is to hold once the step can no
    longer be refused. With `scales_gradient`, kernels multiply gradients by a factor; with `reads_scaler`, those on a
    GPU read the optimizer's `gpu_scaler`.
    """

    def __init__(
        self,
        optimizer: Owner,
        values: Sequence[GroupValues],
        describe: Callable[[torch.Tensor], str],
        *,
        scales_gradient: bool,
        reads_scaler: bool,
    ) -> None:
        self._optimizer, self._spec, self._values, self._describe = optimizer, optimizer.spec, values, describe
        self._scales_gradient, self._reads_scaler = scales_gradient, reads_scaler
        self.new_states: list[tuple[torch.Tensor, dict[str, Any]]] = []

    def bind(self, params: Sequence[torch.Tensor]) -> list[BoundGroups]:
        """Bind parameters, those together that are of one sort; TypeError or ValueError names one that cannot be."""
        values_of = {id(p): values for values in self._values for p in values.group["params"]}
        buckets = self._buckets(params, values_of)
        if self._spec.joins_params:
            check_groups_are_alike(self._optimizer, self._values)
            if len(buckets) > 1:
                kinds = ", ".join(sorted(set(map(str, buckets))))
                raise ValueError(
                    f"{_joins(self._optimizer)}, which must have one dtype, device and layout, not {kinds}"
                )
        rules = [self._rule(members[0], values_of[id(members[0])], key.blocks) for key, members in buckets.items()]
        self._decode_states()
        found: list[BoundGroups] = []
        for rule, (sort, members) in zip(rules, buckets.items(), strict=True):
            self._check_flat(rule, members)
            whole = [p for p in members if is_owned(rule, p)]
            others = [p for p in members if not is_owned(rule, p)] if whole else members
            bound: list[Bound] = [self._bind_owned(rule, whole)] if whole else []
            values = values_of[id(others[0])] if others else None
            if values and is_on_host(values.options, others[0]):
                bound += [self._bind_on_host(rule, some) for some in parts(others, together=self._spec.joins_params)]
            elif values:
                bound.append(self._bind(rule, others, values, sparse=sort.by_row, gradients=sort.gradients))
            for own in bound:
                each = [values_of[id(p)] for p in own.params]
                found.append(BoundGroups(own, each, list(dict.fromkeys(each))))
        return found

    def _check_flat(self, rule: UpdateRule, params: Sequence[torch.Tensor]) -> None:
        for p in filter(is_flat, params):
            with naming([p], self._optimizer.describe):
                check_flat(rule, p)
        check_replaced(self._optimizer, rule, params)

    def _bind_owned(self, rule: UpdateRule, params: list[torch.Tensor]) -> OwnedTensors:
        optimizer = self._optimizer
        if optimizer.spec.joins_params:
            what = f"{optimizer.describe(params[0])} is sharded; {_joins(optimizer)}"
            raise ValueError(
                f"{what}, and updates matrices whole, which is not done in shards; keep its parameters unsharded"
            )
        optimizer.owners.assign(rule, params)
        kept = [optimizer.state.get(p, {}) for p in params]
        with naming(params, optimizer.describe):
            numbers, keys, owners = optimizer.numbers_of(params), optimizer.state_keys, optimizer.owners
            bound = OwnedTensors(
                rule,
                params,
                kept,
                numbers,
                keys,
                owners,
                self._describe,
                seed=optimizer.seed,
                donate_grads=optimizer.donate_grads,
            )
        self.new_states += zip(params, kept, strict=True)
        return bound

    def _buckets(self, params: Sequence[torch.Tensor], values_of: Mapping[int, GroupValues]) -> Buckets:
        """The parameters that are bound together."""
        optimizer = self._optimizer
        seen: set[int] = set()
        kinds = {id(values): values.kind for values in self._values}
        buckets: Buckets = {}
        with naming(params, optimizer.describe):
            for k, p in enumerate(params):
                check_layout(p, k)
        for p in params:
            if id(p) in seen:  # PyTorch warns of it when the group is added
                raise ValueError(f"{optimizer.describe(p)} stands twice in its group, and can be updated only once")
            seen.add(id(p))
            by_row = p.grad is not None and optimizer.updates_rows(values_of[id(p)].group, p)
            if by_row and optimizer.spec.phases:
                raise ValueError(
                    f"{optimizer.describe(p)} has a sparse gradient, and steps with phases take dense ones"
                )
            scalar_dtype = optimizer.state_keys.scalar_dtype(optimizer.state.get(p, {}))
            sort = Sort(
                kinds[id(values_of[id(p)])],
                p.dtype,
                p.device,
                sharding_of(p),
                scalar_dtype,
                blocks_by_row(p, by_row=by_row),
                1 + len(optimizer.earlier.get(p, ())),
                by_row,
            )
            buckets.setdefault(sort, []).append(p)
        return buckets

    def _rule(self, like: torch.Tensor, values: GroupValues, blocks: Restarts) -> UpdateRule:
        """The rule for parameters like this one, with the values of its group."""
        optimizer = self._optimizer
        flags: Mapping[str, Any] = optimizer.state_keys.rule_flags(optimizer.state.get(like, {}))
        scales = self._scales_gradient or values.flips_gradient
        with naming([like], optimizer.describe):
            options = values.options
            return load(optimizer, like, values.arguments, options, scales_gradient=scales, blocks=blocks, **flags)

    def _decode_states(self) -> None:
        """Have groups that now keep their states otherwise hold numbers in place of codes."""
        optimizer = self._optimizer
        for values in self._values:
            if values.options.storage != values.kept_by.storage:
                decode_states(optimizer, values.group["params"], optimizer.state, values.arguments, values.kept_by)
            values.kept_by = values.options

    def _bind(
        self, rule: UpdateRule, params: list[torch.Tensor], values: GroupValues, *, sparse: bool, gradients: int
    ) -> BoundTensors:
        optimizer = self._optimizer
        kept = [optimizer.state.get(p, {}) for p in params]
        self._separate_states(params, kept)
        decode_uncoded(optimizer, rule, params, optimizer.state, values)
        with naming([p for p in params if p.grad is not None] if sparse else params, optimizer.describe):
            bound = BoundTensors(
                rule,
                params,
                kept,
                optimizer.numbers_of(params),
                optimizer.state_keys,
                seed=optimizer.seed,
                describe=self._describe,
                is_sparse=sparse,
                capturable=self._is_capturable(params[0], values, sparse=sparse),
                donate_grads=optimizer.donate_grads,
                gradients=gradients,
                find_earlier=self._find_earlier,
            )
        self.new_states += zip(params, kept, strict=True)
        if bound.is_capturable and self._reads_scaler:
            bound.read_scaler(*optimizer.gpu_scaler.on(params[0].device))
        return bound

    def _bind_on_host(self, rule: UpdateRule, params: list[torch.Tensor]) -> HostTensors:
        optimizer = self._optimizer
        kept = [optimizer.state.get(p, {}) for p in params]
        self._separate_states(params, kept)
        with naming(params, optimizer.describe):
            numbers, keys, mirrors = optimizer.numbers_of(params), optimizer.state_keys, optimizer.mirrors
            bound = HostTensors(
                rule, params, kept, numbers, keys, mirrors, seed=optimizer.seed, describe=self._describe
            )
        self.new_states += zip(params, kept, strict=True)
        return bound

    def _find_earlier(self) -> Mapping[torch.Tensor, Sequence[torch.Tensor]]:
        """The gradients that are added to the last one of each parameter."""
        found: Mapping[torch.Tensor, Sequence[torch.Tensor]] = self._optimizer.earlier
        return found

    def _separate_states(self, params: Sequence[torch.Tensor], kept: Sequence[dict[str, Any]]) -> None:
        """Copy single numbers that are those of a parameter which is bound elsewhere too, as a caller may have set
        one count for all; ValueError for other states. Among the parameters of one step, binding does this."""
        optimizer, here = self._optimizer, set(map(id, params))
        if optimizer.spec.joins_params:
            return
        others = [p for p in optimizer.state if isinstance(p, torch.Tensor) and id(p) not in here]
        elsewhere = {id(x): p for p in others for x in optimizer.state[p].values()}
        for p, states in zip(params, kept, strict=True):
            for key, x in states.items():
                if isinstance(x, torch.Tensor) and id(x) in elsewhere:
                    if x.dim():
                        names = " and ".join(map(optimizer.describe, (elsewhere[id(x)], p)))
                        raise ValueError(f"state['{key}']: {names} have the same tensor; give each its own")
                    states[key] = x.clone()

    def _is_capturable(self, like: torch.Tensor, values: GroupValues, *, sparse: bool) -> bool:
        """Whether parameters like this one are bound for graphs, or for a scale that only the GPU knows."""
        without_host = not sparse and sharding_of(like) is None
        return like.is_cuda and (values.options.capturable or (self._reads_scaler and without_host))


def _joins(optimizer: Owner) -> str:
    return f"{optimizer.spec.name} shares values between all parameters"


def check_groups_are_alike(optimizer: Owner, each: Sequence[GroupValues]) -> None:
    """ValueError where groups differ in what decides the values that all parameters share."""
    if len(each) == 1:
        return
    first = each[0]
    for name in {name for values in each for name in values.on_gpu.tensors}:
        key = optimizer.spelling.key_of(name)
        raise ValueError(f"{_joins(optimizer)}, so with several groups '{key}' must be a number, not a tensor on a GPU")
    common = {**first.arguments.values, **first.arguments.flags, **first.options._asdict()}
    for values in each[1:]:
        own = {**values.arguments.values, **values.arguments.flags, **values.options._asdict()}
        for name, x in own.items():
            if name not in optimizer.spec.per_parameter and x != common[name]:
                key = optimizer.spelling.key_of(name)
                raise ValueError(f"{_joins(optimizer)}, so '{key}' must be the same in all groups")
