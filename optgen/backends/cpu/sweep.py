"""A sweep as a task: part p of P takes an even share of all elements. Of each tensor in its share, it hands a range of
elements to the function that loops over them.

A share never splits what belongs together: blocks of reductions, units of staged sweeps, whole rows where a tensor is
updated row by row, ROW_BLOCK rows where rows or columns are reduced. So the result depends on neither the number of
parts nor the vector width.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop, variable
from optgen.backends.cpu import fold
from optgen.backends.cpu.elements import UNIT, SweepBody, for_elements
from optgen.backends.cpu.module import TASK, VOID, CpuModuleBuilder
from optgen.backends.cpu.reduce import reduce_blocks, reduce_row
from optgen.backends.cpu.staged import StagedLoop, TileOrigin, is_staged
from optgen.backends.cpu.step import StepFunction, TensorRegion
from optgen.backends.element_body import line_values, streams
from optgen.backends.layout import Extent, blocks, reductions, widened
from optgen.backends.llvm import F64, I64, IDENTITY, PTR, TYPES, at, integer, load, minimum
from optgen.backends.module_builder import Env
from optgen.ir import BLOCK, LANES, ROW_BLOCK, Phase, Value
from optgen.ir.storage import QUANT_BLOCK


def sweep_task(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """Part `part` of `parts` of a sweep: its share of every tensor."""
    sweep = CpuSweep(m, phase)
    body = sweep.tensor(f"{name}.tensor")
    f, b = m.cold_function(name, TASK)
    step, part, parts = f.args
    saved = m.float_mode.set(b)
    s = StepFunction(m, b, step)
    total, offset = variable(b, integer(0)), variable(b, integer(0))
    elements = s.count_elements(total)
    low = b.sdiv(b.mul(elements, part), parts)
    high = b.sdiv(b.mul(elements, b.add(part, integer(1))), parts)
    with s.tensors() as (i, extent, region):
        here = b.load(offset, typ=I64)
        unit = sweep.unit(b, extent)
        boundary = _boundary_in_matrix if sweep.by_rows and sweep.in_batches else _boundary
        begin, end = (boundary(b, b.sub(x, here), extent, unit) for x in (low, high))
        with b.if_then(b.icmp_signed("<", begin, end)):
            b.call(body, [step, i, begin, end, region])
        b.store(b.add(here, extent.elements), offset)
    m.float_mode.restore(b, saved)
    b.ret_void()
    return f


def _boundary(b: ll.IRBuilder, x: Any, extent: Extent, unit: Any) -> Any:
    """x clamped to a tensor and rounded up to a unit: where one part ends and the next one begins."""
    return _rounded_up(b, _clamped(b, x, extent.elements), unit, extent.elements)


def _boundary_in_matrix(b: ll.IRBuilder, x: Any, extent: Extent, unit: Any) -> Any:
    """`_boundary`, where each matrix has units of its own, the last of which ends with it."""
    inside = _clamped(b, x, extent.elements)
    matrix = b.mul(extent.height, extent.cols)
    divisor = b.select(b.icmp_signed(">", matrix, integer(1)), matrix, integer(1))
    start = b.mul(b.udiv(inside, divisor), matrix)
    return b.add(start, _rounded_up(b, b.sub(inside, start), unit, matrix))


def _clamped(b: ll.IRBuilder, x: Any, size: Any) -> Any:
    return b.select(b.icmp_signed("<", x, integer(0)), integer(0), minimum(b, x, size))


def _rounded_up(b: ll.IRBuilder, x: Any, unit: Any, most: Any) -> Any:
    return minimum(b, b.mul(b.udiv(b.add(x, b.sub(unit, integer(1))), unit), unit), most)


class CpuSweep:
    """One sweep of a kernel: what it reads, and the functions it becomes."""

    def __init__(self, m: CpuModuleBuilder, phase: Phase) -> None:
        self.m, self.phase = m, phase
        self.streams = streams(m.kernel, phase)
        self.scales = [x.name for x in self.streams if x.is_quantized]
        self.staged = is_staged(m.kernel, phase)
        self.lines = line_values(phase)
        self.columns = [i.result for i in reductions(phase, "col") if i.result is not None]
        self.by_rows = bool(reductions(phase, "row") or self.columns)
        self.in_batches = m.layout.matrix and m.kernel.last_two

    def unit(self, b: ll.IRBuilder, extent: Extent) -> Any:
        """How many elements stay together: shares begin at multiples of it."""
        if self.by_rows:
            return b.mul(integer(ROW_BLOCK), extent.cols)
        flat = integer(BLOCK if self.m.layout.partials else QUANT_BLOCK if self.staged else LANES)
        return b.select(extent.by_rows, extent.cols, flat) if self.m.kernel.rows_independent else flat

    # ------------------------------------------------------------ one tensor

    def tensor(self, name: str) -> ll.Function:
        """f(step, i, begin, end, region): load the pointers and scalars of tensor i for the loop over its elements."""
        m, layout = self.m, self.m.layout
        # The rows of a batch may be many, and short.
        function = m.function if self.in_batches else m.cold_function
        f, b = function(name, ll.FunctionType(VOID, [PTR, I64, I64, I64, PTR]))
        step, i, begin, end, region = f.args
        s = StepFunction(m, b, step)
        extent = s.extent(i)
        tensor = TensorRegion(s, i, extent, region, layout.region(b, extent) if layout.matrix else None)
        scalars: Env = {}
        s.fetch(self.phase, scalars, i)
        elements = self.elements(f"{name}.elements", list(scalars))

        def call(first: Any, last: Any, row: Any, number: Any, partials: Any, column_sums: list[Any]) -> None:
            tile = self.tile_origin(tensor, row, number) if self.staged else []
            lines = [tensor.line_array(v) for v in self.lines]
            pointers = self.pointers(tensor, row, number)
            b.call(elements, [first, last, partials, *tile, *lines, *column_sums, *pointers, *scalars.values()])

        def rows() -> None:
            with loop(b, b.udiv(begin, extent.cols), b.udiv(end, extent.cols)) as row:
                number = s.row_number(i, row) if m.kernel.rows_independent else row
                partials = tensor.row_partials(row)
                call(integer(0), extent.cols, row, number, partials, self.column_sums(tensor, row))
                self.fold_row(tensor, row, partials)

        if self.by_rows:
            rows()
        elif m.kernel.rows_independent:
            with b.if_else(extent.by_rows) as (one_by_one, whole):
                with one_by_one:
                    rows()
                with whole:
                    call(begin, end, None, None, region, [])
        else:
            call(begin, end, None, None, tensor.partials(), [])
        b.ret_void()
        return f

    def tile_origin(self, tensor: TensorRegion, row: Any, number: Any) -> list[Any]:
        """The fields of TileOrigin. The blocks of 8-bit codes restart at the rows of a tensor that is updated by
        rows."""
        s, b, extent, zero = tensor.s, tensor.s.b, tensor.extent, integer(0)
        scale_origin = zero if number is None else b.mul(number, extent.cols)
        origin = b.add(extent.first, scale_origin)
        if number is not None and self.m.kernel.rows_independent:
            scale_origin = b.select(extent.by_rows, zero, scale_origin)
        cols = integer(1) if extent.cols is None else extent.cols
        id, t = (load(b, s.field(name), tensor.i, I64) for name in ("id", "t"))
        height = [extent.height] if self.in_batches else []
        return [origin, scale_origin, zero if row is None else row, cols, id, t, s.field("seed"), *height]

    def pointers(self, tensor: TensorRegion, row: Any, number: Any) -> list[Any]:
        """The streams, from the row at hand on; a gradient of some rows holds no others. Then the scales."""
        s, b, extent = tensor.s, tensor.s.b, tensor.extent
        found = []
        for buffer in self.streams:
            start = s.pointer(buffer.name, tensor.i)
            if number is not None:
                which = row if ir.is_gradient(buffer.name) else number
                start = at(b, start, b.mul(which, extent.cols), UNIT[buffer.format.bytes])
            found.append(start)
        for name in self.scales:
            start = s.pointer(f"{name}.scale", tensor.i)
            if number is not None and self.m.kernel.rows_independent:
                first = b.mul(number, blocks(b, extent.cols, QUANT_BLOCK))
                start = at(b, start, b.select(extent.by_rows, first, integer(0)), TYPES["f32"])
            found.append(start)
        return found

    # ------------------------------------------------------------ reductions of rows and columns

    def fold_row(self, tensor: TensorRegion, row: Any, partials: Any) -> None:
        """Fold the partial results of a row, and keep what becomes of them."""
        b = tensor.s.b
        for r, instr in enumerate(reductions(self.phase, "row")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            count, stride = blocks(b, tensor.extent.cols), integer(self.m.layout.stride)
            total = b.call(fold.pairwise(self.m, instr.op.op), [at(b, partials, integer(r), F64), count, stride])
            array = tensor.line_array(instr.result)
            b.store(widened(b, total, instr.result), at(b, array, row, F64))

    def column_sums(self, tensor: TensorRegion, row: Any) -> list[Any]:
        """Where the columns of this block of rows add up, cleared at its first row."""
        b, found, extent = tensor.s.b, [], tensor.extent
        block = b.lshr(row, integer(ROW_BLOCK.bit_length() - 1))
        if extent.matrices is not None and self.columns:
            matrix = b.udiv(row, extent.height)
            row = b.sub(row, b.mul(matrix, extent.height))
            block = b.lshr(row, integer(ROW_BLOCK.bit_length() - 1))
            block = b.add(block, b.mul(matrix, blocks(b, extent.height, ROW_BLOCK)))
        for r, instr in enumerate(reductions(self.phase, "col")):
            assert isinstance(instr.op, ir.Reduce)
            start = tensor.column_sums(r, block)
            first = b.icmp_signed("==", b.and_(row, integer(ROW_BLOCK - 1)), integer(0))
            with b.if_then(first), loop(b, integer(0), tensor.extent.cols) as j:
                b.store(ll.Constant(F64, IDENTITY[instr.op.op]), at(b, start, j, F64))
            found.append(start)
        return found

    # ------------------------------------------------------------ the loop

    def elements(self, name: str, scalars: list[Value]) -> ll.Function:
        """The loop over elements [begin, end) of one tensor. Streams are noalias: `bind` refuses overlapping ones."""
        m = self.m
        tile = len(fields(TileOrigin)) - (not self.in_batches) if self.staged else 0
        arrays = len(self.lines) + len(self.columns) + len(self.streams) + len(self.scales)
        types = [I64, I64, PTR, *[I64] * tile, *[PTR] * arrays, *(TYPES[v.type.dtype] for v in scalars)]
        f, b = m.function(name, ll.FunctionType(VOID, types))
        f.attributes.add("noinline")
        begin, end, partials, *rest = f.args

        def take(count: int, noalias: bool = True) -> list[Any]:
            taken: list[Any] = rest[:count]
            del rest[:count]
            for arg in taken:
                if noalias:
                    arg.add_attribute("noalias")
            return taken

        place = take(tile, False)
        lines = dict(zip(self.lines, take(len(self.lines)), strict=True))
        columns = dict(zip(self.columns, take(len(self.columns)), strict=True))
        pointers = dict(zip((x.name for x in self.streams), take(len(self.streams)), strict=True))
        scales = dict(zip(self.scales, take(len(self.scales)), strict=True))
        body = SweepBody(m, b, self.phase, pointers, dict(zip(scalars, rest, strict=True)), columns)
        if self.staged:
            staged = StagedLoop(body, TileOrigin(*place), lines, scales, not self.by_rows)
            staged.run(begin, end, partials, m.layout.stride)
        elif self.in_batches and reductions(self.phase, "row"):
            reduce_row(body, end, partials, m.layout.stride)
        elif reductions(self.phase, "all") or reductions(self.phase, "row"):
            reduce_blocks(body, begin, end, partials, m.layout.stride)
        else:
            for_elements(body, begin, end)
        b.ret_void()
        return f


def fold_sweep(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """After a sweep: fold the partial results of tensors and of columns (rows are complete)."""
    function = m.function if m.kernel.last_two else m.cold_function
    f, b = function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    with s.tensors() as (i, extent, region):
        for r, instr in enumerate(reductions(phase, "all")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            count, stride = blocks(b, extent.whole), integer(m.layout.stride)
            total = b.call(fold.pairwise(m, instr.op.op), [at(b, region, integer(r), F64), count, stride])
            s.keep(instr.result, total, i)
        for r, instr in enumerate(reductions(phase, "col")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
            sums = tensor.column_sums(r, integer(0))
            array = tensor.line_array(instr.result)
            count = blocks(b, extent.height, ROW_BLOCK)
            with _matrices(b, extent) as k:
                own = at(b, sums, b.mul(b.mul(k, count), extent.cols), F64)
                to = at(b, array, b.mul(k, extent.cols), F64)
                b.call(fold.columns(m, instr.op.op), [own, count, extent.cols, to])
    b.ret_void()
    return f


@contextmanager
def _matrices(b: ll.IRBuilder, extent: Extent) -> Iterator[Any]:
    """Over the matrices of a tensor, by number."""
    if extent.matrices is None:
        yield integer(0)
        return
    with loop(b, integer(0), extent.matrices) as k:
        yield k
