"""From one optimizer to another in mid-run: a new one over the same parameters, whose states begin as what those of the
old one mean. `optgen.averages` proves from the equations what that is."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from optgen.model import Optimizer
from optgen.torch.base import SpecOptimizer
from optgen.torch.carried import Carried, GroupSide, Kept, carry
from optgen.torch.classes import optimizer as class_of
from optgen.torch.classes import replace
from optgen.torch.following import FOLLOWING
from optgen.torch.forms import SCALE
from optgen.torch.loading import SPEC
from optgen.torch.owned import as_saved
from optgen.torch.rules import decode_states
from optgen.torch.spelling import ARGUMENTS, OF_ALL_GROUPS, OPTIONS, SCHEDULED
from optgen.torch.state import MASTER, STEP


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
    class, and hold for all groups. The attribute `conversion` of the new optimizer has a `Converted` for each parameter
    that had states.

    TypeError for an optimizer that is neither of optgen nor of torch.optim. ValueError if states would be lost and none
    carries over, and what the class raises for arguments. RuntimeError between the phases of a step.
    """
    old = _ours(optimizer)
    if old._due:
        due = old.spec.phases[old._due]
        raise RuntimeError(f"{type(old).__name__}: the phase '{due}' is due; convert an optimizer between steps")
    cls = spec if isinstance(spec, type) else class_of(spec)
    whole = {name: getattr(old, name) for name in OF_ALL_GROUPS}
    new = cls([_group(old, cls, group, arguments) for group in old.param_groups], **{**whole, **arguments})
    new.conversion = _take_states(old, new)
    if old._backward is not None:
        old._backward.follow(())
    return new


def _ours(optimizer: torch.optim.Optimizer) -> SpecOptimizer:
    """The optimizer as one of ours; its own groups stay as they are."""
    if isinstance(optimizer, SpecOptimizer):
        return optimizer
    alike = copy.copy(optimizer)
    alike.param_groups = [dict(group) for group in optimizer.param_groups]
    return replace(alike)


def _group(
    old: SpecOptimizer, cls: type[SpecOptimizer], group: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """A group of the new optimizer: the same parameters, and the values that mean something there.

    Keys that are of neither carry over, but for those of schedules, if there is another rate.
    """
    of_old = {*old.defaults, *old.spelling.defaults, *OPTIONS, "params", "param_names", SPEC, FOLLOWING}
    of_old |= {*SCHEDULED} if "lr" in given else set()
    of_new = {*cls.spelling.defaults, "maximize"}
    chosen = {key for key in OPTIONS if key in group and key in ARGUMENTS and group[key] != ARGUMENTS[key][0]}
    if cls.spec.has_products and group.get("matmul") is not None:
        chosen.add("matmul")
    carried = {key: x for key, x in group.items() if key in of_new or key in chosen or key not in of_old}
    others = {
        key for key, names in cls.spelling.params.items() if len(names) != len(old.spelling.params.get(key, names))
    }
    names, params = group.get("param_names"), group["params"]
    named = params if names is None else list(zip(names, params, strict=True))
    return {"params": named, **{key: x for key, x in carried.items() if key not in {*given, *others}}}


# ---------------------------------------------------------------- states


def _take_states(old: SpecOptimizer, new: SpecOptimizer) -> tuple[Converted, ...]:
    """Have the new optimizer go on with the states of the old one; ValueError if none carries over."""
    saved, state, numbers, found = new.state_dict(), as_saved(old), count(), []
    for own, theirs in zip(old.param_groups, new.param_groups, strict=True):
        before, after = GroupSide(old, own), GroupSide(new, theirs)
        for p, number in zip(own["params"], numbers, strict=False):
            kept = _decoded(before, p, state.get(p))
            if kept:
                carried = carry(p, before.with_updates(p, kept), after.of(p), kept)
                lost = tuple(key for key in kept if key not in carried.used and key not in (STEP, MASTER))
                found.append(Converted(new.describe(p), carried.count, carried.words, lost, carried.because))
                if carried.count:
                    _put(saved["state"].setdefault(number, {}), after, carried, kept)
    all_lost = sorted({key for x in found for key in x.lost})
    if all_lost and not any(x.count for x in found):
        raise ValueError(
            f"no state of {type(old).__name__} carries over to {type(new).__name__}{_reason(found)}: "
            f"{', '.join(all_lost)} would be lost; to start anew, make a new optimizer"
        )
    new.load_state_dict(saved)
    return tuple(found)


def _decoded(side: GroupSide, p: torch.Tensor, kept: Mapping[str, Any] | None) -> Kept:
    """The states of a parameter as numbers; none if it was never updated."""
    found = {key: x for key, x in (kept or {}).items() if x is not None}
    if not found or (STEP in found and not float(found[STEP])):
        return {}
    values = side.values
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
    beside = (*(given.name for given in spec.inputs), *((MASTER,) if side.values.options.master else ()))
    entry.update({key: kept[key] for key in beside if key in kept})
    if keys.counts_in_python:
        entry[STEP] = carried.count
    elif keys.has_step:
        entry[STEP] = torch.tensor(float(carried.count), dtype=keys.scalar_dtype({}))
