"""Parameter groups at each step: bound again where values, gradients or tensors are not what they were."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from optgen import api
from optgen.execute.rule import UpdateRule
from optgen.model import PER_PARAMETER
from optgen.torch.bound import BoundTensors
from optgen.torch.protocols import Owner
from optgen.torch.values import GroupValues, options

REAL = {torch.complex32: "float16", torch.complex64: "float32", torch.complex128: "float64"}


class GroupStep:
    """The steps of the parameters of groups that have had a gradient; the others are bound when they get one.

    `groups` is one group, or all of an optimizer whose spec sums over parameters.
    """

    def __init__(self, optimizer: Owner, groups: Sequence[Mapping[str, Any]]) -> None:
        self._optimizer, self.groups = weakref.proxy(optimizer), groups  # which has this step
        self._values = [GroupValues(optimizer.spec, optimizer.spelling, group) for group in groups]
        self._bound: list[BoundTensors] = []
        self._scales_gradients = False
        self._rebuild()

    def run(self, factor: float | None = None) -> None:
        """One update of the parameters that have gradients, which are multiplied by the factor if there is one."""
        changes = self._changes()
        if changes is None:
            self._bound = []  # other states may be kept; those of parameters without gradients are made later
        if changes is None or not self._is_current() or self._scales_gradients != (factor is not None):
            self._scales_gradients = factor is not None
            self._rebuild()
            changes = {}
        factor = 1.0 if factor is None else factor
        if self._waits_to_start():
            return
        for bound in tuple(self._bound):
            try:
                bound.run(changes, factor)
            except (TypeError, ValueError):
                # A tensor may have got other memory, or a gradient another layout. What is wrong is refused again.
                for new in self._rebuild_one(self._bound.index(bound)):
                    new.run({}, factor)

    def _changes(self) -> Mapping[str, Any] | None:
        """The params that have changed since the last step; None if other kernels are needed."""
        found = [values.changes(group) for values, group in zip(self._values, self.groups, strict=True)]
        if len(found) == 1 or not any(found):
            return found[0]
        return None  # lists of values go to the kernels when they are bound

    def _is_current(self) -> bool:
        return (
            [id(p) for group in self.groups for p in group["params"]] == self._params
            and all(p.grad is None for p in self._without_gradient)
            and all(bound.is_current() for bound in self._bound)
        )

    def _waits_to_start(self) -> bool:
        """Whether this is a first step with a rate and gradients of 0, which some tools make to have states created.

        It is left out, so that what starts from the first gradient starts from a real one.
        """
        rates = [values.arguments.values["lr"] for values in self._values]
        if not self._optimizer.makes_states_at_construction or any(rates):
            return False
        grads = [p.grad for bound in self._bound for p in bound.params if p.grad is not None]
        return all(not bound.counts.any() for bound in self._bound) and not any(bool((g != 0).any()) for g in grads)

    # ------------------------------------------------------------ binding

    def _rebuild(self) -> None:
        """Bind all parameters that have, or had, a gradient: those of one dtype, device and layout together."""
        params = [p for group in self.groups for p in group["params"]]
        self._params = list(map(id, params))
        bound_before = {id(p) for bound in self._bound for p in bound.params}
        self._without_gradient = [p for p in params if p.grad is None and id(p) not in bound_before]
        left_out = set(map(id, self._without_gradient))
        buckets = self._buckets([p for p in params if id(p) not in left_out])
        if len(self.groups) > 1:
            self._check_alike(buckets)
        self._bound = [self._bind(members, sparse=key[-1]) for key, members in buckets.items()]

    def _buckets(self, params: Sequence[torch.Tensor]) -> dict[tuple[Any, ...], list[torch.Tensor]]:
        """The parameters that are bound together, by dtype, device, dtype of scalars, and whether by row."""
        optimizer = self._optimizer
        group_of = {id(p): group for group in self.groups for p in group["params"]}
        buckets: dict[tuple[Any, ...], list[torch.Tensor]] = {}
        for p in params:
            by_row = p.grad is not None and optimizer.updates_rows(group_of[id(p)], p)
            scalar_dtype = optimizer.state_keys.scalar_dtype(optimizer.state.get(p, {}))
            buckets.setdefault((p.dtype, p.device, scalar_dtype, by_row), []).append(p)
        return buckets

    def _check_alike(self, buckets: Collection[tuple[Any, ...]]) -> None:
        """ValueError where groups differ in what a sum over all parameters needs to be the same."""
        name = self._optimizer.spec.name
        if len(buckets) > 1:
            kinds = ", ".join(sorted({f"{dtype} on {device}" for dtype, device, *_ in buckets}))
            raise ValueError(f"{name} sums over all parameters, which must have one dtype and device, not {kinds}")
        first = self._values[0].arguments
        for values in self._values[1:]:
            own = values.arguments
            for key, x in (*own.values.items(), *own.flags.items()):
                if key not in PER_PARAMETER and x != {**first.values, **first.flags}[key]:
                    raise ValueError(f"{name} sums over all parameters, so '{key}' must be the same in all groups")

    def _rebuild_one(self, k: int) -> Sequence[BoundTensors]:
        """Bind those bound together as number k anew; they may no longer be alike. Returns what stands in its place."""
        buckets = self._buckets(self._bound[k].params)
        self._bound[k : k + 1] = new = [self._bind(members, sparse=key[-1]) for key, members in buckets.items()]
        return new

    def _bind(self, params: list[torch.Tensor], *, sparse: bool) -> BoundTensors:
        optimizer = self._optimizer
        kept = [optimizer.state.get(p, {}) for p in params]
        bound = BoundTensors(
            self._rule(params[0], optimizer.state_keys.rule_flags(kept[0])),
            params,
            kept,
            optimizer.numbers_of(params),
            optimizer.state_keys,
            seed=optimizer.seed,
            is_sparse=sparse,
        )
        for p, states in zip(params, kept, strict=True):
            if states:
                optimizer.state[p] = states
        if len(self.groups) > 1:
            bound.set(self._values_of_each(params))
        return bound

    def _values_of_each(self, params: Sequence[torch.Tensor]) -> dict[str, list[float | None]]:
        """The params that may differ between groups, one value for each parameter."""
        own = {id(p): k for k, group in enumerate(self.groups) for p in group["params"]}
        each = [self._values[own[id(p)]].arguments.values for p in params]
        return {name: [values[name] for values in each] for name in PER_PARAMETER}

    def _rule(self, like: torch.Tensor, flags: Mapping[str, bool]) -> UpdateRule:
        """The rule for parameters like this one, with the first group's values, and these flags that are no keys."""
        given = self._values[0].arguments
        values = {**given.values, **given.chosen, **flags}
        return rule_of(self._optimizer, self.groups[0], like, values, scales_gradient=self._scales_gradients)


def check_rules(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError or TypeError if there can be no kernels for a group's values and the dtypes of its parameters."""
    given = GroupValues(optimizer.spec, optimizer.spelling, group).arguments
    for p in {p.dtype: p for p in group["params"] if not p.is_meta}.values():
        rule_of(optimizer, group, p, {**given.values, **given.chosen})


def rule_of(
    optimizer: Owner,
    group: Mapping[str, Any],
    like: torch.Tensor,
    values: Mapping[str, Any],
    *,
    scales_gradient: bool = False,
) -> UpdateRule:
    """The rule of a group for parameters like this one, with these values of params and flags."""
    storage, master, _ = options(group)
    return load(
        optimizer.spec,
        like,
        values,
        storage=optimizer.state_keys.storage_names(storage),
        master=bool(master),
        scales_gradient=scales_gradient,
    )


def load(
    spec: Any,
    like: torch.Tensor,
    values: Mapping[str, Any],
    *,
    storage: Any = None,
    master: bool = False,
    scales_gradient: bool = False,
) -> UpdateRule:
    """A rule for parameters of this one's dtype and device; `master` is for those of 16 bits."""
    dtype = REAL.get(like.dtype, str(like.dtype).removeprefix("torch."))
    if like.device.type not in ("cpu", "cuda"):
        raise ValueError(f"a parameter on device '{like.device}': optgen updates parameters on CPUs and NVIDIA GPUs")
    params = spec.all_params()
    given = {name: x for name, x in values.items() if name not in params or x != params[name].default}
    return api.load(
        spec,
        dtype,
        master=master and dtype in ("float16", "bfloat16"),
        storage=storage,
        target=like.device.type,
        scales_gradient=scales_gradient,
        **given,
    )
