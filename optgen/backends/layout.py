"""The workspace of a step: doubles, in which a phase of a kernel leaves values for later phases.

    shared values | values of every tensor: [slot][tensor] | one region for each tensor

A region holds the partial results of reductions and the arrays of row and column values. Its size follows from that of
the tensor, so no offset is stored: code that goes over the tensors adds up the sizes of their regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.llvm import integer, is_const
from optgen.backends.llvm_types import F64, I32, I64, TYPES, constant, vector
from optgen.ir import BLOCK, ROW_BLOCK, Instr, Kernel, Phase, Value

PER_TENSOR = (Kind.UNIFORM, Kind.HOST, Kind.TENSOR)
"""The kinds of values of which each tensor has one."""


@dataclass(frozen=True)
class Extent:
    """What a step visits of one tensor: `elements` of them, in `rows` rows of `cols` each.

    They are `matrices` matrices of `height` rows, whose columns are `columns` together. `matrices` is None where a
    tensor is one matrix.

    `by_rows`: rows are updated one by one. Of a piece, `elements` is its own size; the tensor has `whole` elements, and
    number `first` is the first one of the piece.
    """

    elements: Any
    whole: Any
    first: Any
    rows: Any
    cols: Any
    by_rows: Any
    matrices: Any = None
    height: Any = None
    columns: Any = None

    def row_blocks(self, b: ll.IRBuilder) -> Any:
        """How many blocks of ROW_BLOCK rows there are. A block is within one matrix."""
        each = blocks(b, self.height, ROW_BLOCK)
        return each if self.matrices is None else b.mul(self.matrices, each)


@dataclass(frozen=True)
class RegionOffsets:
    """The offsets of a region's parts, in doubles; `end` is its size."""

    row_partials: Any
    rows: Any  # [row slot][row]
    cols: Any  # [column slot][column]
    column_sums: Any  # [reduction][block of rows][column]
    tree: Any
    end: Any


class WorkspaceLayout:
    """The places of a kernel's values in the workspace. In kernels for boxes, what is exchanged stands elsewhere.

    `slots`, `shared`, `rows` and `cols` number the values of each kind. `partials`, `row_partials` and `column_sums`
    say how many reductions of that scope a sweep has at most. `tree`: arrays of row or column values are reduced.
    `matrix`: rows or columns have a part in the workspace.
    """

    def __init__(self, kernel: Kernel) -> None:
        crossing = _crossing(kernel)
        kinds = {v.type.kind for v in crossing}
        self.slots = {v: k for k, v in enumerate(v for v in crossing if v.type.kind in PER_TENSOR)}
        self.shared = {v: k for k, v in enumerate(v for v in crossing if v.type.kind is Kind.SHARED)}
        self.rows = {v: k for k, v in enumerate(v for v in crossing if v.type.kind is Kind.ROW)}
        self.cols = {v: k for k, v in enumerate(v for v in crossing if v.type.kind is Kind.COL)}
        sweeps = [p for p in kernel.phases if p.kind == "sweep"]
        self.partials = max((len(reductions(p, "all")) for p in sweeps), default=0)
        self.row_partials = max((len(reductions(p, "row")) for p in sweeps), default=0)
        self.column_sums = max((len(reductions(p, "col")) for p in sweeps), default=0)
        self.tree = any(reductions(p, "all") for p in kernel.phases if p.kind in ("row", "col"))
        self.boxes = kernel.boxes
        lines = any(p.kind in ("row", "col") for p in kernel.phases)
        self.matrix = bool(lines or kinds & {Kind.ROW, Kind.COL} or self.row_partials or self.column_sums)

    @property
    def stride(self) -> int:
        """How many reductions lie side by side in the partial results."""
        return max(self.partials, self.row_partials)

    def line_slots(self, kind: Kind) -> dict[Value, int]:
        """The places of row values, or column values, among the arrays of their kind."""
        return self.rows if kind is Kind.ROW else self.cols

    def region(self, b: ll.IRBuilder, extent: Extent) -> RegionOffsets:
        """Emit the arithmetic of one tensor's region."""
        offset: Any = integer(0)

        def take(count: Any) -> Any:
            nonlocal offset
            offset = b.add(offset, count)
            return offset

        if self.partials and not self.boxes:
            take(b.mul(blocks(b, extent.whole), integer(self.stride)))
        row_partials = offset
        if self.row_partials:
            take(b.mul(b.mul(extent.rows, blocks(b, extent.cols)), integer(self.stride)))
        rows = offset
        cols = take(b.mul(extent.rows, integer(len(self.rows)))) if self.rows else rows
        column_sums = take(b.mul(extent.columns, integer(len(self.cols)))) if self.cols else cols
        tree = column_sums
        if self.column_sums and not self.boxes:
            each = b.mul(extent.row_blocks(b), extent.cols)
            tree = take(b.mul(each, integer(self.column_sums)))
        end = tree
        if self.tree and not self.boxes:
            end = take(b.add(blocks(b, extent.rows), blocks(b, extent.columns)))
        return RegionOffsets(row_partials, rows, cols, column_sums, tree, end)


def blocks(b: ll.IRBuilder, count: Any, block: int = BLOCK) -> Any:
    """How many blocks so many elements make; `block` is a power of two."""
    return b.lshr(b.add(count, integer(block - 1)), integer(block.bit_length() - 1))


def reductions(phase: Phase, scope: str) -> list[Instr]:
    """The reductions of a phase that have this scope."""
    return [i for i in phase.instrs if isinstance(i.op, ir.Reduce) and i.op.scope == scope]


def widened(b: ll.IRBuilder, x: Any, v: Value) -> Any:
    """A value as it is kept: a double, whatever its dtype. An i64 keeps its bits."""
    match v.type.dtype:
        case "f32":
            return b.fpext(x, F64)
        case "b1":
            return b.uitofp(x, F64)
        case "i32":
            return b.sitofp(x, F64)
        case "i64":
            return b.bitcast(x, F64)
    return x


def narrowed(b: ll.IRBuilder, x: Any, v: Value, width: int = 1) -> Any:
    """The inverse of `widened`, of `width` values at once."""
    match v.type.dtype:
        case "f32":
            return b.fptrunc(x, vector(TYPES["f32"], width))
        case "b1":
            return b.fcmp_ordered("!=", x, constant(F64, 0.0, width))
        case "i32":
            return b.fptosi(x, vector(I32, width))
        case "i64":
            return b.bitcast(x, vector(I64, width))
    return x


def _crossing(kernel: Kernel) -> list[Value]:
    """The values that a phase hands to a later one, and the row and column values that are reduced."""
    consts = {i.result for i in kernel.instrs() if is_const(i)}
    found: dict[Value, None] = {}
    for phase in kernel.phases:
        here = {i.result for i in phase.instrs if not isinstance(i.op, ir.Reduce)}
        for instr in phase.instrs:
            for v in ir.operands(instr.op):
                if v not in here and v not in consts:
                    found[v] = None
            if isinstance(instr.op, ir.Reduce):
                assert instr.result is not None
                found[instr.result] = None
                if phase.kind in ("row", "col"):
                    found[instr.op.x] = None
            if isinstance(instr.op, ir.ReduceOverParams) and instr.op.x not in consts:
                found[instr.op.x] = None
    return list(found)
