"""Sweeps with random words or codes in blocks, which need more for an element than its own streams.

They go by units of QUANT_BLOCK elements. Before a unit, what its elements need is laid out in short arrays on the
stack, one number for each element. After it, the new values of quantized states, which were laid out likewise, are
coded (`coded.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends import packing
from optgen.backends.control_flow import array, loop, variable, while_below
from optgen.backends.cpu.byte_table import BYTES, code_table, decodes_by_table, floats_of_bytes
from optgen.backends.cpu.coded import Coder, block_of, block_shift, blocks_of_unit, vectors
from optgen.backends.cpu.elements import CACHE_LINE_BYTES, PREFETCH_BYTES, SweepBody, UnitArrays, add_to_lanes
from optgen.backends.cpu.fold import clear_lanes, store_partials
from optgen.backends.cpu.rows import TileOrigin
from optgen.backends.cpu.staged_lines import StagedLines, line_arrays
from optgen.backends.element_body import draws, stored, streams
from optgen.backends.layout import blocks
from optgen.backends.llvm import at, inline, integer, load, minimum, splat
from optgen.backends.llvm_types import F32, F64, I8, I32, I64, PTR, constant, vector
from optgen.backends.module_builder import Env
from optgen.functions.math import random
from optgen.ir import BLOCK, LANES, Kernel, Phase, Value, codec
from optgen.ir.storage import QUANT_BLOCK
from optgen.ir.storage.packing import CODES_PER_BYTE

STRIP_ELEMENTS = 64
"""How many elements are asked for and computed together: a cache line of codes of 8 bits. Of 4 bits, twice as many."""
MAIN_PASS = "main"
"""The pass over a unit that computes. A pass that draws words goes by its draw."""
WORDS_PER_COUNTER = 4
"""What Philox gives for a counter."""
COUNTERS_AT_ONCE = 16
"""Two of the widest vectors: each round depends on the one before, and one vector alone would wait for it."""
COUNTER_ORDER = [g + i + h for g in range(0, COUNTERS_AT_ONCE, 8) for i in range(4) for h in (0, 4)]
"""The counters in the lanes of a vector: so every other lane of the words are those of successive counters."""


@dataclass(frozen=True)
class Unit:
    """`count` elements from `start` on, and the body with what they need."""

    body: SweepBody
    start: Any
    count: Any

    @property
    def is_whole(self) -> bool:
        return isinstance(self.count, ll.Constant)


def is_staged(kernel: Kernel, phase: Phase) -> bool:
    """Whether a sweep has codes in blocks or random words."""
    storages = any(x.is_quantized or x.format.needs_draws for x in streams(kernel, phase))
    return storages or any(isinstance(i.op, ir.Word) for i in phase.instrs)


class StagedLoop:
    """A loop over the elements of a sweep, with its arrays on the stack.

    `lines` are the arrays of row and column values, `scales` those of quantized states. `aligned`: units are made of
    whole blocks of codes. They are not where a sweep goes by rows, or where blocks may restart anywhere. `short_rows`:
    rows have at most SHORT_ROW elements.
    """

    def __init__(
        self,
        body: SweepBody,
        tile: TileOrigin,
        lines: Mapping[Value, Any],
        scales: Mapping[str, Any],
        aligned: bool,
        *,
        short_rows: bool = False,
    ) -> None:
        self.body, self.b = body, body.b
        self.tile, self.scales, self.aligned = tile, scales, aligned
        self.short_rows = short_rows and body.m.masks_vectors
        kernel, phase = body.m.kernel, body.phase
        self.buffers = {x.name: x for x in streams(kernel, phase)}
        loads = [i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Load)]
        self.decoded = [n for n in loads if self.buffers[n].is_quantized]
        self.tables = {n: self.array(F32) for n in self.decoded if decodes_by_table(body.m, self.buffers[n])}
        coded = {n: self.buffers[n] for n in sorted(stored(phase)) if self.buffers[n].is_quantized}
        self.coder = Coder(body, coded, scales, tile.scale_origin) if coded else None
        self.reductions = body.reductions
        self.arrays = UnitArrays(
            lines=line_arrays(self.b, lines),
            scales={} if aligned else {n: self.array(F32) for n in self.decoded},
            codes={} if aligned else {n: self.array(I32) for n in self.decoded if self.buffers[n].format.is_packed},
            words={draw: self.array(I32, COUNTERS_AT_ONCE * WORDS_PER_COUNTER) for draw in draws(kernel, phase)},
        )
        self.lines = StagedLines(body, tile, lines, self.arrays.lines)
        # Each pass over a unit prefetches some streams of the next unit: one pass alone would wait for all of them.
        passes = [*self.arrays.words, MAIN_PASS]
        names = [n for n in body.pointers if n not in self.arrays.codes]
        self.prefetch_plan = {p: names[k :: len(passes)] for k, p in enumerate(passes)}

    @property
    def strip_elements(self) -> int:
        return STRIP_ELEMENTS * (2 if any(x.format.is_packed for x in self.buffers.values()) else 1)

    def array(self, type: ll.Type, more: int = 0) -> Any:
        """An array on the stack with a number for each element of a unit."""
        return array(self.b, type, QUANT_BLOCK + more, CACHE_LINE_BYTES)

    def run(self, begin: Any, end: Any, partials: Any, stride: int) -> None:
        """Elements [begin, end), where `begin` is the start of a unit, or, with reductions, of a block."""
        b = self.b
        if not self.reductions:
            for unit in self.units(begin, end):
                for _ in self.elements(unit, self.strip_elements):
                    pass
            return
        lanes = array(b, F64, LANES * len(self.reductions), CACHE_LINE_BYTES)
        with loop(b, begin, end, BLOCK) as block:
            clear_lanes(b, self.reductions, lanes)
            for unit in self.units(block, minimum(b, end, b.add(block, integer(BLOCK)))):
                for env, lane in self.elements(unit, LANES):
                    add_to_lanes(self.body, lanes, lane, env)
            store_partials(b, self.reductions, lanes, block, partials, stride)

    def elements(self, unit: Unit, strip_length: int) -> Iterator[tuple[Env, Any]]:
        """The loops over a unit that compute: yields the values of some elements, and where the first one is in its
        strip."""
        b = self.b
        with self.strips(MAIN_PASS, unit.start, unit.count, strip_length) as (strip, stop):
            body = self.body_of_strip(unit, strip)
            for j, width in vectors(b, stop, self.body.lanes):
                place = b.add(strip, j, flags=["nsw", "nuw"])
                yield body.emit(b.add(unit.start, place, flags=["nsw", "nuw"]), width, place), j

    def body_of_strip(self, unit: Unit, strip: Any) -> SweepBody:
        """The body of a unit, where each strip has the scales and magnitudes of its own block of codes."""
        small = [n for n in self.decoded if self.aligned and blocks_of_unit(self.buffers[n]) > 1]
        scales = {n: self.block_scale(n, self.b.add(unit.start, strip)) for n in small}
        magnitudes = self.coder.magnitudes(strip) if self.coder is not None else {}
        arrays = replace(unit.body.arrays, magnitudes=magnitudes)
        return replace(unit.body, scales={**unit.body.scales, **scales}, arrays=arrays)

    def units(self, begin: Any, end: Any) -> Iterator[Unit]:
        """Loops over the units of a range.

        Twice: for the whole ones, whose length LLVM knows, and for the rest, which is all there is of a short row.
        """
        b = self.b
        full = b.add(begin, b.and_(b.sub(end, begin), integer(-QUANT_BLOCK)))
        if self.coder is not None:
            self.coder.start()
        with loop(b, begin, full, QUANT_BLOCK) as start:
            yield from self.unit(start, integer(QUANT_BLOCK))
        if self.coder is not None:
            with b.if_then(b.icmp_signed("<", begin, full)):
                self.coder.code_last(integer(QUANT_BLOCK))
        with b.if_then(b.icmp_signed("<", full, end)):
            yield from self.unit(full, b.sub(end, full))
            if self.coder is not None:
                self.coder.code_last(b.sub(end, full))

    def unit(self, start: Any, count: Any) -> Iterator[Unit]:
        """One unit: lay out what it needs, yield, find the scales of its new values."""
        whole = [n for n in self.decoded if self.aligned and blocks_of_unit(self.buffers[n]) == 1]
        scales = {n: self.block_scale(n, start) for n in whole}
        words = self.draw(start, count)
        if not self.aligned:
            self.fill_codes(start, count)
        if self.short_rows:
            self.lines.fill_short_rows(start, count)
        else:
            self.lines.fill(start, count)
        arrays = replace(self.arrays, words=words)
        if isinstance(count, ll.Constant):
            self.look_up(start)
            arrays = replace(arrays, decoded=self.tables)
        if self.coder is not None:
            arrays = replace(arrays, values=self.coder.begin_unit(start))
        unit = Unit(replace(self.body, arrays=arrays, scales=scales), start, count)
        yield unit
        if self.coder is not None:
            if unit.is_whole:
                self.coder.code_last(count)
            self.coder.end_unit(start, count)

    @contextmanager
    def strips(
        self, which: Any, start: Any, count: Any, length: int = STRIP_ELEMENTS, elements: int = 1
    ) -> Iterator[tuple[Any, Any]]:
        """The strips of a pass over a unit, of `length` elements or counters: yields where one begins, and its length.

        A strip prefetches its share of the next unit. A counter stands for so many `elements`.
        """
        b, body = self.b, self.body
        with loop(b, integer(0), count, length) as strip:
            for name in self.prefetch_plan[which]:
                for line in range(0, length * elements * self.buffers[name].format.bits // 8, CACHE_LINE_BYTES):
                    first = b.add(start, b.mul(strip, integer(elements)))
                    body.prefetch(first, PREFETCH_BYTES + line, [name])
            known = isinstance(count, ll.Constant)
            yield strip, integer(length) if known else minimum(b, b.sub(count, strip), integer(length))

    # ------------------------------------------------------------ random words

    def draw(self, start: Any, count: Any) -> dict[int, Any]:
        """Lay out the words of all draws; the addresses of those of element `start`."""
        first = self.b.add(self.tile.origin, start)
        if self.tile.run is not None and self.arrays.words:
            return self.draw_runs(first, start, count)
        return self.draw_run(first, start, count)

    def draw_runs(self, first: Any, start: Any, count: Any) -> dict[int, Any]:
        """`draw` for `count` elements of a box, the first of which is number `first` there: one run after the other."""
        b, tile = self.b, self.tile
        found = {draw: self.array(I32) for draw in self.arrays.words}
        place = variable(b, integer(0))
        with while_below(b, place, count) as here:
            element = b.add(first, here)
            inside = b.urem(element, tile.run)
            stretch = minimum(b, b.sub(tile.run, inside), b.sub(count, here))
            origins = b.inttoptr(tile.origins, PTR)
            number = b.add(load(b, origins, b.udiv(element, tile.run), I64), inside)
            for draw, words in self.draw_run(number, b.add(start, here), stretch).items():
                with loop(b, integer(0), stretch, lanes=self.body.lanes) as j:
                    b.store(load(b, words, j, I32), at(b, found[draw], b.add(here, j), I32))
            b.store(b.add(here, stretch), place)
        return found

    def draw_run(self, first: Any, start: Any, count: Any) -> dict[int, Any]:
        """`draw` for `count` elements that lie side by side in the whole tensor, the first of which is `first`."""
        b, tile = self.b, self.tile
        skip = b.and_(first, integer(WORDS_PER_COUNTER - 1))
        counters = b.lshr(b.add(b.add(skip, count), integer(WORDS_PER_COUNTER - 1)), integer(2))
        low = b.lshr(first, integer(2))
        for draw, words in self.arrays.words.items():
            held = self.body.m.kernel.held.get(draw)
            t = tile.t if held is None else b.fptosi(self.body.scalars[held], I64)
            fixed = [b.trunc(b.xor(tile.id, integer(draw << 20)), I32), b.trunc(t, I32)]
            key = [b.trunc(x, I32) for x in (tile.seed, b.lshr(tile.seed, integer(32)))]
            known = [splat(b, x, COUNTERS_AT_ONCE) for x in (*fixed, *key)]
            with self.strips(draw, start, counters, COUNTERS_AT_ONCE, WORDS_PER_COUNTER) as (strip, _):
                self.store_words(b.add(low, strip), known, at(b, words, b.shl(strip, integer(2)), I32))
        return {draw: at(b, words, skip, I32) for draw, words in self.arrays.words.items()}

    def store_words(self, first: Any, known: list[Any], to: Any) -> None:
        """The words of COUNTERS_AT_ONCE counters, of which this is the first one."""
        b = self.b
        counter = b.add(splat(b, first, COUNTERS_AT_ONCE), ll.Constant(vector(I64, COUNTERS_AT_ONCE), COUNTER_ORDER))
        halves = [
            b.trunc(x, vector(I32, COUNTERS_AT_ONCE))
            for x in (counter, b.lshr(counter, constant(I64, 32, COUNTERS_AT_ONCE)))
        ]
        words = inline(b, lambda e, *x: random.philox(e, x[:4], x[4:]), [*halves, *known], COUNTERS_AT_ONCE)
        w0, w1, w2, w3 = (b.zext(x, vector(I64, COUNTERS_AT_ONCE)) for x in words)
        up = constant(I64, 32, COUNTERS_AT_ONCE)
        lower, upper = b.or_(w0, b.shl(w1, up)), b.or_(w2, b.shl(w3, up))
        for k in range(0, COUNTERS_AT_ONCE, 4):
            lanes = [COUNTER_ORDER.index(k + i) + half for i in range(4) for half in (0, COUNTERS_AT_ONCE)]
            four = b.shuffle_vector(lower, upper, ll.Constant(vector(I32, 8), lanes))
            b.store(four, at(b, to, integer(k * WORDS_PER_COUNTER), I32), align=4)

    # ------------------------------------------------------------ blocks of codes

    def block_scale(self, name: str, start: Any) -> Any:
        """What the codes of the block that begins with element `start` are multiplied by."""
        block = self.b.lshr(self.b.add(self.tile.scale_origin, start), block_shift(self.buffers[name]))
        return self.decode_scale(name, load(self.b, self.scales[name], block, F32))

    def decode_scale(self, name: str, scale: Any) -> Any:
        return self.inline(codec.decode_scale(self.buffers[name]), scale)

    def inline(self, function: Callable[..., Any], *args: Any) -> Any:
        """A function of an IR builder on single numbers, which LLVM vectorises."""
        return inline(self.b, function, list(args), machine_flushes=self.body.m.machine_flushes)

    def fill_codes(self, start: Any, count: Any) -> None:
        """Lay out the scale of every element, and codes that share bytes: a unit meets two or three blocks."""
        b = self.b
        for name in self.decoded:
            place = array(b, I64, 1, 8)
            b.store(integer(0), place)
            with while_below(b, place, count) as here:
                row, inside = self.row_of_codes(b.add(b.add(self.tile.scale_origin, start), here))
                stretch = minimum(b, self.left_in_block(name, inside), b.sub(count, here))
                block = b.add(self.restarted(row, block_of(self.buffers[name])), self.block(name, inside))
                x = self.decode_scale(name, load(b, self.scales[name], block, F32))
                to = at(b, self.arrays.scales[name], here, F32)
                with loop(b, integer(0), stretch, lanes=self.body.lanes) as j:
                    b.store(x, at(b, to, j, F32))
                if name in self.arrays.codes:
                    self.fill_packed(name, row, inside, here, stretch)
                b.store(b.add(here, stretch), place)

    def look_up(self, start: Any) -> None:
        """Lay out what the codes of a whole unit stand for, where tables say that."""
        b = self.b
        for name, to in self.tables.items():
            with loop(b, integer(0), integer(QUANT_BLOCK), BYTES) as j:
                codes = b.load(self.body.address(name, b.add(start, j)), typ=vector(I8, BYTES), align=1)
                for k, x in enumerate(floats_of_bytes(b, code_table(self.buffers[name]), codes)):
                    b.store(x, at(b, to, b.add(j, integer(16 * k)), F32), align=CACHE_LINE_BYTES)

    def fill_packed(self, name: str, row: Any, inside: Any, here: Any, count: Any) -> None:
        """Lay out `count` codes that share bytes, from the place `here` on: those of elements `inside` of a row."""
        b = self.b
        source = at(b, self.body.pointers[name], self.restarted(row, CODES_PER_BYTE), I8)
        to = at(b, self.arrays.codes[name], here, I32)
        with loop(b, integer(0), count, lanes=self.body.lanes) as j:
            b.store(packing.load_one(b, source, b.add(inside, j)), at(b, to, j, I32))

    def row_of_codes(self, element: Any) -> tuple[Any, Any]:
        """The row that an element is in, if blocks of codes restart at rows, and which element of that it is."""
        b, restart = self.b, self.tile.restart
        return (integer(0), element) if restart is None else (b.udiv(element, restart), b.urem(element, restart))

    def restarted(self, row: Any, each: int) -> Any:
        """How many there are before a row of what begins anew at rows, one for `each` elements."""
        b, restart = self.b, self.tile.restart
        return row if restart is None else b.mul(row, blocks(b, restart, each))

    def block(self, name: str, inside: Any) -> Any:
        return self.b.lshr(inside, block_shift(self.buffers[name]))

    def left_in_block(self, name: str, inside: Any) -> Any:
        """How many elements there are from this one to the end of its block."""
        b, block = self.b, block_of(self.buffers[name])
        left = b.sub(integer(block), b.and_(inside, integer(block - 1)))
        restart = self.tile.restart
        return left if restart is None else minimum(b, left, b.sub(restart, inside))
