"""The update of parameters in stages, bound to the memory of these and of what is between the stages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from optgen import arguments
from optgen.axes import Axes, Kind, When, length_of
from optgen.compiled import NativeKernel
from optgen.execute import buffers
from optgen.execute.buffers import Array, Tensor
from optgen.execute.stages.bound_stages import BoundStage, Factorizations, KernelCall, MatrixCall, TurnsCall, Value
from optgen.execute.stages.calls import Request
from optgen.execute.stages.stage_device import DeviceMemory, StageDevice, Workspace
from optgen.execute.stages.staged_kernel import LoadedPlan
from optgen.ir import Buffer, is_gradient
from optgen.shapes import matrix_view, sizes
from optgen.stages.layout import offsets
from optgen.stages.plan import FALLIBLE, PARAMETER, CallStage, KernelStage, LoopStage, Plan, Stage

if TYPE_CHECKING:
    from optgen.linalg import How

HOW: Mapping[str, How] = {"float32": "native", "bfloat16": "bfloat16", "deterministic": "deterministic"}
"""The `matmul` of a rule -> how products are computed."""


Current = dict[str, list[Tensor]]
"""The memory of values that loops carry, by key, for each member."""


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
        before: Sequence[LoopStage] = (),
    ) -> None:
        """`before` are loops of runs that come before this one in an update, with the values that it reads."""
        self.device = device
        self.plan, self.kernels, self.native, self.members = loaded.plan, loaded.kernels, native, members
        self.param = members[0].param
        known = native.buffers
        self._elements_of_param = {b.name for b in known if b.kind is Kind.ELEM and not b.is_scale and not b.entries}
        self._shared = {array.key for array in self.plan.arrays if array.known is When.SHARED}
        self.how: How = "native" if native.dtype == "float64" and matmul == "bfloat16" else HOW[matmul]
        self._places = [array_places(self.plan, native, member) for member in members]
        self.nbytes = sum(nbytes for _, nbytes in self._places)
        self.counts = np.zeros(len(members), np.int64)
        self._loops = [*before, *(stage for stage in self.plan.walk() if isinstance(stage, LoopStage))]
        self._before = before
        self._block: DeviceMemory | None = None
        self._panels: DeviceMemory | None = None  # keeps them alive
        self._turns_before: tuple[int, ...] = ()
        self._known: tuple[int, int] = (-1, -1)
        self.stages: Sequence[BoundStage] = ()

    def shape(self, axes: Axes, member: RunMember) -> tuple[int, ...]:
        return _shape(axes, member.values, _lead(self.native, member))

    # ------------------------------------------------------------ the workspace

    def bind(self, workspace: Workspace, values: Mapping[str, Value]) -> None:
        """Bind the stages to a workspace with `nbytes` for arrays, which is all that an update needs. If the workspace
        and the turns of all loops are those of the last step, nothing is done."""
        turns = tuple(turns_of(stage, values) for stage in self._loops)
        if self._block is workspace.block and self._turns_before == turns:
            return
        base = workspace.address
        self._arrays: list[dict[str, Tensor]] = []
        for places, nbytes in self._places:
            made = memory_of(places, base, self.param)
            self._arrays.append(made | {key: self._arrays[0][key] for key in self._shared if self._arrays})
            base += nbytes
        self._all: list[BoundStage] = []
        self._turns = dict(zip(self._loops, turns, strict=True))
        bound = self._made(self.plan.stages, self._carried_before())
        self.stages = self.device.prepared(bound, self.how, workspace)
        self._block, self._panels, self._turns_before = workspace.block, workspace.panels, turns
        self._known = (-1, -1)

    def _carried_before(self) -> Current:
        """The arrays of what loops of earlier runs have carried, and this one reads."""
        found: Current = {}
        for loop in self._before:
            turns = self._turns[loop]
            for key, new, other in loop.carried:
                last = (new if turns % 2 else other) if turns else key
                found[new] = found.get(last) or self.each(last)
        return found

    def each(self, key: str) -> list[Tensor]:
        """The memory of a value, for each member."""
        place = self.plan.places.get(key, key)
        pairs = zip(self._arrays, self.members, strict=True)
        return [own[place] if place in own else member.tensors[place] for own, member in pairs]

    # ------------------------------------------------------------ stages

    def _made(self, stages: Sequence[Stage], current: Current) -> list[BoundStage]:
        """Stages, those factorizations together that follow each other and do not read each other's results. `current`
        has the arrays of the values that loops carry, and is changed by loops."""
        found: list[BoundStage] = []
        for stage in stages:
            made: Sequence[BoundStage]
            match stage:
                case KernelStage():
                    made = [self._kernel(stage, current)]
                case CallStage(function=function) if function in FALLIBLE:
                    last = found[-1] if found else None
                    calls = [(stage, *self._arrays_of(stage, current, k), k) for k in range(len(self.members))]
                    if isinstance(last, Factorizations) and last.is_apart(stage):
                        last.calls += calls
                        continue
                    made = [Factorizations(calls)]
                case CallStage():
                    each = [self._arrays_of(stage, current, k) for k in range(len(self.members))]
                    made = [MatrixCall(stage, *own, k, self.device.call, self.how) for k, own in enumerate(each)]
                case LoopStage():
                    made = [self._loop(stage, current)]
            found += made
            self._all += made
        return found

    def _kernel(self, section: KernelStage, current: Current) -> KernelCall:
        kernel, members = self.kernels[section], self.members
        domains = [member.param for member in members]
        if section.domain != PARAMETER:
            domains = [x._replace(shape=self.shape(section.domain, m)) for x, m in zip(domains, members, strict=True)]
        held = {b.memory: self._as_buffer(b, current) for b in kernel.native.buffers if not is_gradient(b.name)}
        table = self.device.table(kernel, domains, held, [member.id for member in members])
        table.read_counts(self.counts)
        own = {}
        if section.domain != PARAMETER:
            known = [sizes(member.param.shape, self.native.last_two) for member in members]
            own = {f"parameter.{name}": [float(x[name]) for x in known] for name in known[0]}
        table.set_hyper(own)
        made = [b for b in kernel.native.buffers if b.kind is Kind.ROW and b.written and self._is_array(b.memory)]
        empty = [k for k, x in enumerate(domains) if not x.size]
        zeros = [self.device.view((current.get(b.memory) or self.each(b.memory))[k]) for b in made for k in empty]
        return KernelCall(kernel, table, own, zeros)

    def _is_array(self, key: str) -> bool:
        return self.plan.places.get(key, key) in self._arrays[0]

    def _as_buffer(self, b: Buffer, current: Current) -> list[Tensor]:
        is_line = b.kind in (Kind.ROW, Kind.COL)
        tensors = current.get(b.memory) or self.each(b.memory)
        return [t._replace(shape=(t.size,)) if is_line else t for t in tensors]

    def _arrays_of(self, stage: CallStage, current: Current, k: int) -> tuple[list[Any], Any]:
        """The operands of a call of member k, and where the result goes."""
        return [self._matrix(x.key, current, k) for x in stage.operands], self._matrix(stage.target, current, k)

    def _matrix(self, key: str, current: Current, k: int) -> Any:
        """An array of member k, as a call takes it."""
        t, member = (current.get(key) or self.each(key))[k], self.members[k]
        is_param = not self._is_array(key) and self.plan.places.get(key, key) in self._elements_of_param
        return self.device.view(t._replace(shape=self.shape(PARAMETER, member)) if is_param else t)

    def _loop(self, stage: LoopStage, current: Current) -> TurnsCall:
        """A loop. Of a value that is carried, a turn reads the array that the last one wrote: the first turn, those
        with odd numbers and the others read and write other arrays."""
        turns, before = self._turns[stage], {key: current.get(key) for key, *_ in stage.carried}
        latest = {key: current.get(key) or self.each(key) for key, *_ in stage.carried}
        bodies = []
        for turn in range(min(turns, 3)):
            for key, new, other in stage.carried:
                current[key], current[new] = latest[key], self.each(other if turn % 2 else new)
            bodies.append(self._made(stage.body, current))
            latest = {key: current[new] for key, new, _ in stage.carried}
        for key, new, other in stage.carried:
            last = self.each(other if (turns - 1) % 2 else new)
            current[new] = last if turns else latest[key]
            current.pop(key, None)
            if (known := before[key]) is not None:
                current[key] = known
        return TurnsCall(stage, turns, bodies)

    # ------------------------------------------------------------ a step

    def prepare(
        self,
        values: Mapping[str, Value],
        step: float,
        counts: Sequence[int],
        seed: int,
        gradients: Array,
        known: tuple[int, int],
    ) -> None:
        """Set what the next update reads. `counts` are the update counts of the members. `gradients` are addresses, a
        row for each member. A hyper-parameter among `values` is a number, or a list with one for each member. `known`
        are two numbers: the first is another one whenever values or seed have changed, the second whenever gradients
        have."""
        self.counts[:] = counts
        if self._known[0] != known[0]:
            each = [values] if len(self.members) == 1 else [self._numbers(values, k) for k in range(len(self.members))]
            for stage in self._all:
                stage.set_values(values, each, seed)
        if self._known[1] != known[1]:
            for stage in self._all:
                stage.set_gradients(gradients)
        self._known = known
        for stage in self._all:
            stage.set_step(step)

    def _numbers(self, values: Mapping[str, Value], k: int) -> dict[str, float | None]:
        """The hyper-parameters and sizes of member k."""
        own = {name: x[k] if isinstance(x, list) else x for name, x in values.items()}
        return {**self.members[k].values, **own}

    def run(self) -> Iterator[list[Request]]:
        """Make the update. Yields calls that may fail: they are to be computed before the next is asked for."""
        for stage in self.stages:
            yield from stage.run()

    def written(self) -> list[Tensor]:
        """The tensors of the caller that an update changes."""
        return [member.tensors[name] for name in sorted(self.plan.written()) for member in self.members]


def turns_of(stage: LoopStage, values: Mapping[str, Value]) -> int:
    """The turns of a loop, which are the same for all members."""
    numbers = {name: x for name, x in values.items() if not isinstance(x, list)}
    return int(arguments.number(stage.count, numbers))


Places = dict[str, tuple[int, tuple[int, ...], str]]
"""The place, shape and dtype of arrays, by their keys."""


def array_places(plan: Plan, native: NativeKernel, member: RunMember) -> tuple[Places, int]:
    """The places of the arrays of a plan for a parameter, and the bytes of all. Of the member, its shape is read, and
    among its values sizes and the params that are dimensions."""
    return places_of(plan, native.dtype, member.values, _lead(native, member))


def places_of(
    plan: Plan, dtype: str, values: Mapping[str, float | None], lead: tuple[int, ...] = ()
) -> tuple[Places, int]:
    """The same of a parameter of this dtype, with these values; `lead` is the axis of the matrices of a batch."""
    elements = "float64" if dtype == "float64" else "float32"
    shapes, dtypes, sizes = {}, {}, {}
    for array in plan.arrays:
        is_element = len(array.axes) == 2 or (array.is_narrow and bool(array.axes))
        own = (length_of(array.entries, values),) if array.entries else _shape(array.axes, values, lead)
        shapes[array.key] = shape = own
        dtypes[array.key] = dtype = elements if is_element else "float64"
        nbytes = math.prod(shape) * buffers.numpy_dtype(dtype).itemsize
        sizes[array.key] = -(-nbytes // buffers.CACHE_LINE_BYTES) * buffers.CACHE_LINE_BYTES
    found, end = offsets(plan, sizes)
    return {key: (found[key], shapes[key], dtypes[key]) for key in found}, end


def memory_of(places: Places, address: int, param: Tensor) -> dict[str, Tensor]:
    """The arrays at these places of a block of memory, on the device of a parameter."""
    return {
        key: Tensor(key, address + begin, shape, dtype, True, None, param.gpu)
        for key, (begin, shape, dtype) in places.items()
    }


def _lead(native: NativeKernel, member: RunMember) -> tuple[int, ...]:
    """The axis of the matrices of a batch."""
    shape, last_two = member.param.shape, native.last_two
    return (matrix_view(shape, last_two)[0],) if last_two and len(shape) > 2 else ()


def _shape(axes: Axes, values: Mapping[str, float | None], lead: tuple[int, ...]) -> tuple[int, ...]:
    return (*lead, *(length_of(axis, values) for axis in axes)) if axes else ()
