"""What the next step of an optimizer does with each parameter: rows made of the rules that steps use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from optgen.execute.planned import PlannedParam, UpdatePlan, finished, planned
from optgen.execute.rule import UpdateRule
from optgen.torch.bound import memory_of
from optgen.torch.host import is_on_host
from optgen.torch.memory import ParamMemory, is_dtensor, is_here, local_tensor, sharding_of
from optgen.torch.networks import PLAIN
from optgen.torch.owners import is_owned
from optgen.torch.rules import Owner, blocks_by_row, load
from optgen.torch.values import GroupValues


@dataclass(frozen=True)
class Known:
    """What is known of a group: the rules, and the rows of parameters that are alike but for their names."""

    rules: dict[Any, UpdateRule] = field(default_factory=dict)
    rows: dict[Any, PlannedParam] = field(default_factory=dict)


def plan_of(optimizer: Owner, because: Mapping[torch.Tensor, str]) -> UpdatePlan:
    """The rows of all parameters. `because` says why some are `plain`. TypeError or ValueError names a wrong value of a
    group; nothing has changed."""
    each = [GroupValues(optimizer.spec, optimizer.spelling, group) for group in optimizer.param_groups]
    names = optimizer.spec.all_params
    differing = [x for x in names if len({values.arguments.values[x] for values in each}) > 1]
    rows = [row for k, values in enumerate(each) for row in _rows(optimizer, k, values, differing, because)]
    return finished(optimizer.spec, rows)


def summary(optimizer: Owner) -> str:
    """The totals of a plan in a line; empty if there is none, as a value of a group is wrong."""
    try:
        return plan_of(optimizer, {}).summary()
    except (TypeError, ValueError):
        return ""


def _rows(
    optimizer: Owner, k: int, values: GroupValues, differing: list[str], because: Mapping[torch.Tensor, str]
) -> Iterator[PlannedParam]:
    """The rows of group k."""
    group, known = values.group, Known()
    names = group.get("param_names") or [f"{i} of group {k}" for i in range(len(group["params"]))]
    for name, p in zip(names, group["params"], strict=True):
        shape = (0,) if is_lazy(p) else tuple(p.shape)
        row = PlannedParam(name, shape, str(p.dtype).removeprefix("torch."), str(p.device))
        if is_lazy(p):
            yield row._replace(update="unknown", because="it has no shape yet")
        elif p not in optimizer.state and not p.requires_grad:
            yield row._replace(update="none", because="it requires no gradient")
        else:
            try:
                yield _row(optimizer, row, p, values, differing, known, because)
            except (TypeError, ValueError) as error:
                yield row._replace(update="none", because=str(error).removeprefix("params[0]: "))


def _row(
    optimizer: Owner,
    row: PlannedParam,
    p: torch.Tensor,
    values: GroupValues,
    differing: list[str],
    known: Known,
    because: Mapping[torch.Tensor, str],
) -> PlannedParam:
    spelling = optimizer.spelling
    flags: dict[str, Any] = dict(optimizer.state_keys.rule_flags(optimizer.state.get(p, {})))
    key = p.dtype, p.device, blocks_by_row(p), *flags.items()
    rule = known.rules.get(key)
    if rule is None:
        rule = known.rules[key] = load(optimizer, p, values.arguments, values.options, scales_gradient=False, **flags)
    shape, here, place = _placed(optimizer, rule, p)
    place = "states on the host" if is_on_host(values.options, p) else place
    refused = [f"master: it is {row.dtype}"] if values.options.master and not rule.master else []
    refused += ["capturable: it is on the CPU"] if values.options.capturable and not p.is_cuda else []
    alike = rule, shape, here
    found = known.rows.get(alike)
    if found is None:
        bound = row._replace(shape=shape, refused=tuple(refused))
        found = known.rows[alike] = planned(rule, bound, here, values.arguments.values, differing)
    reason = f"{PLAIN}=True of its group" if found.because == PLAIN else found.because
    if found.flags.get(PLAIN):
        reason = because.get(p, reason)
    states = tuple(state._replace(name=optimizer.state_keys.key_of(state.name)) for state in found.states)
    spelt = {spelling.key_of(name): x for name, x in found.values.items()}
    named = found._replace(name=row.name, shape=row.shape, place=place)
    return named._replace(because=reason, values=spelt, states=states)


def _placed(optimizer: Owner, rule: UpdateRule, p: torch.Tensor) -> tuple[tuple[int, ...], Any, str]:
    """The shape by which a parameter's variant is chosen, that of what is updated here, and where that is."""
    whole = tuple(p.shape)
    if not is_here(p):
        return whole, whole, ""
    if sharding_of(p) is None:
        plain = p.is_contiguous() and not p.is_complex() and not is_dtensor(p)
        shape = whole if plain else tuple(memory_of(rule, p).tensor.shape)
        return shape, shape, ""
    if not is_owned(rule, p):
        return whole, tuple(ParamMemory(p, by_memory=False).tensor.shape), f"{_by(local_tensor(p))} of it is here"
    place = optimizer.owners.places.get(p)
    if place is None:
        return whole, None, "whole at an owner, whom the first step finds"
    is_own = optimizer.owners.is_here(p)
    return whole, whole if is_own else None, f"whole at rank {place.rank} of its shards{', here' if is_own else ''}"


def _by(x: torch.Tensor) -> str:
    return " x ".join(map(str, x.shape))
