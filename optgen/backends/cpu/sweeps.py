"""A sweep as a task: part p of P takes an even share of all elements and, of each tensor it meets, hands a range of
elements to the function that holds the loop over them.

Shares are cut where nothing is split that belongs together: blocks of reductions, units of staged sweeps, whole rows
where a tensor is updated row by row, ROW_BLOCK of them where rows or columns are reduced. So the result depends on
neither the number of parts nor the vector width.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.cpu.module import ID, SEED, TASK, VOID, Env, Module, Step, T
from optgen.backends.cpu.reduce import reduce_blocks
from optgen.backends.cpu.staged import Staged, Where, is_staged, line_values
from optgen.backends.cpu.sweep import RAW, Body, for_elements
from optgen.backends.layout import Extent, Region, blocks, reductions, widened
from optgen.backends.llvm import F64, I64, IDENTITY, PTR, TYPES, at, fold, halving, integer, load, loop, smaller
from optgen.ir import BLOCK, LANES, ROW_BLOCK, Phase, Value
from optgen.ir.storage import QUANT_BLOCK
from optgen.model import Kind


def sweep_task(m: Module, phase: Phase, name: str) -> ll.Function:
    """Part `part` of `parts` of a sweep: its share of every tensor."""
    sweep = Sweep(m, phase)
    body = sweep.tensor(f"{name}.tensor")
    f, b = m.driver(name, TASK)
    step, part, parts = f.args
    saved = m.strict_floats(b)
    s = Step(b, step, m.layout)
    total, offset = m.cell(b, integer(0)), m.cell(b, integer(0))
    with loop(b, integer(0), s.n) as i:
        b.store(b.add(b.load(total, typ=I64), m.extent(b, s, i).elements), total)
    elements = b.load(total, typ=I64)
    low = b.sdiv(b.mul(elements, part), parts)
    high = b.sdiv(b.mul(elements, b.add(part, integer(1))), parts)
    with m.tensors(b, s) as (i, extent, region):
        here = b.load(offset, typ=I64)
        unit = sweep.unit(b, extent)
        begin, end = (_cut(b, b.sub(x, here), extent.elements, unit) for x in (low, high))
        with b.if_then(b.icmp_signed("<", begin, end)):
            b.call(body, [step, i, begin, end, region])
        b.store(b.add(here, extent.elements), offset)
    m.restore_floats(b, saved)
    b.ret_void()
    return f


def _cut(b: ll.IRBuilder, x: Any, size: Any, unit: Any) -> Any:
    """x within a tensor, rounded up to a unit: one rule for where a part ends and where the next one begins."""
    inside = b.select(b.icmp_signed("<", x, integer(0)), integer(0), smaller(b, x, size))
    up = b.mul(b.udiv(b.add(inside, b.sub(unit, integer(1))), unit), unit)
    return smaller(b, up, size)


class Sweep:
    """One sweep of a kernel: what it reads, and the functions it becomes."""

    def __init__(self, m: Module, phase: Phase) -> None:
        self.m, self.phase = m, phase
        touched = {i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Load | ir.Store)}
        self.streams = [b for b in m.kernel.buffers if b.name in touched]
        self.scales = [b.name for b in self.streams if b.is_quantized]
        self.staged = is_staged(m.kernel, phase)
        self.lines = line_values(phase)
        self.columns = [i.result for i in reductions(phase, "col") if i.result is not None]
        self.by_rows = bool(reductions(phase, "row") or self.columns)

    def unit(self, b: ll.IRBuilder, extent: Extent) -> Any:
        """What no cut may split, in elements."""
        if self.by_rows:
            return b.mul(integer(ROW_BLOCK), extent.cols)
        flat = integer(BLOCK if self.m.layout.partials else QUANT_BLOCK if self.staged else LANES)
        return b.select(extent.by_rows, extent.cols, flat) if self.m.kernel.rows_independent else flat

    # ------------------------------------------------------------ one tensor

    def tensor(self, name: str) -> ll.Function:
        """Fetch the pointers and scalars of one tensor and hand them to the loop over its elements."""
        m = self.m
        f, b = m.driver(name, ll.FunctionType(VOID, [PTR, I64, I64, I64, PTR]))
        step, i, begin, end, region = f.args
        s = Step(b, step, m.layout)
        extent = m.extent(b, s, i)
        places = m.layout.region(b, extent) if m.layout.matrix else None
        scalars: Env = {}
        m.fetch(b, s, self.phase, scalars, i)
        elements = self.elements(f"{name}.elements", list(scalars))

        def call(first: Any, last: Any, row: Any, number: Any, partials: Any, accumulators: list[Any]) -> None:
            where = self.where(b, s, i, extent, row, number) if self.staged else []
            lines = [self.line(b, region, places, extent, v) for v in self.lines]
            pointers = self.pointers(b, s, i, extent, row, number)
            b.call(elements, [first, last, partials, *where, *lines, *accumulators, *pointers, *scalars.values()])

        def rows() -> None:
            with loop(b, b.udiv(begin, extent.cols), b.udiv(end, extent.cols)) as row:
                number = m.row_number(b, s, i, row) if m.kernel.rows_independent else row
                partials = self.row_partials(b, region, places, extent, row)
                call(integer(0), extent.cols, row, number, partials, self.accumulators(b, region, places, extent, row))
                self.fold_row(b, region, places, extent, row, partials)

        if self.by_rows:
            rows()
        elif m.kernel.rows_independent:
            with b.if_else(extent.by_rows) as (one_by_one, whole):
                with one_by_one:
                    rows()
                with whole:
                    call(begin, end, None, None, region, [])
        else:
            call(begin, end, None, None, self.partials(b, region, extent), [])
        b.ret_void()
        return f

    def where(self, b: ll.IRBuilder, s: Step, i: Any, extent: Extent, row: Any, number: Any) -> list[Any]:
        """The fields of Where. The blocks of 8-bit codes restart at the rows of a tensor that is updated by rows."""
        m, zero = self.m, integer(0)
        scale_origin = zero if number is None else b.mul(number, extent.cols)
        origin = b.add(extent.first, scale_origin)
        if number is not None and m.kernel.rows_independent:
            scale_origin = b.select(extent.by_rows, zero, scale_origin)
        cols = integer(1) if extent.cols is None else extent.cols
        id, t = (load(b, s.pointer(field), i, I64) for field in (ID, T))
        return [origin, scale_origin, zero if row is None else row, cols, id, t, s.word(SEED)]

    def line(self, b: ll.IRBuilder, region: Any, places: Region | None, extent: Extent, v: Value) -> Any:
        assert places is not None
        lines = self.m.row_lines if v.type.kind is Kind.ROW else self.m.col_lines
        return lines(b, region, places, extent).of(b, v)

    def pointers(self, b: ll.IRBuilder, s: Step, i: Any, extent: Extent, row: Any, number: Any) -> list[Any]:
        """The streams, from the row at hand on; a gradient of some rows holds no others. Then the scales."""
        found = []
        for buffer in self.streams:
            start = self.m.pointer(b, s, i, buffer.name)
            if number is not None:
                which = row if ir.is_gradient(buffer.name) else number
                start = at(b, start, b.mul(which, extent.cols), RAW[buffer.format.bytes])
            found.append(start)
        for name in self.scales:
            start = self.m.pointer(b, s, i, f"{name}.scale")
            if number is not None and self.m.kernel.rows_independent:
                first = b.mul(number, blocks(b, extent.cols, QUANT_BLOCK))
                start = at(b, start, b.select(extent.by_rows, first, integer(0)), TYPES["f32"])
            found.append(start)
        return found

    def partials(self, b: ll.IRBuilder, region: Any, extent: Extent) -> Any:
        """Where the partial results of the first block at hand go: a piece's stand among those of the whole tensor."""
        block = b.lshr(extent.first, integer(BLOCK.bit_length() - 1))
        return at(b, region, b.mul(block, integer(self.m.layout.stride)), F64)

    # ------------------------------------------------------------ reductions of rows and columns

    def row_partials(self, b: ll.IRBuilder, region: Any, places: Region | None, extent: Extent, row: Any) -> Any:
        if places is None:
            return region
        each = b.mul(blocks(b, extent.cols), integer(self.m.layout.stride))
        return at(b, region, b.add(places.row_partials, b.mul(row, each)), F64)

    def fold_row(
        self, b: ll.IRBuilder, region: Any, places: Region | None, extent: Extent, row: Any, partials: Any
    ) -> None:
        m = self.m
        for r, instr in enumerate(reductions(self.phase, "row")):
            assert places is not None and instr.result is not None and isinstance(instr.op, ir.Reduce)
            count, stride = blocks(b, extent.cols), integer(m.layout.stride)
            total = b.call(m.pairwise(instr.op.op), [at(b, partials, integer(r), F64), count, stride])
            array = m.row_lines(b, region, places, extent).of(b, instr.result)
            b.store(widened(b, total, instr.result), at(b, array, row, F64))

    def accumulators(self, b: ll.IRBuilder, region: Any, places: Region | None, extent: Extent, row: Any) -> list[Any]:
        """Where the columns of this block of rows add up, cleared at its first row."""
        found = []
        for r, instr in enumerate(reductions(self.phase, "col")):
            assert places is not None and isinstance(instr.op, ir.Reduce)
            start = _accumulator(b, region, places, extent, r, b.lshr(row, integer(ROW_BLOCK.bit_length() - 1)))
            first = b.icmp_signed("==", b.and_(row, integer(ROW_BLOCK - 1)), integer(0))
            with b.if_then(first), loop(b, integer(0), extent.cols) as j:
                b.store(ll.Constant(F64, IDENTITY[instr.op.op]), at(b, start, j, F64))
            found.append(start)
        return found

    # ------------------------------------------------------------ the loop

    def elements(self, name: str, scalars: list[Value]) -> ll.Function:
        """The loop over elements [begin, end) of one tensor. Streams are noalias: `bind` has made sure of it."""
        m = self.m
        where = len(fields(Where)) if self.staged else 0
        arrays = len(self.lines) + len(self.columns) + len(self.streams) + len(self.scales)
        types = [I64, I64, PTR, *[I64] * where, *[PTR] * arrays, *(TYPES[v.type.dtype] for v in scalars)]
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

        place = take(where, False)
        lines = dict(zip(self.lines, take(len(self.lines)), strict=True))
        columns = dict(zip(self.columns, take(len(self.columns)), strict=True))
        pointers = dict(zip((x.name for x in self.streams), take(len(self.streams)), strict=True))
        scales = dict(zip(self.scales, take(len(self.scales)), strict=True))
        buffers = {x.name: x for x in self.streams}
        env = dict(zip(scalars, rest, strict=True))
        rounded = m.kernel.rounded
        body = Body(b, self.phase.instrs, m.kernel.compute, buffers, pointers, env, m.consts, rounded, columns)
        if self.staged:
            Staged(body, Where(*place), lines, scales, not self.by_rows).run(begin, end, partials, m.layout.stride)
        elif reductions(self.phase, "all") or reductions(self.phase, "row"):
            reduce_blocks(body, begin, end, partials, m.layout.stride)
        else:
            for_elements(body, begin, end)
        b.ret_void()
        return f


def _accumulator(b: ll.IRBuilder, region: Any, places: Region, extent: Extent, r: int, block: Any) -> Any:
    count = blocks(b, extent.rows, ROW_BLOCK)
    index = b.mul(b.add(b.mul(count, integer(r)), block), extent.cols)
    return at(b, region, b.add(places.accumulators, index), F64)


def fold_sweep(m: Module, phase: Phase, name: str) -> ll.Function:
    """After a sweep: fold the partial results of tensors and of columns (rows are complete)."""
    f, b = m.driver(name, ll.FunctionType(VOID, [PTR]))
    s = Step(b, f.args[0], m.layout)
    with m.tensors(b, s) as (i, extent, region):
        for r, instr in enumerate(reductions(phase, "all")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            count, stride = blocks(b, extent.whole), integer(m.layout.stride)
            total = b.call(m.pairwise(instr.op.op), [at(b, region, integer(r), F64), count, stride])
            m.keep(b, s, instr.result, {instr.result: total}, i)
        for r, instr in enumerate(reductions(phase, "col")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            places = m.layout.region(b, extent)
            sums = _accumulator(b, region, places, extent, r, integer(0))
            array = m.col_lines(b, region, places, extent).of(b, instr.result)
            count = blocks(b, extent.rows, ROW_BLOCK)
            b.call(fold_columns(m, instr.op.op), [sums, count, extent.cols, array])
    b.ret_void()
    return f


def fold_columns(m: Module, op: ir.ReduceOp) -> ll.Function:
    """f(sums, count, cols, result): fold `count` lines of `cols` numbers, in place: neighbours first."""
    name = f"{m.symbol}.columns.{op}"
    if name in m.module.globals:
        return m.module.globals[name]
    f, b = m.function(name, ll.FunctionType(VOID, [PTR, I64, I64, PTR]))
    sums, count, cols, result = f.args

    def line(k: Any) -> Any:
        return at(b, sums, b.mul(k, cols), F64)

    def copy(source: Any, to: Any) -> None:
        with loop(b, integer(0), cols) as j:
            b.store(load(b, source, j, F64), at(b, to, j, F64))

    with halving(b, count) as (left, shrink):
        half = b.lshr(left, integer(1))
        with loop(b, integer(0), half) as k:
            one, other, to = line(b.shl(k, integer(1))), line(b.add(b.shl(k, integer(1)), integer(1))), line(k)
            with loop(b, integer(0), cols) as j:
                b.store(fold(b, op, load(b, one, j, F64), load(b, other, j, F64)), at(b, to, j, F64))
        odd = b.and_(left, integer(1))
        with b.if_then(b.icmp_signed("==", odd, integer(1))):
            copy(line(b.sub(left, integer(1))), line(half))
        shrink(b.add(half, odd))
    with b.if_else(b.icmp_signed("==", count, integer(0))) as (nothing, something):
        with nothing, loop(b, integer(0), cols) as j:
            b.store(ll.Constant(F64, IDENTITY[op]), at(b, result, j, F64))
        with something:
            copy(sums, result)
    b.ret_void()
    return f
