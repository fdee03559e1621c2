"""The update of parameters in stages: kernels that are called with a table of their tensors, calls, and loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from optgen import arguments
from optgen.compiled import NativeKernel
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.calls import Request
from optgen.execute.hyper import Values
from optgen.execute.kernel import LoadedKernel
from optgen.execute.staged_kernel import LoadedPlan
from optgen.ir import Buffer, is_gradient
from optgen.model import DIMENSIONS, Kind
from optgen.shapes import matrix_view, sizes
from optgen.stages.layout import offsets
from optgen.stages.plan import FALLIBLE, PARAMETER, Axes, CallStage, KernelStage, LoopStage, Stage

if TYPE_CHECKING:
    from optgen.linalg import How

HOW: Mapping[str, How] = {"float32": "native", "bfloat16": "bfloat16", "deterministic": "deterministic"}
"""The `matmul` of a rule -> how products are computed."""


class DeviceMemory(Protocol):
    """Memory of a device, which is free again when this object is gone."""

    @property
    def nbytes(self) -> int: ...


class StageTable(Protocol):
    """Some tensors, and the kernel that updates them."""

    counts: Array
    """The counts of updates, these included, which the kernel reads."""

    def set_hyper(self, values: Values) -> None: ...

    def set_seed(self, seed: int) -> None: ...

    def set_pointers(self, buffers: Sequence[int], addresses: Array | int) -> None: ...

    def run(self) -> None:
        """Run the kernel, before what is computed next on the device."""


class StageDevice(Protocol):
    """Where stages are computed; what is asked for is done in order."""

    at_once: int
    """How many parameters are updated side by side."""

    def block(self, nbytes: int) -> tuple[DeviceMemory, int]:
        """New memory, and its address."""

    def table(
        self, kernel: Any, domains: Sequence[Tensor], held: Mapping[str, Sequence[Tensor]], ids: Sequence[int]
    ) -> StageTable:
        """A table of tensors; `held` are their buffers but the gradients."""

    def view(self, tensor: Tensor) -> Any:
        """The memory of a tensor as an array that `call` takes."""

    def call(
        self, stage: CallStage, operands: Sequence[Any], numbers: Sequence[float], out: Any, how: How = "native"
    ) -> None:
        """Compute a call that cannot fail."""

    def factorize(self, requests: Sequence[Request]) -> None:
        """Compute calls that may fail: see `calls.factorize`."""

    def keep(self, tensor: Tensor) -> Callable[[], None]:
        """Copy a tensor; returns what writes the copy back."""

    def is_finite(self, tensor: Tensor) -> bool:
        """Whether a gradient has no NaN and no infinity, if that is known before it is factorized."""


class Workspace:
    """The arrays between stages: one block of memory, which parameters of a step use one after the other."""

    def __init__(self) -> None:
        self.block: DeviceMemory | None = None
        self.address = 0

    def reserve(self, nbytes: int, device: StageDevice) -> None:
        """Have at least so many bytes."""
        if self.block is None or nbytes > self.block.nbytes:
            self.block, self.address = device.block(nbytes)


Value = float | None | list[float | None]
"""A hyper-parameter: one number, or one for each member."""


@dataclass(frozen=True)
class RunMember:
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
        self,
        loaded: LoadedPlan,
        native: NativeKernel,
        members: Sequence[RunMember],
        matmul: str,
        device: StageDevice,
    ) -> None:
        self.device = device
        self.plan, self.kernels, self.native, self.members = loaded.plan, loaded.kernels, native, members
        self.param = members[0].param
        known = native.buffers
        self._elements_of_param = {b.name for b in known if b.kind is Kind.ELEM and not b.is_scale and not b.entries}
        self._shared = {array.key for array in self.plan.arrays if array.is_shared}
        self.how: How = "native" if native.dtype == "float64" and matmul == "bfloat16" else HOW[matmul]
        self._elements = "float64" if native.dtype == "float64" else "float32"
        self._places = [self._layout(member) for member in members]
        self._memory: DeviceMemory | None = None

    def _lead(self, member: RunMember) -> tuple[int, ...]:
        shape, last_two = member.param.shape, self.native.last_two
        return (matrix_view(shape, last_two)[0],) if last_two and len(shape) > 2 else ()

    def shape(self, axes: Axes, member: RunMember) -> tuple[int, ...]:
        return (*self._lead(member), *(_length(axis, member) for axis in axes)) if axes else ()

    # ------------------------------------------------------------ the workspace

    def _layout(self, member: RunMember) -> tuple[dict[str, tuple[int, tuple[int, ...], str]], int]:
        """The place, shape and dtype of each array of a member, and the bytes of all."""
        shapes, dtypes, sizes = {}, {}, {}
        for array in self.plan.arrays:
            is_element = len(array.axes) == 2 or (array.is_narrow and bool(array.axes))
            own = (_length(array.entries, member),) if array.entries else self.shape(array.axes, member)
            shapes[array.key] = shape = own
            dtypes[array.key] = dtype = self._elements if is_element else "float64"
            nbytes = math.prod(shape) * buffers.numpy_dtype(dtype).itemsize
            sizes[array.key] = -(-nbytes // buffers.CACHE_LINE_BYTES) * buffers.CACHE_LINE_BYTES
        found, end = offsets(self.plan, sizes)
        return {key: (found[key], shapes[key], dtypes[key]) for key in found}, end

    def _bind(self, workspace: Workspace) -> None:
        """Bind the stages to a workspace, where it is elsewhere than in the last step."""
        workspace.reserve(sum(nbytes for _, nbytes in self._places), self.device)
        if self._memory is workspace.block:
            return
        self._memory, base = workspace.block, workspace.address
        self._arrays: list[dict[str, Tensor]] = []
        for places, nbytes in self._places:
            made = {}
            for key, (begin, shape, dtype) in places.items():
                made[key] = Tensor(key, base + begin, shape, dtype, True, None, self.param.gpu)
            self._arrays.append(made | {key: self._arrays[0][key] for key in self._shared if self._arrays})
            base += nbytes
        self._stages = self._all_made(self.plan.stages)

    def each(self, key: str) -> list[Tensor]:
        """The memory of a value, for each member."""
        place = self.plan.places.get(key, key)
        pairs = zip(self._arrays, self.members, strict=True)
        return [own[place] if place in own else member.tensors[place] for own, member in pairs]

    # ------------------------------------------------------------ stages

    def _all_made(self, stages: Sequence[Stage]) -> list[_KernelCall | _Call | _Factorizations | _LoopCall]:
        """Stages, those factorizations together that follow each other and do not read each other's results."""
        found: list[_KernelCall | _Call | _Factorizations | _LoopCall] = []
        for stage in stages:
            match stage:
                case KernelStage():
                    found.append(self._kernel_call(stage))
                case CallStage(function=function) if function in FALLIBLE:
                    last = found[-1] if found else None
                    if isinstance(last, _Factorizations) and last.is_apart(stage):
                        found[-1] = _Factorizations([*last.stages, stage])
                    else:
                        found.append(_Factorizations([stage]))
                case CallStage():
                    found.append(_Call(stage))
                case LoopStage(body=body):
                    found.append(_LoopCall(stage, self._all_made(body)))
        return found

    def _kernel_call(self, section: KernelStage) -> _KernelCall:
        kernel, members = self.kernels[section], self.members
        domains = [member.param for member in members]
        if section.domain != PARAMETER:
            domains = [x._replace(shape=self.shape(section.domain, m)) for x, m in zip(domains, members, strict=True)]
        held = {b.memory: self._as_buffer(b) for b in kernel.native.buffers if not is_gradient(b.name)}
        table = self.device.table(kernel, domains, held, [member.id for member in members])
        own = {}
        if section.domain != PARAMETER:
            known = [sizes(member.param.shape, self.native.last_two) for member in members]
            own = {f"parameter.{name}": [float(x[name]) for x in known] for name in known[0]}
        made = [
            b.memory for b in kernel.native.buffers if b.kind is Kind.ROW and b.written and self._is_array(b.memory)
        ]
        empty = [k for k, x in enumerate(domains) if not x.size]
        return _KernelCall(kernel, table, own, [(key, k) for key in made for k in empty])

    def _is_array(self, key: str) -> bool:
        return self.plan.places.get(key, key) in self._arrays[0]

    def _as_buffer(self, b: Buffer) -> list[Tensor]:
        is_line = b.kind in (Kind.ROW, Kind.COL)
        return [t._replace(shape=(t.size,)) if is_line else t for t in self.each(b.memory)]

    def matrix(self, key: str) -> Any:
        """An array as a call takes it; calls are of one member alone."""
        (t,), (member,) = self.current.get(key) or self.each(key), self.members
        is_param = not self._is_array(key) and self.plan.places.get(key, key) in self._elements_of_param
        return self.device.view(t._replace(shape=self.shape(PARAMETER, member)) if is_param else t)

    def run(
        self,
        workspace: Workspace,
        values: Mapping[str, Value],
        counts: Sequence[int],
        seed: int,
        gradients: Array,
    ) -> Iterator[list[Request]]:
        """Update the members, which these are the counts of, with gradients at these addresses, a row for each. Of
        `values`, some may be lists of one for each member. Yields calls that may fail: they are to be computed before
        the next is asked for."""
        self._bind(workspace)
        self.current: dict[str, list[Tensor]] = {}
        self.values, self.counts, self.seed, self.gradients = dict(values), counts, seed, gradients
        for stage in self._stages:
            yield from stage.run(self)

    def written(self) -> list[Tensor]:
        """The tensors of the caller that an update changes."""
        return [member.tensors[name] for name in sorted(self.plan.written()) for member in self.members]

    def arguments_of(self, stage: CallStage) -> tuple[list[Any], list[float], Any]:
        """The operands of a call, its numbers, and where the result goes."""
        numbers = [arguments.number(x, self.numbers) for x in stage.numbers]
        return [self.matrix(x.key) for x in stage.operands], numbers, self.matrix(stage.target)

    @property
    def numbers(self) -> dict[str, float | None]:
        """The values that are no lists, by name: those that arguments of calls and numbers of turns follow from."""
        return {name: x for name, x in self.values.items() if not isinstance(x, list)}


class _KernelCall:
    """A kernel over a tensor of each member."""

    def __init__(
        self,
        kernel: LoadedKernel,
        table: StageTable,
        own: Mapping[str, list[float]],
        zeros: Sequence[tuple[str, int]],
    ) -> None:
        """`own` are hyper-parameters of the members. `zeros` are values of rows without elements, as pairs of a key and
        the number of a member: no kernel visits such rows, and they count as 0."""
        self.table, self.zeros = table, zeros
        table.set_hyper(own)
        self.gradients = kernel.gradients
        self.places: dict[str, list[int]] = {}
        for k, b in enumerate(kernel.native.buffers):
            if not is_gradient(b.name):
                self.places.setdefault(b.memory, []).append(k)
        self.hyper = [name for name in kernel.native.hyper if name not in DIMENSIONS and name not in own]

    def run(self, run: MembersRun) -> Iterable[list[Request]]:
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
        for key, k in self.zeros:
            run.device.view((run.current.get(key) or run.each(key))[k])[...] = 0
        table.run()
        return ()


class _Call:
    """A product, or another function that all matrices have a result of."""

    def __init__(self, stage: CallStage) -> None:
        self.stage = stage

    def run(self, run: MembersRun) -> Iterable[list[Request]]:
        run.device.call(self.stage, *run.arguments_of(self.stage), run.how)
        return ()


class _Factorizations:
    """Calls that may fail, which are computed at the same time."""

    def __init__(self, stages: Sequence[CallStage]) -> None:
        self.stages = stages

    def is_apart(self, stage: CallStage) -> bool:
        """Whether another call can be computed at the same time."""
        read = {x.key for of in (*self.stages, stage) for x in of.operands}
        return not read & {of.target for of in (*self.stages, stage)}

    def run(self, run: MembersRun) -> Iterable[list[Request]]:
        return ([Request(stage, *run.arguments_of(stage)) for stage in self.stages],)


def _length(axis: str, member: RunMember) -> int:
    return int(axis) if axis.isdigit() else int(member.values[axis] or 0)


class _LoopCall:
    """Stages that are repeated. Of a value that is carried, a turn reads the array that the last one wrote."""

    def __init__(self, stage: LoopStage, body: Sequence[_KernelCall | _Call | _Factorizations | _LoopCall]) -> None:
        self.stage, self.body = stage, body

    def run(self, run: MembersRun) -> Iterator[list[Request]]:
        stage = self.stage
        latest = {key: run.current.get(key) or run.each(key) for key, _ in stage.carried}
        before = {key: run.current.get(key) for key, _ in stage.carried}
        for turn in range(int(arguments.number(stage.count, run.numbers))):
            if stage.index is not None:
                run.values[stage.index] = float(turn)
            for key, new in stage.carried:
                run.current[key], run.current[new] = latest[key], run.each(f"{new}~" if turn % 2 else new)
            for x in self.body:
                yield from x.run(run)
            latest = {key: run.current[new] for key, new in stage.carried}
        for key, new in stage.carried:
            run.current[new] = latest[key]
            known = before[key]
            if known is None:
                run.current.pop(key, None)
            else:
                run.current[key] = known
