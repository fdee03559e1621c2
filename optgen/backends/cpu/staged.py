"""Sweeps that need more for an element than its own streams: random words, scales of 8-bit codes, row, column values.

They go by units of QUANT_BLOCK elements. Before a unit, what its elements need is laid out in short arrays on the
stack, one number for each; after it, the new values of 8-bit states, which were collected likewise, are coded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.cpu.reduce import fold_lanes
from optgen.backends.cpu.sweep import AHEAD, LINE, RAW, Body, magnitude, scale
from optgen.backends.layout import narrowed
from optgen.backends.llvm import (
    F64,
    I32,
    I64,
    IDENTITY,
    TYPES,
    array,
    at,
    fold,
    inline,
    integer,
    load,
    loop,
    smaller,
)
from optgen.ir import BLOCK, LANES, ROUNDING_DRAW, Kernel, Phase, Value, codec
from optgen.ir.math import random
from optgen.ir.storage import QUANT_BLOCK
from optgen.model import Kind

F32 = TYPES["f32"]
STRIP = 64
"""Elements that are asked for and computed together."""
MAIN, CODES = "main", "codes"
"""The pass over a unit that computes, and that which codes new values; others draw words."""
WORDS = 4
"""How many words a counter of Philox gives."""


@dataclass(frozen=True)
class Where:
    """Where the elements at hand lie: element 0 is element `origin` of the whole tensor and `scale_origin` of its 8-bit
    blocks; it begins row `row`, of `cols` elements. `id`, `t` and `seed` make its draws."""

    origin: Any
    scale_origin: Any
    row: Any
    cols: Any
    id: Any
    t: Any
    seed: Any


def is_staged(kernel: Kernel, phase: Phase) -> bool:
    buffers = {b.name: b for b in kernel.buffers}
    for instr in phase.instrs:
        match instr.op:
            case ir.Word():
                return True
            case ir.Load(buffer=name) | ir.Store(buffer=name):
                if buffers[name].is_quantized or buffers[name].format.needs_draws:
                    return True
    return bool(line_values(phase))


def line_values(phase: Phase) -> list[Value]:
    """The row and column values that a sweep reads."""
    found = [v for i in phase.instrs for v in ir.operands(i.op) if v.type.kind in (Kind.ROW, Kind.COL)]
    return list(dict.fromkeys(found))


class Staged:
    """A sweep's body with its arrays on the stack; `lines` are the arrays of row and column values, `scales` those of
    8-bit states. `aligned`: a unit is a block of codes; it is not where a sweep goes by rows."""

    def __init__(
        self, body: Body, where: Where, lines: dict[Value, Any], scales: dict[str, Any], aligned: bool
    ) -> None:
        self.aligned = aligned
        self.b, self.where, self.lines, self.scales = body.b, where, lines, scales
        loads = [i.op.buffer for i in body.instrs if isinstance(i.op, ir.Load)]
        self.decoded = [n for n in loads if body.buffers[n].is_quantized]
        self.coded = [n for n in sorted(body.stored) if body.buffers[n].is_quantized]
        temps: dict[Any, Any] = {v: self.array(TYPES[v.type.dtype]) for v in lines}
        temps |= {} if aligned else {scale(n): self.array(F32) for n in self.decoded}
        temps |= {n: self.array(F32) for n in self.coded}
        reduces = [i for i in body.instrs if isinstance(i.op, ir.Reduce) and i.result not in body.columns]
        self.reductions = [i.op for i in reduces if isinstance(i.op, ir.Reduce)]
        self.width = LANES if self.reductions else STRIP  # lanes that a loop over elements has
        temps |= {magnitude(n): array(self.b, I32, self.width, LINE) for n in self.coded}
        draws = {i.op.draw for i in body.instrs if isinstance(i.op, ir.Word)}
        draws |= {ROUNDING_DRAW + k // 2 for k, n in enumerate(body.rounded) if n in body.stored}
        self.words = {draw: self.array(I32, 2 * WORDS) for draw in sorted(draws)}
        self.temps = temps
        self.body = body
        # Each pass over a unit asks for some streams of the next one: one of them alone could not wait for all memory.
        passes = [*self.words, MAIN, *([CODES] if self.coded else [])]
        streams = list(body.pointers)
        self.asks = {p: streams[k :: len(passes)] for k, p in enumerate(passes)}

    def array(self, type: ll.Type, more: int = 0) -> Any:
        return array(self.b, type, QUANT_BLOCK + more, LINE)

    def run(self, begin: Any, end: Any, partials: Any, stride: int) -> None:
        """Elements [begin, end), where `begin` is the start of a unit, or, with reductions, of a block."""
        b, lanes, reductions = self.b, self.body.lanes, self.reductions
        if not reductions:
            for start, count in self.units(begin, end):
                with self.strips(MAIN, start, count) as (strip, stop), loop(b, integer(0), stop, lanes=lanes) as j:
                    place = b.add(strip, j, flags=["nsw", "nuw"])
                    self.body.emit(b.add(start, place, flags=["nsw", "nuw"]), place=place, lane=j)
            return
        sums = array(b, F64, LANES * len(reductions), LINE)
        with loop(b, begin, end, BLOCK) as block:
            for r, reduce in enumerate(reductions):
                with loop(b, integer(r * LANES), integer((r + 1) * LANES)) as j:
                    b.store(ll.Constant(F64, IDENTITY[reduce.op]), at(b, sums, j, F64))
            for start, count in self.units(block, smaller(b, end, b.add(block, integer(BLOCK)))):
                self.reduced(start, count, sums)
            for r, reduce in enumerate(reductions):
                total = fold_lanes(b, reduce.op, at(b, sums, integer(r * LANES), F64))
                index = b.mul(b.lshr(block, integer(BLOCK.bit_length() - 1)), integer(stride))
                b.store(total, at(b, partials, b.add(index, integer(r)), F64))

    def reduced(self, start: Any, count: Any, sums: Any) -> None:
        b, lanes = self.b, self.body.lanes
        with self.strips(MAIN, start, count, LANES) as (row, stop), loop(b, integer(0), stop, lanes=lanes) as j:
            place = b.add(row, j, flags=["nsw", "nuw"])
            env = self.body.emit(b.add(start, place, flags=["nsw", "nuw"]), place=place, lane=j)
            for r, reduce in enumerate(self.reductions):
                sum = at(b, sums, b.add(j, integer(r * LANES)), F64)
                b.store(fold(b, reduce.op, b.load(sum, typ=F64), env[reduce.x]), sum)

    def units(self, begin: Any, end: Any) -> Iterator[tuple[Any, Any]]:
        """Loops over the units of a range: yields where one begins, and its length.

        Twice: for the whole ones, whose length LLVM knows, and for the rest, which is all there is of a short row.
        """
        b = self.b
        full = b.add(begin, b.and_(b.sub(end, begin), integer(-QUANT_BLOCK)))
        with loop(b, begin, full, QUANT_BLOCK) as start:
            yield from self.unit(start, integer(QUANT_BLOCK))
        with b.if_then(b.icmp_signed("<", full, end)):
            yield from self.unit(full, b.sub(end, full))

    def unit(self, start: Any, count: Any) -> Iterator[tuple[Any, Any]]:
        whole = self.body
        scales = {n: self.scale(n, start) for n in self.decoded} if self.aligned else {}
        self.body = replace(whole, temps=self.temps | self.draw(start, count), scales=scales)
        if not self.aligned:
            self.fill_scales(start, count)
        self.fill_lines(start, count)
        for name in self.coded:
            with loop(self.b, integer(0), integer(self.width)) as j:
                self.b.store(I32(0), at(self.b, self.temps[magnitude(name)], j, I32))
        yield start, count
        if self.coded:
            self.code(start, count)
        self.body = whole

    @contextmanager
    def strips(
        self, which: Any, start: Any, count: Any, length: int = STRIP, elements: int = 1
    ) -> Iterator[tuple[Any, Any]]:
        """Parts of a pass over a unit, of `length` counters or elements: yields where one begins, and how long it is.

        A strip asks for the memory of its share of the next unit; a counter stands for as many `elements`.
        """
        b, body = self.b, self.body
        with loop(b, integer(0), count, length) as strip:
            for name in self.asks[which]:
                for line in range(0, length * elements * body.buffers[name].format.bytes, LINE):
                    first = b.add(start, b.mul(strip, integer(elements)))
                    body.prefetch(first, AHEAD + line, 3, [name])
            known = isinstance(count, ll.Constant)
            yield strip, integer(length) if known else smaller(b, b.sub(count, strip), integer(length))

    # ------------------------------------------------------------ random words

    def draw(self, start: Any, count: Any) -> dict[int, Any]:
        """Lay out the words of all draws; returns where those of element `start` on are."""
        b, w = self.b, self.where
        first = b.add(w.origin, start)
        skip = b.and_(first, integer(WORDS - 1))
        counters = b.lshr(b.add(b.add(skip, count), integer(WORDS - 1)), integer(2))
        low = b.lshr(first, integer(2))
        for draw, words in self.words.items():
            fixed = [b.trunc(b.xor(w.id, integer(draw << 20)), I32), b.trunc(w.t, I32)]
            key = [b.trunc(x, I32) for x in (w.seed, b.lshr(w.seed, integer(32)))]
            # Two vectors at a time: rounds depend on one another, and one vector would wait for itself.
            strips = self.strips(draw, start, counters, 2 * self.body.lanes, WORDS)
            with strips as (strip, stop), loop(b, integer(0), stop, lanes=2 * self.body.lanes) as j:
                k = b.add(strip, j)
                counter = b.add(low, k)
                halves = [b.trunc(counter, I32), b.trunc(b.lshr(counter, integer(32)), I32)]
                made = inline(b, lambda e, *x: random.philox(e, x[:4], x[4:]), [*halves, *fixed, *key])
                for which, word in enumerate(made):
                    b.store(word, at(b, words, b.add(b.shl(k, integer(2)), integer(which)), I32))
        return {draw: at(b, words, skip, I32) for draw, words in self.words.items()}

    # ------------------------------------------------------------ row and column values

    def fill_lines(self, start: Any, count: Any) -> None:
        """A stretch of a row after the other."""
        if not self.lines:
            return
        b, w = self.b, self.where
        row, col, place = (array(b, I64, 1, 8) for _ in range(3))
        b.store(b.add(w.row, b.udiv(start, w.cols)), row)
        b.store(b.urem(start, w.cols), col)
        b.store(integer(0), place)
        with while_below(b, place, count) as at_place:
            r, c = b.load(row, typ=I64), b.load(col, typ=I64)
            stretch = smaller(b, b.sub(w.cols, c), b.sub(count, at_place))
            for v, source in self.lines.items():
                to = at(b, self.temps[v], at_place, TYPES[v.type.dtype])
                along = v.type.kind is Kind.COL
                here = None if along else narrowed(b, load(b, source, r, F64), v)
                with loop(b, integer(0), stretch, lanes=self.body.lanes) as j:
                    x = narrowed(b, load(b, source, b.add(c, j), F64), v) if along else here
                    b.store(x, at(b, to, j, TYPES[v.type.dtype]))
            b.store(b.add(r, integer(1)), row)
            b.store(integer(0), col)
            b.store(b.add(at_place, stretch), place)

    # ------------------------------------------------------------ 8-bit blocks

    def scale(self, name: str, start: Any) -> Any:
        """What the codes of a unit are multiplied with."""
        block = self.b.lshr(self.b.add(self.where.scale_origin, start), integer(8))
        return self.unit_of(name, load(self.b, self.scales[name], block, F32))

    def unit_of(self, name: str, scale: Any) -> Any:
        return inline(self.b, codec.decode_scale(self.body.buffers[name]), [scale])

    def fill_scales(self, start: Any, count: Any) -> None:
        """The scale of every element, of the one or two blocks that a unit meets."""
        b = self.b
        for name in self.decoded:
            place = array(b, I64, 1, 8)
            b.store(integer(0), place)
            with while_below(b, place, count) as here:
                element = b.add(b.add(self.where.scale_origin, start), here)
                block = b.lshr(element, integer(8))
                inside = b.and_(element, integer(QUANT_BLOCK - 1))
                stretch = smaller(b, b.sub(integer(QUANT_BLOCK), inside), b.sub(count, here))
                x = self.unit_of(name, load(b, self.scales[name], block, F32))
                to = at(b, self.temps[scale(name)], here, F32)
                with loop(b, integer(0), stretch, lanes=self.body.lanes) as j:
                    b.store(x, at(b, to, j, F32))
                b.store(b.add(here, stretch), place)

    def code(self, start: Any, count: Any) -> None:
        """The new values of a unit, which is a block here: the largest of a state becomes its scale."""
        b, buffers = self.b, self.body.buffers
        factors = {n: inline(b, codec.encode_scale(buffers[n]), [self.new_scale(n, start)]) for n in self.coded}
        with self.strips(CODES, start, count) as (strip, stop), loop(b, integer(0), stop, lanes=self.body.lanes) as j:
            place = b.add(strip, j, flags=["nsw", "nuw"])
            for name in self.coded:
                scaled = b.fmul(load(b, self.temps[name], place, F32), factors[name])
                raw = RAW[buffers[name].format.bytes]
                code = b.trunc(inline(b, codec.encoder(buffers[name]), [scaled]), raw)
                b.store(code, at(b, self.body.pointers[name], b.add(start, place), raw))

    def new_scale(self, name: str, start: Any) -> Any:
        b = self.b
        largest = array(b, I32, 1, 4)
        b.store(I32(0), largest)
        with loop(b, integer(0), integer(self.width)) as j:
            bits, old = load(b, self.temps[magnitude(name)], j, I32), b.load(largest, typ=I32)
            b.store(b.select(b.icmp_signed(">", bits, old), bits, old), largest)
        scale = b.bitcast(b.load(largest, typ=I32), F32)
        block = b.lshr(b.add(self.where.scale_origin, start), integer(8))
        b.store(scale, at(b, self.scales[name], block, F32))
        return scale


@contextmanager
def while_below(b: ll.IRBuilder, cell: Any, stop: Any) -> Iterator[Any]:
    """`while (*cell < stop)`: yields *cell, which the body advances."""
    head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    here = b.load(cell, typ=I64)
    b.cbranch(b.icmp_signed("<", here, stop), body, after)
    b.position_at_end(body)
    yield here
    b.branch(head)
    b.position_at_end(after)
