"""A step of which some parameters are updated in stages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from optgen.execute.buffers import Tensor
from optgen.execute.protocols import BoundTable, Launches, Runner
from optgen.execute.stages.joint import JointUpdates
from optgen.execute.stages.stage_device import StageDevice, Workspace
from optgen.execute.stages.staged_table import StagedTable, Update


class StagedRunner:
    """The staged tables of a step, and then `rest`, the kernels of the `others`.

    Updates with factorizations come first. As many as the device says go on side by side, each in a workspace of its
    own: what they factorize at the same time, the threads share. Parameters that share values are updated in rounds,
    all of which are made at once if one may fail. An ArithmeticError names a parameter that has no
    factorization. `attempt` makes these updates alone, and keeps a copy of what they write, counts included, for
    `undo`. It takes the memory of all updates before it makes one.
    """

    may_fail = True

    def __init__(
        self,
        staged: Sequence[StagedTable],
        device: StageDevice,
        rest: Runner,
        others: Sequence[BoundTable],
        counts: Tensor,
        launches: Launches | None = None,
    ) -> None:
        self._staged, self._device, self._counts = staged, device, counts.view()
        self._rest, self.launches = rest, launches
        self._members = np.concatenate([table.order for table in staged])
        self._others = np.concatenate([np.zeros(0, np.int64), *(table.order for table in others)])
        self._before = np.zeros_like(self._members)
        self._put_counts_back = functools.partial(self._counts.__setitem__, self._members, self._before)
        self._workspaces: list[Workspace] = []
        self._joint = JointUpdates(staged, device) if any(table.kernel.is_joint for table in staged) else None
        self._left: list[Sequence[Sequence[Update]]] = []
        self._put_back: list[Callable[[], None]] = []
        for table in staged:
            table.use_device(device)

    def attempt(self) -> None:
        counts = self._counts
        counts.take(self._members, out=self._before)
        self._put_back = [self._put_counts_back]
        counts[self._members] += 1
        step = max(int(counts.max()), int(counts[self._others].max(initial=0)) + 1)
        rounds = [[update for table in self._staged for update in table.updates(counts)]]
        if self._joint is not None:
            rounds = self._joint.rounds(counts)
        divided = [self._divided(updates) for updates in rounds]
        for fallible, groups in divided:
            at_once = self._device.at_once
            self._bind([*(fallible[k::at_once] for k in range(at_once)), *groups], step)
        if len(divided) > 1 and any(fallible for fallible, _ in divided):
            self._attempt_rounds(divided)
        else:
            self._left = [groups for _, groups in divided]
            self._factorize(divided[0][0])

    def _divided(self, updates: Sequence[Update]) -> tuple[list[Update], list[list[Update]]]:
        """Updates that may fail, the smallest first, and groups of the others."""
        fallible: list[Update] = []
        safe: list[Update] = []
        for update in updates:
            (fallible if update.may_fail else safe).append(update)
        fallible.sort(key=lambda x: x.run.param.size)
        groups = self._device.groups([x.run.param.size for x in safe])
        return fallible, [[safe[k] for k in own] for own in groups]

    def _attempt_rounds(self, rounds: Sequence[tuple[list[Update], list[list[Update]]]]) -> None:
        """Make all rounds, as what a later one may fail of follows from earlier ones."""
        for fallible, groups in rounds:
            others = (update for own in groups for update in own)
            self._put_back += [self._device.keep(t) for update in others for t in update.run.written()]
            self._factorize(fallible)
            self._run_groups(groups)

    def _run_groups(self, groups: Sequence[Sequence[Update]]) -> None:
        self._device.run_groups([[update.run.stages for update in own] for own in groups])

    def undo(self) -> None:
        for write in reversed(self._put_back):  # rounds keep what earlier ones have written
            write()
        self._left, self._put_back = [], []

    def run(self) -> None:
        rounds, self._left, self._put_back = self._left, [], []
        for groups in rounds:
            self._run_groups(groups)
        self._rest.run()

    def _bind(self, groups: Sequence[Sequence[Update]], step: int) -> None:
        """Have updates ready to run, those of a group in one workspace."""
        self._workspaces += [Workspace(self._device) for _ in groups[len(self._workspaces) :]]
        pairs = [(x, own) for x, own in zip(groups, self._workspaces, strict=False) if x]
        for updates, workspace in pairs:
            workspace.reserve(max(update.run.nbytes for update in updates))
        for updates, workspace in pairs:
            for update in updates:
                update.bind(workspace, step)

    def _factorize(self, updates: Sequence[Update]) -> None:
        """Make updates with factorizations."""
        for update in updates:
            if not update.has_finite_gradients:
                raise ArithmeticError(
                    f"grads[{update.place}]: it has a NaN or an infinity, and {update.kernel.optimizer.name} "
                    "factorizes matrices of it; nothing was updated"
                )
        at_once = self._device.at_once
        for k in range(0, len(updates), at_once):
            some = updates[k : k + at_once]
            self._put_back += [self._device.keep(t) for update in some for t in update.run.written()]
            self._side_by_side(some)

    def _side_by_side(self, updates: Sequence[Update]) -> None:
        """Make updates, which have a workspace each."""
        running = [(x, x.run.run()) for x in updates]
        while running:
            asked = [(x, run, found) for x, run in running if (found := next(run, None)) is not None]
            owners = [x for x, _, found in asked for _ in found]
            try:
                self._device.factorize([request for _, _, found in asked for request in found])
            except ArithmeticError as error:
                name = owners[getattr(error, "item", 0)].run.param.name
                raise ArithmeticError(f"{name}: {error}; nothing was updated") from error
            running = [(x, run) for x, run, _ in asked]
