"""Parameters that share values and are updated in rounds: one after the other, and all at once, in turn.

What all parameters share is computed by kernels that all of them have, whatever else their updates are. So parameters
of several variants, or with other timings, share values, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optgen.axes import When
from optgen.execute.buffers import Array, Tensor
from optgen.execute.kernel import difference
from optgen.execute.stages.stage_device import DeviceMemory, StageDevice
from optgen.execute.stages.stage_run import MembersRun, array_places, memory_of
from optgen.execute.stages.staged_kernel import LoadedPlan
from optgen.execute.stages.staged_table import StagedTable, Update
from optgen.stages.plan import Plan, StageArray
from optgen.stages.rounds import Round, are_same, rounds

KEPT_SCHEDULES = 8
"""How many schedules are ready at most: that of updates with some timings, and those of updates with others."""


@dataclass(frozen=True)
class _Member:
    """Member `k` of a table, the rounds of its update, and the memory of what is kept between them."""

    table: StagedTable
    k: int
    loaded: LoadedPlan
    rounds: Sequence[Round]
    kept: Mapping[str, Tensor]

    @property
    def place(self) -> int:
        """The number of the parameter among all."""
        return self.table.members[self.k]


@dataclass(frozen=True)
class _ReadyRounds:
    """The runs of each round, with their members; `blocks` keep memory alive."""

    rounds: Sequence[Sequence[tuple[MembersRun, Sequence[_Member]]]]
    blocks: Sequence[DeviceMemory]


class JointUpdates:
    """The updates of the parameters of several tables, which share values."""

    def __init__(self, tables: Sequence[StagedTable], device: StageDevice) -> None:
        self._tables, self._device = tables, device
        self._schedules: dict[Hashable, _ReadyRounds] = {}

    def rounds(self, counts: Array) -> list[list[Update]]:
        """The updates of each round; `counts` are the update counts of all parameters, these updates included.
        ValueError if what they share is not computed in the same way for all."""
        due = tuple(tuple(table.due(i, int(counts[i])) for i in table.members) for table in self._tables)
        if due not in self._schedules:
            if len(self._schedules) == KEPT_SCHEDULES:
                del self._schedules[next(iter(self._schedules))]
            self._schedules[due] = self._scheduled(due, counts)
        return [[self._update(*part, counts) for part in parts] for parts in self._schedules[due].rounds]

    def _update(self, run: MembersRun, members: Sequence[_Member], counts: Array) -> Update:
        first, places = members[0].table, [x.place for x in members]
        gradients = np.stack([x.table.gradients[x.k] for x in members])
        known = sum(x.known[0] for x in self._tables), sum(x.known[1] for x in self._tables)
        values = first.values_of(places[0]) if len(places) == 1 else first.values_of_several(places)
        each = [int(counts[i]) for i in places]
        return Update(run, places[0], first.kernel, values, each, first.seed, gradients, known)

    # ------------------------------------------------------------ schedules

    def _scheduled(self, due: Iterable[Iterable[tuple[Any, bool]]], counts: Array) -> _ReadyRounds:
        memory = _KeptMemory(self._device)
        members = []
        for table, each in zip(self._tables, due, strict=True):
            loaded = [table.kernel.plan(timings, first=first) for timings, first in each]
            members += [memory.member(table, k, plan) for k, plan in enumerate(loaded)]
        members.sort(key=lambda x: x.place)  # sums over parameters are in this order
        has_calls = any(r.has_calls for x in members for r in x.rounds)
        if not has_calls and len({id(x.loaded) for x in members}) == 1:
            members = [replace(x, rounds=[Round(x.loaded.plan, is_joint=True)], kept={}) for x in members]
        self._check(members, counts)
        found = []
        for r, like in enumerate(members[0].rounds):
            together: dict[Hashable, list[_Member]] = {}
            for k, x in enumerate(members):
                key = "all" if like.is_joint else k if x.rounds[r].has_calls else id(x.loaded)
                together.setdefault(key, []).append(x)
            found.append([(self._run(own, r), own) for own in together.values() if own[0].rounds[r].plan.stages])
        return _ReadyRounds([parts for parts in found if parts], memory.blocks)

    def _run(self, members: Sequence[_Member], r: int) -> MembersRun:
        first, own = members[0], members[0].rounds[r]
        loaded, kernel = LoadedPlan(own.plan, first.loaded.kernels), first.table.kernel
        runs = [x.table.member(x.place, x.kept) for x in members]
        return MembersRun(loaded, kernel.native, runs, kernel.variant.matmul, self._device, own.before)

    def _check(self, members: Sequence[_Member], counts: Array) -> None:
        """ValueError if the rounds that take all parameters are not the same for all."""
        first = members[0]
        for x in members[1:]:
            if x.loaded is not first.loaded and not _share(first.rounds, x.rounds):
                i, j = first.place, x.place
                name = first.table.kernel.optimizer.name
                why = difference(first.table.kernel, x.table.kernel)
                help = "what is reduced 'over params' has to be the same for all parameters"
                if not why:
                    why = f"they have been updated {counts[i] - 1} and {counts[j] - 1} times"
                    help = "give all of them a gradient in the first step, and in each"
                raise ValueError(
                    f"{name} computes what parameters share in another way for params[{i}] than for params[{j}]: "
                    f"{why}; {help}"
                )


def _share(a: Sequence[Round], b: Sequence[Round]) -> bool:
    return len(a) == len(b) and all(are_same(x, y) for x, y in zip(a, b, strict=True) if x.is_joint)


class _KeptMemory:
    """The memory that is kept between the rounds of an update. What all parameters share is there once."""

    def __init__(self, device: StageDevice) -> None:
        self._device = device
        self._shared: dict[str, Tensor] = {}
        self.blocks: list[DeviceMemory] = []

    def member(self, table: StagedTable, k: int, loaded: LoadedPlan) -> _Member:
        """Member k of a table, with memory for what is kept between these stages."""
        found, kept = rounds(loaded.plan)
        shared = [x for x in kept if x.known is When.SHARED and x.key not in self._shared]
        self._shared |= self._made(table, k, loaded.plan, shared)
        own = self._made(table, k, loaded.plan, [x for x in kept if x.known is not When.SHARED])
        own |= {x.key: self._shared[x.key] for x in kept if x.known is When.SHARED}
        return _Member(table, k, loaded, found, own)

    def _made(self, table: StagedTable, k: int, plan: Plan, arrays: Sequence[StageArray]) -> dict[str, Tensor]:
        run, native = table.member(table.members[k], {}), table.kernel.native
        places, nbytes = array_places(replace(plan, arrays=tuple(arrays)), native, run)
        if not nbytes:
            return {}
        block, address = self._device.block(nbytes)
        self.blocks.append(block)
        return memory_of(places, address, run.param)
