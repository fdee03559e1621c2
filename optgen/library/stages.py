"""Updates of several kernels, with calls and loops between them, in the form in which tables of a library have them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from optgen import arguments, pipeline
from optgen.axes import Axes, Kind, length_of
from optgen.expressions import Expr, walk
from optgen.facts import fact
from optgen.functions.matrices import is_of_matrices
from optgen.ir import Variant
from optgen.library.calls import SUPPORTED
from optgen.model import Optimizer, Timing
from optgen.stages.cost import caller_axes
from optgen.stages.layout import lives
from optgen.stages.plan import GROUPED, ONE, PARAMETER, CallStage, KernelStage, LoopStage, Plan, Stage, StageArray

MOST_TIMINGS = 4
"""Each combination of the timings that are due has a table of stages of its own."""


@dataclass(frozen=True)
class WorkArray:
    """An array between the stages, of each tensor; that of a kind shared is one for all of them. `axes` are those of a
    matrix: `rows`, `cols` and numbers."""

    kind: Kind
    storage: str
    entries: int = 0
    axes: Axes = ()


@dataclass(frozen=True)
class KernelStep:
    """A call of the kernel with this number, over matrices of dimensions `domain`. `places` are the numbers of the work
    arrays that buffers have, by name."""

    kernel: int
    places: Mapping[str, int]
    domain: Axes


@dataclass(frozen=True)
class CallPlace:
    """A matrix of a call: the number of a work array, or the name of an array that is none, and its dimensions."""

    array: int | None
    name: str
    axes: Axes


@dataclass(frozen=True)
class CallStep:
    """A call of a function of matrices. `places` are those of its operands and of its result."""

    call: CallStage
    places: tuple[CallPlace, ...]


@dataclass(frozen=True)
class LoopStep:
    """A loop of so many turns: the steps of its first turn, those of turns with odd numbers, and those of the others.
    They differ in their arrays alone. `turn` is what kernels call the number of the turn."""

    turns: int
    turn: str | None
    bodies: tuple[tuple[Step, ...], ...]


Step = KernelStep | CallStep | LoopStep


@dataclass(frozen=True)
class StageProgram:
    """The steps of updates, their kernels and their work arrays.

    Which steps an update has depends on the `timings` that are due in it, and on whether it is the first one, if that
    `starts` states: plan number m * (1 + starts) + first is for the timings whose bits are set in m. `fallible` says of
    each plan whether it has a call that some matrices are refused by. `alone`: tensors are updated one by one, each by
    the plan of its own count; else all of them stage by stage."""

    plans: tuple[tuple[Step, ...], ...]
    kernels: tuple[KernelStage, ...]
    arrays: tuple[WorkArray, ...]
    timings: tuple[Timing, ...]
    starts: bool
    fallible: tuple[bool, ...]
    alone: bool

    def steps(self) -> Iterator[Step]:
        """All steps of all plans, in order, loops before what is in them."""
        return itertools.chain.from_iterable(map(_walk, self.plans))

    def kernel_steps(self) -> Iterator[KernelStep]:
        """The calls of kernels, in the order of the steps."""
        return (x for x in self.steps() if isinstance(x, KernelStep))

    @fact
    def calls(self) -> tuple[CallStep, ...]:
        """The calls of functions of matrices, in the order of the steps."""
        return tuple(x for x in self.steps() if isinstance(x, CallStep))

    @fact
    def numbers(self) -> tuple[Expr, ...]:
        """What is computed of hyper-parameters for each tensor and step: the numbers of calls, in their order, and of
        each timing how often it is due and in which update for the first time."""
        found = [x for step in self.calls for x in step.call.numbers]
        return (*found, *(x for t in self.timings for x in (t.every, t.every if t.start is None else t.start)))

    @fact
    def n_kernel_steps(self) -> int:
        """How many calls of kernels the table of the steps has: those of each body of loops."""
        return sum(1 for _ in self.kernel_steps())

    @fact
    def turns(self) -> tuple[str, ...]:
        """What kernels call the numbers of turns."""
        return tuple(dict.fromkeys(x.turn for x in self.steps() if isinstance(x, LoopStep) and x.turn))


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
    own = spec.program(variant.flags)
    starts = bool(spec.late_starts(own))
    if len(spec.timings) > MOST_TIMINGS:
        raise ValueError(f"it has {len(spec.timings)} timings (`every`), and there can be {MOST_TIMINGS}")
    masks = range(1 << len(spec.timings))
    due = [frozenset(t for k, t in enumerate(spec.timings) if mask >> k & 1) for mask in masks]
    plans = [pipeline.stages(spec, variant, x, first=first) for x in due for first in (False, True)[: 1 + starts]]
    for plan in plans:
        _check(plan)
    calls = any(is_of_matrices(e) for equation in own.equations for e in walk(equation.value))
    domains = {x.domain for plan in plans for x in plan.walk() if isinstance(x, KernelStage)}
    alone = calls or bool(spec.timings) or starts or domains != {PARAMETER}
    if alone and spec.joins_params:
        raise ValueError("it has values of all tensors beside products, timings or states that start from expressions")
    return _ProgramBuilder(spec, plans, variant, values).program(spec.timings, starts=starts, alone=alone)


def _check(plan: Plan) -> None:
    """ValueError if a plan has calls that a library has no code for."""
    for stage in plan.walk():
        if isinstance(stage, CallStage) and stage.function in GROUPED:
            raise ValueError("it has groups of rows or columns")
        if isinstance(stage, CallStage) and stage.function not in SUPPORTED:
            raise ValueError(f"it has the function '{stage.function}' of matrices")


class _ProgramBuilder:
    """Makes a program of its plans. Those of all plans have the same work arrays, as one plan is run at a time."""

    def __init__(
        self, spec: Optimizer, plans: Sequence[Plan], variant: Variant, values: Mapping[str, float | None]
    ) -> None:
        self._plans, self._values = plans, values
        stages = (x for plan in plans for x in plan.walk() if isinstance(x, KernelStage))
        self._kernels = tuple(dict.fromkeys(stages))
        self._elements = "float64" if variant.dtype == "float64" else "float32"
        self._axes = caller_axes(spec) | {"grad": PARAMETER}
        self._arrays: list[WorkArray] = []

    def program(self, timings: Sequence[Timing], *, starts: bool, alone: bool) -> StageProgram:
        made = tuple(map(self._steps, self._plans))
        fallible = tuple(plan.may_fail for plan in self._plans)
        return StageProgram(made, self._kernels, tuple(self._arrays), tuple(timings), starts, fallible, alone)

    def _steps(self, plan: Plan) -> tuple[Step, ...]:
        arrays = [self._array(x) for x in plan.arrays]
        self._plan, self._numbers = plan, _shared_places(plan, arrays, self._arrays)
        self._own_axes = self._axes | {x.key: x.axes for x in plan.arrays}
        return tuple(self._made(plan.stages, {}))

    def _sized(self, axes: Axes) -> Axes:
        """Dimensions with numbers in the place of params."""
        return tuple(x if x in PARAMETER else length_of(x, self._values) for x in axes)

    def _array(self, array: StageArray) -> WorkArray:
        is_element = array.is_element or (array.is_narrow and bool(array.axes))
        entries = length_of(array.entries, self._values)
        axes = (*self._sized(array.axes), ONE)[:2] if array.kind is Kind.MATRIX else ()
        return WorkArray(array.kind, self._elements if is_element else "float64", entries, axes)

    def _place(self, key: str) -> str:
        return self._plan.places.get(key, key)

    def _call(self, stage: CallStage, current: Mapping[str, str]) -> CallStep:
        """A call. A vector is one row where it is multiplied from the left, else one column."""
        places = []
        for k, key in enumerate([*(x.key for x in stage.operands), stage.target]):
            own = current.get(key, self._place(key))
            axes = self._sized(self._own_axes[own])
            is_row = 0 in stage.vectors and k != 1
            matrix = axes if len(axes) == 2 else (ONE, *axes) if is_row else (*axes, ONE)
            places.append(CallPlace(self._numbers.get(own), own, matrix))
        return CallStep(stage, tuple(places))

    def _made(self, stages: Sequence[Stage], current: dict[str, str]) -> Iterator[Step]:
        """The steps of stages. `current` has the arrays of the values that loops carry, and is changed by loops."""
        for stage in stages:
            if isinstance(stage, KernelStage):
                keys = {b.name: current.get(b.memory, self._place(b.memory)) for b in stage.buffers}
                places = {name: self._numbers[key] for name, key in keys.items() if key in self._numbers}
                yield KernelStep(self._kernels.index(stage), places, self._sized(stage.domain))
            elif isinstance(stage, CallStage):
                yield self._call(stage, current)
            else:
                yield self._loop(stage, current)

    def _loop(self, stage: LoopStage, current: dict[str, str]) -> LoopStep:
        """A loop. Of a value that is carried, a turn reads the array that the last one wrote. The first turn, those
        with odd numbers and the others read and write other arrays."""
        turns = int(arguments.number(stage.count, self._values))
        before = {key: current.get(key) for key, *_ in stage.carried}
        latest = {key: current.get(key, self._place(key)) for key, *_ in stage.carried}
        bodies = []
        for turn in range(min(turns, 3)):
            for key, new, other in stage.carried:
                current[key], current[new] = latest[key], self._place(other if turn % 2 else new)
            bodies.append(tuple(self._made(stage.body, current)))
            latest = {key: current[new] for key, new, _ in stage.carried}
        for key, new, other in stage.carried:
            current[new] = self._place(other if (turns - 1) % 2 else new) if turns else latest[key]
            current.pop(key, None)
            if (known := before[key]) is not None:
                current[key] = known
        return LoopStep(turns, stage.index, tuple(bodies))


def _shared_places(plan: Plan, arrays: Sequence[WorkArray], found: list[WorkArray]) -> dict[str, int]:
    """The number of the array of each key. Values of one kind that are not needed at the same time have one array.
    `found` are arrays that there are already; those that are needed beside them are added."""
    own = dict(zip((x.key for x in plan.arrays), arrays, strict=True))
    until = [-1] * len(found)  # the last stage that needs what an array holds
    numbers: dict[str, int] = {}
    for key, (first, last) in sorted(lives(plan).items(), key=lambda x: x[1]):
        free = (k for k, x in enumerate(found) if x == own[key] and until[k] < first)
        number = next(free, len(found))
        if number == len(found):
            found.append(own[key])
            until.append(last)
        numbers[key], until[number] = number, last
    return numbers
