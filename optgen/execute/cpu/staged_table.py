"""The parameters of a step whose updates are several kernels with calls between them: one after the other, in one
workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optgen import arguments
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu.stage_calls import Member, MembersRun, Workspace
from optgen.execute.cpu.staged_kernel import LoadedPlan, StagedKernel
from optgen.execute.hyper import Values
from optgen.execute.kernel import BufferTensors, Rows
from optgen.execute.piece import AnyPiece, Exchange
from optgen.execute.scaler import Scaler
from optgen.ir import GRADIENT_FACTOR
from optgen.model import Timing
from optgen.shapes import sizes
from optgen.threads.pool import Pool


class StagedTable:
    """The parameters that share a staged kernel: `members` are their numbers among all parameters. `tensors` and `ids`
    have an entry for each of all parameters."""

    def __init__(
        self,
        kernel: StagedKernel,
        members: Sequence[int],
        params: Sequence[Tensor],
        tensors: BufferTensors,
        ids: Sequence[int],
        pieces: Sequence[AnyPiece | None],
    ) -> None:
        self.kernel = kernel
        self.members: Sequence[int] = list(members)
        self.order = np.array(self.members, np.int64)
        self.sizes = np.array([params[i].size for i in members], np.int64)
        self._params, self._tensors, self._ids = params, tensors, ids
        self._values: dict[str, Any] = {}
        self._seed = 0
        self._gradients = np.zeros((len(self.members), kernel.variant.gradients), np.uintp)
        self._threads: Pool | None = None
        self._workspace = Workspace()
        self._runs: dict[tuple[int, frozenset[Timing], bool], MembersRun] = {}
        self._joint: MembersRun | None = None

    # ------------------------------------------------------------ what a step sets

    def set_hyper(self, values: Values) -> None:
        """Set hyper-parameters; sequences have an entry for each of all parameters."""
        self._values |= values

    def set_seed(self, seed: int) -> None:
        self._seed = seed

    def set_scaler(self, scaler: Scaler) -> None:
        self.set_hyper({GRADIENT_FACTOR: scaler.factor})

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        """Read these gradients, for each member as many as the kernel reads. The caller keeps them alive."""
        self._gradients[:] = [[t.address for t in tensors] for tensors, _ in reads]

    def move_gradients(self, addresses: Array) -> None:
        """Read gradients of the same sizes at these addresses, one for each member."""
        self._gradients[:] = addresses[:, None]

    def use_threads(self, threads: Pool) -> None:
        """Have the threads of a pool share the work."""
        self._threads = threads

    def use_exchange(self, exchange: Exchange | None) -> None:
        """Nothing is exchanged: parameters are whole."""

    # ------------------------------------------------------------ a step

    def run(self, counts: Array, step: int) -> None:
        """Update every member; `counts` are the update counts of all parameters, this update included, and `step` the
        largest of them. An ArithmeticError names a parameter that has no factorization: it is left as it was, and so
        are the members behind it, whose numbers are in `left`."""
        self.left: list[int] = []
        if self.kernel.is_joint:
            self._run_jointly(counts, step)
            return
        ready = [(k, i, self._values_of(i) | {"step": float(step)}) for k, i in enumerate(self.members)]
        runs = [self._run(k, i, values, int(counts[i])) for k, i, values in ready]
        self._check_finite(runs)
        for (k, i, values), run in zip(ready, runs, strict=True):
            try:
                run.run(values, [int(counts[i])], self._seed, self._gradients[k])
            except ArithmeticError as error:
                self.left = list(self.members[k:])
                raise ArithmeticError(f"{self._params[i].name}: {error}; it is left as it was") from error

    def _run_jointly(self, counts: Array, step: int) -> None:
        """Update all members, stage by stage: they share values."""
        if self._joint is None:
            each = [self._member(i, self._values_of(i)) for i in self.members]
            self._joint = self._new_run(self.kernel.plan((), first=False), each)
        own = {name: [x[i] for i in self.members] if isinstance(x, Sequence) else x for name, x in self._values.items()}
        self._joint.run(own | {"step": float(step)}, counts[self.order].tolist(), self._seed, self._gradients)

    def _member(self, i: int, values: Mapping[str, float | None]) -> Member:
        own = {name: t for name, each in self._tensors.items() if (t := each[i]) is not None}
        return Member(self._params[i], own, self._ids[i], values)

    def _new_run(self, plan: LoadedPlan, members: Sequence[Member]) -> MembersRun:
        run = MembersRun(plan, self.kernel.native, members, self._workspace, self.kernel.variant.matmul)
        if self._threads is not None:
            run.use_threads(self._threads)
        return run

    def _check_finite(self, runs: Sequence[MembersRun]) -> None:
        """ArithmeticError naming a parameter with a gradient that has a NaN or an infinity, where a matrix of it would
        be factorized. Nothing has been written."""
        for k, run in enumerate(runs):
            if not run.plan.may_fail:
                continue
            for address in self._gradients[k]:
                gradient = run.param._replace(address=int(address), dtype=self.kernel.variant.dtype).view()
                if not np.isfinite(gradient).all():
                    self.left = list(self.members)
                    raise ArithmeticError(
                        f"grads[{self.members[k]}]: it has a NaN or an infinity, and {self.kernel.optimizer.name} "
                        "factorizes matrices of it; nothing was updated"
                    )

    def _values_of(self, i: int) -> dict[str, float | None]:
        """The hyper-parameters and sizes of parameter i."""
        own = {name: x[i] if isinstance(x, Sequence) else x for name, x in self._values.items()}
        return own | sizes(self._params[i].shape, self.kernel.native.last_two)

    def _run(self, k: int, i: int, values: Mapping[str, float | None], count: int) -> MembersRun:
        due = frozenset(t for t in self.kernel.timings if is_due(t, count, values))
        key = k, due, count == 1 and self.kernel.starts
        if key not in self._runs:
            self._runs[key] = self._new_run(self.kernel.plan(due, first=key[2]), [self._member(i, values)])
        return self._runs[key]


def is_due(timing: Timing, count: int, values: Mapping[str, float | None]) -> bool:
    """Whether an equation with this timing is computed in the `count`-th update of a parameter."""
    every = int(arguments.number(timing.every, values))
    first = every if timing.start is None else int(arguments.number(timing.start, values))
    return count >= first and (count - first) % every == 0
