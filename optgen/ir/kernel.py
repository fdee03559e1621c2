"""Kernels: instructions in phases, the buffers they read and write, and the variant they are built for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from optgen.axes import ELEMENTS, Axes, Dimensioned, Kind, When
from optgen.diagnostics import Source
from optgen.ir.ops import Instr, Load, Reduce, ReduceOp, ReduceOverParams, Store, Word, nested, operands
from optgen.ir.storage import SCALE, STORAGES, Storage
from optgen.ir.types import COMPUTE, DType, Value
from optgen.model import MAX_DRAWS, Flags

ROUNDING_DRAW = MAX_DRAWS
"""The first draw id of random rounding. Buffer k of `Kernel.rounded` takes one half of each word of draw ROUNDING_DRAW
+ k//2. All ids are below 2^12, because a spec is too short for 2^12 states."""


WEIGHTS = ("stochastic", "kahan")
"""How a new weight is rounded to the 16 bits of its parameter, if not to nearest: up or down at random, so that the
mean is right; or to nearest after what the last rounding lost was added, which the state COMPENSATION holds."""
COMPENSATION = "compensation"
GRADIENT_FACTOR = "grad.factor"
"""The hyper-parameter of scaled variants that no spec names."""


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

    `update`: the whole kernel, before it is split. `host`: once per tensor, doubles known before any element is read.
    `shared`: once per step. `scalar`: once per tensor. `row`, `col`: once per row or column of each tensor. `sweep`:
    one pass over the elements.

    A reduction is complete when its phase ends. An element may be used in its own phase only, any other value in later
    phases too.
    """

    kind: PhaseKind
    instrs: tuple[Instr, ...]


@dataclass(frozen=True)
class Variant:
    """What a kernel is built for.

    `dtype`: of parameters and gradients; `master`: the weight is kept in float32 beside a parameter of 16 bits;
    `storage`: of each elementwise state (default: that of the weight); `evaluate`: the `eval:` section, not the update;
    `gradients`: how many gradients of a parameter are summed, in order, as they are read; `scaled`: each is first
    multiplied by the hyper-parameter GRADIENT_FACTOR; `by_row`: the blocks of codes may restart at each row,
    though values depend on several rows; `boxes`: parameters may be boxes of larger tensors, which are cut anywhere;
    `donated`: a sweep may write temporaries to the gradients, which have no meaning after the step;
    `sizes`: the params that are dimensions of states; `matmul`: how matrices are multiplied; `weights`: how a weight of
    16 bits without a master is rounded, one of WEIGHTS, or None for to nearest.
    """

    flags: Flags
    dtype: str = "float32"
    master: bool = False
    storage: Mapping[str, str] = field(default_factory=dict)
    evaluate: bool = False
    gradients: int = 1
    scaled: bool = False
    by_row: bool = False
    boxes: bool = False
    donated: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    matmul: str = "float32"
    weights: str | None = None

    @property
    def weight(self) -> str:
        """The dtype of the weight that the equations read."""
        return "float32" if self.master else self.dtype

    @property
    def new_weight(self) -> str:
        """The storage by which an update rounds the weight."""
        return f"{self.weight}_stochastic" if self.weights == "stochastic" else self.weight


@dataclass(frozen=True)
class Buffer(Dimensioned):
    """An array that a step reads or writes.

    A gradient that is `written` was donated: a sweep may store a temporary there, which has no meaning after the
    step, for later sweeps to load.

    `axes` give its shape, `storage` the name of the storage of its elements. `init` is the initial value of a state: a
    number, the name of a hyper-parameter, or `w`. `starts_late`: it is 0 until the first update of the tensor, which
    computes another value to start from.

    A history keeps arrays of so many `entries` in one, along a first axis. A kernel reads and writes one entry of a
    buffer, which is the oldest one under the state's name. Other entries have buffers of their own in its memory.

    The codes of a quantized state "m" have float32 scales in the buffer "m.scale", one for each block of `block`
    elements. The storage of that buffer is "scale".
    """

    name: str
    written: bool
    init: float | str | None = None
    axes: Axes = ELEMENTS
    storage: str = "float32"
    nonnegative: bool = False  # no code stands for a negative number
    starts_late: bool = False
    known: When = When.TENSOR
    block: int | None = None  # of scales: how many elements have one
    entries: int | str = 0  # of a history: how many it keeps, or the name of a param that says it
    of: str = ""  # of an entry that is only read: the buffer with the history
    turn: str = ""  # of an array that a loop fills: the number of the turn, which is the entry that is written

    @property
    def memory(self) -> str:
        """The buffer whose memory it is."""
        return self.of or self.name

    @property
    def format(self) -> Storage:
        """The record of the storage."""
        return SCALE if self.is_scale else STORAGES[self.storage]

    @property
    def is_scale(self) -> bool:
        return self.storage == SCALE.name

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are codes in blocks, with scales in another buffer."""
        return self.format.block is not None

    @property
    def scales(self) -> Buffer:
        """The buffer of the scales of a quantized state."""
        return Buffer(f"{self.name}.scale", True, 0.0, storage=SCALE.name, block=self.format.block)


def gradient(k: int) -> str:
    """The buffer of the k-th gradient."""
    return f"grad.{k}" if k else "grad"


def is_gradient(buffer: str) -> bool:
    return buffer == "grad" or buffer.startswith("grad.")


@dataclass(frozen=True)
class ReductionLevel:
    """The reductions of a phase of kind sweep, row or col, by their scopes: their operations, in order."""

    kind: PhaseKind
    all: tuple[ReduceOp, ...]
    row: tuple[ReduceOp, ...] = ()
    col: tuple[ReduceOp, ...] = ()
    matrix: tuple[ReduceOp, ...] = ()


ShardGranularity = Literal["anywhere", "blocks", "tensors", "never"]
"""Where parameters can be cut into shards that are updated separately.

"anywhere": at the boundary of any block. "blocks": the same, if the shards exchange partial results of reductions.
"tensors": between tensors only. "never": all tensors must be updated together.
"""


@dataclass(frozen=True)
class Kernel:
    """The computation of one variant. `hyper` are the hyper-parameters it reads, in order, without `t`. `advances`: the
    step counts in `t`. `last_two`: a tensor is a batch of matrices of its last two axes, else one matrix of its first
    axis by the others; how many there are is the hyper-parameter `matrices`. `by_row` and `boxes` are the variant's.
    `orientation` has the pairs of dimensions, each in the order in which a matrix of them is stored, and in which its
    elements are reduced and drawn."""

    name: str
    dtype: str
    buffers: tuple[Buffer, ...]
    hyper: tuple[str, ...]
    phases: tuple[Phase, ...]
    advances: bool = True
    last_two: bool = False
    by_row: bool = False
    boxes: bool = False
    orientation: tuple[Axes, ...] = ()
    source: Source | None = field(default=None, repr=False, compare=False)
    """The text that spans of instructions are in, where backends are to write lines of debug information; else None."""
    kinds: frozenset[Kind] = field(init=False, repr=False, compare=False)
    """The kinds of all values."""
    places: Mapping[str, Value] = field(init=False, repr=False, compare=False)
    """The entries of histories that buffers are: a value for each of them, by the name of the buffer."""
    held: Mapping[int, Value] = field(init=False, repr=False, compare=False)
    """The updates that draws are held from: a value for each of them, by the number of the draw."""
    _by_name: Mapping[str, Buffer] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kinds = frozenset(i.result.type.kind for i in self.instrs() if i.result is not None)
        object.__setattr__(self, "kinds", kinds)
        ops = [i.op for i in self.instrs() if isinstance(i.op, Load | Store)]
        words = [i.op for i in self.instrs() if isinstance(i.op, Word)]
        object.__setattr__(self, "held", {op.draw: op.held for op in words if op.held is not None})
        object.__setattr__(self, "places", {op.buffer: op.place for op in ops if op.place is not None})
        object.__setattr__(self, "_by_name", {b.name: b for b in self.buffers})

    @property
    def compute(self) -> DType:
        return COMPUTE[self.dtype]

    def stored_before(self, phase: Phase) -> frozenset[str]:
        """The buffers that phases before this one store."""
        earlier = self.phases[: self.phases.index(phase)]
        return frozenset(i.op.buffer for p in earlier for i in p.instrs if isinstance(i.op, Store))

    @property
    def rows_independent(self) -> bool:
        """Whether some rows can be updated without the others: no value depends on several rows, no row has to start at
        the first update of the tensor, and all rows have the entries of a history from the same updates. With
        `last_two`, rows lie along the last axis but one; those of a row-sparse gradient lie along the first."""
        late = {b.kind for b in self.buffers if b.starts_late or b.entries}
        apart = not self.kinds & {Kind.SHARED, Kind.TENSOR, Kind.COL}
        return apart and not late & {Kind.ROW, Kind.ELEM} and not self.last_two

    @property
    def goes_by_rows(self) -> bool:
        """Whether sweeps without reductions can go row by row: the rows that a gradient has, or all rows, at each of
        which the blocks of codes restart."""
        return self.rows_independent or self.by_row

    @property
    def draws(self) -> bool:
        """Whether some value, or the rounding of one, is random."""
        return bool(self.rounded) or any(isinstance(i.op, Word) for i in self.instrs())

    @property
    def levels(self) -> tuple[ReductionLevel, ...]:
        """The phases with reductions, in order: where boxes of a tensor need one another's results."""
        found = []
        for phase in self.phases:
            if phase.kind in ("sweep", "row", "col"):
                ops = [i.op for i in phase.instrs if isinstance(i.op, Reduce)]
                scopes = ("all", "row", "col", "matrix")
                of = {scope: tuple(op.op for op in ops if op.scope == scope) for scope in scopes}
                found += [ReductionLevel(phase.kind, **of)] if ops else []
        return tuple(found)

    @property
    def shard_granularity(self) -> ShardGranularity:
        """Where the tensors of a step can be cut into shards."""
        kinds = self.kinds | {b.kind for b in self.buffers}
        if kinds & {Kind.ROW, Kind.COL} or any(b.entries for b in self.buffers):
            return "never" if Kind.SHARED in kinds else "tensors"
        return "blocks" if any(isinstance(i.op, Reduce | ReduceOverParams) for i in self.instrs()) else "anywhere"

    @property
    def rounded(self) -> list[str]:
        """The buffers that are rounded at random. The position in this list decides which random words a buffer
        takes."""
        return [b.name for b in self.buffers if b.format.needs_draws]

    def buffer(self, name: str) -> Buffer:
        return self._by_name[name]

    def instrs(self) -> Iterator[Instr]:
        """All instructions, those of loops included."""
        for phase in self.phases:
            yield from nested(phase.instrs)
