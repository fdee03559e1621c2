"""The values of a parameter group, looked at before every step: whether they changed, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from optgen import arguments
from optgen.arguments import Arguments
from optgen.model import Optimizer
from optgen.torch.capturable import GpuValues, gpu_values
from optgen.torch.spelling import Spelling, checked

NO_CHANGES: dict[str, Any] = {}
FIXED = (int, float, str, type(None), np.generic)
"""The types of values that cannot change in place."""


class GroupOptions(NamedTuple):
    """How a group's weights and states are kept, whether steps go up along the gradients, and can be captured; and how
    matrices are multiplied, None where that is the optimizer's default."""

    storage: str | tuple[tuple[str, str], ...] | None
    master: bool
    maximize: bool
    capturable: bool
    matmul: str | None

    @property
    def storages(self) -> str | dict[str, str] | None:
        """`storage` as `optgen.load` takes it."""
        return dict(self.storage) if isinstance(self.storage, tuple) else self.storage


def options_of(group: Mapping[str, Any]) -> GroupOptions:
    """The options of a group; TypeError or ValueError naming one that is wrong."""
    storage, master, maximize = group.get("storage"), group.get("master", False), group.get("maximize", False)
    if storage is not None and not isinstance(storage, str):
        if not isinstance(storage, Mapping):
            raise TypeError(f"storage: a name for all states, or a dict with one for each, not {storage!r}")
        storage = tuple(storage.items())
    for key, x in (("master", master), ("maximize", maximize)):
        if x is not True and x is not False and x not in (0, 1):
            raise ValueError(f"{key}: True or False, not {x!r}")
    matmul = group.get("matmul")
    if matmul is not None:
        arguments.check_matmul(matmul)
    return GroupOptions(storage, bool(master), bool(maximize), bool(group.get("capturable")), matmul)


class GroupValues:
    """The values of a group at its last step: `arguments`, in the spec's names, and `on_gpu`, what steps read there."""

    def __init__(self, spec: Optimizer, spelling: Spelling, group: Mapping[str, Any]) -> None:
        self._spec, self._spelling = spec, spelling
        self._keys = (*spelling.params, *spelling.flags, *GroupOptions._fields)
        self._params, self._deciding = spec.all_params, arguments.deciding(spec)
        self.on_gpu = gpu_values(spec, spelling, group, GpuValues())
        self.arguments: Arguments = checked(spec, spelling, self.on_gpu.as_numbers(spelling, group))
        self.options = options_of(group)
        self._remember(list(map(group.get, self._keys)))

    def _remember(self, given: list[Any]) -> None:
        self._given = given
        # Others can change their values and stay the same objects. What steps read themselves does not matter.
        read = set(map(id, self.on_gpu.tensors.values()))
        each = chain.from_iterable(x if isinstance(x, tuple) else (x,) for x in given)
        self._is_fixed = all(isinstance(x, FIXED) or id(x) in read for x in each)

    @property
    def flips_gradient(self) -> bool:
        """Whether gradients are negated for kernels, as the spec has no flag to go up along them."""
        return self.options.maximize and "maximize" not in self._spelling.flags

    def changes(self, group: Mapping[str, Any]) -> dict[str, Any] | None:
        """The params that have changed since the last call, numbers and tensors; None if the group needs other kernels.

        TypeError or ValueError naming the key of a wrong value; the next call then names it again.
        """
        if self._is_fixed and all(map(is_, map(group.get, self._keys), self._given)):
            return NO_CHANGES
        given = list(map(group.get, self._keys))
        if self._is_fixed:
            numbers = self._changed_numbers(given)
            if numbers is not None:
                return numbers
        options = options_of(group)
        before = self.arguments
        on_gpu = gpu_values(self._spec, self._spelling, group, self.on_gpu)
        moved = on_gpu.moved(self.on_gpu)
        group = on_gpu.as_numbers(self._spelling, group)
        flags_same = options == self.options and all(
            x == before.flags.get(key) for key, x in self._spelling.flags_of(group).items()
        )
        changed: dict[str, Any] | None = self._changed_params(group) if flags_same else None
        if changed is None or not self._deciding.isdisjoint(changed):
            self.arguments = checked(self._spec, self._spelling, group)
            if self.arguments.flags != before.flags or not flags_same:
                changed = None
            else:
                old = before.values
                changed = {name: x for name, x in self.arguments.values.items() if x != old[name]}
        else:
            self.arguments = Arguments({**before.values, **changed}, before.chosen, before.flags)
        if changed is not None and moved:
            changed = {**changed, **{name: on_gpu.tensors.get(name, self.arguments.values[name]) for name in moved}}
        self.options, self.on_gpu = options, on_gpu
        self._remember(given)
        return changed

    def _changed_numbers(self, given: list[Any]) -> dict[str, Any] | None:
        """What has changed, if it is a few numbers that choose no kernels, as schedulers change them; None if more."""
        changed: dict[str, Any] = {}
        for key, x, last in zip(self._keys, given, self._given, strict=True):
            if x is not last:
                names = self._spelling.params.get(key, ())
                if len(names) != 1 or not isinstance(x, float) or not isinstance(last, float):
                    return None
                changed[names[0]] = x
        if not self._deciding.isdisjoint(changed):
            return None
        changed = {name: self._spelling.check(self._spec, self._params[name], x) for name, x in changed.items()}
        before = self.arguments
        self.arguments = Arguments({**before.values, **changed}, before.chosen, before.flags)
        self._given = given
        return changed

    def _changed_params(self, group: Mapping[str, Any]) -> dict[str, float | None]:
        """The checked values of the params that have changed."""
        params, old = self._params, self.arguments.values
        read, _ = self._spelling.read(group)
        found = {name: self._spelling.check(self._spec, params[name], x) for name, x in read.items() if x != old[name]}
        return {name: x for name, x in found.items() if x != old[name]}
