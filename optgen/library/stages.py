"""Updates of several kernels and loops between them, in the form in which the tables of a library have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from optgen import arguments, pipeline
from optgen.facts import fact
from optgen.ir import Variant
from optgen.model import Kind, Optimizer, kind_of_dims
from optgen.stages.layout import lives
from optgen.stages.plan import GROUPED, PARAMETER, CallStage, KernelStage, LoopStage, Plan, Stage, StageArray


@dataclass(frozen=True)
class WorkArray:
    """An array between the stages, of each tensor; that of a kind shared is one for all of them."""

    kind: Kind
    storage: str
    entries: int = 0


@dataclass(frozen=True)
class KernelStep:
    """A call of the kernel with this number. `places` are the numbers of the work arrays that buffers have, by name."""

    kernel: int
    places: Mapping[str, int]


@dataclass(frozen=True)
class LoopStep:
    """A loop of so many turns: the steps of its first turn, those of turns with odd numbers, and those of the others.
    They differ in their arrays alone. `turn` is what kernels call the number of the turn."""

    turns: int
    turn: str | None
    bodies: tuple[tuple[Step, ...], ...]


Step = KernelStep | LoopStep


@dataclass(frozen=True)
class StageProgram:
    """The steps of an update, its kernels and its work arrays."""

    steps: tuple[Step, ...]
    kernels: tuple[KernelStage, ...]
    arrays: tuple[WorkArray, ...]

    def calls(self) -> Iterator[KernelStep]:
        """The calls of kernels, in the order of the steps."""
        return (x for x in _walk(self.steps) if isinstance(x, KernelStep))

    @fact
    def n_calls(self) -> int:
        """How many calls of kernels the table of the steps has: those of each body of loops."""
        return sum(1 for _ in self.calls())

    @fact
    def turns(self) -> tuple[str, ...]:
        """What kernels call the numbers of turns."""
        return tuple(dict.fromkeys(x.turn for x in _walk(self.steps) if isinstance(x, LoopStep) and x.turn))


def _walk(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, loops before what is in them."""
    for step in steps:
        yield step
        if isinstance(step, LoopStep):
            for body in step.bodies:
                yield from _walk(body)


def is_staged(spec: Optimizer, variant: Variant) -> bool:
    """Whether a variant is more than one kernel."""
    return not variant.evaluate and spec.is_staged(variant.flags)


def program(spec: Optimizer, variant: Variant, values: Mapping[str, float | None]) -> StageProgram:
    """The program of a variant; `values` has the numbers of turns and of entries. ValueError for what a library cannot
    have: it says what that is."""
    if spec.timings:
        raise ValueError("it has equations of some updates only (`every`)")
    if any(spec.start(s) is not None for s in spec.program(variant.flags).states):
        raise ValueError("it has a state that starts from an expression, beside loops")
    plan = pipeline.stages(spec, variant, (), first=False)
    for stage in plan.walk():
        if isinstance(stage, CallStage):
            grouped = stage.function in GROUPED
            raise ValueError(
                "it has groups of rows or columns" if grouped else "it has products or factorizations of matrices"
            )
        if isinstance(stage, KernelStage) and stage.domain != PARAMETER:
            raise ValueError("it has equations over other dimensions than those of the parameter")
    if any(kind_of_dims(x.axes)[0] is Kind.MATRIX for x in plan.arrays if x.axes):
        raise ValueError("it has values of other dimensions than those of the parameter")
    return _ProgramBuilder(plan, variant, values).program()


class _ProgramBuilder:
    def __init__(self, plan: Plan, variant: Variant, values: Mapping[str, float | None]) -> None:
        self._plan, self._values = plan, values
        self._kernels = tuple(dict.fromkeys(x for x in plan.walk() if isinstance(x, KernelStage)))
        elements = "float64" if variant.dtype == "float64" else "float32"
        self._arrays, self._numbers = _shared_places(plan, [self._array(x, elements) for x in plan.arrays])

    def program(self) -> StageProgram:
        return StageProgram(tuple(self._made(self._plan.stages, {})), self._kernels, self._arrays)

    def _array(self, array: StageArray, elements: str) -> WorkArray:
        kind = Kind.SHARED if array.is_shared else kind_of_dims(array.axes)[0] if array.axes else Kind.TENSOR
        is_element = kind is Kind.ELEM or (array.is_narrow and bool(array.axes))
        entries = int(array.entries) if array.entries.isdigit() else int(self._values.get(array.entries) or 0)
        return WorkArray(kind, elements if is_element else "float64", entries)

    def _place(self, key: str) -> str:
        return self._plan.places.get(key, key)

    def _made(self, stages: Sequence[Stage], current: dict[str, str]) -> Iterator[Step]:
        """The steps of stages. `current` has the arrays of the values that loops carry, and is changed by loops."""
        for stage in stages:
            if isinstance(stage, KernelStage):
                keys = {b.name: current.get(b.memory, self._place(b.memory)) for b in stage.buffers}
                places = {name: self._numbers[key] for name, key in keys.items() if key in self._numbers}
                yield KernelStep(self._kernels.index(stage), places)
            elif isinstance(stage, LoopStage):
                yield self._loop(stage, current)

    def _loop(self, stage: LoopStage, current: dict[str, str]) -> LoopStep:
        """A loop. Of a value that is carried, a turn reads the array that the last one wrote. The first turn, those
        with odd numbers and the others read and write other arrays."""
        turns = int(arguments.number(stage.count, self._values))
        before = {key: current.get(key) for key, _ in stage.carried}
        latest = {key: current.get(key, self._place(key)) for key, _ in stage.carried}
        bodies = []
        for turn in range(min(turns, 3)):
            for key, new in stage.carried:
                current[key], current[new] = latest[key], self._place(f"{new}~" if turn % 2 else new)
            bodies.append(tuple(self._made(stage.body, current)))
            latest = {key: current[new] for key, new in stage.carried}
        for key, new in stage.carried:
            current[new] = self._place(f"{new}~" if (turns - 1) % 2 else new) if turns else latest[key]
            current.pop(key, None)
            if (known := before[key]) is not None:
                current[key] = known
        return LoopStep(turns, stage.index, tuple(bodies))


def _shared_places(plan: Plan, arrays: Sequence[WorkArray]) -> tuple[tuple[WorkArray, ...], dict[str, int]]:
    """The arrays that are needed, and the number of that of each key. Values of one kind that are not needed at the
    same time have one array."""
    own = dict(zip((x.key for x in plan.arrays), arrays, strict=True))
    found: list[WorkArray] = []
    until: list[int] = []  # the last stage that needs what an array holds
    numbers: dict[str, int] = {}
    for key, (first, last) in sorted(lives(plan).items(), key=lambda x: x[1]):
        free = (k for k, x in enumerate(found) if x == own[key] and until[k] < first)
        number = next(free, len(found))
        if number == len(found):
            found.append(own[key])
            until.append(last)
        numbers[key], until[number] = number, last
    return tuple(found), numbers
