"""What states of a parameter under one optimizer are under another: the old ones times factors, by what both hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from optgen.averages import Average, States, starts_as_weight, states_of
from optgen.axes import Kind
from optgen.model import StateDecl
from optgen.shapes import sizes
from optgen.torch.bound import kernel_of
from optgen.torch.forms import count_of
from optgen.torch.halves import MASTER
from optgen.torch.memory import ParamMemory
from optgen.torch.rules import Owner, load
from optgen.torch.spelling import naming
from optgen.torch.state import STEP, StateKeys
from optgen.torch.values import GroupValues

Kept = dict[str, Any]
"""What `optimizer.state[p]` holds."""


@dataclass(frozen=True)
class Side:
    """A parameter under one of the two optimizers: what its states hold, and their keys.

    With `flips`, the equations have gradients of the other sign. `count` is the number of its updates; None where
    nobody counts, as PyTorch's SGD does not.
    """

    states: States
    keys: StateKeys
    flips: bool
    count: int | None = None

    def share(self, name: str) -> tuple[float, float] | None:
        """The sum of the weights in a state, and the share of its start that is left: after its updates if equations
        use it by the count, or have no limit, and else after many. None if nobody counts and there is no limit."""
        average = self.states.averages[name]
        steady = average.steady
        if self.count is not None and (steady is None or name in self.states.counted):
            return average.share(self.count)
        return None if steady is None else (steady, 0.0)

    def key(self, state: StateDecl) -> str:
        return self.keys.key_of(state.name)


class GroupSide:
    """The parameters of a group under one of the two optimizers."""

    def __init__(self, optimizer: Owner, group: Mapping[str, Any]) -> None:
        self.optimizer, self.values = optimizer, GroupValues(optimizer.spec, optimizer.spelling, group)
        self._states: dict[Any, States] = {}

    def of(self, p: torch.Tensor) -> Side:
        """One of the parameters; TypeError or ValueError, naming it, if its optimizer cannot update it."""
        key = p.dtype, p.device.type, tuple(p.shape)
        optimizer, values = self.optimizer, self.values
        if key not in self._states:
            with naming([p], optimizer.describe):
                rule = load(optimizer, p, values.arguments, values.options)
                flags = rule.decide(tuple(p.shape), {})
            spec = type(optimizer).spec  # whose outer step is no phase
            numbers = {**rule.values, **sizes(tuple(p.shape), spec.last_two)}
            self._states[key] = states_of(spec, flags, numbers)
        return Side(self._states[key], optimizer.state_keys, values.flips_gradient)

    def coded(self, p: torch.Tensor) -> dict[str, tuple[str, int | None]]:
        """The storage of those states of a parameter that are codes, by their keys, and the elements of a block."""
        optimizer, values = self.optimizer, self.values
        rule = load(optimizer, p, values.arguments, values.options, dtype="float32", blocks="long")
        buffers = kernel_of(rule, ParamMemory(p)).states.values()
        return {optimizer.state_keys.key_of(b.name): (b.storage, b.scales.block) for b in buffers if b.is_quantized}

    def with_updates(self, p: torch.Tensor, kept: Mapping[str, Any]) -> Side:
        """One of the parameters, with as many updates as its states say."""
        side = self.of(p)
        return replace(side, count=count_of(kept[STEP], STEP)) if STEP in kept else side


# ---------------------------------------------------------------- one state


@dataclass(frozen=True)
class Counterpart:
    """An old state that a new one is made of: `factor` times it, plus `offset`. A square is not negative."""

    key: str
    factor: float = 1.0
    offset: float = 0.0
    is_square: bool = False

    def made(self, x: Any) -> Any:
        """The new state, in float32 where the old one has 16 bits; the old one itself if they are the same."""
        if self.factor == 1 and self.offset == 0:
            return x
        wide = x.detach().float() if x.dtype in (torch.float16, torch.bfloat16) else x.detach()
        found = wide * self.factor + self.offset if self.offset else wide * self.factor
        return found.clamp(min=0) if self.is_square and self.offset and not found.is_complex() else found

    def __str__(self) -> str:
        return self.key if self.factor == 1 else f"{self.key}*{self.factor:.6g}"


def _counterpart(state: StateDecl, old: Side, new: Side, kept: Kept) -> Counterpart | None:
    """What of the old states a new one is made of: one that holds the same, or of the same equations."""
    theirs = {s.name: s for s in old.states.program.states if old.key(s) in kept}
    same = state.name in theirs and new.states.has_same(state, old.states)
    average = new.states.averages.get(state.name)
    if average is None:
        return Counterpart(old.key(theirs[state.name])) if same else None
    alike = {
        name: x
        for name, x in old.states.averages.items()
        if name in theirs and (x.power, x.of_weights) == (average.power, average.of_weights)
    }
    if not alike:
        return None
    name = min(alike, key=lambda name: _difference(average, alike[name], is_same=same and name == state.name))
    key = old.key(theirs[name])
    if average.of_weights:
        return Counterpart(key)
    before, after = old.share(name), new.share(state.name)
    if before is None or after is None or not before[0]:
        return None
    sign = -1 if old.flips != new.flips and average.power == 1 else 1
    factor = sign * after[0] / before[0]
    offset = average.start * after[1] - alike[name].start * before[1] * factor
    return Counterpart(key, factor, offset, average.power == 2)


def _difference(new: Average, old: Average, *, is_same: bool) -> tuple[bool, bool, float]:
    """How far an old state is from a new one: the same, as large values go, and by how far back they reach."""
    reach = [min(x.memory, 1e30) for x in (new, old)]
    return not is_same, new.is_largest != old.is_largest, abs(math.log(reach[0] / reach[1]))


# ---------------------------------------------------------------- all states of a parameter


@dataclass
class Carried:
    """The states that a parameter gets under the new optimizer, by their keys there, and `words` of what each was made.

    `used` are the old ones that were made use of, and `same` those that new ones are, unchanged, by the new keys;
    `count` is the number of updates that it has. All states start anew if that is 0, `because` of the new one of this
    key, or as no old one is of use.
    """

    count: int = 0
    kept: Kept = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    same: dict[str, str] = field(default_factory=dict)
    because: str = ""


def carry(p: torch.Tensor, old: Side, new: Side, kept: Kept) -> Carried:
    """What becomes of the states of a parameter.

    All start anew if one does whose use depends on the count, as that is the count of all, or that starts from an
    expression, which only a first update computes.
    """
    count = 1 if old.count is None else old.count
    new = replace(new, count=count if new.keys.has_step else None)
    found, numbers = Carried(count), new.states.computed(count)
    for state in new.states.program.states:
        key, source = new.key(state), _counterpart(state, old, new, kept)
        if source is not None:
            found.kept[key], found.words[key] = source.made(kept[source.key]), str(source)
            found.used.add(source.key)
            if found.kept[key] is kept[source.key]:
                found.same[key] = source.key
        elif state.name in numbers:
            dtype = new.keys.scalar_dtype({}) if state.name in new.keys.numbers else torch.float64
            found.kept[key] = torch.tensor(numbers[state.name], dtype=dtype)
            found.words[key] = f"{numbers[state.name]:.6g}, of the count"
        elif starts_as_weight(state):
            found.kept[key], found.words[key] = kept.get(MASTER, p).detach().clone(), "the weights"
        else:
            start = new.states.start_of(state)
            if start is None or state.name in new.states.counted:
                return Carried(because=key)
            found.words[key] = "anew"
            if state.kind is Kind.ELEM and not state.entries:
                found.kept[key] = torch.full_like(p.detach(), start)
    return found if found.used else Carried()
