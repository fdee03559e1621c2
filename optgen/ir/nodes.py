"""The kernel IR: straight-line SSA over typed values, cut into phases.

A `Value` has a kind (how many there are: `optgen.model.Kind`) and a dtype. Operations are elementwise; operands of one
operation have one dtype and may differ in kind: the result's kind is their join, and a host or tensor operand is
broadcast. All arithmetic is IEEE 754, round to nearest even, denormals kept, nothing reassociated or fused: the NumPy
interpreter (`optgen.ir.interp`) is the definition, every backend is compared with it bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

from optgen.ir.storage import SCALE, STORAGES, Storage
from optgen.model import MAX_DRAWS, Flags, Kind

DType = Literal["f64", "f32", "i64", "i32", "b1"]
COMPUTE: dict[str, DType] = {"float32": "f32", "float64": "f64", "float16": "f32", "bfloat16": "f32"}
"""The dtype in which elements are computed, by the dtype of the parameters."""

ROUNDING_DRAW = MAX_DRAWS
"""The first draw id of random rounding: buffer k of `Kernel.rounded` takes a half of the words of draw ROUNDING_DRAW +
k//2. These are below 2^12, as a spec is too short for 2^12 states."""

LANES, BLOCK = 128, 4096
"""The fixed reduction tree: a tensor is cut into blocks of BLOCK elements, element i of a block goes to lane i mod
LANES, lanes add in index order, fold by halves, blocks fold pairwise. A row is such a tensor of its own; a column adds
ROW_BLOCK rows in order, then these pairwise."""
ROW_BLOCK = 64


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
class Word:
    """Element i32: a word of Philox4x32-10 (Salmon et al. 2011), whose key is the step's seed.

    Element e of the whole tensor takes word e mod 4 of the counter (e/4 low, e/4 high, id xor draw*2^20, t), where id
    is that of the parameter.
    """

    draw: int


@dataclass(frozen=True)
class Load:
    """What a buffer holds when the phase begins: its elements in the compute dtype, or f64 of a smaller kind."""

    buffer: str


@dataclass(frozen=True)
class Store:
    """Write to a buffer, each value rounded once to its storage type; seen by the phases that follow. No result."""

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
    """An integer constant, i64 or i32."""

    value: int


@dataclass(frozen=True)
class Bits:
    """The bits of a f64 as i64, of a f32 as i32."""

    x: Value


@dataclass(frozen=True)
class FromBits:
    """The number with these bits: a f64 of i64, a f32 of i32."""

    x: Value


@dataclass(frozen=True)
class Extend:
    """i64: an i32 with zeros above."""

    x: Value


@dataclass(frozen=True)
class Truncate:
    """i32: the low half of an i64."""

    x: Value


@dataclass(frozen=True)
class ToFloat:
    """A signed integer rounded to nearest even: f64 of i64, f32 of i32."""

    x: Value


@dataclass(frozen=True)
class ToInt:
    """A number without its fraction: i64 of f64, i32 of f32. It must be in the integer's range."""

    x: Value


IntOp = Literal["add", "sub", "mul", "and", "or", "xor"]


@dataclass(frozen=True)
class Int:
    """Two's complement arithmetic with wrap-around, of two i64 or two i32."""

    op: IntOp
    a: Value
    b: Value


@dataclass(frozen=True)
class Shift:
    """An integer shifted by a constant number of bits, zeros coming in on either side."""

    op: Literal["shl", "shr"]
    x: Value
    by: int


ReduceOp = Literal["sum", "max", "min"]


@dataclass(frozen=True)
class Reduce:
    """f64 elements, rows or columns folded in the fixed tree, starting from 0, -inf or +inf: all of them to a tensor
    value, or (`scope`) the elements of each row or of each column.

    `max` folds with `where(a != a or a > b, a, b)`, `min` likewise, so that a NaN stays.
    """

    op: ReduceOp
    x: Value
    scope: Literal["all", "row", "col"] = "all"


@dataclass(frozen=True)
class Across:
    """Shared f64: a host or tensor f64 value folded over all tensors, in the order they are bound."""

    op: ReduceOp
    x: Value


Op = (
    Const
    | Hyper
    | Count
    | Word
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
    | Reduce
    | Across
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


PhaseKind = Literal["update", "host", "shared", "scalar", "row", "col", "sweep"]


@dataclass(frozen=True)
class Phase:
    """Instructions between two barriers.

    `update`: all of a kernel, before it is cut. `host`: doubles known before any element is read, once per tensor.
    `shared`: once. `scalar`: once per tensor. `row`, `col`: over the rows or the columns of each tensor. `sweep`: one
    pass over the elements. A reduction is complete when its phase ends. A value other than an element may be used in
    any later phase; an element only in its own.
    """

    kind: PhaseKind
    instrs: tuple[Instr, ...]


@dataclass(frozen=True)
class Variant:
    """What a kernel is built for.

    `dtype`: of parameters and gradients; `master`: the weight is kept in float32 beside a parameter of 16 bits;
    `storage`: of each elementwise state (default: that of the weight); `evaluate`: the `eval:` section, not the update;
    `gradients`: how many gradients of a parameter are summed, in order, as they are read.
    """

    flags: Flags
    dtype: str = "float32"
    master: bool = False
    storage: Mapping[str, str] = field(default_factory=dict)
    evaluate: bool = False
    gradients: int = 1

    @property
    def weight(self) -> str:
        """How the weight is stored that the equations read."""
        return "float32" if self.master else self.dtype


@dataclass(frozen=True)
class Buffer:
    """What a step reads or writes: `kind` says of which shape, `storage` by name how elements are stored; `init` is the
    start value of a state: a number, a hyper-parameter's name, or `w`.

    The codes of a quantized state "m" belong to the float32 scales "m.scale", one for each block of QUANT_BLOCK
    elements; the storage of these is "scale".
    """

    name: str
    written: bool
    init: float | str | None = None
    kind: Kind = Kind.ELEM
    storage: str = "float32"
    nonnegative: bool = False  # no code stands for a negative number

    @property
    def format(self) -> Storage:
        """The record of its storage."""
        return SCALE if self.is_scale else STORAGES[self.storage]

    @property
    def is_scale(self) -> bool:
        return self.storage == SCALE.name

    @property
    def is_quantized(self) -> bool:
        """Whether its elements are codes in blocks, with scales in another buffer."""
        return self.format.block is not None


def gradient(k: int) -> str:
    """The buffer of the k-th gradient."""
    return f"grad.{k}" if k else "grad"


def is_gradient(buffer: str) -> bool:
    return buffer == "grad" or buffer.startswith("grad.")


Cut = Literal["anywhere", "blocks", "tensors", "never"]
"""Where tensors can be cut into pieces that are updated apart: at any block; at blocks, if partial results of
reductions are exchanged; between tensors only; not even there."""


@dataclass(frozen=True)
class Kernel:
    """One variant. `hyper` orders the host values it reads, `t` not among them; `advances`: `t` counts this step."""

    name: str
    dtype: str
    buffers: tuple[Buffer, ...]
    hyper: tuple[str, ...]
    phases: tuple[Phase, ...]
    advances: bool = True
    kinds: frozenset[Kind] = field(init=False, repr=False, compare=False)
    """The kinds of its values."""
    _by_name: Mapping[str, Buffer] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kinds = frozenset(i.result.type.kind for i in self.instrs() if i.result is not None)
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "_by_name", {b.name: b for b in self.buffers})

    @property
    def compute(self) -> DType:
        return COMPUTE[self.dtype]

    @property
    def lazy(self) -> bool:
        """Whether rows can be updated without the others: no value depends on several of them."""
        return not self.kinds & {Kind.SHARED, Kind.TENSOR, Kind.COL}

    @property
    def cut(self) -> Cut:
        """Where the tensors of a step can be cut into pieces."""
        kinds = self.kinds | {b.kind for b in self.buffers}
        if kinds & {Kind.ROW, Kind.COL}:
            return "never" if Kind.SHARED in kinds else "tensors"
        return "blocks" if any(isinstance(i.op, Reduce | Across) for i in self.instrs()) else "anywhere"

    @property
    def rounded(self) -> list[str]:
        """The buffers that are rounded at random. The place in this list decides which words a buffer takes."""
        return [b.name for b in self.buffers if b.format.needs_draws]

    def buffer(self, name: str) -> Buffer:
        return self._by_name[name]

    def instrs(self) -> Iterator[Instr]:
        for phase in self.phases:
            yield from phase.instrs


_ORDER = {
    kind: k for k, kind in enumerate((Kind.UNIFORM, Kind.HOST, Kind.SHARED, Kind.TENSOR, Kind.ROW, Kind.COL, Kind.ELEM))
}


def join(*kinds: Kind) -> Kind:
    """The kind of a result: the largest of its operands'; a row and a column value make an element, a shared value and
    one that differs between tensors a tensor value."""
    if Kind.ROW in kinds and Kind.COL in kinds:
        return Kind.ELEM
    largest = max(kinds, key=_ORDER.__getitem__, default=Kind.UNIFORM)
    return Kind.TENSOR if largest is Kind.SHARED and Kind.HOST in kinds else largest
