"""A staged program: kernels over one pair of dimensions each, calls of functions of matrices between them, and loops.

A value is an array that is named by its key: `g`, `m'`, `#1`. One of two dimensions has one orientation, whatever the
equations say: that of `rows x cols`, or of the state that is declared with these dimensions. So the transpose of a
matrix that is not square is the same array, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from optgen.axes import ELEMENTS, Axes, Dimensioned, When
from optgen.expressions import Expr
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.groups import LineGroup
from optgen.ir import Buffer, Kernel, ReduceOverParams
from optgen.model import DIMENSIONS

PARAMETER = ELEMENTS
"""The dimensions of the parameter."""
PARAMETER_SIZES = {name: f"parameter.{name}" for name in DIMENSIONS}
"""The names of the sizes of a parameter, in a kernel over other matrices."""
JOINT: Axes = ("params",)
"""In the place of the dimensions of a kernel: it computes numbers that all parameters share."""
ONE = 1
"""The dimension that a vector has beside its own, where a kernel is over it alone."""


def home(axes: Axes) -> Axes:
    """The dimensions of the kernel that computes a vector of no other kernel."""
    return PARAMETER if axes[0] in PARAMETER else (axes[0], ONE)


@dataclass(frozen=True)
class KernelStage:
    """A kernel over matrices of dimensions `domain`."""

    domain: Axes
    kernel: Kernel

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The arrays that it reads and writes."""
        return self.kernel.buffers

    @property
    def is_joint(self) -> bool:
        """Whether it computes what all parameters share, and so takes all of them at once."""
        sets = any(b.written and b.known is When.SHARED for b in self.buffers)
        return sets or any(isinstance(i.op, ReduceOverParams) for i in self.kernel.instrs())


@dataclass(frozen=True)
class Operand:
    """An array as a call takes it."""

    key: str
    transposed: bool = False


@dataclass(frozen=True)
class CallStage:
    """`target = function(operands)`. `numbers` are arguments that are known before the step: no number of a turn is
    among their names. `symmetric`: a product that is a symmetric matrix. `vectors`: which operands of a product are
    vectors. A product with a third operand is alpha*product + beta*operand, where alpha and beta are its numbers.
    `turned`: the result of another function is stored as its transpose."""

    function: str
    operands: tuple[Operand, ...]
    target: str
    numbers: tuple[Expr, ...] = ()
    symmetric: bool = False
    vectors: tuple[int, ...] = ()
    turned: bool = False
    group: LineGroup | None = None  # of a call of groups: those whose sizes it takes

    @property
    def is_joint(self) -> bool:
        return False


class CarriedValue(NamedTuple):
    """A value that a loop carries, by the keys of its arrays: a turn reads `start`, which the turn before has set, or
    what was there before the loop. The first turn and every second one after it set `new`, the others `other`."""

    start: str
    new: str
    other: str


@dataclass(frozen=True)
class LoopStage:
    """Stages that are repeated, and the values that go from one turn to the next."""

    count: Expr
    index: str | None
    body: tuple[Stage, ...]
    carried: tuple[CarriedValue, ...]

    @property
    def is_joint(self) -> bool:
        """Whether all parameters have to be in the same turn."""
        return any(stage.is_joint for stage in self.body)


TALL = frozenset(name for name, what in MATRIX_FUNCTIONS.items() if what.is_tall)
"""The functions of matrices that have no more columns than rows."""
GROUPED = ("spread", "sum", "mean", "max", "min")
"""The calls of groups of rows or columns: the value of each group for all of its lines, and what reduces the values of
its lines to one. Their numbers are the sizes of the group (`optgen.groups`), and for a mean of how many numbers each
line is the sum."""
FALLIBLE = frozenset(name for name, what in MATRIX_FUNCTIONS.items() if what.may_fail)
"""The functions of matrices that some matrices are refused by."""


Stage = KernelStage | CallStage | LoopStage


@dataclass(frozen=True)
class StageArray(Dimensioned):
    """An array of the workspace: its dimensions in their orientation, () for a number. A matrix, and a vector that a
    call takes or makes (`is_narrow`), have the dtype in which kernels compute; all else is float64."""

    key: str
    axes: Axes
    is_narrow: bool = False
    known: When = When.TENSOR  # or SHARED: one number for all parameters
    entries: int | str = 0  # of an array that a loop fills: how many numbers it has, or the param that says it
    turn: str = ""  # and the name of the turn's number


@dataclass(frozen=True)
class Plan:
    """The stages of one variant. `arrays` are those of the workspace; `places` has the buffers that hold other keys."""

    stages: tuple[Stage, ...]
    arrays: tuple[StageArray, ...]
    places: Mapping[str, str]

    def written(self) -> frozenset[str]:
        """The buffers of the caller that change."""
        stages = list(self.walk())
        written = {b.name for x in stages if isinstance(x, KernelStage) for b in x.buffers if b.written}
        written |= {self.places.get(x.target, x.target) for x in stages if isinstance(x, CallStage)}
        return frozenset(written - {array.key for array in self.arrays})

    @property
    def groups(self) -> tuple[LineGroup, ...]:
        """The groups of rows or columns whose sizes it needs."""
        axes = [axis for array in self.arrays for axis in array.axes]
        axes += [axis for x in self.walk() if isinstance(x, KernelStage) for axis in x.domain]
        axes += [x.group for x in self.walk() if isinstance(x, CallStage) and x.group is not None]
        return tuple(dict.fromkeys(axis for axis in axes if isinstance(axis, LineGroup)))

    @property
    def may_fail(self) -> bool:
        """Whether there is a call that some matrices are refused by."""
        return any(isinstance(x, CallStage) and x.function in FALLIBLE for x in self.walk())

    def walk(self) -> Iterator[Stage]:
        """All stages, loops before what is in them."""
        return walk_stages(self.stages)


def walk_stages(stages: tuple[Stage, ...]) -> Iterator[Stage]:
    """All stages, loops before what is in them."""
    for stage in stages:
        yield stage
        if isinstance(stage, LoopStage):
            yield from walk_stages(stage.body)
