"""The operations. Each docstring defines its operation for every input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

from optgen.axes import COLS, ELEMENTS, ROWS, Axes
from optgen.diagnostics import Span
from optgen.ir.matrix_ops import HostNumber, MatrixOp
from optgen.ir.types import Value

LANES, BLOCK = 128, 4096
ROW_BLOCK = 64
"""The fixed reduction tree. A tensor is cut into blocks of BLOCK elements. Element i of a block goes to lane i mod
LANES; each lane adds its elements in index order, the lanes are folded by halves, the blocks pairwise. A row is reduced
like a tensor of its own. A column adds blocks of ROW_BLOCK rows, each in order, then the blocks pairwise. In a batch,
rows and columns are those of one matrix, and the row values or column values of a matrix are added in order."""


@dataclass(frozen=True)
class Const:
    """A floating-point constant, of kind host; a f32 constant is already rounded."""

    value: float


@dataclass(frozen=True)
class Hyper:
    """Host double: a hyper-parameter of this tensor at this step. One that is unset is NaN, a bound that clips
    nothing."""

    name: str


@dataclass(frozen=True)
class OwnHyper(Hyper):
    """A hyper-parameter that a spec declares `per param`, which is no shared value."""


@dataclass(frozen=True)
class Count:
    """Host double: the number of updates of this tensor, this one included (`t`)."""


@dataclass(frozen=True)
class Word:
    """Element i32: a word of Philox4x32-10 (Salmon et al. 2011), whose key is the step's seed.

    Element e of the whole tensor takes word e mod 4 of the counter (e/4 low, e/4 high, id xor draw*2^20, t), where id
    is that of the parameter. t is the update, or the whole number `held` instead, a host double.
    """

    draw: int
    held: Value | None = None

    @property
    def axes(self) -> Axes:
        """The dimensions of the result."""
        return ELEMENTS


@dataclass(frozen=True)
class RowWord(Word):
    """Row i32: as a word, of the row's number in the whole tensor. In a batch, matrices are one after the other."""

    @property
    def axes(self) -> Axes:
        return ROWS


@dataclass(frozen=True)
class ColumnWord(Word):
    """Column i32: as a word, of the column's number in the whole tensor. In a batch, matrices are one after the
    other."""

    @property
    def axes(self) -> Axes:
        return COLS


@dataclass(frozen=True)
class MatrixWord(Word):
    """i32: as a word, of the number of the element, or of the line, among those of the `dims`, such as `cols x r`."""

    dims: Axes = ()

    @property
    def axes(self) -> Axes:
        return self.dims


@dataclass(frozen=True)
class RowNumber:
    """Row double: the number of the row in its matrix, from 0."""


@dataclass(frozen=True)
class ColumnNumber:
    """Column double: the number of the column in its matrix, from 0."""


@dataclass(frozen=True)
class Load:
    """The contents of a buffer when the phase begins: elements in the compute dtype, with zeros for subnormals; smaller
    kinds in f64, as they are. What an earlier phase of the step has stored with every bit is as it was stored. Of a
    history, the contents of the entry that is number `place` in memory, a host double."""

    buffer: str
    place: Value | None = None


@dataclass(frozen=True)
class Store:
    """Write to a buffer, each value rounded once to its storage. Later phases see it. There is no result. Of a history,
    the entry that is number `place` in memory is written."""

    buffer: str
    value: Value
    place: Value | None = None


@dataclass(frozen=True)
class UnaryOp:
    """An operation on one value."""

    x: Value


@dataclass(frozen=True)
class BinaryOp:
    """An operation on two values."""

    a: Value
    b: Value


class Neg(UnaryOp):
    """-x: flips the sign bit, of zeros and NaN too."""


class Abs(UnaryOp):
    """|x|: clears the sign bit."""


class Sqrt(UnaryOp):
    """The correctly rounded square root; NaN below -0."""


class Floor(UnaryOp):
    """The largest integer not above x; keeps -0, infinities and NaN."""


class Add(BinaryOp):
    """a + b. This and all other f32 results are zeros where they would be subnormal (`optgen.ir`)."""


class Sub(BinaryOp):
    """a - b."""


class Mul(BinaryOp):
    """a * b."""


class Div(BinaryOp):
    """a / b, correctly rounded."""


CompareOp = Literal["lt", "le", "gt", "ge", "eq", "ne"]


@dataclass(frozen=True)
class Compare:
    """b1: an ordered comparison of floats or a signed one of i64; with a NaN, `ne` is true and all else false."""

    op: CompareOp
    a: Value
    b: Value


class And(BinaryOp):
    """a and b, of b1."""


class Or(BinaryOp):
    """a or b, of b1."""


class Not(UnaryOp):
    """not x, of b1."""


@dataclass(frozen=True)
class Select:
    """a where the b1 `condition` holds, else b; both are computed."""

    condition: Value
    a: Value
    b: Value


class Convert(UnaryOp):
    """Between f64 and f32: to f32 rounds once to nearest even, or to a zero; to f64 is exact."""


@dataclass(frozen=True)
class Math:
    """An elementary function of f64, by its name in `optgen.functions.math.FUNCTIONS`; gone after `expand_math`."""

    function: str
    args: tuple[Value, ...]


@dataclass(frozen=True)
class IntConst:
    """An integer constant, i64 or i32."""

    value: int


class Bits(UnaryOp):
    """The bits of a f64 as i64, of a f32 as i32."""


class FromBits(UnaryOp):
    """The number with these bits: a f64 of i64, a f32 of i32, which is a zero for the bits of a subnormal."""


class Extend(UnaryOp):
    """i64: an i32 with zeros above."""


class Truncate(UnaryOp):
    """i32: the low half of an i64."""


class ToFloat(UnaryOp):
    """A signed integer rounded to nearest even: f64 of i64, f32 of i32."""


class ToInt(UnaryOp):
    """A number truncated toward zero: i64 of f64, i32 of f32. It must be in the integer's range."""


IntOp = Literal["add", "sub", "mul", "and", "or", "xor"]


@dataclass(frozen=True)
class Int:
    """Two's complement arithmetic with wrap-around, of two i64 or two i32."""

    op: IntOp
    a: Value
    b: Value


@dataclass(frozen=True)
class Shift:
    """An integer shifted by a constant number of bits; zeros are shifted in."""

    op: Literal["shl", "shr"]
    x: Value
    by: int


ReduceOp = Literal["sum", "max", "min"]
IDENTITY: dict[ReduceOp, float] = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}
"""What each reduction starts from."""


@dataclass(frozen=True)
class Reduce:
    """f64 elements, rows or columns folded in the fixed tree, starting from 0, -inf or +inf.

    By `scope`, all of them become one tensor value, or the elements of each row or of each column one value of it. Row
    values, or column values, of each `matrix` become one number, which each of them then is.
    `max` folds with `where(a != a or a > b, a, b)`, `min` likewise, so that a NaN stays.
    """

    op: ReduceOp
    x: Value
    scope: Literal["all", "row", "col", "matrix"] = "all"


@dataclass(frozen=True)
class ReduceOverParams:
    """Shared f64: a host or tensor f64 value folded over all tensors, in the order in which they are bound."""

    op: ReduceOp
    x: Value


@dataclass(frozen=True)
class Table:
    """8, 16 or 32 numbers, each already rounded to f32."""

    values: tuple[float, ...]

    def __str__(self) -> str:
        return ",".join(map(repr, self.values))


@dataclass(frozen=True)
class Lookup:
    """f32: entry `index` of the table. Of the i32 `index` only the lowest bits count: 3, 4 or 5 for 8, 16 or 32
    entries."""

    table: Table
    index: Value


@dataclass(frozen=True)
class Region:
    """A turn of a loop: the values that it `takes` from the turn before, what it computes, and what it `gives` to the
    next one. Behind the last turn these are `results`."""

    takes: tuple[Value, ...]
    instrs: tuple[Instr, ...]
    gives: tuple[Value, ...]
    results: tuple[Value, ...]


@dataclass(frozen=True)
class Repeat:
    """`count` turns of a region. The first one takes the `starts`, which are also the results of no turn. The
    hyper-parameter `index`, unless it is empty, is the number of the turn, from 0. There is no result but the
    region's."""

    index: str
    count: HostNumber
    starts: tuple[Value, ...]
    region: Region


Op = (
    Const
    | Hyper
    | OwnHyper
    | Count
    | Word
    | RowWord
    | ColumnWord
    | MatrixWord
    | RowNumber
    | ColumnNumber
    | Load
    | Store
    | Neg
    | Abs
    | Sqrt
    | Floor
    | Add
    | Sub
    | Mul
    | Div
    | Compare
    | And
    | Or
    | Not
    | Select
    | Convert
    | Math
    | IntConst
    | Bits
    | FromBits
    | Extend
    | Truncate
    | ToFloat
    | ToInt
    | Int
    | Shift
    | Lookup
    | Reduce
    | ReduceOverParams
    | MatrixOp
    | Repeat
)

OPS: dict[str, type[Op]] = {cls.__name__.lower(): cls for cls in get_args(Op)}

_FIELDS = {cls: tuple(f.name for f in fields(cls)) for cls in OPS.values()}


def operands(op: Op) -> Iterator[Value]:
    """The values an operation reads, in order."""
    for name in _FIELDS[type(op)]:
        x = getattr(op, name)
        if isinstance(x, Value):
            yield x
        elif isinstance(x, tuple):
            yield from (v for v in x if isinstance(v, Value))


def with_operands(op: Op, rename: Callable[[Value], Value]) -> Op:
    """The same operation on other values."""
    changes: dict[str, Value | tuple[Value, ...]] = {}
    for name in _FIELDS[type(op)]:
        x = getattr(op, name)
        if isinstance(x, Value):
            changes[name] = rename(x)
        elif isinstance(x, tuple) and any(isinstance(v, Value) for v in x):
            changes[name] = tuple(rename(v) for v in x)
    return replace(op, **changes) if changes else op  # type: ignore[arg-type]


@dataclass(frozen=True)
class Instr:
    """`result = op`. Only a store, a put and a loop have the `result` None. `span` is that of the equation that needs
    it first, in the text of the spec; it is no part of what is computed, and equal instructions may have others."""

    result: Value | None
    op: Op
    span: Span | None = field(default=None, compare=False, repr=False)


def nested(instrs: Iterable[Instr]) -> Iterator[Instr]:
    """Instructions, each loop before those of its turns."""
    for instr in instrs:
        yield instr
        if isinstance(instr.op, Repeat):
            yield from nested(instr.op.region.instrs)
