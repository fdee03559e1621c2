"""A step of which some parameters are updated in stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optgen.execute.buffers import Tensor
from optgen.execute.protocols import BoundTable, Launches, Runner
from optgen.execute.stage_run import StageDevice, Workspace
from optgen.execute.staged_table import StagedTable, Update


class StagedRunner:
    """The staged tables of a step, and then `rest`, the kernels of the `others`.

    Updates with factorizations come first. As many as the device says go on side by side, each in a workspace of its
    own: what they factorize at the same time, the threads share. An ArithmeticError names a parameter that has no
    factorization. All is then as it was before the step, counts included: of what these updates write there is a copy
    until the last of them is done. `attempt` makes these updates alone, and keeps the copies for `undo`.
    """

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
        self._workspaces = [Workspace() for _ in range(device.at_once)]
        self._left: Sequence[Update] | None = None
        self._put_back: list[Callable[[], None]] = []
        for table in staged:
            table.use_device(device)

    @property
    def fallible(self) -> StagedRunner:
        return self

    def run(self) -> None:
        if self._left is None:
            self.attempt()
        updates, self._left, self._put_back = self._left or (), None, []
        for update in updates:
            for _ in update.start(self._workspaces[0]):
                pass
        self._rest.run()

    def attempt(self) -> None:
        counts = self._counts
        counts[self._members] += 1
        try:
            step = max(int(counts.max()), int(counts[self._others].max(initial=0)) + 1)
            updates = [update for table in self._staged for update in table.updates(counts, step)]
            self._factorize([update for update in updates if update.may_fail])
        except BaseException:
            self.undo()
            raise
        self._left = [update for update in updates if not update.may_fail]

    def undo(self) -> None:
        for write in self._put_back:
            write()
        self._counts[self._members] -= 1
        self._left, self._put_back = None, []

    def _factorize(self, updates: Sequence[Update]) -> None:
        """Make updates with factorizations."""
        for update in updates:
            if not update.has_finite_gradients:
                raise ArithmeticError(
                    f"grads[{update.place}]: it has a NaN or an infinity, and {update.kernel.optimizer.name} "
                    "factorizes matrices of it; nothing was updated"
                )
        at_once = len(self._workspaces)
        ordered = sorted(updates, key=lambda update: update.run.param.size)
        for k in range(0, len(ordered), at_once):
            some = ordered[k : k + at_once]
            self._put_back += [self._device.keep(t) for update in some for t in update.run.written()]
            self._side_by_side(some)

    def _side_by_side(self, updates: Sequence[Update]) -> None:
        """Make updates, at most one for each workspace."""
        running = [(x, x.start(workspace)) for x, workspace in zip(updates, self._workspaces, strict=False)]
        while running:
            asked = [(x, run, found) for x, run in running if (found := next(run, None)) is not None]
            owners = [x for x, _, found in asked for _ in found]
            try:
                self._device.factorize([request for _, _, found in asked for request in found])
            except ArithmeticError as error:
                name = owners[getattr(error, "item", 0)].run.param.name
                raise ArithmeticError(f"{name}: {error}; nothing was updated") from error
            running = [(x, run) for x, run, _ in asked]
