"""The values of a parameter group, looked at before every step: whether they changed, and what that means; and
which of them are on a GPU, where captured graphs read them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import chain, compress
from operator import is_, is_not
from typing import Any, NamedTuple

import numpy as np
import torch

from optgen import arguments
from optgen.arguments import Arguments
from optgen.ir import WEIGHTS
from optgen.model import Optimizer
from optgen.torch.following import follow
from optgen.torch.spelling import Spelling, checked

# ---------------------------------------------------------------- the same objects


def same_objects(now: Collection[Any], before: Collection[Any]) -> bool:
    """Whether two collections hold the same objects, in the same order."""
    return len(now) == len(before) and all(map(is_, now, before))


# ---------------------------------------------------------------- what can be captured, and is read on a GPU


def is_capturing() -> bool:
    """Whether the current stream is being captured."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()  # type: ignore[no-untyped-call]


def check_capture(name: str, groups: Iterable[Mapping[str, Any]], *, binds: bool = False) -> None:
    """RuntimeError, in PyTorch's words, if a step of these groups is captured, and one of them is not capturable.

    RuntimeError too if the step `binds`: a capture is no time to load kernels and make states.
    """
    if not is_capturing():
        return
    if not all(group.get("capturable") for group in groups):
        raise RuntimeError(
            f"Attempting CUDA graph capture of step() for an instance of {name} but param_groups' capturable is False."
        )
    if binds:
        raise RuntimeError(
            f"{name}: call step() before it is captured, with a gradient for each parameter that has one in the "
            "capture: it loads kernels and makes states"
        )


class GpuValues(NamedTuple):
    """The values of a capturable group that are tensors on a GPU, by the spec's names: steps read them there.

    `numbers` are what they were when the host read them, once, to check them and to choose kernels.
    """

    tensors: Mapping[str, torch.Tensor] = {}
    numbers: Mapping[str, float] = {}

    def as_numbers(self, spelling: Spelling, group: Mapping[str, Any]) -> Mapping[str, Any]:
        """A group with numbers in the place of these tensors."""
        read: dict[str, Any] = {}
        for key, names in spelling.params.items():
            if not self.tensors.keys().isdisjoint(names):
                each = [self.numbers.get(name, x) for name, x in zip(names, _each(group[key]), strict=False)]
                read[key] = each[0] if len(names) == 1 else each
        return {**group, **read} if read else group

    def moved(self, before: GpuValues) -> list[str]:
        """The names that have another tensor than before, have one now, or have none any more."""
        names = {**before.tensors, **self.tensors}
        return [name for name in names if self.tensors.get(name) is not before.tensors.get(name)]


def gpu_values(spec: Optimizer, spelling: Spelling, group: Mapping[str, Any], before: GpuValues) -> GpuValues:
    """The values of a group that steps read on a GPU; those that choose code are not among them."""
    if not group.get("capturable"):
        return GpuValues()
    params, choosing = spec.all_params, spec.deciding
    tensors, numbers = {}, {}
    for key, names in spelling.params.items():
        for name, x in zip(names, _each(group[key]), strict=False):
            if torch.is_tensor(x) and x.is_cuda and name not in choosing and not params[name].zero_off:
                tensors[name] = x
                numbers[name] = before.numbers[name] if before.tensors.get(name) is x else x.item()
    return GpuValues(tensors, numbers)


def _each(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, tuple | list) else (given,)


# ---------------------------------------------------------------- values

NO_CHANGES: dict[str, Any] = {}
FIXED = (int, float, str, type(None), np.generic)
"""The types of values that cannot change in place."""


class GroupOptions(NamedTuple):
    """How a group's states and weights are kept and rounded, whether steps go up along the gradients, and can be
    captured; how matrices are multiplied, None where that is the optimizer's default; and where states are, None for
    where parameters are."""

    storage: str | tuple[tuple[str, str], ...] | None
    master: bool
    weights: str | None
    maximize: bool
    capturable: bool
    matmul: str | None
    states: str | None = None

    @property
    def on_host(self) -> bool:
        """Whether states are in the memory of the host, wherever parameters are."""
        return self.states == "cpu"

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
    weights = group.get("weights")
    if weights not in (None, *WEIGHTS):
        raise ValueError(f"weights: {' or '.join(map(repr, WEIGHTS))}, or None, not {weights!r}")
    if master and weights:
        raise ValueError(f"weights={weights!r} with master=True, which loses nothing: leave one of the two out")
    matmul = group.get("matmul")
    if matmul is not None:
        arguments.check_matmul(matmul)
    states = group.get("states")
    if states not in (None, "cpu"):
        raise ValueError(f"states: 'cpu', or None for where parameters are, not {states!r}")
    return GroupOptions(storage, bool(master), weights, bool(maximize), bool(group.get("capturable")), matmul, states)


class GroupValues:
    """The values of a group at the last look at it: `arguments`, in the spec's names, and `on_gpu`, what steps read
    there.

    `changed` are the params that had changed since the look before. `kept_by` are the options that its states
    are kept by, until a step keeps them otherwise.
    """

    def __init__(self, spec: Optimizer, spelling: Spelling, group: Mapping[str, Any]) -> None:
        self.group, self._spec, self._spelling = group, spec, spelling
        self._keys = (*spelling.params, *spelling.flags, *GroupOptions._fields)
        self.changed: Mapping[str, Any] = NO_CHANGES
        if spec.following:
            follow(spec, spelling, group)
        self.on_gpu = gpu_values(spec, spelling, group, GpuValues())
        self.arguments: Arguments = checked(spec, spelling, self.on_gpu.as_numbers(spelling, group))
        self.options = self.kept_by = options_of(group)
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

    @property
    def kind(self) -> Hashable:
        """What groups have in common whose parameters can be bound together."""
        own = self.arguments
        values = tuple(x for name, x in own.values.items() if name not in self._spec.differing)
        return self.options, values, *own.flags.items(), id(self) if self.on_gpu.tensors else None

    def look(self) -> bool:
        """Find what has `changed` since the last look, numbers and tensors; False if the group needs other kernels.

        TypeError or ValueError naming the key of a wrong value; the next look then names it again.
        """
        if self._is_fixed and all(map(is_, map(self.group.get, self._keys), self._given)):
            self.changed = NO_CHANGES
            return True
        changed = self._changes(self.group)
        self.changed = changed or NO_CHANGES
        return changed is not None

    def _changes(self, group: Mapping[str, Any]) -> dict[str, Any] | None:
        """The params that have changed; None if the group needs other kernels."""
        if self._spec.following:
            follow(self._spec, self._spelling, group)
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
        if changed is None or not self._spec.deciding.isdisjoint(changed):
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
        spec, keys, last = self._spec, self._spelling.params, self._given
        for key, x, old in compress(zip(self._keys, given, last, strict=True), map(is_not, given, last)):
            names = keys.get(key, ())
            if len(names) != 1 or names[0] in spec.deciding or not isinstance(x, float) or not isinstance(old, float):
                return None
            changed[names[0]] = self._spelling.check(spec, spec.all_params[names[0]], x)
        before = self.arguments
        self.arguments = Arguments({**before.values, **changed}, before.chosen, before.flags)
        self._given = given
        return changed

    def _changed_params(self, group: Mapping[str, Any]) -> dict[str, float | None]:
        """The checked values of the params that have changed."""
        params, old = self._spec.all_params, self.arguments.values
        read, _ = self._spelling.read(group)
        found = {name: self._spelling.check(self._spec, params[name], x) for name, x in read.items() if x != old[name]}
        return {name: x for name, x in found.items() if x != old[name]}
