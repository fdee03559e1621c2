"""The kernel IR: straight-line SSA over typed values, cut into phases.

A `Value` has a kind (how many there are: `optgen.model.Kind`) and a dtype. Operations are elementwise; operands of one
operation have one dtype and may differ in kind: the result's kind is their join, and a host or tensor operand is
broadcast. All arithmetic is IEEE 754, round to nearest even, denormals kept, nothing reassociated or fused: the NumPy
interpreter (`optgen.ir.interp`) is the definition, every backend is compared with it bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from optgen.model import Kind

DType = Literal["f64", "f32", "i64", "b1"]
COMPUTE: dict[str, DType] = {"float32": "f32", "float64": "f64"}
"""The dtype in which elements are computed, by the dtype in which they are stored."""

LANES, BLOCK = 128, 4096
"""The fixed reduction tree: a tensor is cut into blocks of BLOCK elements, element i of a block goes to lane i mod
LANES, lanes add in index order, fold by halves, blocks fold pairwise."""


@dataclass(frozen=True)
class Type:
    kind: Kind
    dtype: DType

    def __str__(self) -> str:
        return f"{self.kind.value} {self.dtype}"


@dataclass(frozen=True)
class Value:
    """An SSA value; `id` is unique in its kernel."""

    id: str
    type: Type

    def __str__(self) -> str:
        return f"%{self.id}"


@dataclass(frozen=True)
class Const:
    """A floating-point constant, of kind host; a f32 constant is already rounded."""

    value: float


@dataclass(frozen=True)
class Hyper:
    """Host double: a hyper-parameter of this tensor at this step; an unset one is NaN, a bound that clips nothing."""

    name: str


@dataclass(frozen=True)
class Count:
    """Host double: the number of updates of this tensor, this one included (`t`)."""


@dataclass(frozen=True)
class Size:
    """Host double: the number of elements of this tensor."""


@dataclass(frozen=True)
class Load:
    """The elements of a buffer as they are when the phase begins."""

    buffer: str


@dataclass(frozen=True)
class Store:
    """Write elements to a buffer, each rounded once to its storage type; seen by the phases that follow. No result."""

    buffer: str
    value: Value


@dataclass(frozen=True)
class Neg:
    """-x: flips the sign bit, of zeros and NaN too."""

    x: Value


@dataclass(frozen=True)
class Abs:
    """|x|: clears the sign bit."""

    x: Value


@dataclass(frozen=True)
class Sqrt:
    """The correctly rounded square root; NaN below -0."""

    x: Value


@dataclass(frozen=True)
class Floor:
    """The largest integer not above x; keeps -0, infinities and NaN."""

    x: Value


@dataclass(frozen=True)
class Add:
    """a + b."""

    a: Value
    b: Value


@dataclass(frozen=True)
class Sub:
    """a - b."""

    a: Value
    b: Value


@dataclass(frozen=True)
class Mul:
    """a * b."""

    a: Value
    b: Value


@dataclass(frozen=True)
class Div:
    """a / b, correctly rounded."""

    a: Value
    b: Value


CompareOp = Literal["lt", "le", "gt", "ge", "eq", "ne"]


@dataclass(frozen=True)
class Compare:
    """b1: an ordered comparison of floats or a signed one of i64; with a NaN, `ne` is true and all else false."""

    op: CompareOp
    a: Value
    b: Value


@dataclass(frozen=True)
class And:
    """a and b, of b1."""

    a: Value
    b: Value


@dataclass(frozen=True)
class Or:
    """a or b, of b1."""

    a: Value
    b: Value


@dataclass(frozen=True)
class Not:
    """not x, of b1."""

    x: Value


@dataclass(frozen=True)
class Select:
    """a where the b1 `condition` holds, else b; both are computed."""

    condition: Value
    a: Value
    b: Value


@dataclass(frozen=True)
class Convert:
    """Between f64 and f32: to f32 rounds once to nearest even, to f64 is exact."""

    x: Value


MathFunction = Literal["exp", "expm1", "log", "log1p", "tanh", "cbrt", "pow"]


@dataclass(frozen=True)
class Math:
    """An elementary function of f64, defined by its expansion in `optgen.ir.math`; gone after `expand_math`."""

    function: MathFunction
    args: tuple[Value, ...]


@dataclass(frozen=True)
class IntConst:
    """A host i64 constant."""

    value: int


@dataclass(frozen=True)
class Bits:
    """i64: the bits of a f64."""

    x: Value


@dataclass(frozen=True)
class FromBits:
    """f64: the number with these bits."""

    x: Value


IntOp = Literal["add", "sub", "and", "or", "xor"]


@dataclass(frozen=True)
class Int:
    """Two's complement i64 arithmetic with wrap-around."""

    op: IntOp
    a: Value
    b: Value


@dataclass(frozen=True)
class Shift:
    """i64 shifted by a constant number of bits, zeros coming in on either side."""

    op: Literal["shl", "shr"]
    x: Value
    by: int


ReduceOp = Literal["sum", "max", "min"]


@dataclass(frozen=True)
class Reduce:
    """Tensor f64: all elements of a f64 value folded in the fixed tree, starting from 0, -inf or +inf.

    `max` folds with `where(a != a or a > b, a, b)`, `min` likewise, so that a NaN stays.
    """

    op: ReduceOp
    x: Value


Op = (
    Const
    | Hyper
    | Count
    | Size
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
    | Int
    | Shift
    | Reduce
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
            yield from x


def with_operands(op: Op, rename: Callable[[Value], Value]) -> Op:
    """The same operation on other values."""
    changes: dict[str, Value | tuple[Value, ...]] = {}
    for name in _FIELDS[type(op)]:
        x = getattr(op, name)
        if isinstance(x, Value):
            changes[name] = rename(x)
        elif isinstance(x, tuple):
            changes[name] = tuple(rename(v) for v in x)
    return replace(op, **changes) if changes else op  # type: ignore[arg-type]


@dataclass(frozen=True)
class Instr:
    """`result = op`; `result` is None for a store alone."""

    result: Value | None
    op: Op


def live(instrs: tuple[Instr, ...], also: Collection[Value] = ()) -> tuple[Instr, ...]:
    """The instructions that stores, or the values `also`, depend on."""
    needed = {v.id for v in also}
    kept: list[Instr] = []
    for instr in reversed(instrs):
        if instr.result is None or instr.result.id in needed:
            needed.update(v.id for v in operands(instr.op))
            kept.append(instr)
    return tuple(reversed(kept))


PhaseKind = Literal["update", "host", "sweep", "scalar"]


@dataclass(frozen=True)
class Phase:
    """Instructions between two barriers.

    `update`: all of a kernel, before it is cut. `host`: doubles known before any element is read, once per tensor.
    `sweep`: one pass over the elements; its reductions are complete when it ends. `scalar`: per tensor, after a sweep.
    A value other than an element may be used in any later phase; an element only in its own.
    """

    kind: PhaseKind
    instrs: tuple[Instr, ...]


@dataclass(frozen=True)
class Buffer:
    """A tensor-shaped stream; `init` is the start value of a state: a number, a hyper-parameter's name, or `w`."""

    name: str
    written: bool
    init: float | str | None = None


@dataclass(frozen=True)
class Kernel:
    """One flag variant for one dtype. `hyper` orders the host values it reads, `t` not among them."""

    name: str
    dtype: str
    buffers: tuple[Buffer, ...]
    hyper: tuple[str, ...]
    phases: tuple[Phase, ...]

    @property
    def compute(self) -> DType:
        return COMPUTE[self.dtype]

    def instrs(self) -> Iterator[Instr]:
        for phase in self.phases:
            yield from phase.instrs


_ORDER = {kind: k for k, kind in enumerate((Kind.HOST, Kind.SHARED, Kind.TENSOR, Kind.ROW, Kind.COL, Kind.ELEM))}


def join(*kinds: Kind) -> Kind:
    """The kind of a result: the largest of its operands'; a row and a column value make an element."""
    if Kind.ROW in kinds and Kind.COL in kinds:
        return Kind.ELEM
    return max(kinds, key=_ORDER.__getitem__, default=Kind.HOST)
