"""Parameter groups at each step: bound again where values, gradients or tensors are not what they were."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from optgen.execute.choice import Restarts
from optgen.execute.garbage import without_collections
from optgen.execute.rule import UpdateRule
from optgen.execute.transaction import Transaction
from optgen.torch.bound import BoundTensors
from optgen.torch.host import HostTensors, is_on_host, parts
from optgen.torch.memory import check_flat, check_layout, is_flat, is_zero, sharding_of
from optgen.torch.owned import OwnedTensors
from optgen.torch.owners import is_owned
from optgen.torch.replaced import check_replaced
from optgen.torch.rules import Owner, blocks_by_row, decode_states, decode_uncoded, load
from optgen.torch.spelling import naming
from optgen.torch.state import forget_unused
from optgen.torch.values import NO_CHANGES, GroupValues, check_capture, same_objects

Bound = BoundTensors | OwnedTensors | HostTensors
Buckets = dict[tuple[Any, ...], list[torch.Tensor]]


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


class GroupStep:
    """The step of the parameters of groups that have had a gradient; the others are bound when they get one.

    Groups are bound together, and updated by one call, if they differ in nothing but the params that may differ between
    parameters. A step is `prepare`, which refuses what is wrong before anything has changed, and then the
    `transaction`. `owned` are the sharded parameters that are to come to their owners before that is attempted, and to
    go back after it has run.
    """

    def __init__(self, optimizer: Owner, groups: Sequence[Mapping[str, Any]]) -> None:
        self._optimizer = weakref.proxy(optimizer)  # which has this step
        self._name, self._spec = type(optimizer).__name__, optimizer.spec
        self._describe = partial(type(optimizer).describe, self._optimizer)  # a bound method would keep it alive
        self.groups: Sequence[Mapping[str, Any]] = []
        self._values: list[GroupValues] = []
        self.follow(groups)
        self.transaction = Transaction(self._name)
        self._parts: list[BoundGroups] = []
        self._bound: list[Bound] = []
        self.owned: list[OwnedTensors] = []
        self._new_states: list[tuple[torch.Tensor, dict[str, Any]]] = []
        self._needs_other_kernels, self._has_started, self._is_on_gpu = False, False, False
        self._factor, self._scales_gradient, self._reads_scaler = 1.0, False, False
        self._phase: str | None = None
        self._given: Mapping[str, float] = NO_CHANGES
        self._learning: set[int] = set()  # the parameters of a step with phases

    def follow(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """From now on, update these groups, and see what changes in them."""
        known = {id(values.group): values for values in self._values}
        make = partial(GroupValues, self._spec, self._optimizer.spelling)
        self._values = [known.get(id(group)) or make(group) for group in groups]
        self.groups, self.ids, self._is_stale = list(groups), list(map(id, groups)), True

    def read_scaler(self) -> None:
        """From now on, have updates on a GPU read the optimizer's `gpu_scaler`."""
        if not self._reads_scaler:
            self._reads_scaler = self._scales_gradient = self._is_stale = True

    def prepare(
        self, gradient_factor: float, phase: str | None = None, given: Mapping[str, float] = NO_CHANGES
    ) -> None:
        """Take the groups' values, tensors and gradients as they are now; the `transaction` multiplies gradients by a
        factor, and computes a phase of a step that has phases. `given` are the numbers that this step reads.

        TypeError or ValueError names a key or a parameter that is wrong; RuntimeError if a graph is being captured that
        cannot hold this step.
        """
        if self.transaction.is_begun:
            self.transaction.cancel()
        if self._is_on_gpu:
            check_capture(self._name, self.groups)
        if phase is not None:
            self._check_learning(phase)
        self._phase, self._given = phase, given
        try:
            self._take(gradient_factor)
        except BaseException:
            self._is_stale = self._needs_other_kernels = True  # or values that were seen would not be used
            raise
        self.transaction.begin(self._bound)

    def _take(self, gradient_factor: float) -> None:
        """`prepare`, but after an error what has been seen of the groups may not be bound."""
        have_changed = self._look()
        if gradient_factor != 1.0 and not self._scales_gradient:
            self._scales_gradient = self._is_stale = True  # from now on, as kernels would change to and fro
        if self._is_stale or not self._is_current():
            self._factor = gradient_factor
            self._rebuild()
        elif have_changed or gradient_factor != self._factor:
            self._factor = gradient_factor
            for part in self._parts:
                self._set(part, part.changes())
        try:
            for bound in self._bound:
                bound.prepare(self._phase, self._given)
        except (TypeError, ValueError):
            # A tensor may have got other memory, or a gradient another layout. What is wrong is refused again.
            self._rebuild()
            for bound in self._bound:
                with naming(bound.bound_params, self._optimizer.describe):
                    bound.prepare(self._phase, self._given)

    def _check_learning(self, phase: str) -> None:
        """ValueError naming a parameter that has a gradient in one phase of a step only."""
        first, params = self._optimizer.spec.phases[0], self._all_params()
        now = {id(p) for p in params if p.grad is not None}
        if phase == first:
            self._learning = now
        for p in params:
            if (id(p) in now) != (id(p) in self._learning):
                has, had = ("a", "none") if id(p) in now else ("no", "one")
                raise ValueError(
                    f"{self._optimizer.describe(p)} has {has} gradient in the phase '{phase}', and had {had} in "
                    f"'{first}': all phases of a step update the same parameters"
                )

    def starts(self) -> bool:
        """After `prepare`, whether there is a step to run."""
        if self._new_states:
            self._keep_new_states()
        self._has_started = self._has_started or not self._waits_to_start()
        return self._has_started

    def rebind(self) -> None:
        """Have the next step bind all parameters anew."""
        self._is_stale = True

    def keeps_states(self) -> bool:
        """Whether the optimizer's states stand in the dicts that are bound."""
        return all(bound.keeps(self._optimizer.state) for bound in self._bound)

    def _look(self) -> bool:
        """Whether values of a group have changed."""
        have_changed = False
        for values in self._values:
            if not values.look():
                self._is_stale = self._needs_other_kernels = True
            elif values.changed:
                have_changed = True
        if have_changed and len(self.groups) > 1:
            if self._spec.joins_params:
                self._check_groups_are_alike()
            elif any(part.is_split(self._spec.differing) for part in self._parts):
                self._is_stale = True
        return have_changed

    def _set(self, part: BoundGroups, values: Mapping[str, Any]) -> None:
        """Have the next step of a part use these values; ValueError if it cannot read a tensor that is among them."""
        first = part.groups[0]
        if first.on_gpu.tensors and not part.bound.is_capturable:
            key = self._optimizer.spelling.key_of(next(iter(first.on_gpu.tensors)))
            param = self._describe(part.bound.params[0])
            raise ValueError(f"{key}: a tensor on a GPU, which {param} on the CPU cannot read; give a number")
        part.bound.set(values, -self._factor if first.flips_gradient else self._factor)

    def _is_current(self) -> bool:
        # At each step: loops take less time than generators.
        for p in self._without_gradient:
            if p.grad is not None:
                return False
        for bound in self._bound:
            if not bound.is_current():
                return False
        if self._sizes:
            for group, size in zip(self.groups, self._sizes, strict=True):
                if len(group["params"]) != size:
                    return False
        return same_objects(self._all_params(), self._params)

    def _all_params(self) -> list[torch.Tensor]:
        if len(self.groups) == 1:
            params: list[torch.Tensor] = self.groups[0]["params"]
            return params
        return [p for group in self.groups for p in group["params"]]

    def _waits_to_start(self) -> bool:
        """Whether this is a first step with rates and gradients of 0 alone, which some tools make to have states made.

        It is left out, so that what starts from the first gradient starts from a real one.
        """
        if not self._optimizer.makes_states_at_construction:
            return False
        if any(values.arguments.values["lr"] for values in self._values):
            return False
        grads = [p.grad for bound in self._bound for p in bound.params if p.grad is not None]
        return not any(bound.counts.any() for bound in self._bound) and all(map(is_zero, grads))

    # ------------------------------------------------------------ binding

    @without_collections()
    def _rebuild(self) -> None:
        """Bind all parameters that have a gradient, or had one and would get no other states now.

        Those without a gradient that have moved, as one that is offloaded, wait for their next gradient.
        """
        params = self._all_params()
        before = [] if self._needs_other_kernels else self._bound
        had_gradient = {id(p) for bound in before for p in bound.unmoved()}
        without = [p for p in params if p.grad is None and id(p) not in had_gradient]
        left_out = set(map(id, without))
        self._parts = self._bind_all([p for p in params if id(p) not in left_out])
        self._bound = [part.bound for part in self._parts]
        self.owned = [bound for bound in self._bound if isinstance(bound, OwnedTensors)]
        self._params, self._without_gradient = list(params), without
        # Of several groups, as the list of all parameters is the same where one has gone to the next group.
        self._sizes = [len(group["params"]) for group in self.groups] if len(self.groups) > 1 else []
        self._is_stale = self._needs_other_kernels = False

    def _bind_all(self, params: Sequence[torch.Tensor]) -> list[BoundGroups]:
        self._is_on_gpu = any(p.is_cuda for p in params)
        if self._is_on_gpu:
            check_capture(self._name, self.groups, binds=True)
        values_of = {id(p): values for values in self._values for p in values.group["params"]}
        buckets = self._buckets(params, values_of)
        if self._spec.joins_params:
            self._check_groups_are_alike()
            if len(buckets) > 1:
                kinds = ", ".join(sorted({_kind(*key) for key in buckets}))
                raise ValueError(f"{self._joins}, which must have one dtype, device and layout, not {kinds}")
        rules = [self._rule(members[0], values_of[id(members[0])], key[-2]) for key, members in buckets.items()]
        self._decode_states()
        self._new_states = []
        found: list[BoundGroups] = []
        for rule, (key, members) in zip(rules, buckets.items(), strict=True):
            self._check_flat(rule, members)
            whole = [p for p in members if is_owned(rule, p)]
            others = [p for p in members if not is_owned(rule, p)] if whole else members
            bound: list[Bound] = [self._bind_owned(rule, whole)] if whole else []
            if others and is_on_host(values_of[id(others[0])].options, others[0]):
                bound += [self._bind_on_host(rule, some) for some in parts(others, together=self._spec.joins_params)]
            elif others:
                bound.append(self._bind(rule, others, values_of[id(others[0])], sparse=key[-1]))
            for own in bound:
                each = [values_of[id(p)] for p in own.params]
                found.append(BoundGroups(own, each, list(dict.fromkeys(each))))
        for part in found:
            first = part.groups[0]
            self._set(part, part.values(first.arguments.values) if len(part.groups) > 1 else first.on_gpu.tensors)
        return found

    def _check_flat(self, rule: UpdateRule, params: Sequence[torch.Tensor]) -> None:
        for p in filter(is_flat, params):
            with naming([p], self._optimizer.describe):
                check_flat(rule, p)
        check_replaced(self._optimizer, rule, params)

    def _bind_owned(self, rule: UpdateRule, params: list[torch.Tensor]) -> OwnedTensors:
        optimizer = self._optimizer
        if optimizer.spec.joins_params:
            raise ValueError(
                f"{optimizer.describe(params[0])} is sharded; {self._joins}, and updates matrices whole, which is not "
                "done in shards; keep its parameters unsharded"
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
        self._new_states += zip(params, kept, strict=True)
        return bound

    def _buckets(self, params: Sequence[torch.Tensor], values_of: Mapping[int, GroupValues]) -> Buckets:
        """The parameters that are bound together, by the kind of their group, dtype, device, sharding, dtype of
        scalars, restarts of blocks, and whether by row."""
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
            kind = kinds[id(values_of[id(p)])]
            blocks = blocks_by_row(p, by_row=by_row)
            buckets.setdefault((kind, p.dtype, p.device, sharding_of(p), scalar_dtype, blocks, by_row), []).append(p)
        return buckets

    def _rule(self, like: torch.Tensor, values: GroupValues, blocks: Restarts) -> UpdateRule:
        """The rule for parameters like this one, with the values of its group."""
        optimizer = self._optimizer
        flags = optimizer.state_keys.rule_flags(optimizer.state.get(like, {}))
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

    def _bind(self, rule: UpdateRule, params: list[torch.Tensor], values: GroupValues, *, sparse: bool) -> BoundTensors:
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
            )
        self._new_states += zip(params, kept, strict=True)
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
        self._new_states += zip(params, kept, strict=True)
        return bound

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

    def _keep_new_states(self) -> None:
        """Have the optimizer hold the states that were made for this step, which no longer can be refused."""
        for p, kept in self._new_states:
            if kept or p in self._optimizer.owners.places:  # whose states are elsewhere
                self._optimizer.state[p] = kept
        self._new_states = []
        state, groups = self._optimizer.state, self._optimizer.param_groups
        if len(state) > sum(len(group["params"]) for group in groups):
            forget_unused(state, groups)

    def _is_capturable(self, like: torch.Tensor, values: GroupValues, *, sparse: bool) -> bool:
        """Whether parameters like this one are bound for graphs, or for a scale that only the GPU knows."""
        without_host = not sparse and sharding_of(like) is None
        return like.is_cuda and (values.options.capturable or (self._reads_scaler and without_host))

    # ------------------------------------------------------------ values that all parameters share

    @property
    def _joins(self) -> str:
        return f"{self._optimizer.spec.name} shares values between all parameters"

    def _check_groups_are_alike(self) -> None:
        """ValueError where groups differ in what decides the values that all parameters share."""
        if len(self.groups) == 1:
            return
        first = self._values[0]
        for name in {name for values in self._values for name in values.on_gpu.tensors}:
            key = self._optimizer.spelling.key_of(name)
            raise ValueError(f"{self._joins}, so with several groups '{key}' must be a number, not a tensor on a GPU")
        common = {**first.arguments.values, **first.arguments.flags, **first.options._asdict()}
        for values in self._values[1:]:
            own = {**values.arguments.values, **values.arguments.flags, **values.options._asdict()}
            for name, x in own.items():
                if name not in self._optimizer.spec.per_parameter and x != common[name]:
                    key = self._optimizer.spelling.key_of(name)
                    raise ValueError(f"{self._joins}, so '{key}' must be the same in all groups")


def _kind(
    kind: Any,
    dtype: torch.dtype,
    device: torch.device,
    sharding: Any,
    scalar_dtype: torch.dtype,
    blocks: Restarts,
    by_row: bool,
) -> str:
    """What the parameters of a bucket have in common, in words."""
    layout = (" in shards" if sharding is not None else "") + (" with sparse gradients" if by_row else "")
    return f"{dtype} on {device}{layout}"
