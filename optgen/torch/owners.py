"""Sharded parameters that are updated whole: each by one of the processes that share it, its owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch

from optgen.execute.rule import UpdateRule
from optgen.torch.shards import Sharding, sharding_of
from optgen.torch.transport import ShardGroup


class Place(NamedTuple):
    """The rank that owns a parameter, among those that share it, and the work of an update."""

    rank: int
    work: float


def is_owned(rule: UpdateRule, param: torch.Tensor) -> bool:
    """Whether a parameter is in shards, and its update takes it whole."""
    return sharding_of(param) is not None and rule.takes_whole(tuple(param.shape))


class Owners:
    """The owners of parameters, and what this process has whole: the parameters that it owns, with gradients.

    An owner stays: states need not move when parameters are added.
    """

    def __init__(self, places: Mapping[torch.Tensor, Place] | None = None) -> None:
        self.places: dict[torch.Tensor, Place] = dict(places or {})
        self._groups: dict[Sharding, ShardGroup] = {}
        self._wholes: dict[torch.Tensor, torch.nn.Parameter] = {}

    def assign(self, rule: UpdateRule, params: Iterable[torch.Tensor]) -> None:
        """Give owners to those parameters that have none: the largest first, each to the rank that has least to do."""
        new = {p: rule.work(tuple(p.shape)) for p in params if p not in self.places}
        loads: dict[Sharding, list[float]] = {}
        for p, (rank, work) in self.places.items():
            self._loads(loads, p)[rank] += work
        for p in sorted(new, key=new.__getitem__, reverse=True):  # of equal work, in the order of the parameters
            own = self._loads(loads, p)
            rank = own.index(min(own))
            own[rank] += new[p]
            self.places[p] = Place(rank, new[p])

    def _loads(self, loads: dict[Sharding, list[float]], param: torch.Tensor) -> list[float]:
        sharding = sharding_of(param)
        assert sharding is not None
        return loads.setdefault(sharding, [0.0] * len(sharding.places()))

    def group_of(self, param: torch.Tensor) -> ShardGroup:
        """The processes that share a parameter."""
        sharding = sharding_of(param)
        assert sharding is not None
        if sharding not in self._groups:
            self._groups[sharding] = ShardGroup(sharding)
        return self._groups[sharding]

    def is_here(self, param: torch.Tensor) -> bool:
        """Whether this process owns a parameter that is owned."""
        return self.places[param].rank == self.group_of(param).rank

    def whole(self, param: torch.Tensor) -> torch.nn.Parameter:
        """Memory for a whole parameter; zeros, until it is first brought here."""
        found = self._wholes.get(param)
        if found is None or found.dtype != param.dtype or found.shape != param.shape:
            zeros = torch.zeros(param.shape, dtype=param.dtype, device=param.device)
            found = self._wholes[param] = torch.nn.Parameter(zeros, requires_grad=False)
        return found
