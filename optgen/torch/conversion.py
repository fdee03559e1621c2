"""From one optimizer to another in mid-run: a new one over the same parameters, whose states begin as what those of the
old one mean. `optgen.averages` proves from the equations what that is."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from optgen.ir import COMPENSATION
from optgen.model import Optimizer
from optgen.torch.base import SpecOptimizer
from optgen.torch.carried import Carried, GroupSide, Kept, carry
from optgen.torch.classes import optimizer as class_of
from optgen.torch.classes import replace
from optgen.torch.forms import SCALE
from optgen.torch.halves import MASTER, carry_weight
from optgen.torch.owned import as_saved
from optgen.torch.regrouping import RULES, regrouped, warn_of_rates
from optgen.torch.rules import decode_states
from optgen.torch.spelling import OF_ALL_GROUPS
from optgen.torch.state import STEP


@dataclass(frozen=True)
class Converted:
    """What became of the states of a parameter, which errors call `param`.

    `states` says of each new state what it was made of. `lost` are the old ones that nothing was made of. `count` is
    the number of updates that it has; where that is 0, all states start anew, `because` of this one, if any.
    """

    param: str
    count: int
    states: Mapping[str, str]
    lost: tuple[str, ...] = ()
    because: str = ""

    def __str__(self) -> str:
        made = ", ".join(f"{key} = {words}" for key, words in self.states.items()) or "all states anew"
        return f"{self.param}: step {self.count}, {made}" + (f"; lost: {', '.join(self.lost)}" if self.lost else "")


def convert(
    optimizer: torch.optim.Optimizer,
    spec: str | os.PathLike[str] | Optimizer | type[SpecOptimizer],
    **arguments: Any,
) -> SpecOptimizer:
    """A new optimizer of a spec, or of a class of optgen, over the parameters of another one, which goes on with what
    the states of that one mean. Step only one of the two; the old one no longer updates within `backward`.

    Groups, names of parameters, and values that both have, by their keys, carry over. `arguments` are those of the
    class, and hold for all groups; `groups`, `no_decay` and `plain` work on the names, and count before the values of
    the old groups. The attribute `conversion` of the new optimizer has a `Converted` for each parameter that had
    states. It warns if `lr` carries over to a class that has another default, or further rates.

    TypeError for an optimizer that is neither of optgen nor of torch.optim. ValueError if states would be lost and none
    carries over, and what the class raises for arguments. RuntimeError between the phases of a step, while gradients
    wait for an update, and after `eval()`. UserWarning if nothing says what is plain.
    """
    old = _ours(optimizer)
    _check_trains(old)
    cls = spec if isinstance(spec, type) else class_of(spec)
    given = {key: x for key, x in arguments.items() if key not in RULES}
    groups = regrouped(old, cls, arguments)
    whole = {name: getattr(old, name) for name in (*OF_ALL_GROUPS, *["workers"] * cls.spec.has_workers)}
    new = cls(groups, **{**whole, **given})
    new.conversion = _take_states(old, new)
    warn_of_rates(old, new, given)
    if old._backward is not None:
        old._backward.follow(())
    return new


def _check_trains(old: SpecOptimizer) -> None:
    """RuntimeError in the middle of something: between phases, in a round of gradients, or after eval()."""
    name = type(old).__name__
    old._check_whole("convert an optimizer")
    old._check_no_round("convert an optimizer")
    if old.training_weights is not None:
        raise RuntimeError(
            f"{name}: parameters hold the weights to evaluate with since eval(), and states go on from those that are "
            "trained; call train() before convert"
        )


def _ours(optimizer: torch.optim.Optimizer) -> SpecOptimizer:
    """The optimizer as one of ours; its own groups stay as they are."""
    if isinstance(optimizer, SpecOptimizer):
        return optimizer
    alike = copy.copy(optimizer)
    alike.param_groups = [dict(group) for group in optimizer.param_groups]
    return replace(alike)


# ---------------------------------------------------------------- states


def _take_states(old: SpecOptimizer, new: SpecOptimizer) -> tuple[Converted, ...]:
    """Have the new optimizer go on with the states of the old one; ValueError if none carries over."""
    saved, state, found = new.state_dict(), as_saved(old), []
    sides = {p: side for group in new.param_groups for side in [GroupSide(new, group)] for p in group["params"]}
    numbers = dict(zip(sides, new.numbers_of([*sides]), strict=True))
    beside = {STEP, MASTER, COMPENSATION} - {x.name for x in old.spec.states}
    for group in old.param_groups:
        before = GroupSide(old, group)
        for p in group["params"]:
            kept, after = _updated(state.get(p)), sides[p]
            if kept:
                entry, numbered = saved["state"].setdefault(numbers[p], {}), _decoded(before, p, kept)
                carried = carry(p, before.with_updates(p, numbered), after.of(p), numbered)
                lost = tuple(key for key in numbered if key not in carried.used and key not in beside)
                found.append(Converted(new.describe(p), carried.count, carried.words, lost, carried.because))
                carry_weight(kept, entry, old.spec, new.spec)
                if carried.count:
                    _put(entry, after, carried, kept)
                    _put_codes(entry, p, before, after, carried, kept)
    all_lost = sorted({key for x in found for key in x.lost})
    if all_lost and not any(x.count for x in found):
        first = "call eval(), which gives parameters the weights to evaluate with, and " if old.spec.evaluate else ""
        raise ValueError(
            f"no state of {type(old).__name__} carries over to {type(new).__name__}{_reason(found)}: "
            f"{', '.join(all_lost)} would be lost; to start anew, {first}make a new optimizer"
        )
    new.load_state_dict(saved)
    return tuple(found)


def _updated(kept: Mapping[str, Any] | None) -> Kept:
    """The states of a parameter; none if it was never updated."""
    found = {key: x for key, x in (kept or {}).items() if x is not None}
    return {} if STEP in found and not float(found[STEP]) else found


def _decoded(side: GroupSide, p: torch.Tensor, kept: Kept) -> Kept:
    """The states of a parameter as numbers."""
    found, values = dict(kept), side.values
    decode_states(side.optimizer, [p], {p: found}, values.arguments, values.options)
    return found


def _reason(found: list[Converted]) -> str:
    """Why all states start anew, if it is one that has no counterpart."""
    name = next((x.because for x in found if x.because), "")
    return f", whose {name} has no counterpart there, and is used by the count of updates" if name else ""


def _put(entry: Kept, side: GroupSide, carried: Carried, kept: Kept) -> None:
    """Write states into the entry that a state dict has for their parameter."""
    keys, spec = side.optimizer.state_keys, side.optimizer.spec
    for key, x in carried.kept.items():
        if carried.words[key] != "anew" or key not in entry:
            entry.pop(key + SCALE, None)
            entry[key] = x
    entry.update({given.name: kept[given.name] for given in spec.inputs if given.name in kept})
    if keys.counts_in_python:
        entry[STEP] = carried.count
    elif keys.has_step:
        entry[STEP] = torch.tensor(float(carried.count), dtype=keys.scalar_dtype({}))


def _put_codes(entry: Kept, p: torch.Tensor, before: GroupSide, after: GroupSide, carried: Carried, kept: Kept) -> None:
    """Write the codes of states that stay as they are, and are kept in the same codes, as they are."""
    same = {key: old for key, old in carried.same.items() if old + SCALE in kept}
    there, here = (before.coded(p), after.coded(p)) if same else ({}, {})
    for key, old in same.items():
        if key in here and here[key] == there[old]:
            entry[key], entry[key + SCALE] = kept[old], kept[old + SCALE]
