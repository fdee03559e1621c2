"""What a sweep does to the elements of a tensor: groups of four neighbours, one for each thread of a warp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.layout import narrowed
from optgen.backends.llvm import F64, I8, I16, I32, TYPES, at, constant, inline, lower, smaller, splat, vector
from optgen.backends.ptx.launches import coded
from optgen.backends.ptx.module import Entry, Env, integer
from optgen.backends.ptx.table import GROUP
from optgen.ir import ROUNDING_DRAW, Buffer, Phase, Value, codec
from optgen.ir.math import random
from optgen.ir.storage import QUANT_BLOCK, Storage, blocks
from optgen.model import Kind

WIDEST = 16
"""Bytes that a thread reads or writes at once."""
F32 = TYPES["f32"]
FLOATS: dict[int, ll.Type] = {64: F64, 32: F32, 16: ll.HalfType()}
CODES: dict[int, ll.Type] = {16: I16, 8: I8}


def raw_type(storage: Storage) -> ll.Type:
    """What is read and written for an element: a float, or a code."""
    return (FLOATS if storage.codec is None else CODES)[storage.bits]


@dataclass(frozen=True)
class Span:
    """The elements there are, [low, high); `whole`: all of a warp's groups are within, and aligned."""

    low: Any
    high: Any
    whole: bool

    def clamp(self, b: ll.IRBuilder, e: Any) -> Any:
        """The nearest element there is: what belongs to it stands in for what belongs to one that is not there."""
        if self.whole:
            return e
        below = smaller(b, e, b.sub(self.high, integer(1)))
        return b.select(b.icmp_signed("<", below, self.low), self.low, below)

    def has(self, b: ll.IRBuilder, e: Any) -> Any:
        return b.and_(b.icmp_signed(">=", e, self.low), b.icmp_signed("<", e, self.high))


@dataclass
class Elements:
    """One row, or a tensor as a whole, of which groups are computed.

    `pointers` and `scales` are the streams from its element 0 on, which is element `origin` of the whole tensor, and
    `scale_origin` of the 8-bit blocks; it is in row `row`, of `cols` elements. `one_row`: all of it is in that row, and
    blocks do not end where it ends. `flat`: its groups are those of the whole tensor. `scalars` are known; `lines` are
    arrays of row and column values; `draws` are the key, the id and the count of draws, if there are any.
    """

    entry: Entry
    phase: Phase
    i: Any
    pointers: dict[str, Any]
    scales: dict[str, Any]
    scalars: Env
    lines: dict[Value, Any]
    origin: Any
    scale_origin: Any
    row: Any
    cols: Any
    draws: tuple[list[Any], Any, Any] | None
    one_row: bool
    flat: bool
    b: ll.IRBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.b = self.entry.b
        self.buffers = {x.name: x for x in self.entry.m.kernel.buffers}
        self.stored = {i.op.buffer for i in self.phase.instrs if isinstance(i.op, ir.Store)}
        self.loaded = [i.op.buffer for i in self.phase.instrs if isinstance(i.op, ir.Load)]
        self.rounded = self.entry.m.kernel.rounded
        self.coded = coded(self.entry.m.kernel, self.phase)

    def run(self, groups: Sequence[Any], span: Span) -> list[Env]:
        """All there is to do for the groups that begin at these elements; all loads come first."""
        raw = [{name: self.read(name, e, span) for name in self.loaded} for e in groups]
        envs = [self.compute(e, span, found) for e, found in zip(groups, raw, strict=True)]
        for name in self.coded:
            self.code(name, groups, envs, span)
        return envs

    def compute(self, e: Any, span: Span, raw: dict[str, Any]) -> Env:
        b = self.b
        env = {v: splat(b, x, GROUP) for v, x in self.scalars.items()}
        env |= self.line_values(e, span)
        words: dict[int, Any] = {}
        for instr in self.phase.instrs:
            match instr.op:
                case ir.Load(buffer=name):
                    assert instr.result is not None
                    env[instr.result] = self.decoded(self.buffers[name], raw[name], e, span)
                case ir.Store(buffer=name, value=v) if name not in self.coded:
                    self.write(name, self.encoded(self.buffers[name], self.operand(env, v), e, span, words), e, span)
                case ir.Word(draw=draw):
                    assert instr.result is not None
                    env[instr.result] = self.words(draw, e, span, words)
                case ir.Store() | ir.Reduce():
                    pass  # by `code`, and by the sweep
                case op:
                    assert instr.result is not None
                    args = [self.operand(env, v) for v in ir.operands(op)]
                    env[instr.result] = lower(b, op, args, instr.result, GROUP)
        return env

    def operand(self, env: Env, v: Value) -> Any:
        return env[v] if v in env else lower(self.b, self.entry.m.consts[v], [], v, GROUP)

    # ------------------------------------------------------------ streams

    def read(self, name: str, e: Any, span: Span) -> Any:
        b = self.b
        if span.whole:
            return self.fixed(name, self.wide(name, e, load=True))
        return self.gathered([self.read_one(name, b.add(e, integer(k)), span) for k in range(GROUP)])

    def read_one(self, name: str, e: Any, span: Span) -> Any:
        """One element, if it is there: another thread may be writing what is next to it."""
        b, type = self.b, raw_type(self.buffers[name].format)
        cell = self.entry.cell(ll.Constant(type, 0))
        with b.if_then(span.has(b, e)):
            b.store(self.fixed(name, b.load(at(b, self.pointers[name], e, type), typ=type)), cell)
        return b.load(cell, typ=type)

    def wide(self, name: str, e: Any, load: bool, x: Any = None) -> Any:
        b, storage = self.b, self.buffers[name].format
        place = at(b, self.pointers[name], e, raw_type(storage))
        align = min(WIDEST, GROUP * storage.bytes)
        if load:
            return b.load(place, typ=vector(raw_type(storage), GROUP), align=align)
        return b.store(x, place, align=align)

    def fixed(self, name: str, load: Any) -> Any:
        """A load of what nobody writes in this launch goes through the read-only cache."""
        if name not in self.stored:
            load.set_metadata("invariant.load", self.entry.m.invariant)
        return load

    def write(self, name: str, x: Any, e: Any, span: Span) -> None:
        b = self.b
        if span.whole:
            self.wide(name, e, load=False, x=x)
            return
        for k in range(GROUP):
            here = b.add(e, integer(k))
            with b.if_then(span.has(b, here)):
                place = at(b, self.pointers[name], here, raw_type(self.buffers[name].format))
                b.store(b.extract_element(x, I32(k)), place)

    def decoded(self, buffer: Buffer, raw: Any, e: Any, span: Span) -> Any:
        b = self.b
        if buffer.format.is_half:
            return b.fpext(raw, vector(F32, GROUP))
        if buffer.format.codec is None:
            return raw
        args = [b.zext(raw, vector(I32, GROUP))]
        if buffer.is_quantized:
            args.append(self.scale_of_each(buffer, e, span))
        return inline(b, codec.decoder(buffer), args, GROUP)

    def encoded(self, buffer: Buffer, x: Any, e: Any, span: Span, words: dict[int, Any]) -> Any:
        b = self.b
        if buffer.format.is_half:
            return b.fptrunc(x, vector(ll.HalfType(), GROUP))
        if buffer.format.codec is None:
            return x
        args = [x]
        if buffer.format.needs_draws:
            # A word serves two states, the first one takes its low half.
            state = self.rounded.index(buffer.name)
            word = self.words(ROUNDING_DRAW + state // 2, e, span, words)
            half = b.lshr(word, constant(I32, 16 * (state % 2), GROUP))
            args.append(b.and_(half, constant(I32, 0xFFFF, GROUP)))
        return b.trunc(inline(b, codec.encoder(buffer), args, GROUP), vector(raw_type(buffer.format), GROUP))

    # ------------------------------------------------------------ 8-bit blocks

    def block(self, e: Any) -> Any:
        return self.b.lshr(self.b.add(self.scale_origin, e), integer(QUANT_BLOCK.bit_length() - 1))

    def scale_of_each(self, buffer: Buffer, e: Any, span: Span) -> Any:
        """What the codes of a group are multiplied with: a group is within a block unless rows cut blocks."""
        b, scales = self.b, self.scales[buffer.name]

        def of(place: Any) -> Any:
            return inline(b, codec.decode_scale(buffer), [b.load(at(b, scales, self.block(place), F32), typ=F32)])

        if not self.one_row:
            return splat(b, of(span.clamp(b, e)), GROUP)
        return self.gathered([of(span.clamp(b, b.add(e, integer(k)))) for k in range(GROUP)])

    def gathered(self, parts: Sequence[Any]) -> Any:
        b = self.b
        found = ll.Constant(vector(parts[0].type, GROUP), ll.Undefined)
        for k, x in enumerate(parts):
            found = b.insert_element(found, x, I32(k))
        return found

    def code(self, name: str, groups: Sequence[Any], envs: Sequence[Env], span: Span) -> None:
        """The new values of a block, which the warp has: the largest becomes its scale."""
        b, buffer = self.b, self.buffers[name]
        value = next(i.op.value for i in self.phase.instrs if isinstance(i.op, ir.Store) and i.op.buffer == name)
        values = [self.operand(env, value) for env in envs]
        largest: Any = I32(0)
        for e, x in zip(groups, values, strict=True):
            bits = inline(b, blocks.magnitude, [x], GROUP)
            for k in range(GROUP):
                one = b.extract_element(bits, I32(k))
                if not span.whole:
                    one = b.select(span.has(b, b.add(e, integer(k))), one, I32(0))
                largest = b.select(b.icmp_signed(">", one, largest), one, largest)
        for lanes in (16, 8, 4, 2, 1):
            other = self.entry.across(largest, lanes)
            largest = b.select(b.icmp_signed(">", other, largest), other, largest)
        scale = b.bitcast(largest, F32)
        self.entry.warp_barrier()  # all have read the old scale
        lane = b.and_(self.entry.tid, integer(31))
        with b.if_then(b.icmp_signed("==", lane, integer(0))):
            b.store(scale, at(b, self.scales[name], self.block(groups[0]), F32))
        factor = splat(b, inline(b, codec.encode_scale(buffer), [scale]), GROUP)
        for e, x in zip(groups, values, strict=True):
            codes = inline(b, codec.encoder(buffer), [b.fmul(x, factor)], GROUP)
            self.write(name, b.trunc(codes, vector(raw_type(buffer.format), GROUP)), e, span)

    # ------------------------------------------------------------ random words

    def words(self, draw: int, e: Any, span: Span, known: dict[int, Any]) -> Any:
        """The words of a group. Where groups are not those of the whole tensor, two counters have a part each."""
        b = self.b
        if draw not in known:
            first = b.add(self.origin, e)
            counter = b.lshr(first, integer(2))
            made = self.philox(draw, counter)
            if not (self.flat or span.whole):
                made += self.philox(draw, b.add(counter, integer(1)))
                skip = b.and_(first, integer(GROUP - 1))
                made = [self.chosen(made[k : k + GROUP], skip) for k in range(GROUP)]
            known[draw] = self.gathered(made)
        return known[draw]

    def chosen(self, words: Sequence[Any], which: Any) -> Any:
        b, found = self.b, words[0]
        for k in range(1, GROUP):
            found = b.select(b.icmp_signed("==", which, integer(k)), words[k], found)
        return found

    def philox(self, draw: int, counter: Any) -> list[Any]:
        b = self.b
        assert self.draws is not None
        key, id, t = self.draws
        halves = [b.trunc(counter, I32), b.trunc(b.lshr(counter, integer(32)), I32)]
        fixed = [b.trunc(b.xor(id, integer(draw << 20)), I32), t]
        found: list[Any] = inline(b, lambda w, *x: random.philox(w, x[:4], x[4:]), [*halves, *fixed, *key])
        return found

    # ------------------------------------------------------------ row and column values

    def line_values(self, e: Any, span: Span) -> Env:
        """Those of a group's elements."""
        b = self.b
        if not self.lines:
            return {}
        places = self.places(e, span)

        def of(v: Value) -> Any:
            which = 0 if v.type.kind is Kind.ROW else 1
            found = [b.load(at(b, self.lines[v], place[which], F64), typ=F64) for place in places]
            return self.gathered([narrowed(b, x, v) for x in found])

        return {v: of(v) for v in self.lines}

    def places(self, e: Any, span: Span) -> list[tuple[Any, Any]]:
        """Row and column of each element of a group: where all are there, one division will do."""
        b = self.b
        if not span.whole or self.one_row:
            return [self.row_and_col(span.clamp(b, b.add(e, integer(k)))) for k in range(GROUP)]
        found = [self.row_and_col(e)]
        for _ in range(1, GROUP):
            row, col = found[-1]
            next = b.add(col, integer(1))
            ends = b.icmp_signed("==", next, self.cols)
            found.append((b.select(ends, b.add(row, integer(1)), row), b.select(ends, integer(0), next)))
        return found

    def row_and_col(self, e: Any) -> tuple[Any, Any]:
        b = self.b
        if self.one_row:
            return self.row, e
        down = b.udiv(e, self.cols)
        return b.add(self.row, down), b.sub(e, b.mul(down, self.cols))
