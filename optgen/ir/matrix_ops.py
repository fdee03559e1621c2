"""The operations on whole matrices: those of a kernel before it is cut (`optgen.stages`).

Values have the dimensions that the equations give them, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from optgen.axes import Axes, When
from optgen.diagnostics import Span
from optgen.expressions import Expr, Number
from optgen.groups import LineGroup
from optgen.ir.types import Type, Value


@dataclass(frozen=True)
class HostNumber:
    """A number that is computed before the step, of params and sizes; `text` is how the spec writes it."""

    expr: Expr
    text: str

    def __str__(self) -> str:
        return self.text


ONE = HostNumber(Number(1.0, "1", Span(0, 0, 0)), "1")


@dataclass(frozen=True)
class MatMul:
    """a @ b, of two matrices, or of a matrix and a vector, in the dtype of elements, to which a vector is rounded. A
    vector that is the result is a double of such numbers. The rounding is that of who multiplies."""

    a: Value
    b: Value


@dataclass(frozen=True)
class Transposed:
    """x^T, of a matrix."""

    x: Value


@dataclass(frozen=True)
class MatrixFunction:
    """A function of a matrix as a whole, by its name in the language. It takes and gives elements and vectors as a
    product does; a `trace` is a double. `numbers` are its arguments that are no arrays."""

    function: str
    args: tuple[Value, ...]
    numbers: tuple[HostNumber, ...]
    dims: Axes
    """The dimensions of the result."""


@dataclass(frozen=True)
class Triangle:
    """The elements of a matrix on the diagonal and above it (`triu`) or below it (`tril`), and zeros elsewhere."""

    kept: Literal["triu", "tril"]
    x: Value


@dataclass(frozen=True)
class Repeated:
    """A number or a vector, repeated along the other ones of these dimensions."""

    x: Value
    dims: Axes


@dataclass(frozen=True)
class RepeatedDown:
    """A vector with a number of each column of a square matrix, repeated for its rows. `Repeated`, and what else takes
    a vector beside a square matrix, has it as a number of each row."""

    x: Value
    dims: Axes


@dataclass(frozen=True)
class Spread:
    """A value of groups (`optgen.groups`), repeated for the rows, or the columns, of each."""

    x: Value


GroupReduceOp = Literal["sum", "mean", "max", "min"]


@dataclass(frozen=True)
class ReduceGroups:
    """f64 values of rows or columns, added, averaged or compared within each group, in their order. A mean divides the
    sum by how many lines a group has, times `each`."""

    op: GroupReduceOp
    x: Value
    group: LineGroup
    each: HostNumber


@dataclass(frozen=True)
class Put:
    """Set an element of an array of numbers that a loop fills: the one with the number of its turn, whose name `turn`
    is. There is no result."""

    array: str
    turn: str
    x: Value


@dataclass(frozen=True)
class Get:
    """A double, of one tensor or shared: an element of an array that a loop fills, 0 if none has been put there."""

    array: str
    place: Value
    known: When


@dataclass(frozen=True)
class ArrayCall:
    """A product, a transpose, or a function of matrices or groups (`optgen.stages.plan.CallStage`), of arrays as they
    are stored. It stands for the operations above once values have one orientation (`optgen.stages.orient`). `type` is
    that of the result."""

    function: str
    args: tuple[Value, ...]
    transposed: tuple[bool, ...]
    numbers: tuple[HostNumber, ...]
    type: Type
    symmetric: bool = False
    vectors: tuple[int, ...] = ()
    turned: bool = False


@dataclass(frozen=True)
class Keep:
    """An array of its own with the elements of a value, which is repeated to this type: for what reads arrays, or
    changes them. That of a vector is of doubles; one that is `narrow` is rounded to the dtype of elements. One of
    `columns` is for kernels over a square matrix, which read a number of each column."""

    x: Value
    type: Type
    narrow: bool = False
    columns: bool = False


MatrixOp = (
    MatMul | Transposed | MatrixFunction | Triangle | Repeated | RepeatedDown | Spread | ReduceGroups | Put | Get
    | ArrayCall | Keep
)  # fmt: skip
