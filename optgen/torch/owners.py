"""Sharded parameters that are updated whole: each by one of the processes that share it, its owner, to which its parts
travel, and from which they come back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from optgen.execute.piece import Bounds
from optgen.execute.rule import UpdateRule
from optgen.torch.memory import Sharding, bounds_at, sharding_of

# ---------------------------------------------------------------- what travels

WORD, ALIGNMENT = 8, 16
"""Bytes of an element of what is sent, and what the bytes of each tensor are rounded up to."""


class ShardGroup:
    """The processes that together have a sharded tensor once, in the order of their group; `rank` is this one."""

    def __init__(self, sharding: Sharding) -> None:
        self.sharding, self.mesh = sharding, sharding.mesh
        ranks = {int(self.mesh.mesh[place]): place for place in sharding.places()}
        if len(sharding.dims) == 1:
            (self.group,) = sharding.groups()
        else:  # what each dimension has is a group, and not what they have together
            self.group = dist.new_group(sorted(ranks), use_local_synchronization=True)
        self._places = [ranks[rank] for rank in dist.get_process_group_ranks(self.group)]
        self.rank = self.group.rank()

    @property
    def size(self) -> int:
        return len(self._places)

    def bounds(self, shape: Sequence[int], placements: Sequence[Any]) -> list[Bounds]:
        """The part that each process has of a tensor of this shape, with these placements on the mesh."""
        return [bounds_at(place, shape, self.mesh, placements) for place in self._places]


@dataclass(frozen=True)
class Traveller:
    """A tensor: `part` is what is here of it, and `bounds` say which part each process has. The process numbered
    `owner` has it as a `whole`."""

    owner: int
    bounds: Sequence[Bounds]
    part: torch.Tensor
    whole: torch.Tensor | None

    def of(self, rank: int) -> torch.Tensor:
        """What a process has of the whole, as a view."""
        view = self.whole
        assert view is not None
        for axis, (begin, length) in enumerate(zip(*self.bounds[rank], strict=True)):
            view = view.narrow(axis, begin if length else 0, length)
        return view


def to_owners(group: ShardGroup, travellers: Sequence[Traveller]) -> None:
    """Write the parts of all processes to the wholes, in one all-to-all."""
    outgoing = [[x.part for x in travellers if x.owner == rank] for rank in range(group.size)]
    own = [x for x in travellers if x.owner == group.rank]
    _exchange(group, outgoing, [[x.of(rank) for x in own] for rank in range(group.size)])


def from_owners(group: ShardGroup, travellers: Sequence[Traveller]) -> None:
    """Write the wholes to the parts of all processes, in one all-to-all."""
    own = [x for x in travellers if x.owner == group.rank]
    outgoing = [[x.of(rank) for x in own] for rank in range(group.size)]
    _exchange(group, outgoing, [[x.part for x in travellers if x.owner == rank] for rank in range(group.size)])


Lists = list[list[torch.Tensor]]
"""Tensors for each process, or from each."""


@torch.no_grad()
def _exchange(group: ShardGroup, outgoing: Lists, incoming: Lists) -> None:
    """Send tensors of any dtypes, and fill in those that come from other processes, whose shapes and dtypes are the
    same there."""
    sizes = [[sum(map(_words, some)) for some in lists] for lists in (outgoing, incoming)]
    sent, received = (torch.empty(sum(own), dtype=torch.int64, device=group.mesh.device_type) for own in sizes)
    for x, place in _places(outgoing, sent):
        place.copy_(x)
    dist.all_to_all_single(received, sent, sizes[1], sizes[0], group=group.group)
    for x, place in _places(incoming, received):
        x.copy_(place)


def _words(x: torch.Tensor) -> int:
    return -(-x.numel() * x.element_size() // ALIGNMENT) * (ALIGNMENT // WORD)


def _places(lists: Lists, buffer: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each tensor, and where its elements are in a buffer."""
    found, begin = [], 0
    for x in (x for some in lists for x in some):
        words = _words(x)
        if words:
            memory = buffer[begin : begin + words].view(x.dtype)[: math.prod(x.shape)]
            found.append((x, memory.view(x.shape)))
        begin += words
    return found


# ---------------------------------------------------------------- who owns


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
