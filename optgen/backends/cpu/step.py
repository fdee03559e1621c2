"""A function of a CPU module that is given an optgen_step: its fields, its tensors, and the places of their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import loop, variable
from optgen.backends.cpu.line_arrays import LineArrays
from optgen.backends.cpu.module import CpuModuleBuilder
from optgen.backends.function_builder import FunctionBuilder
from optgen.backends.layout import Extent, RegionOffsets, blocks
from optgen.backends.llvm import at, integer, load, maximum
from optgen.backends.llvm_types import F64, I32, I64, PTR
from optgen.backends.module_builder import Env
from optgen.backends.step_struct import BOX_FIELD_INDEX, BOX_FIELDS, STEP_FIELD_INDEX, STEP_FIELDS
from optgen.ir import BLOCK, Instr, Value

_FIELD_TYPES = [I64 if x.is_integer else PTR for x in STEP_FIELDS]


class TensorFunction(FunctionBuilder):
    """A function that knows the arrays of a step's buffers and of its tensors' values.

    `scalars` are the latter: [slot][tensor]. `workspace` is not needed where there are no shared values.
    """

    m: CpuModuleBuilder

    def __init__(
        self, m: CpuModuleBuilder, b: ll.IRBuilder, n: Any, buffers: Any, workspace: Any, scalars: Any
    ) -> None:
        super().__init__(m, b)
        self.n, self.buffers, self.workspace, self.tensor_values = n, buffers, workspace, scalars

    def pointer(self, buffer: str, i: Any) -> Any:
        row = self.b.mul(i, integer(len(self.m.buffer_index)))
        start = load(self.b, self.buffers, self.b.add(row, integer(self.m.buffer_index[buffer])), PTR)
        return self.in_history(buffer, start, i)

    def define(self, instr: Instr, env: Env) -> None:
        if isinstance(instr.op, ir.Math):
            assert instr.result is not None
            args = [self.operand(v, env) for v in instr.op.args]
            env[instr.result] = self.b.call(self.m.math(instr.op.function), args)
        else:
            super().define(instr, env)

    def slot(self, v: Value, i: Any) -> Any | None:
        b, layout = self.b, self.m.layout
        if v in layout.shared:
            return at(b, self.workspace, integer(layout.shared[v]), F64)
        if v in layout.slots:
            return at(b, self.tensor_values, b.add(b.mul(self.n, integer(layout.slots[v])), i), F64)
        return None


class StepFunction(TensorFunction):
    """A function with the address of an optgen_step; it is made in the function's first block."""

    def __init__(self, m: CpuModuleBuilder, b: ll.IRBuilder, step: Any) -> None:
        self.m, self.b, self.step = m, b, step
        workspace = self.field("workspace")
        scalars = at(b, workspace, integer(len(m.layout.shared)), F64)
        n, buffers = self.field("n"), self.field("buffers")
        super().__init__(m, b, n, buffers, workspace, scalars)
        self.size = self.field("size")
        self.regions = at(b, scalars, b.mul(n, integer(len(m.layout.slots))), F64)

    def entry_size(self, kind: Kind, i: Any) -> Any:
        if kind is Kind.ELEM:
            return load(self.b, self.size, i, I64)
        if kind in (Kind.ROW, Kind.COL):
            extent = self.extent(i)
            return extent.rows if kind is Kind.ROW else extent.columns
        return integer(1)

    def field(self, name: str) -> Any:
        """A field of the step."""
        k = STEP_FIELD_INDEX[name]
        type = _FIELD_TYPES[k]
        if not self.m.is_wasm:
            return load(self.b, self.step, integer(k), type)
        place = self.b.gep(self.step, [I32(0), I32(k)], inbounds=True, source_etype=ll.LiteralStructType(_FIELD_TYPES))
        return self.b.load(place, typ=type)

    def count_elements(self) -> Any:
        """How many elements the step visits, of all tensors."""
        name = f"{self.m.symbol}.elements"
        return self.b.call(self.m.module.globals.get(name) or _element_count(self.m, name), [self.step])

    def count_lines(self, kind: Kind) -> Any:
        """How many rows, or columns, the step visits, of all tensors."""
        b, total = self.b, variable(self.b, integer(0))
        with loop(b, integer(0), self.n) as i:
            extent = self.extent(i)
            own = extent.rows if kind is Kind.ROW else extent.columns
            b.store(b.add(b.load(total, typ=I64), own), total)
        return b.load(total, typ=I64)

    @contextmanager
    def tensors(self) -> Iterator[tuple[Any, Extent, Any]]:
        """A loop over the tensors: yields the number, the extent, and the address of the region."""
        b, base = self.b, variable(self.b, integer(0))
        with loop(b, integer(0), self.n) as i:
            extent = self.extent(i)
            here = b.load(base, typ=I64)
            b.store(b.add(here, self.m.layout.region(b, extent).end), base)
            yield i, extent, at(b, self.regions, here, F64)

    def extent(self, i: Any) -> Extent:
        """What the step visits of tensor i."""
        b, layout, kernel = self.b, self.m.layout, self.m.kernel
        size = load(b, self.size, i, I64)
        if kernel.boxes:
            by_rows = b.icmp_signed(">=", self._present(i), integer(0)) if kernel.goes_by_rows else None
            whole, first, rows, cols = (self.box_field(i, x) for x in ("whole", "first", "own_rows", "own_cols"))
            return self._in_matrices(i, Extent(size, whole, first, rows, cols, by_rows, columns=cols))
        whole, first = self._piece(i, size) if self.m.can_be_cut else (size, integer(0))
        if not (layout.matrix or kernel.goes_by_rows):
            return Extent(size, whole, first, None, None, None)
        columns = load(b, self.field("cols"), i, I64)
        cols = maximum(b, columns, integer(1))  # what is divided by it is 0 where there are none
        rows = self._present(i)
        by_rows = b.icmp_signed(">=", rows, integer(0))
        elements = b.select(by_rows, b.mul(rows, cols), size)
        if layout.matrix:
            rows = b.select(by_rows, rows, b.sdiv(size, cols))
            whole = elements
        return self._in_matrices(i, Extent(elements, whole, first, rows, cols, by_rows, columns=columns))

    def _in_matrices(self, i: Any, extent: Extent) -> Extent:
        """An extent with the matrices that tensor i, or the box that it is, consists of."""
        b, rows, cols = self.b, extent.rows, extent.cols
        if not (self.m.layout.matrix and self.m.kernel.last_two):
            return replace(extent, height=rows)
        matrices = self.box_field(i, "own_matrices") if self.m.kernel.boxes else self._matrices(i)
        height = b.sdiv(rows, maximum(b, matrices, integer(1)))
        return replace(extent, matrices=matrices, height=height, columns=b.mul(matrices, cols))

    def _matrices(self, i: Any) -> Any:
        """How many matrices tensor i is: a hyper-parameter, as the language has it."""
        b = self.b
        row = b.mul(self.n, integer(self.m.kernel.hyper.index("matrices")))
        return b.fptosi(load(b, self.field("hyper"), b.add(row, i), F64), I64)

    def _present(self, i: Any) -> Any:
        """How many rows of tensor i are updated one by one; -1: it is updated as a whole."""
        b, present = self.b, variable(self.b, integer(-1))
        counts = self.field("present")
        with self._unless_null(counts):
            b.store(load(b, counts, i, I64), present)
        return b.load(present, typ=I64)

    def box_field(self, i: Any, name: str) -> Any:
        """What is known of the box that tensor i is."""
        b = self.b
        record = b.mul(i, integer(len(BOX_FIELDS)))
        return load(b, self.field("boxes"), b.add(record, integer(BOX_FIELD_INDEX[name])), I64)

    def _piece(self, i: Any, size: Any) -> tuple[Any, Any]:
        """How many elements the tensor has that piece i is of, and which of them is the first of the piece."""
        b, found = self.b, []
        for name, otherwise in (("whole", size), ("first", integer(0))):
            number, numbers = variable(b, otherwise), self.field(name)
            with self._unless_null(numbers):
                b.store(load(b, numbers, i, I64), number)
            found.append(b.load(number, typ=I64))
        return found[0], found[1]

    def row_number(self, i: Any, r: Any) -> Any:
        """The row of the whole tensor that the r-th visited one is."""
        return listed_row(self.b, self.row_list(i), r)

    def row_list(self, i: Any) -> Any:
        """The numbers of the rows of tensor i that are visited; null: all rows are."""
        b, rows = self.b, variable(self.b, ll.Constant(PTR, None))
        lists = self.field("index")
        with self._unless_null(lists):
            b.store(load(b, lists, i, PTR), rows)
        return b.load(rows, typ=PTR)

    def _unless_null(self, pointer: Any) -> AbstractContextManager[Any]:
        return unless_null(self.b, pointer)


@contextmanager
def unless_null(b: ll.IRBuilder, pointer: Any) -> Iterator[None]:
    """What is emitted here runs if the pointer is not null."""
    with b.if_then(b.icmp_unsigned("!=", pointer, ll.Constant(PTR, None))):
        yield


def listed_row(b: ll.IRBuilder, rows: Any, r: Any) -> Any:
    """Number r of a list of rows; r itself if that is null."""
    number = variable(b, r)
    with unless_null(b, rows):
        b.store(load(b, rows, r, I64), number)
    return b.load(number, typ=I64)


def _element_count(m: CpuModuleBuilder, name: str) -> ll.Function:
    """f(step): `StepFunction.count_elements`. Two calls of a step go over all tensors to count, so it is optimised."""
    f, b = m.function(name, ll.FunctionType(I64, [PTR]))
    f.attributes.add("noinline")
    s, total = StepFunction(m, b, f.args[0]), variable(b, integer(0))
    with loop(b, integer(0), s.n, lanes=1) as i:
        b.store(b.add(b.load(total, typ=I64), s.extent(i).elements), total)
    b.ret(b.load(total, typ=I64))
    return f


@dataclass(frozen=True)
class TensorRegion:
    """The region of tensor i in the workspace, at `address`; `offsets` are needed for rows and columns alone."""

    s: StepFunction
    i: Any
    extent: Extent
    address: Any
    offsets: RegionOffsets | None

    def line_arrays(self, kind: Kind) -> LineArrays:
        """The arrays of the tensor's row values, or column values."""
        layout, extent = self.s.m.layout, self.extent
        assert self.offsets is not None
        if kind is Kind.ROW:
            return LineArrays(self._at(self.offsets.rows), extent.rows, layout.line_slots(kind))
        return LineArrays(self._at(self.offsets.cols), extent.columns, layout.line_slots(kind))

    def line_array(self, v: Value) -> Any:
        """The array of one row value, or column value."""
        return self.line_arrays(v.type.kind).array(self.s.b, v)

    def partials(self) -> Any:
        """Where the partial results of its first block go: those of a piece stand among those of the whole tensor."""
        b = self.s.b
        block = b.lshr(self.extent.first, integer(BLOCK.bit_length() - 1))
        return self._at(b.mul(block, integer(self.s.m.layout.stride)))

    def row_partials(self, row: Any) -> Any:
        """Where the partial results of a row's blocks go."""
        if self.offsets is None:
            return self.address
        b = self.s.b
        each = b.mul(blocks(b, self.extent.cols), integer(self.s.m.layout.stride))
        return self._at(b.add(self.offsets.row_partials, b.mul(row, each)))

    def column_sums(self, r: int, row_block: Any) -> Any:
        """Where the columns of a block of rows add up, for reduction r; blocks are counted over all matrices."""
        assert self.offsets is not None
        b = self.s.b
        index = b.mul(b.add(b.mul(self.extent.row_blocks(b), integer(r)), row_block), self.extent.cols)
        return self._at(b.add(self.offsets.column_sums, index))

    def tree(self) -> Any:
        """Where an array of row or column values is folded."""
        assert self.offsets is not None
        return self._at(self.offsets.tree)

    def _at(self, offset: Any) -> Any:
        return at(self.s.b, self.address, offset, F64)
