"""The update of parameters in stages: kernels that are called with a table of their tensors, calls, and loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optgen import arguments
from optgen.compiled import NativeKernel
from optgen.execute import buffers, calls
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu.kernel import CpuKernel
from optgen.execute.cpu.staged_kernel import LoadedPlan
from optgen.execute.cpu.table import CpuTable
from optgen.ir import Buffer, is_gradient
from optgen.model import DIMENSIONS, Kind
from optgen.shapes import matrix_view, sizes
from optgen.stages.layout import offsets
from optgen.stages.plan import PARAMETER, Axes, CallStage, KernelStage, LoopStage, Stage
from optgen.threads.pool import Pool

if TYPE_CHECKING:
    from optgen.linalg import How

HOW: Mapping[str, How] = {"float32": "native", "bfloat16": "bfloat16", "deterministic": "deterministic"}
"""The `matmul` of a rule -> how products are computed."""


Value = float | None | list[float | None]
"""A hyper-parameter: one number, or one for each member."""


class Workspace:
    """The arrays between stages: one block of memory, which the parameters of a step use one after the other."""

    def __init__(self) -> None:
        self.memory = buffers.aligned((0,), "float64")

    def reserve(self, nbytes: int) -> bool:
        """Have at least so many bytes; whether they are elsewhere afterwards."""
        if nbytes <= self.memory.nbytes:
            return False
        self.memory = buffers.aligned((-(-nbytes // 8),), "float64")
        return True


@dataclass(frozen=True)
class Member:
    """A parameter that a run updates: its tensors by buffer, the number by which its draws differ, its sizes and the
    params that are dimensions."""

    param: Tensor
    tensors: Mapping[str, Tensor]
    id: int
    values: Mapping[str, float | None]


class MembersRun:
    """The stages of a plan, for one parameter, or for several that reduce `over params`: each stage updates all of them
    before the next one begins."""

    def __init__(
        self, loaded: LoadedPlan, native: NativeKernel, members: Sequence[Member], workspace: Workspace, matmul: str
    ) -> None:
        self.plan, self.kernels, self.native = loaded.plan, loaded.kernels, native
        self.members, self.workspace = members, workspace
        self.param = members[0].param
        self._shared = {array.key for array in self.plan.arrays if array.is_shared}
        self.how: How = "native" if native.dtype == "float64" and matmul == "bfloat16" else HOW[matmul]
        self._elements = "float64" if native.dtype == "float64" else "float32"
        self._places = [self._layout(member) for member in members]
        self._undone = sorted(self.plan.written_before_failure())
        self._memory: Array | None = None
        self._threads: Pool | None = None

    def use_threads(self, threads: Pool) -> None:
        self._threads = threads

    def _lead(self, member: Member) -> tuple[int, ...]:
        shape, last_two = member.param.shape, self.native.last_two
        return (matrix_view(shape, last_two)[0],) if last_two and len(shape) > 2 else ()

    def shape(self, axes: Axes, member: Member) -> tuple[int, ...]:
        return (*self._lead(member), *(_length(axis, member) for axis in axes)) if axes else ()

    # ------------------------------------------------------------ the workspace

    def _layout(self, member: Member) -> tuple[dict[str, tuple[int, tuple[int, ...], str]], int]:
        """The place, shape and dtype of each array of a member, and the bytes of all."""
        shapes, dtypes, sizes = {}, {}, {}
        for array in self.plan.arrays:
            is_element = len(array.axes) == 2 or (array.is_narrow and bool(array.axes))
            shapes[array.key] = shape = (
                (_length(array.entries, member),) if array.entries else self.shape(array.axes, member)
            )
            dtypes[array.key] = dtype = self._elements if is_element else "float64"
            nbytes = int(np.prod(shape, dtype=np.int64)) * buffers.numpy_dtype(dtype).itemsize
            sizes[array.key] = -(-nbytes // buffers.CACHE_LINE_BYTES) * buffers.CACHE_LINE_BYTES
        found, end = offsets(self.plan, sizes)
        return {key: (found[key], shapes[key], dtypes[key]) for key in found}, end

    def _bind(self) -> None:
        """Bind the stages to the workspace, where it is elsewhere than in the last step."""
        self.workspace.reserve(sum(nbytes for _, nbytes in self._places))
        if self._memory is self.workspace.memory:
            return
        self._memory = self.workspace.memory
        base = self._memory.ctypes.data
        self._arrays: list[dict[str, Tensor]] = []
        for places, nbytes in self._places:
            made = {
                key: Tensor(key, base + begin, shape, dtype, True, None)
                for key, (begin, shape, dtype) in places.items()
            }
            self._arrays.append(made | {key: self._arrays[0][key] for key in self._shared if self._arrays})
            base += nbytes
        self._stages = [self._made(stage) for stage in self.plan.stages]

    def each(self, key: str) -> list[Tensor]:
        """The memory of a value, for each member."""
        place = self.plan.places.get(key, key)
        return [
            own[place] if place in own else member.tensors[place]
            for own, member in zip(self._arrays, self.members, strict=True)
        ]

    # ------------------------------------------------------------ stages

    def _made(self, stage: Stage) -> _KernelCall | _Call | _LoopCall:
        match stage:
            case KernelStage():
                return self._kernel_call(stage)
            case CallStage():
                return _Call(stage, [x.key for x in stage.operands])
            case LoopStage(body=body):
                return _LoopCall(stage, [self._made(x) for x in body])

    def _kernel_call(self, section: KernelStage) -> _KernelCall:
        kernel, members = self.kernels[section], self.members
        domains = [member.param for member in members]
        if section.domain != PARAMETER:
            domains = [x._replace(shape=self.shape(section.domain, m)) for x, m in zip(domains, members, strict=True)]
        held = {b.memory: self._as_buffer(b) for b in kernel.native.buffers if not is_gradient(b.name)}
        table = CpuTable(kernel, range(len(members)), domains, held, [m.id for m in members], [None] * len(members))
        if self._threads is not None:
            table.use_threads(self._threads)
        own = {}
        if section.domain != PARAMETER:
            known = [sizes(member.param.shape, self.native.last_two) for member in members]
            own = {f"parameter.{name}": [float(x[name]) for x in known] for name in known[0]}
        return _KernelCall(kernel, table, own)

    def _as_buffer(self, b: Buffer) -> list[Tensor]:
        is_line = b.kind in (Kind.ROW, Kind.COL)
        return [t._replace(shape=(t.size,)) if is_line else t for t in self.each(b.memory)]

    def matrix(self, key: str) -> Array:
        """An array as a call takes it; calls are of one member alone."""
        (t,), (member,) = self.current.get(key) or self.each(key), self.members
        shape = t.shape
        if t.name not in self._arrays[0] and len(shape) > 2 + len(self._lead(member)):
            shape = self.shape(PARAMETER, member)
        return t._replace(shape=shape).view()

    def run(self, values: Mapping[str, Value], counts: Sequence[int], seed: int, gradients: Array) -> None:
        """Update the members, which these are the counts of, with gradients at these addresses. Of `values`, some may
        be lists of one for each member."""
        self._bind()
        self.current: dict[str, list[Tensor]] = {}
        self.values, self.counts, self.seed, self.gradients = dict(values), counts, seed, gradients
        if not self._undone:
            self._run_stages()
            return
        kept = [(t.view(), t.view().copy()) for name in self._undone for t in self.each(name)]
        try:
            self._run_stages()
        except ArithmeticError:
            for array, before in kept:
                array[...] = before
            raise

    def _run_stages(self) -> None:
        for stage in self._stages:
            stage.run(self)

    @property
    def numbers(self) -> dict[str, float | None]:
        """The values that are no lists, by name: those that arguments of calls and numbers of turns follow from."""
        return {name: x for name, x in self.values.items() if not isinstance(x, list)}


class _KernelCall:
    """A kernel over a tensor of each member."""

    def __init__(self, kernel: CpuKernel, table: CpuTable, own: Mapping[str, list[float]]) -> None:
        self.table = table
        table.set_hyper(own)
        self.gradients = kernel.gradients
        self.places: dict[str, list[int]] = {}
        for k, b in enumerate(kernel.native.buffers):
            if not is_gradient(b.name):
                self.places.setdefault(b.memory, []).append(k)
        self.hyper = [name for name in kernel.native.hyper if name not in DIMENSIONS and name not in own]

    def run(self, run: MembersRun) -> None:
        table = self.table
        table.set_hyper({name: run.values[name] for name in self.hyper})
        table.set_seed(run.seed)
        table.counts[:] = run.counts
        if self.gradients:
            table.set_pointers(self.gradients, run.gradients)
        for key, tensors in run.current.items():
            if key in self.places:
                addresses = np.array([t.address for t in tensors], np.uintp)
                table.set_pointers(self.places[key], addresses[:, None])
        table.run()


class _Call:
    """A product, or another function of matrices."""

    def __init__(self, stage: CallStage, keys: Sequence[str]) -> None:
        self.stage, self.keys = stage, keys

    def run(self, run: MembersRun) -> None:
        numbers = [arguments.number(x, run.numbers) for x in self.stage.numbers]
        operands, out = [run.matrix(key) for key in self.keys], run.matrix(self.stage.target)
        calls.call(self.stage, operands, numbers, out, run.how)


def _length(axis: str, member: Member) -> int:
    return int(axis) if axis.isdigit() else int(member.values[axis] or 0)


class _LoopCall:
    """Stages that are repeated. Of a value that is carried, a turn reads the array that the last one wrote."""

    def __init__(self, stage: LoopStage, body: Sequence[_KernelCall | _Call | _LoopCall]) -> None:
        self.stage, self.body = stage, body

    def run(self, run: MembersRun) -> None:
        stage = self.stage
        latest = {key: run.current.get(key) or run.each(key) for key, _ in stage.carried}
        before = {key: run.current.get(key) for key, _ in stage.carried}
        for turn in range(int(arguments.number(stage.count, run.numbers))):
            if stage.index is not None:
                run.values[stage.index] = float(turn)
            for key, new in stage.carried:
                run.current[key], run.current[new] = latest[key], run.each(f"{new}~" if turn % 2 else new)
            for x in self.body:
                x.run(run)
            latest = {key: run.current[new] for key, new in stage.carried}
        for key, new in stage.carried:
            run.current[new] = latest[key]
            known = before[key]
            if known is None:
                run.current.pop(key, None)
            else:
                run.current[key] = known
