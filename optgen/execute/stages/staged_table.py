"""The parameters of a step whose updates are several kernels with calls between them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen import arguments, groups
from optgen.execute.buffers import Array, Tensor
from optgen.execute.hyper import Values
from optgen.execute.kernel import BufferTensors, Rows
from optgen.execute.piece import AnyPiece
from optgen.execute.scaler import Scaler
from optgen.execute.stages.bound_stages import Value
from optgen.execute.stages.stage_device import StageDevice, Workspace
from optgen.execute.stages.stage_run import MembersRun, RunMember
from optgen.execute.stages.staged_kernel import StagedKernel
from optgen.ir import GRADIENT_FACTOR
from optgen.model import Timing
from optgen.shapes import sizes


@dataclass(frozen=True)
class Update:
    """The update of a parameter in one step, or of several parameters that share values. `place` is the number of the
    first one among all parameters. `values` are its hyper-parameters. `known` are two numbers: the first is another one
    whenever values or seed have changed, the second whenever gradients have."""

    run: MembersRun
    place: int
    kernel: StagedKernel
    values: Mapping[str, Value]
    counts: Sequence[int]
    seed: int
    gradients: Array
    known: tuple[int, int]

    @property
    def may_fail(self) -> bool:
        return self.run.plan.may_fail

    @property
    def has_finite_gradients(self) -> bool:
        dtype = self.kernel.variant.dtype
        pairs = zip(self.run.members, self.gradients.tolist(), strict=True)
        reads = (m.param._replace(address=x, dtype=dtype) for m, addresses in pairs for x in addresses)
        return all(map(self.run.device.is_finite, reads))

    def bind(self, workspace: Workspace, step: int) -> None:
        """Have the update ready to run in a workspace, in a step that is number `step`."""
        self.run.bind(workspace, self.values)
        self.run.prepare(self.values, float(step), self.counts, self.seed, self.gradients, self.known)


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
        self.seed = 0
        self.gradients = np.zeros((len(self.members), kernel.variant.gradients), np.uintp)
        self._varies = bool(kernel.timings) or kernel.starts
        self._runs: dict[Hashable, MembersRun] = {}
        self.known = (0, 0)  # count changes of values and seed, and of gradients
        self._each: dict[int, dict[str, float | None]] = {}  # the values of a parameter, while they are known

    # ------------------------------------------------------------ what a step sets

    def set_hyper(self, values: Values) -> None:
        """Set hyper-parameters; sequences have an entry for each of all parameters."""
        self._values |= values
        self._each.clear()
        self.known = self.known[0] + 1, self.known[1]

    def set_seed(self, seed: int) -> None:
        self.seed = seed
        self.known = self.known[0] + 1, self.known[1]

    def set_scaler(self, scaler: Scaler) -> None:
        self.set_hyper({GRADIENT_FACTOR: scaler.factor})

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        """Read these gradients, for each member as many as the kernel reads. The caller keeps them alive."""
        self.gradients[:] = [[t.address for t in tensors] for tensors, _ in reads]
        self.known = self.known[0], self.known[1] + 1

    def move_gradients(self, addresses: Array) -> None:
        """Read gradients of the same sizes at these addresses, one for each member."""
        self.gradients[:] = addresses[:, None]
        self.known = self.known[0], self.known[1] + 1

    @property
    def owner(self) -> Any:
        """A parameter, as the caller has it."""
        return self._params[self.members[0]].owner

    def use_device(self, device: StageDevice) -> None:
        """Have the stages computed there."""
        self._device = device

    # ------------------------------------------------------------ a step

    def updates(self, counts: Array) -> list[Update]:
        """The updates of the members; `counts` are the update counts of all parameters, these updates included."""
        found = []
        for k, i in enumerate(self.members):
            count, gradients = int(counts[i]), self.gradients[k : k + 1]
            values = self._each.get(i) or self.values_of(i)
            key = (k, *self.due(i, count)) if self._varies else k
            run = self._runs.get(key) or self._new_run(key, i, count)
            found.append(Update(run, i, self.kernel, values, [count], self.seed, gradients, self.known))
        return found

    def due(self, i: int, count: int) -> tuple[frozenset[Timing], bool]:
        """The timings that are due in the `count`-th update of parameter i, and whether that starts states."""
        values = self.values_of(i) if self.kernel.timings else {}
        due = frozenset(t for t in self.kernel.timings if is_due(t, count, values))
        return due, count == 1 and self.kernel.starts

    def values_of(self, i: int) -> Mapping[str, float | None]:
        """The hyper-parameters and sizes of parameter i."""
        if i not in self._each:
            own = {name: x[i] if isinstance(x, Sequence) else x for name, x in self._values.items()}
            shape = self._params[i].shape
            known = sizes(shape, self.kernel.native.last_two) | groups.sizes(self.kernel.groups, shape, own)
            self._each[i] = {**own, **known, **self.kernel.variant.sizes}
        return self._each[i]

    def values_of_several(self, members: Sequence[int]) -> dict[str, Value]:
        """The hyper-parameters of parameters: each a number, or a list with one for each of them."""
        return {name: [x[i] for i in members] if isinstance(x, Sequence) else x for name, x in self._values.items()}

    def member(self, i: int, kept: Mapping[str, Tensor]) -> RunMember:
        """Parameter i, with further arrays."""
        own = {name: t for name, each in self._tensors.items() if (t := each[i]) is not None}
        return RunMember(self._params[i], {**own, **kept}, self._ids[i], self.values_of(i))

    def _new_run(self, key: Hashable, i: int, count: int) -> MembersRun:
        due, first = self.due(i, count)
        plan, matmul = self.kernel.plan(due, first=first), self.kernel.variant.matmul
        self._runs[key] = MembersRun(plan, self.kernel.native, [self.member(i, {})], matmul, self._device)
        return self._runs[key]


def is_due(timing: Timing, count: int, values: Mapping[str, float | None]) -> bool:
    """Whether an equation with this timing is computed in the `count`-th update of a parameter."""
    every = int(arguments.number(timing.every, values))
    first = every if timing.start is None else int(arguments.number(timing.start, values))
    return count >= first and (count - first) % every == 0
