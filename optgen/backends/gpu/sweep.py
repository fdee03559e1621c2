"""A sweep: every warp takes units of elements until none is left.

A unit never splits what belongs together: a block of the reduction tree, a block of codes, the rows of which a
column's partial sum is made. So the result depends neither on the number of warps nor on which warp takes which unit.
A thread of a warp has the lanes of its group: of 32 threads, thread t has lanes 4t to 4t + 3 of the tree. So it adds up
what it reads, in order, in a register for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import loop, variable
from optgen.backends.element_body import draws, line_values, streams
from optgen.backends.gpu.access import WideAccess, groups_at_once, neighbouring_groups
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.gpu.group import CODE_GROUPS, Draws, ElementRange, GroupContext
from optgen.backends.gpu.launches import coded, groups_in_flight
from optgen.backends.gpu.table import SEED, Launch, TableWord
from optgen.backends.layout import reductions
from optgen.backends.llvm import at, ceil_div, fold, integer, maximum, minimum
from optgen.backends.llvm_types import F64, I32, I64, TYPES, constant, raw_type, vector
from optgen.backends.module_builder import Env
from optgen.ir import BLOCK, IDENTITY, LANES, ROW_BLOCK, Buffer, Instr, Phase, Value
from optgen.ir.storage.packing import CODES_PER_BYTE


class GpuSweep:
    """One sweep of a kernel as the body of its launch."""

    def __init__(self, f: LaunchFunction, phase: Phase, launch: Launch) -> None:
        self.f, self.phase, self.launch = f, phase, launch
        self.b, self.m = f.b, f.m
        self.by_rows = launch.unit == "row blocks"
        self.by_columns = launch.unit == "column tiles"
        self.streams = streams(self.m.kernel, phase)
        self.reduced = [i for scope in ("all", "row", "col") for i in reductions(phase, scope)]
        self.lazy = self.m.kernel.rows_independent or (self.m.kernel.by_row and not self.reduced)
        # Blocks of codes that may restart anywhere in a unit.
        self.restarts = self.m.kernel.by_row and not self.lazy and any(x.is_quantized for x in self.streams)
        self.group = f.gpu.group
        self.groups = groups_in_flight(self.m.kernel, phase, f.gpu)
        self.neighbours = neighbouring_groups(self.m.kernel, phase, f.gpu)

    def emit(self) -> None:
        b, f = self.b, self.f
        block, blocks = f.block_and_count()
        per_block = integer(f.warps)
        self.lane = f.lane()
        warp = b.add(b.mul(block, per_block), f.warp())
        with f.units(warp, b.mul(blocks, per_block)) as (i, unit):
            self.i = i
            self.cols = f.column("cols", i)
            if self.lazy or self.restarts:
                self.is_by_rows = b.icmp_signed("!=", f.column("by_rows", i), integer(0))
            (self.tile if self.by_columns else self.stretch)(unit)
        b.ret_void()

    # ------------------------------------------------------------ a stretch of a row, or of a tensor

    def stretch(self, unit: Any) -> None:
        """LANES elements or more side by side, or a block of the reduction tree."""
        b, f, length = self.b, self.f, integer(self.launch.length)
        size = self.cols if self.by_rows else f.column("size", self.i)
        if self.lazy and not self.by_rows:
            size = b.select(self.is_by_rows, self.cols, size)
        lead = integer(0) if self.reduced else f.column("lead", self.i)
        row, number, index = integer(0), integer(0), unit
        if self.by_rows or self.lazy:
            row, index = self.row_of(unit, size)
            number = f.row_number(self.i, row)
        begin = b.sub(b.mul(index, length), lead)
        end = b.add(begin, length)
        whole = b.and_(b.icmp_signed(">=", begin, integer(0)), b.icmp_signed("<=", end, size))
        whole = b.and_(whole, self.aligned())
        context = self.context(row, number)
        valid = ElementRange(integer(0), minimum(b, end, size), whole=False)
        inside = ElementRange(integer(0), size, whole=True)
        if self.reduced:
            self.reduce(context, begin, whole, inside, valid, row, index)
            return
        with b.if_else(whole) as (all, some):
            with all:
                context.emit(self.places(begin, self.neighbours), inside)
            with some:
                self.guarded(context, begin, valid)

    def row_of(self, unit: Any, size: Any) -> tuple[Any, Any]:
        """The row that a unit is in, and which of the row's units it is."""
        b, length = self.b, integer(self.launch.length)
        if self.by_rows:
            return self.divided(unit, b.udiv(b.add(size, b.sub(length, integer(1))), length))
        row, index = variable(b, integer(0)), variable(b, unit)
        with b.if_then(self.is_by_rows):
            parts = self.divided(unit, b.udiv(b.add(size, b.sub(length, integer(1))), length))
            for cell, part in zip((row, index), parts, strict=True):
                b.store(part, cell)
        return b.load(row, typ=I64), b.load(index, typ=I64)

    def divided(self, x: Any, y: Any) -> tuple[Any, Any]:
        quotient = self.b.udiv(x, y)
        return quotient, self.b.sub(x, self.b.mul(quotient, y))

    def guarded(self, context: GroupContext, begin: Any, valid: ElementRange, sums: Sequence[Any] = ()) -> None:
        """Elements [begin, high), of which some do not exist: one group at a time, or all of a block of codes."""
        at_once = CODE_GROUPS if coded(self.m.kernel, self.phase) else 1
        with loop(self.b, begin, valid.high, LANES * at_once) as here:
            self.accumulate(context, self.places(here)[:at_once], valid, sums)

    def places(self, begin: Any, neighbours: int = 1) -> list[Any]:
        """Where the groups of this thread begin: so many neighbours, and those of the other threads of the warp, are
        side by side."""
        b = self.b
        first = b.add(begin, b.mul(self.lane, integer(self.group * neighbours)))
        stripes = [divmod(k, neighbours) for k in range(self.groups)]
        return [b.add(first, integer(s * LANES * neighbours + k * self.group)) for s, k in stripes]

    def accesses(self) -> dict[str, WideAccess]:
        """The accesses of several groups, by stream, of streams whose groups are less than an access."""
        counts = [(x, groups_at_once(self.m.kernel, self.phase, x, self.f.gpu)) for x in self.streams]

        def to(x: Buffer, n: int) -> WideAccess:
            return WideAccess(self.f, n, x.format, neighbours=self.neighbours > 1)

        return {x.name: to(x, n) for x, n in counts if n > 1}

    def aligned(self) -> Any:
        """Whether accesses are aligned: that to the first group of a tensor, or of each row, less the lead."""
        b, f = self.b, self.f
        found = b.icmp_signed("!=", f.column("vectors", self.i), integer(0))
        if self.reduced:
            found = b.and_(found, b.icmp_signed("==", f.column("lead", self.i), integer(0)))
        if self.by_rows or self.by_columns:
            odd = b.and_(self.cols, integer(self.group - 1))
            found = b.and_(found, b.icmp_signed("==", odd, integer(0)))
        return found

    # ------------------------------------------------------------ reductions

    def reduce(
        self,
        context: GroupContext,
        begin: Any,
        whole: Any,
        inside: ElementRange,
        valid: ElementRange,
        row: Any,
        index: Any,
    ) -> None:
        """A block of the tree: every lane adds up in order, then the lanes are folded by halves."""
        b = self.b
        sums = [variable(b, self.identity(i)) for i in self.reduced]
        with b.if_else(whole) as (all, some):
            with all, loop(b, begin, b.add(begin, integer(BLOCK)), LANES * self.groups) as here:
                self.accumulate(context, self.places(here), inside, sums)
            with some:
                self.guarded(context, begin, valid, sums)
        for r, (s, i) in enumerate(zip(sums, self.reduced, strict=True)):
            total = self.folded(i, b.load(s, typ=vector(F64, self.group)))
            with self.f.one_thread(self.lane):
                b.store(total, at(b, self.partials(row, index), integer(r), F64))

    def accumulate(
        self, context: GroupContext, places: Sequence[Any], valid: ElementRange, sums: Sequence[Any]
    ) -> None:
        """Compute groups, and fold their values into `sums`."""
        b = self.b
        for e, env in zip(places, context.emit(places, valid), strict=True):
            for s, i in zip(sums, self.reduced, strict=True):
                assert isinstance(i.op, ir.Reduce)
                x = self.m.operand(b, i.op.x, env, self.group)
                with self.m.line_of(b, i):
                    b.store(self.added(i.op.op, b.load(s, typ=vector(F64, self.group)), x, e, valid), s)

    def added(self, op: ir.ReduceOp, total: Any, x: Any, e: Any, valid: ElementRange) -> Any:
        """x folded into the lanes whose elements exist."""
        b = self.b
        new = fold(b, op, total, x)
        if valid.whole:
            return new
        kept = total
        for k in range(self.group):
            there = valid.contains(b, b.add(e, integer(k)))
            one = b.select(there, b.extract_element(new, I32(k)), b.extract_element(total, I32(k)))
            kept = b.insert_element(kept, one, I32(k))
        return kept

    def identity(self, i: Instr) -> Any:
        assert isinstance(i.op, ir.Reduce)
        return constant(F64, IDENTITY[i.op.op], self.group)

    def folded(self, i: Instr, lanes: Any) -> Any:
        """The lanes folded by halves: each thread has a group of the 128."""
        assert isinstance(i.op, ir.Reduce)
        b, op = self.b, i.op.op
        parts = [b.extract_element(lanes, I32(k)) for k in range(self.group)]
        for distance in self.f.halves():
            parts = [fold(b, op, x, self.f.shuffle_down(x, distance)) for x in parts]
        return self.f.folded(op, parts)

    def partials(self, row: Any, index: Any) -> Any:
        """The address of a block's partial results; those of a piece stand among those of the whole tensor."""
        b, f, stride = self.b, self.f, integer(self.m.layout.stride)
        if self.by_rows:
            each = ceil_div(b, self.cols, BLOCK)
            where = b.add(b.mul(row, each), index)
            return at(b, f.area("row_partials", self.i), b.mul(where, stride), F64)
        block = b.add(b.lshr(f.column("first", self.i), integer(BLOCK.bit_length() - 1)), index)
        return at(b, f.area("partials", self.i), b.mul(block, stride), F64)

    # ------------------------------------------------------------ a tile of columns

    def tile(self, unit: Any) -> None:
        """LANES columns of ROW_BLOCK rows: each thread adds up its columns in order."""
        b, f = self.b, self.f
        tiles = ceil_div(b, self.cols, LANES)
        block = b.udiv(unit, tiles)
        begin = b.mul(b.sub(unit, b.mul(block, tiles)), integer(LANES))
        top, bottom, blocks = self.row_block(block)
        sums = [variable(b, self.identity(i)) for i in self.reduced]
        whole = b.icmp_signed("<=", b.add(begin, integer(LANES)), self.cols)
        whole = b.and_(whole, self.aligned())
        valid = ElementRange(integer(0), self.cols, whole=False)
        first = b.add(begin, b.mul(self.lane, integer(self.group)))

        def down(valid: ElementRange) -> None:
            with loop(b, top, bottom) as row:
                self.accumulate(self.context(row, row), [first], valid, sums)

        with b.if_else(whole) as (all, some):
            with all:
                down(ElementRange(integer(0), self.cols, whole=True))
            with some:
                down(valid)
        for r, s in enumerate(sums):
            line = b.mul(b.add(b.mul(blocks, integer(r)), block), self.cols)
            total = b.load(s, typ=vector(F64, self.group))
            for k in range(self.group):
                here = b.add(first, integer(k))
                with b.if_then(valid.contains(b, here)):
                    place = at(b, f.area("sums", self.i), b.add(line, here), F64)
                    b.store(b.extract_element(total, I32(k)), place)

    def row_block(self, block: Any) -> tuple[Any, Any, Any]:
        """The first row of a block, the row behind its last one, and how many blocks there are. A block is within one
        matrix."""
        b, f = self.b, self.f
        height = f.height(self.i)
        blocks = ceil_div(b, height, ROW_BLOCK)
        if not self.m.kernel.last_two:
            top = b.mul(block, integer(ROW_BLOCK))
            return top, minimum(b, b.add(top, integer(ROW_BLOCK)), height), blocks
        matrix, own = self.divided(block, blocks)
        first, down = b.mul(matrix, height), b.mul(own, integer(ROW_BLOCK))
        bottom = minimum(b, b.add(down, integer(ROW_BLOCK)), height)
        return b.add(first, down), b.add(first, bottom), b.mul(blocks, f.matrices(self.i))

    # ------------------------------------------------------------ what a row needs

    def context(self, row: Any, number: Any) -> GroupContext:
        """What the groups of a row need: the visited row number `row`, which is row `number` of the tensor."""
        b, f, i = self.b, self.f, self.i
        scalars: Env = {}
        f.fetch_invariant(self.phase, scalars, i)
        skipped = b.mul(number, self.cols)
        return GroupContext(
            f,
            self.phase,
            {x.name: self.stream(x, row, number) for x in self.streams},
            {x.name: self.scales(x, number) for x in self.streams if x.is_quantized},
            scalars,
            {v: self.line(v) for v in line_values(self.phase)},
            b.add(f.column("first", i), skipped),
            self.scale_origin(skipped),
            row,
            self.cols,
            self.draws(),
            f.height(i) if self.m.kernel.last_two else None,
            one_row=self.by_rows or self.by_columns,
            flat=not (self.by_rows or self.by_columns or self.lazy),
            accesses=self.accesses(),
            restart=self.restart() if self.restarts else None,
        )

    def restart(self) -> Any:
        """After how many elements the blocks of codes restart; more than there are if they do not."""
        b, one = self.b, integer(1)
        never = b.add(self.f.column("size", self.i), one)
        return b.select(self.is_by_rows, maximum(b, self.cols, one), never)

    def stream(self, buffer: Buffer, row: Any, number: Any) -> Any:
        """The address of a stream's row; a gradient of some rows holds these alone."""
        b, type, start = self.b, raw_type(buffer.format), self.f.pointer(buffer.name, self.i)
        if buffer.format.is_packed:
            return self.where_codes_restart(start, number, CODES_PER_BYTE, type)
        which = row if ir.is_gradient(buffer.name) else number
        return at(b, start, b.mul(which, self.cols), type)

    def scales(self, buffer: Buffer, number: Any) -> Any:
        """The address of a row's scales."""
        assert buffer.format.block is not None
        start = self.f.pointer(buffer.scales.name, self.i)
        return self.where_codes_restart(start, number, buffer.format.block, TYPES["f32"])

    def where_codes_restart(self, start: Any, number: Any, each: int, type: Any) -> Any:
        """The address of the scales of row `number`, or of its bytes of packed codes. One scale, or one byte, is for
        `each` elements. In a tensor that is updated by rows, every row has scales and bytes of its own; in others the
        address is that of the tensor's first one."""
        b = self.b
        if not self.lazy:
            return start
        first = b.mul(number, ceil_div(b, self.cols, each))
        return at(b, start, b.select(self.is_by_rows, first, integer(0)), type)

    def scale_origin(self, skipped: Any) -> Any:
        return self.b.select(self.is_by_rows, integer(0), skipped) if self.lazy else skipped

    def line(self, v: Value) -> Any:
        """The array of a row or column value."""
        known = None if v.type.kind is Kind.ROW or self.m.kernel.last_two else self.cols
        return self.f.line_array(v, self.i, known)

    def draws(self) -> Draws | None:
        if not draws(self.m.kernel, self.phase):
            return None
        b, f = self.b, self.f
        seed = f.word(TableWord(SEED, 0))
        key = [b.trunc(x, I32) for x in (seed, b.lshr(seed, integer(32)))]
        return Draws(key, f.column("id", self.i), b.trunc(f.column("t", self.i), I32))
