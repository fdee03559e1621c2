"""Parameter groups at each step: bound again where values, gradients or tensors are not what they were."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from optgen.execute.garbage import without_collections
from optgen.execute.transaction import Transaction
from optgen.torch.binding import Binder, Bound, BoundGroups, check_groups_are_alike
from optgen.torch.memory import is_zero
from optgen.torch.owned import OwnedTensors
from optgen.torch.rules import Owner
from optgen.torch.spelling import naming
from optgen.torch.state import forget_unused
from optgen.torch.values import NO_CHANGES, GroupValues, check_capture, same_objects


class GroupStep:
    """The step of the parameters of groups that have had a gradient; the others are bound when they get one.

    Groups are bound together, and updated by one call, if they differ in nothing but the params that may differ between
    parameters. A step is `prepare`, which refuses what is wrong before anything has changed, and then the
    `transaction`. `owned` are the sharded parameters that are to come to their owners before that is attempted, and to
    go back after it has run. `learning` are the ids of the parameters that the phases of a step update.
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
        self.learning: set[int] = set()

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
            self.learning = now
        for p in params:
            if (id(p) in now) != (id(p) in self.learning):
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
                check_groups_are_alike(self._optimizer, self._values)
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
        self._parts = self._bind([p for p in params if id(p) not in left_out])
        self._bound = [part.bound for part in self._parts]
        self.owned = [bound for bound in self._bound if isinstance(bound, OwnedTensors)]
        self._params, self._without_gradient = list(params), without
        # Of several groups, as the list of all parameters is the same where one has gone to the next group.
        self._sizes = [len(group["params"]) for group in self.groups] if len(self.groups) > 1 else []
        self._is_stale = self._needs_other_kernels = False

    def _bind(self, params: Sequence[torch.Tensor]) -> list[BoundGroups]:
        self._is_on_gpu = any(p.is_cuda for p in params)
        if self._is_on_gpu:
            check_capture(self._name, self.groups, binds=True)
        scaling = {"scales_gradient": self._scales_gradient, "reads_scaler": self._reads_scaler}
        binder = Binder(self._optimizer, self._values, self._describe, **scaling)
        found = binder.bind(params)
        self._new_states = binder.new_states
        for part in found:
            first = part.groups[0]
            self._set(part, part.values(first.arguments.values) if len(part.groups) > 1 else first.on_gpu.tensors)
        return found

    def _keep_new_states(self) -> None:
        """Have the optimizer hold the states that were made for this step, which no longer can be refused."""
        for p, kept in self._new_states:
            if kept or p in self._optimizer.owners.places:  # whose states are elsewhere
                self._optimizer.state[p] = kept
        self._new_states = []
        state, groups = self._optimizer.state, self._optimizer.param_groups
        if len(state) > sum(len(group["params"]) for group in groups):
            forget_unused(state, groups)
