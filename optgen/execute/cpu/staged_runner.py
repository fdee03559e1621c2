"""A step on the CPU of which some parameters are updated in stages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optgen.execute import calls
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu.runner import CpuRunner
from optgen.execute.cpu.stage_calls import Workspace
from optgen.execute.cpu.staged_table import StagedTable, Update
from optgen.execute.cpu.table import CpuTable
from optgen.execute.piece import Exchange
from optgen.threads import pool


class StagedRunner:
    """The staged tables of a step, and then the kernels that are one native call.

    Updates with factorizations come first. As many as there are threads go on side by side, each in a workspace of its
    own: what they factorize at the same time, the threads share. An ArithmeticError names a parameter that has no
    factorization. All is then as it was before the step, counts included: of what these updates write there is a copy
    until the last of them is done.
    """

    launches = None

    def __init__(
        self,
        staged: Sequence[StagedTable],
        tables: Sequence[CpuTable],
        counts: Tensor,
        exchange: Exchange | None,
    ) -> None:
        self._staged, self._counts = staged, counts.view()
        self._rest = CpuRunner(tables, counts, exchange)
        self._members = np.concatenate([table.order for table in staged])
        self._others = np.concatenate([np.zeros(0, np.int64), *(table.order for table in tables)])
        threads = pool.num_threads()
        self._workspaces = [Workspace() for _ in range(threads)]
        for table in staged:
            if threads > 1 and int(table.sizes.sum()) >= pool.MIN_SHARED_ELEMENTS:
                table.use_threads(pool.pool())

    def run(self) -> None:
        counts = self._counts
        counts[self._members] += 1
        try:
            step = max(int(counts.max()), int(counts[self._others].max(initial=0)) + 1)
            updates = [update for table in self._staged for update in table.updates(counts, step)]
            self._factorize([update for update in updates if update.may_fail])
        except BaseException:
            counts[self._members] -= 1
            raise
        for update in updates:
            if not update.may_fail:
                for _ in update.start(self._workspaces[0]):
                    pass
        self._rest.run()

    def _factorize(self, updates: Sequence[Update]) -> None:
        """Make updates with factorizations, all or none of them."""
        for update in updates:
            if not update.has_finite_gradients:
                raise ArithmeticError(
                    f"grads[{update.place}]: it has a NaN or an infinity, and {update.kernel.optimizer.name} "
                    "factorizes matrices of it; nothing was updated"
                )
        before: list[tuple[Array, Array]] = []
        at_once = len(self._workspaces)
        ordered = sorted(updates, key=lambda update: update.run.param.size)
        try:
            for k in range(0, len(ordered), at_once):
                some = ordered[k : k + at_once]
                before += [(array, array.copy()) for update in some for array in update.run.written()]
                self._side_by_side(some)
        except BaseException:
            for array, copy in before:
                array[...] = copy
            raise

    def _side_by_side(self, updates: Sequence[Update]) -> None:
        """Make updates, at most one for each workspace."""
        running = [(x, x.start(workspace)) for x, workspace in zip(updates, self._workspaces, strict=False)]
        while running:
            asked = [(x, run, found) for x, run in running if (found := next(run, None)) is not None]
            owners = [x for x, _, found in asked for _ in found]
            try:
                calls.factorize([request for _, _, found in asked for request in found])
            except ArithmeticError as error:
                name = owners[getattr(error, "item", 0)].run.param.name
                raise ArithmeticError(f"{name}: {error}; nothing was updated") from error
            running = [(x, run) for x, run, _ in asked]
