"""Stages whose memory is known: kernels that are called with a table of their tensors, calls, and loops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from optgen import arguments
from optgen.execute.buffers import Array
from optgen.execute.hyper import Values
from optgen.execute.kernel import LoadedKernel
from optgen.execute.stages.calls import Request
from optgen.model import DIMENSIONS
from optgen.stages.plan import CallStage, LoopStage

if TYPE_CHECKING:
    from optgen.linalg import How, PreparedProduct


Value = float | None | list[float | None]
"""A hyper-parameter: one number, or one for each member."""
Each = Sequence[Mapping[str, Any]]
"""The numbers of each member, by name."""


class StageTable(Protocol):
    """Some tensors, and the kernel that updates them."""

    def set_hyper(self, values: Values) -> None: ...

    def set_seed(self, seed: int) -> None: ...

    def read_counts(self, counts: Array) -> None:
        """Have the kernel read the counts of updates there: int64, these updates included."""

    def set_pointers(self, buffers: Sequence[int], addresses: Array | int) -> None: ...

    def run(self) -> None:
        """Run the kernel, before what is computed next on the device."""


class BoundStage:
    """A stage whose memory is known. What a step is given is set before it runs."""

    def set_values(self, values: Mapping[str, Value], each: Each, seed: int) -> None:
        """Set hyper-parameters; `each` has those of each member, with its sizes."""

    def set_gradients(self, addresses: Array) -> None: ...

    def set_step(self, step: float) -> None: ...

    def run(self) -> Iterable[list[Request]]:
        """See `MembersRun.run`."""
        return ()


class KernelCall(BoundStage):
    """A kernel over a tensor of each member."""

    def __init__(self, kernel: LoadedKernel, table: StageTable, own: Collection[str], zeros: Sequence[Any]) -> None:
        """`own` are hyper-parameters that are set. `zeros` are values of rows without elements: no kernel visits such
        rows, and they count as 0."""
        self.kernel, self.table, self.zeros = kernel, table, zeros
        self._gradients = kernel.gradients
        names = kernel.native.hyper
        self._hyper = [name for name in names if name not in DIMENSIONS and name not in own and name != "step"]
        self._reads_step = "step" in names
        self._set: dict[str, Value] = {}

    def set_values(self, values: Mapping[str, Value], each: Each, seed: int) -> None:
        known = self._set
        new = {name: x for name in self._hyper if name in values and (x := values[name]) != known.get(name, known)}
        if new:
            self.table.set_hyper(new)
            known.update(new)
        self.table.set_seed(seed)

    def set_gradients(self, addresses: Array) -> None:
        if self._gradients:
            self.table.set_pointers(self._gradients, addresses)

    def set_step(self, step: float) -> None:
        if self._reads_step:
            self.table.set_hyper({"step": step})

    def run(self) -> Iterable[list[Request]]:
        for array in self.zeros:
            array[...] = 0
        self.table.run()
        return ()


class MatrixCall(BoundStage):
    """A product, or another function that is defined for all matrices, of one `member`: the call cannot fail."""

    def __init__(
        self, stage: CallStage, operands: Sequence[Any], out: Any, member: int, call: Callable[..., None], how: How
    ) -> None:
        self.stage, self.operands, self.out, self.member = stage, operands, out, member
        self._call, self._how = call, how
        self.numbers: list[float] = []
        self.product: PreparedProduct | None = None  # where it is computed by native code

    def set_values(self, values: Mapping[str, Value], each: Each, seed: int) -> None:
        if self.stage.numbers:
            self.numbers = [arguments.number(x, each[self.member]) for x in self.stage.numbers]
            if self.product is not None:
                self.product.set_factors(*self.numbers)

    def run(self) -> Iterable[list[Request]]:
        self._call(self.stage, self.operands, self.numbers, self.out, self._how)
        return ()


class Factorizations(BoundStage):
    """Calls that may fail, which are computed at the same time: each with its operands, where its result goes, and the
    number of its member."""

    def __init__(self, calls: list[tuple[CallStage, list[Any], Any, int]]) -> None:
        self.calls = calls
        self._numbers: list[list[float]] = []

    def is_apart(self, stage: CallStage) -> bool:
        """Whether another call can be computed at the same time."""
        stages = [*(own for own, *_ in self.calls), stage]
        return not {x.key for of in stages for x in of.operands} & {of.target for of in stages}

    def set_values(self, values: Mapping[str, Value], each: Each, seed: int) -> None:
        self._numbers = [[arguments.number(x, each[k]) for x in stage.numbers] for stage, _, _, k in self.calls]

    def run(self) -> Iterable[list[Request]]:
        pairs = zip(self.calls, self._numbers, strict=True)
        return ([Request(stage, operands, numbers, out) for (stage, operands, out, _), numbers in pairs],)


class TurnsCall(BoundStage):
    """Stages that are repeated: the first body, and then the second and the third in turn."""

    def __init__(self, stage: LoopStage, turns: int, bodies: Sequence[Sequence[BoundStage]]) -> None:
        self.index, self.turns, self.bodies = stage.index, turns, bodies
        self.readers = [x for body in bodies for x in kernels_of(body) if stage.index in x.kernel.native.hyper]
        """The kernels that read the number of the turn."""

    def run(self) -> Iterator[list[Request]]:
        for turn in range(self.turns):
            for kernel in self.readers:
                kernel.table.set_hyper({str(self.index): float(turn)})
            for stage in self.bodies[2 - turn % 2 if turn else 0]:
                yield from stage.run()


def kernels_of(stages: Iterable[BoundStage]) -> Iterator[KernelCall]:
    """The kernels among stages, those of loops included."""
    for stage in stages:
        if isinstance(stage, KernelCall):
            yield stage
        elif isinstance(stage, TurnsCall):
            for body in stage.bodies:
                yield from kernels_of(body)
