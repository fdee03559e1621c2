"""What a GPU's sweep does to the elements of a tensor: groups of neighbours, one for each thread of
a warp: of four, or of two where a warp has 64 threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends import packing
from optgen.backends.control_flow import variable
from optgen.backends.element_body import ElementBody, address
from optgen.backends.gpu.access import WideAccess, group_type
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.gpu.launches import coded
from optgen.backends.gpu.table import MAX_ACCESS_BYTES, MAX_GROUP
from optgen.backends.layout import narrowed
from optgen.backends.llvm import at, ceil_div, inline, integer, minimum, splat
from optgen.backends.llvm_types import F32, F64, I32, I64, raw_type, vector
from optgen.backends.module_builder import Env
from optgen.functions.math import random
from optgen.ir import LANES, Buffer, Instr, Phase, Value, codec
from optgen.ir.storage import QUANT_BLOCK, blocks
from optgen.ir.storage.packing import CODES_PER_BYTE

CODE_GROUPS = QUANT_BLOCK // LANES
"""How many groups of a thread are coded together: a block of codes, or two."""


@dataclass(frozen=True)
class ElementRange:
    """The elements that exist, [low, high). `whole`: all of a warp's groups are within, and aligned."""

    low: Any
    high: Any
    whole: bool

    def clamp_index(self, b: ll.IRBuilder, e: Any) -> Any:
        """The nearest element that exists, whose scale or row stands in for that of one that does not."""
        if self.whole:
            return e
        below = minimum(b, e, b.sub(self.high, integer(1)))
        return b.select(b.icmp_signed("<", below, self.low), self.low, below)

    def contains(self, b: ll.IRBuilder, e: Any) -> Any:
        return b.and_(b.icmp_signed(">=", e, self.low), b.icmp_signed("<", e, self.high))


@dataclass(frozen=True)
class Draws:
    """What the random words of a tensor depend on: the two i32 of the key, the tensor's id, its count as i32."""

    key: list[Any]
    id: Any
    t: Any


@dataclass(frozen=True)
class GroupContext:
    """What the groups of one row, or of a tensor as a whole, have in common.

    `pointers` and `scales` are the streams from its element 0 on. That is element `origin` of the whole tensor, and
    `scale_origin` of its blocks of codes; it is in row `row`, of `cols` elements. Streams of which elements share bytes
    begin where blocks of codes do, as scales. `one_row`: all elements are in that row,
    and a block may go on in the next one. `flat`: its groups are those of the whole tensor. Blocks `restart` after so
    many elements, unless that is None. `accesses` are for streams of which one access has several groups, by name, if
    all groups exist. `scalars` are known. `lines` are the arrays of row and column values. `draws` are given if there
    are random words. `height` is that of the matrices of a batch, None where a tensor is one matrix.
    """

    f: LaunchFunction
    phase: Phase
    pointers: dict[str, Any]
    scales: dict[str, Any]
    scalars: Env
    lines: dict[Value, Any]
    origin: Any
    scale_origin: Any
    row: Any
    cols: Any
    draws: Draws | None
    height: Any
    one_row: bool
    flat: bool
    accesses: Mapping[str, WideAccess]
    restart: Any = None

    def emit(self, starts: Sequence[Any], valid: ElementRange) -> list[Env]:
        """Emit what is done to the groups that begin at these elements; all loads come first."""
        groups = [Group(self, e, valid) for e in starts]
        self._load(groups)
        envs = []
        for group in groups:
            envs.append(group.emit())
            self._store_wide(groups)
        for name in coded(self.f.m.kernel, self.phase):
            buffer = self.f.m.kernel.buffer(name)
            assert buffer.format.block is not None
            each = buffer.format.block // LANES
            for k in range(0, len(groups), each):
                self._quantize(buffer, groups[k : k + each])
            self._store_wide(groups)
        return envs

    def _load(self, groups: Sequence[Group]) -> None:
        """Load all that `Group.read` gives."""
        wide = []
        for k, group in enumerate(groups):
            for buffer in self._loaded:
                access = self.accesses.get(buffer.name) if group.valid.whole else None
                if access is None:
                    group.load(buffer)
                elif k % access.count == 0:
                    load = self.unless_stored(buffer, access.load(self._wide_place(access, buffer, group)))
                    wide.append((buffer, access, groups[k : k + access.count], load))
        for buffer, access, some, load in wide:
            for group, x in zip(some, access.groups(load), strict=True):
                group.loaded[buffer.name] = x

    def _store_wide(self, groups: Sequence[Group]) -> None:
        """Store what waits for its access, where all groups of the access have it."""
        for name, access in self.accesses.items():
            for k in range(0, len(groups), access.count):
                some = groups[k : k + access.count]
                if all(name in group.waiting for group in some):
                    place = self._wide_place(access, self.f.m.kernel.buffer(name), some[0])
                    access.store([group.waiting.pop(name) for group in some], place)

    def _wide_place(self, access: WideAccess, buffer: Buffer, first: Group) -> Any:
        return self.place(buffer, access.start(first.e))

    def place(self, buffer: Buffer, e: Any) -> Any:
        """The address of element e, or of the byte that it shares; blocks then restart at even elements only."""
        b, storage = self.f.b, buffer.format
        return address(b, self.pointers[buffer.name], b.add(self.scale_origin, e) if storage.is_packed else e, storage)

    def code_place(self, e: Any) -> Any:
        """The number that element e has in an array of codes that share bytes: rows of them begin with a byte."""
        b = self.f.b
        row, inside = self.row_of_codes(e)
        if row is None:
            return inside
        assert self.restart is not None
        each = b.shl(ceil_div(b, self.restart, CODES_PER_BYTE), integer(1))
        return b.add(b.mul(row, each), inside)

    @property
    def _loaded(self) -> list[Buffer]:
        return [self.f.m.kernel.buffer(i.op.buffer) for i in self.phase.instrs if isinstance(i.op, ir.Load)]

    def unless_stored(self, buffer: Buffer, load: Any) -> Any:
        """A load, which goes through the read-only cache if the sweep does not write the stream."""
        stored = any(isinstance(i.op, ir.Store) and i.op.buffer == buffer.name for i in self.phase.instrs)
        return load if stored else self.f.mark_invariant(load)

    def _quantize(self, buffer: Buffer, groups: Sequence[Group]) -> None:
        """Code the new values of a block, which are in the warp. The largest magnitude becomes its scale."""
        f, b = self.f, self.f.b
        largest: Any = I32(0)
        for group in groups:
            largest = group.largest_magnitude(buffer, largest)
        for lanes in f.halves():
            other = f.shuffle_xor(largest, lanes)
            largest = b.select(b.icmp_signed(">", other, largest), other, largest)
        scale = b.bitcast(largest, F32)
        f.warp_barrier()  # all have read the old scale
        first = groups[0]
        with (
            f.one_thread(f.lane()),
            nullcontext() if first.valid.whole else b.if_then(first.valid.contains(b, first.e)),
        ):
            b.store(scale, at(b, self.scales[buffer.name], self.block(buffer, first.e), F32))
        factor = splat(b, inline(b, codec.encode_scale(buffer), [scale]), f.gpu.group)
        for group in groups:
            codes = inline(b, codec.encoder(buffer), [group.staged[buffer.name], factor], f.gpu.group)
            group.write_codes(buffer, codes)

    def block(self, buffer: Buffer, e: Any) -> Any:
        """Which block of codes an element is in."""
        b, block = self.f.b, buffer.format.block
        assert block is not None
        row, inside = self.row_of_codes(e)
        own = b.lshr(inside, integer(block.bit_length() - 1))
        return own if row is None else b.add(b.mul(row, ceil_div(b, self.restart, block)), own)

    def row_of_codes(self, e: Any) -> tuple[Any, Any]:
        """The row that element e is in, if blocks of codes restart, and which element of that it is."""
        b, element = self.f.b, self.f.b.add(self.scale_origin, e)
        if self.restart is None:
            return None, element
        row = b.udiv(element, self.restart)
        return row, b.sub(element, b.mul(row, self.restart))

    def column_index(self, row: Any, col: Any) -> Any:
        """Which column value belongs to a column of this row: those of its matrix are behind those of others."""
        b = self.f.b
        return col if self.height is None else b.add(b.mul(b.udiv(row, self.height), self.cols), col)

    def row_and_col(self, e: Any) -> tuple[Any, Any]:
        b = self.f.b
        if self.one_row:
            return self.row, e
        down = b.udiv(e, self.cols)
        return b.add(self.row, down), b.sub(e, b.mul(down, self.cols))


class Group(ElementBody):
    """The elements of a thread from element e of a context on, as far as they are in `valid`."""

    def __init__(self, context: GroupContext, e: Any, valid: ElementRange) -> None:
        f = context.f
        super().__init__(f.m, f.b, context.phase, context.scalars, f.gpu.group)
        self.f, self.context, self.e, self.valid = f, context, e, valid
        self.loaded: dict[str, Any] = {}
        self.staged: dict[str, Any] = {}
        self.waiting: dict[str, Any] = {}
        self._words: dict[int, Any] = {}

    def element(self, k: int) -> Any:
        return self.b.add(self.e, integer(k))

    # ------------------------------------------------------------ streams

    def load(self, buffer: Buffer) -> None:
        self.loaded[buffer.name] = self._load(buffer)

    def read(self, buffer: Buffer) -> Any:
        loaded = self.loaded[buffer.name]
        unpacks = buffer.format.is_packed and self.valid.whole
        return packing.unpacked(self.b, loaded, self.width) if unpacks else loaded

    def _load(self, buffer: Buffer) -> Any:
        if self.valid.whole:
            place, align = self._vector_place(buffer)
            type = group_type(buffer.format, self.width)
            return self.context.unless_stored(buffer, self.b.load(place, typ=type, align=align))
        return self._gathered([self._load_one(buffer, self.element(k)) for k in range(self.width)])

    def _load_one(self, buffer: Buffer, e: Any) -> Any:
        """One element, if it exists: another thread may be writing its neighbours."""
        b, packed = self.b, buffer.format.is_packed
        type = I32 if packed else raw_type(buffer.format)
        found = variable(b, ll.Constant(type, 0))
        with b.if_then(self.valid.contains(b, e)):
            start = self.context.pointers[buffer.name]
            if packed:
                x = packing.load_one(b, start, self.context.code_place(e))
            else:
                x = self.context.unless_stored(buffer, b.load(at(b, start, e, type), typ=type))
            b.store(x, found)
        return b.load(found, typ=type)

    def _vector_place(self, buffer: Buffer) -> tuple[Any, int]:
        """The address of the group, and how it is aligned, in bytes."""
        return self.context.place(buffer, self.e), min(MAX_ACCESS_BYTES, self.width * buffer.format.bits // 8)

    def write(self, buffer: Buffer, x: Any) -> None:
        b = self.b
        if self.valid.whole and buffer.name in self.context.accesses:
            self.waiting[buffer.name] = x
            return
        if self.valid.whole:
            place, align = self._vector_place(buffer)
            b.store(x, place, align=align)
            return
        for k in range(self.width):
            here = self.element(k)
            with b.if_then(self.valid.contains(b, here)):
                place = at(b, self.context.pointers[buffer.name], here, raw_type(buffer.format))
                b.store(b.extract_element(x, I32(k)), place)

    def reduce(self, instr: Instr, env: Env) -> None:
        """Nothing: the sweep folds what it has of several groups."""

    # ------------------------------------------------------------ blocks of codes

    def write_codes(self, buffer: Buffer, codes: Any) -> None:
        """Write int32 codes."""
        b, type = self.b, raw_type(buffer.format)
        if not buffer.format.is_packed:
            self.write(buffer, b.trunc(codes, vector(type, self.width)))
        elif self.valid.whole:
            self.write(buffer, packing.packed(b, codes, self.width))
        else:
            self._write_pairs(buffer, codes)

    def _write_pairs(self, buffer: Buffer, codes: Any) -> None:
        """Write a byte for each pair of codes whose first one exists: the group begins with a pair."""
        b = self.b
        for k in range(0, self.width, CODES_PER_BYTE):
            here, behind = self.element(k), self.element(k + 1)
            low, high = (b.extract_element(codes, I32(j)) for j in (k, k + 1))
            high = b.select(self.valid.contains(b, behind), b.shl(high, I32(packing.BITS)), I32(0))
            with b.if_then(self.valid.contains(b, here)):
                b.store(b.trunc(b.or_(low, high), raw_type(buffer.format)), self.context.place(buffer, here))

    def scale(self, buffer: Buffer) -> Any:
        """One for all elements, as a group is within a block, unless blocks go on from row to row or restart there."""
        b, context = self.b, self.context

        def of(e: Any) -> Any:
            place = at(b, context.scales[buffer.name], context.block(buffer, self.valid.clamp_index(b, e)), F32)
            return inline(b, codec.decode_scale(buffer), [b.load(place, typ=F32)])

        if not context.one_row and context.restart is None:
            return splat(b, of(self.e), self.width)
        return self._gathered([of(self.element(k)) for k in range(self.width)])

    def stage_for_quantization(self, buffer: Buffer, x: Any) -> None:
        self.staged[buffer.name] = x

    def largest_magnitude(self, buffer: Buffer, largest: Any) -> Any:
        """The larger of `largest` and the largest magnitude of the new values, as bits."""
        b = self.b
        for k, one in enumerate(self._magnitudes(self.staged[buffer.name])):
            if not self.valid.whole:
                one = b.select(self.valid.contains(b, self.element(k)), one, I32(0))
            largest = b.select(b.icmp_signed(">", one, largest), one, largest)
        return largest

    def _magnitudes(self, x: Any) -> Iterator[Any]:
        """Those of each element, as bits. Of two elements they are computed one by one: the AMDGPU backend of LLVM 22
        ends the process where it chooses between elements of two int32 without signs."""
        b, pair = self.b, self.width == 2
        bits = x if pair else inline(b, blocks.magnitude, [x], self.width)
        for k in range(self.width):
            one = b.extract_element(bits, I32(k))
            yield inline(b, blocks.magnitude, [one]) if pair else one

    def _gathered(self, parts: Sequence[Any]) -> Any:
        """A vector of scalars."""
        b = self.b
        found = ll.Constant(vector(parts[0].type, self.width), ll.Undefined)
        for k, x in enumerate(parts):
            found = b.insert_element(found, x, I32(k))
        return found

    # ------------------------------------------------------------ random words

    def words(self, draw: int) -> Any:
        """Where groups are not those of the whole tensor, the words of two counters make up those of a group."""
        b = self.b
        if draw not in self._words:
            first = b.add(self.context.origin, self.e)
            counter = b.lshr(first, integer(2))
            made = self._philox(draw, counter)
            if not (self.context.flat or self.valid.whole):
                made += self._philox(draw, b.add(counter, integer(1)))
                skip = b.and_(first, integer(MAX_GROUP - 1))
                made = [self._chosen(made[k : k + MAX_GROUP], skip) for k in range(self.width)]
            elif self.width < MAX_GROUP:
                which = b.udiv(b.and_(first, integer(MAX_GROUP - 1)), integer(self.width))
                made = [self._chosen(made[k :: self.width], which) for k in range(self.width)]
            self._words[draw] = self._gathered(made)
        return self._words[draw]

    def _chosen(self, words: Sequence[Any], which: Any) -> Any:
        b, found = self.b, words[0]
        for k in range(1, len(words)):
            found = b.select(b.icmp_signed("==", which, integer(k)), words[k], found)
        return found

    def _philox(self, draw: int, counter: Any) -> list[Any]:
        b, draws = self.b, self.context.draws
        assert draws is not None
        halves = [b.trunc(counter, I32), b.trunc(b.lshr(counter, integer(32)), I32)]
        held = self.context.f.m.kernel.held.get(draw)
        t = draws.t if held is None else b.trunc(b.fptosi(self.context.scalars[held], I64), I32)
        fixed = [b.trunc(b.xor(draws.id, integer(draw << 20)), I32), t]
        found: list[Any] = inline(b, lambda w, *x: random.philox(w, x[:4], x[4:]), [*halves, *fixed, *draws.key])
        return found

    # ------------------------------------------------------------ row and column values

    def line_values(self) -> Env:
        b, lines = self.b, self.context.lines
        if not lines:
            return {}
        places = [(row, self.context.column_index(row, col)) for row, col in self._rows_and_cols()]

        def of(v: Value) -> Any:
            which = 0 if v.type.kind is Kind.ROW else 1
            found = [b.load(at(b, lines[v], place[which], F64), typ=F64) for place in places]
            return self._gathered([narrowed(b, x, v) for x in found])

        return {v: of(v) for v in lines}

    def _rows_and_cols(self) -> list[tuple[Any, Any]]:
        """The row and the column of each element; one division is enough if all elements exist."""
        b, context = self.b, self.context
        if not self.valid.whole or context.one_row:
            return [context.row_and_col(self.valid.clamp_index(b, self.element(k))) for k in range(self.width)]
        found = [context.row_and_col(self.e)]
        for _ in range(1, self.width):
            row, col = found[-1]
            next = b.add(col, integer(1))
            ends = b.icmp_signed("==", next, context.cols)
            found.append((b.select(ends, b.add(row, integer(1)), row), b.select(ends, integer(0), next)))
        return found
