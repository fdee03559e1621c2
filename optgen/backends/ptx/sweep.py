"""A sweep: every warp takes units of elements, until none is left.

A unit never splits what belongs together: a block of the reduction tree, one of 8-bit codes, a block of rows that
columns add up. So the result depends neither on how many warps there are nor on who takes what. Lanes of the tree: the
thread number t of a warp has lanes 4t to 4t + 3, so that it adds up what it reads, in order, in four registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optgen import ir
from optgen.backends.layout import reductions
from optgen.backends.llvm import F64, I32, I64, IDENTITY, TYPES, at, constant, fold, lower, smaller, vector
from optgen.backends.ptx.group import Elements, Span, raw_type
from optgen.backends.ptx.launches import at_once
from optgen.backends.ptx.module import Entry, Env, integer
from optgen.backends.ptx.table import GROUP, SEED, THREADS, WARP, Launch, Place
from optgen.ir import BLOCK, LANES, ROW_BLOCK, Instr, Phase, Value
from optgen.ir.storage import QUANT_BLOCK
from optgen.model import Kind


class Sweep:
    """One sweep of a kernel as the body of its launch."""

    def __init__(self, entry: Entry, phase: Phase, launch: Launch) -> None:
        self.entry, self.phase, self.launch = entry, phase, launch
        self.b, self.m = entry.b, entry.m
        self.by_rows = launch.unit == "row blocks"
        self.by_columns = launch.unit == "column tiles"
        self.lazy = self.m.kernel.rows_independent
        touched = {i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Load | ir.Store)}
        self.streams = [x for x in self.m.kernel.buffers if x.name in touched]
        self.reduced = [i for scope in ("all", "row", "col") for i in reductions(phase, scope)]
        self.groups = at_once(self.m.kernel, phase)

    def emit(self) -> None:
        b, entry = self.b, self.entry
        block, blocks = entry.register("ctaid.x"), entry.register("nctaid.x")
        per_block = integer(THREADS // WARP)
        self.lane = b.and_(entry.tid, integer(WARP - 1))
        warp = b.add(b.mul(block, per_block), b.lshr(entry.tid, integer(WARP.bit_length() - 1)))
        with entry.units(warp, b.mul(blocks, per_block)) as (i, unit):
            self.i = i
            self.cols = entry.column("cols", i)
            if self.lazy:
                self.is_by_rows = b.icmp_signed("!=", entry.column("by_rows", i), integer(0))
            (self.tile if self.by_columns else self.stretch)(unit)
        b.ret_void()

    # ------------------------------------------------------------ a stretch of a row, or of a tensor

    def stretch(self, unit: Any) -> None:
        b, entry, length = self.b, self.entry, integer(self.launch.length)
        size = self.cols if self.by_rows else entry.column("size", self.i)
        if self.lazy and not self.by_rows:
            size = b.select(self.is_by_rows, self.cols, size)
        lead = integer(0) if self.reduced else entry.column("lead", self.i)
        row, number, index = integer(0), integer(0), unit
        if self.by_rows or self.lazy:
            row, index = self.row_of(unit, size)
            number = entry.number(self.i, row)
        begin = b.sub(b.mul(index, length), lead)
        end = b.add(begin, length)
        whole = b.and_(b.icmp_signed(">=", begin, integer(0)), b.icmp_signed("<=", end, size))
        whole = b.and_(whole, self.aligned())
        elements = self.elements(row, number)
        span = Span(integer(0), smaller(b, end, size), whole=False)
        inside = Span(integer(0), size, whole=True)
        if self.reduced:
            self.reduce(elements, begin, whole, inside, span, row, index)
            return
        with b.if_else(whole) as (all, some):
            with all:
                elements.run(self.places(begin), inside)
            with some:
                self.guarded(elements, begin, span)

    def row_of(self, unit: Any, size: Any) -> tuple[Any, Any]:
        """The row that a unit is in, and which of the row's units it is."""
        b, length = self.b, integer(self.launch.length)
        if self.by_rows:
            return self.divided(unit, b.udiv(b.add(size, b.sub(length, integer(1))), length))
        row, index = self.entry.cell(integer(0)), self.entry.cell(unit)
        with b.if_then(self.is_by_rows):
            parts = self.divided(unit, b.udiv(b.add(size, b.sub(length, integer(1))), length))
            for cell, part in zip((row, index), parts, strict=True):
                b.store(part, cell)
        return b.load(row, typ=I64), b.load(index, typ=I64)

    def divided(self, x: Any, y: Any) -> tuple[Any, Any]:
        quotient = self.b.udiv(x, y)
        return quotient, self.b.sub(x, self.b.mul(quotient, y))

    def guarded(self, elements: Elements, begin: Any, span: Span, sums: Sequence[Any] = ()) -> None:
        """Elements [begin, high), of which some are not there: group after group, but for those of a block of codes."""
        at_once = self.groups if elements.coded else 1
        with self.entry.loop(begin, span.high, LANES * at_once) as here:
            self.accumulate(elements, self.places(here)[:at_once], span, sums)

    def places(self, begin: Any) -> list[Any]:
        """Where the groups of this thread begin: a warp has LANES elements side by side."""
        b = self.b
        first = b.add(begin, b.mul(self.lane, integer(GROUP)))
        return [b.add(first, integer(k * LANES)) for k in range(self.groups)]

    def aligned(self) -> Any:
        """Whether groups are aligned that begin at multiples of 4 of the tensor, or of each row, or behind the lead."""
        b, entry = self.b, self.entry
        found = b.icmp_signed("!=", entry.column("vectors", self.i), integer(0))
        if self.reduced:
            found = b.and_(found, b.icmp_signed("==", entry.column("lead", self.i), integer(0)))
        if self.by_rows or self.by_columns:
            odd = b.and_(self.cols, integer(GROUP - 1))
            found = b.and_(found, b.icmp_signed("==", odd, integer(0)))
        return found

    # ------------------------------------------------------------ reductions

    def reduce(
        self, elements: Elements, begin: Any, whole: Any, inside: Span, span: Span, row: Any, index: Any
    ) -> None:
        """A block of the tree: every lane in order, then lanes by halves."""
        b = self.b
        sums = [self.entry.cell(self.identity(i)) for i in self.reduced]
        with b.if_else(whole) as (all, some):
            with all, self.entry.loop(begin, b.add(begin, integer(BLOCK)), LANES * self.groups) as here:
                self.accumulate(elements, self.places(here), inside, sums)
            with some:
                self.guarded(elements, begin, span, sums)
        for r, (s, i) in enumerate(zip(sums, self.reduced, strict=True)):
            total = self.folded(i, b.load(s, typ=vector(F64, GROUP)))
            with b.if_then(b.icmp_signed("==", self.lane, integer(0))):
                b.store(total, at(b, self.partials(row, index), integer(r), F64))

    def accumulate(self, elements: Elements, places: Sequence[Any], span: Span, sums: Sequence[Any]) -> None:
        """Compute groups, and fold what is reduced into `sums`."""
        b = self.b
        for e, env in zip(places, elements.run(places, span), strict=True):
            for s, i in zip(sums, self.reduced, strict=True):
                b.store(self.added(i, b.load(s, typ=vector(F64, GROUP)), self.operand(env, i), e, span), s)

    def operand(self, env: Env, i: Instr) -> Any:
        assert isinstance(i.op, ir.Reduce)
        return env[i.op.x] if i.op.x in env else lower(self.b, self.m.consts[i.op.x], [], i.op.x, GROUP)

    def added(self, i: Instr, total: Any, x: Any, e: Any, span: Span) -> Any:
        """x folded into the lanes whose elements are there."""
        assert isinstance(i.op, ir.Reduce)
        b = self.b
        new = fold(b, i.op.op, total, x)
        if span.whole:
            return new
        kept = total
        for k in range(GROUP):
            one = b.select(
                span.has(b, b.add(e, integer(k))), b.extract_element(new, I32(k)), b.extract_element(total, I32(k))
            )
            kept = b.insert_element(kept, one, I32(k))
        return kept

    def identity(self, i: Instr) -> Any:
        assert isinstance(i.op, ir.Reduce)
        return constant(F64, IDENTITY[i.op.op], GROUP)

    def folded(self, i: Instr, lanes: Any) -> Any:
        """By halves: 128 lanes are 4 in each thread."""
        assert isinstance(i.op, ir.Reduce)
        b, op = self.b, i.op.op
        parts = [b.extract_element(lanes, I32(k)) for k in range(GROUP)]
        for distance in (16, 8, 4, 2, 1):
            parts = [fold(b, op, x, self.entry.down(x, distance)) for x in parts]
        return fold(b, op, fold(b, op, parts[0], parts[2]), fold(b, op, parts[1], parts[3]))

    def partials(self, row: Any, index: Any) -> Any:
        """Where the partial results of a block go: those of a piece stand among those of the whole tensor."""
        b, entry, stride = self.b, self.entry, integer(self.m.layout.stride)
        if self.by_rows:
            each = b.udiv(b.add(self.cols, integer(BLOCK - 1)), integer(BLOCK))
            where = b.add(b.mul(row, each), index)
            return at(b, entry.area("row_partials", self.i), b.mul(where, stride), F64)
        block = b.add(b.lshr(entry.column("first", self.i), integer(BLOCK.bit_length() - 1)), index)
        return at(b, entry.area("partials", self.i), b.mul(block, stride), F64)

    # ------------------------------------------------------------ a tile of columns

    def tile(self, unit: Any) -> None:
        """LANES columns of ROW_BLOCK rows, which each thread adds up in order."""
        b, entry = self.b, self.entry
        rows, tiles = entry.column("rows", self.i), b.udiv(b.add(self.cols, integer(LANES - 1)), integer(LANES))
        block = b.udiv(unit, tiles)
        begin = b.mul(b.sub(unit, b.mul(block, tiles)), integer(LANES))
        top = b.mul(block, integer(ROW_BLOCK))
        bottom = smaller(b, b.add(top, integer(ROW_BLOCK)), rows)
        sums = [entry.cell(self.identity(i)) for i in self.reduced]
        whole = b.icmp_signed("<=", b.add(begin, integer(LANES)), self.cols)
        whole = b.and_(whole, self.aligned())
        span = Span(integer(0), self.cols, whole=False)
        first = b.add(begin, b.mul(self.lane, integer(GROUP)))

        def down(span: Span) -> None:
            with entry.loop(top, bottom) as row:
                (env,) = self.elements(row, row).run([first], span)
                for s, i in zip(sums, self.reduced, strict=True):
                    b.store(self.added(i, b.load(s, typ=vector(F64, GROUP)), self.operand(env, i), first, span), s)

        with b.if_else(whole) as (all, some):
            with all:
                down(Span(integer(0), self.cols, whole=True))
            with some:
                down(span)
        blocks = b.udiv(b.add(rows, integer(ROW_BLOCK - 1)), integer(ROW_BLOCK))
        for r, s in enumerate(sums):
            line = b.mul(b.add(b.mul(blocks, integer(r)), block), self.cols)
            total = b.load(s, typ=vector(F64, GROUP))
            for k in range(GROUP):
                here = b.add(first, integer(k))
                with b.if_then(span.has(b, here)):
                    place = at(b, entry.area("sums", self.i), b.add(line, here), F64)
                    b.store(b.extract_element(total, I32(k)), place)

    # ------------------------------------------------------------ what a row needs

    def elements(self, row: Any, number: Any) -> Elements:
        b, entry, i = self.b, self.entry, self.i
        scalars: Env = {}
        entry.fetch(self.phase, scalars, i, fixed=True)
        skipped = b.mul(number, self.cols)
        return Elements(
            entry,
            self.phase,
            i,
            {x.name: self.stream(x.name, row, number) for x in self.streams},
            {x.name: self.scales(x.name, number) for x in self.streams if x.is_quantized},
            scalars,
            {v: self.line(v) for v in line_values(self.phase)},
            b.add(entry.column("first", i), skipped),
            self.scale_origin(skipped),
            row,
            self.cols,
            self.draws(),
            one_row=self.by_rows or self.by_columns,
            flat=not (self.by_rows or self.by_columns or self.lazy),
        )

    def stream(self, name: str, row: Any, number: Any) -> Any:
        """From the row at hand on; a gradient of some rows holds no others."""
        b = self.b
        which = row if ir.is_gradient(name) else number
        type = raw_type(self.m.kernel.buffer(name).format)
        return at(b, self.entry.pointer(name, self.i), b.mul(which, self.cols), type)

    def scales(self, name: str, number: Any) -> Any:
        """The 8-bit blocks of a tensor that is updated by rows restart at each."""
        b = self.b
        start = self.entry.pointer(f"{name}.scale", self.i)
        if not self.lazy:
            return start
        each = b.udiv(b.add(self.cols, integer(QUANT_BLOCK - 1)), integer(QUANT_BLOCK))
        return at(b, start, b.select(self.is_by_rows, b.mul(number, each), integer(0)), TYPES["f32"])

    def scale_origin(self, skipped: Any) -> Any:
        return self.b.select(self.is_by_rows, integer(0), skipped) if self.lazy else skipped

    def line(self, v: Value) -> Any:
        b, entry, layout = self.b, self.entry, self.m.layout
        if v.type.kind is Kind.ROW:
            return at(
                b, entry.area("rows_at", self.i), b.mul(entry.column("rows", self.i), integer(layout.rows[v])), F64
            )
        return at(b, entry.area("cols_at", self.i), b.mul(self.cols, integer(layout.cols[v])), F64)

    def draws(self) -> tuple[list[Any], Any, Any] | None:
        stored = {i.op.buffer for i in self.phase.instrs if isinstance(i.op, ir.Store)}
        rounds = any(x.format.needs_draws and x.name in stored for x in self.streams)
        if not rounds and not any(isinstance(i.op, ir.Word) for i in self.phase.instrs):
            return None
        b, entry = self.b, self.entry
        seed = entry.word(Place(SEED, 0))
        key = [b.trunc(x, I32) for x in (seed, b.lshr(seed, integer(32)))]
        return key, entry.column("id", self.i), b.trunc(entry.column("t", self.i), I32)


def line_values(phase: Phase) -> list[Value]:
    """The row and column values that a sweep reads."""
    found = [v for i in phase.instrs for v in ir.operands(i.op) if v.type.kind in (Kind.ROW, Kind.COL)]
    return list(dict.fromkeys(found))
