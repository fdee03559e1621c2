"""What a CPU's sweep does to the elements of one tensor, and the plain loop that does it: LLVM vectorises it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends import machine, packing
from optgen.backends.control_flow import loop
from optgen.backends.cpu import masked
from optgen.backends.cpu.line_arrays import load_line
from optgen.backends.cpu.module import CpuModuleBuilder
from optgen.backends.cpu.sums import exact_products, fused
from optgen.backends.element_body import ElementBody, address, stored
from optgen.backends.llvm import at, fold, integer, splat
from optgen.backends.llvm_types import F32, F64, I1, I8, I32, I64, PTR, TYPES, raw_type, vector
from optgen.backends.module_builder import Env
from optgen.ir import LANES, Buffer, Instr, Phase, Value
from optgen.ir.storage import blocks

CACHE_LINE_BYTES = 64
PREFETCH_BYTES = machine.value("sweeps.prefetch_bytes")
"""How far ahead a loop prefetches its streams, at least."""
MOST_PREFETCH_BYTES = machine.value("sweeps.most_prefetch_bytes")
BYTES_UNDER_WAY = machine.value("sweeps.bytes_under_way")
"""The bytes that are prefetched of all streams together, in a loop with reductions and few streams."""


def unit_type(dtype: ir.DType) -> ll.Type:
    """The type of the numbers in a unit's array. A vector of conditions would be bits, so they are bytes."""
    return I8 if dtype == "b1" else TYPES[dtype]


@dataclass(frozen=True)
class UnitArrays:
    """Short arrays on the stack for the elements at hand, one number for each of them (`staged.py`).

    `lines` are row and column values. `words` are random words, by draw. `scales` are those of old codes, by buffer,
    and `codes` the old codes that share bytes. `decoded` are the numbers that old codes stand for, as far as they are
    known; elsewhere they are computed. `values` are the values that become new codes. `magnitudes` hold, for each lane
    of a vector, the bits of the largest magnitude among the latter.
    """

    lines: Mapping[Value, Any] = field(default_factory=dict)
    words: Mapping[int, Any] = field(default_factory=dict)
    scales: Mapping[str, Any] = field(default_factory=dict)
    codes: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    magnitudes: Mapping[str, Any] = field(default_factory=dict)
    decoded: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepBody:
    """What the elements of a sweep have in common: streams are at `pointers`, and `scalars` are known.

    `columns` are the arrays that reductions per column add to. `column_values` are the arrays of column values where
    element 0 begins a row, `scales` are those of codes where all elements at hand are of one block; elsewhere
    both are among the `arrays`. `terms` are where those of reductions go that are folded later. So many `rows` are
    visited side by side. `one` is the number 1, if sums are added with fused multiply-add (`sums.py`).
    """

    m: CpuModuleBuilder
    b: ll.IRBuilder
    phase: Phase
    pointers: Mapping[str, Any]
    scalars: Mapping[Value, Any]
    columns: Mapping[Value, Any]
    column_values: Mapping[Value, Any] = field(default_factory=dict)
    arrays: UnitArrays = field(default_factory=UnitArrays)
    scales: Mapping[str, Any] = field(default_factory=dict)
    terms: Mapping[Value, Any] = field(default_factory=dict)
    rows: int = 1
    one: Any = None

    @property
    def lanes(self) -> int:
        return elements_per_line(self.m.kernel)

    @property
    def reductions(self) -> list[ir.Reduce]:
        """The reductions but those per column, and those whose terms are kept."""
        instrs = [i for i in self.phase.instrs if i.result not in self.columns and i.result not in self.terms]
        return [i.op for i in instrs if isinstance(i.op, ir.Reduce)]

    def accumulate(self, reduce: ir.Reduce, total: Any, env: Env) -> Any:
        """A reduction with the terms of some more elements."""
        factors = exact_products(self.phase).get(reduce.x) if reduce.op == "sum" and self.m.has_fma else None
        with self.m.line_of(self.b, next(i for i in self.phase.instrs if i.op is reduce)):
            if factors is not None:
                x, y = factors
                return fused(self.b, env[x], env[y], total)
            if reduce.op == "sum" and reduce.scope == "col" and self.one is not None:
                return fused(self.b, env[reduce.x], self.one, total)
            return fold(self.b, reduce.op, total, env[reduce.x])

    def emit(self, i: Any, width: int = 1, place: Any = None, mask: Any = None) -> Env:
        """Emit what is done to elements i, i+1, ...: to all of them, or to those in the lanes of `mask`.

        `place` is where element i is in the `arrays`.
        """
        return VectorBody(self, i, width, place, mask).emit()

    @property
    def prefetch_elements(self) -> int:
        """How far ahead a loop with reductions prefetches: few streams must be farther ahead to keep memory busy.

        A loop over values of rows and columns alone has no stream, and prefetches none.
        """
        lines = max((len(self.pointers) + len(stored(self.phase))) * self.rows, 1)
        far = min(max(BYTES_UNDER_WAY // lines // PREFETCH_BYTES, 1) * PREFETCH_BYTES, MOST_PREFETCH_BYTES)
        return far // CACHE_LINE_BYTES * self.lanes

    def address(self, buffer: str, i: Any) -> Any:
        return address(self.b, self.pointers[buffer], i, self.m.kernel.buffer(buffer).format)

    def prefetch(self, i: Any, offset: int, names: Collection[str] = ()) -> None:
        """Prefetch the cache line that is `offset` bytes behind element i, of every stream, or of `names`.

        It goes to the second cache: the first one has no room for lines that are not needed at once. The element, too,
        may be beyond the tensor.
        """
        for name in names or self.pointers:
            format = self.m.kernel.buffer(name).format
            element = address(self.b, self.pointers[name], i, format, inbounds=False)
            prefetch(self.b, at(self.b, element, integer(offset), I8, inbounds=False))


def elements_per_line(kernel: ir.Kernel) -> int:
    """How many elements fill a cache line, which is also the widest vector register there is."""
    return CACHE_LINE_BYTES * 8 // (32 if kernel.compute == "f32" else 64)


def add_to_lanes(body: SweepBody, lanes: Any, lane: Any, env: Env, mask: Any = None) -> None:
    """Add the values of elements, or of those of `mask`, to their lanes of each reduction, the first of which is
    `lane`."""
    b = body.b
    for r, reduce in enumerate(body.reductions):
        place = at(b, lanes, b.add(lane, integer(r * LANES)), F64)
        total = b.load(place, typ=env[reduce.x].type, align=8)
        new = body.accumulate(reduce, total, env)
        b.store(new if mask is None else b.select(mask, new, total), place, align=8)


class VectorBody(ElementBody):
    """Elements i, i+1, ... of a sweep. Any address will do: the streams need no alignment.

    Elements that are not in the `mask` are neither read nor written; zeros stand for them.
    """

    def __init__(self, sweep: SweepBody, i: Any, width: int, place: Any, mask: Any = None) -> None:
        super().__init__(sweep.m, sweep.b, sweep.phase, sweep.scalars, width)
        self.sweep, self.i, self.place, self.mask = sweep, i, place, mask

    def line_values(self) -> Env:
        if self.sweep.arrays.lines:
            return {v: self._of_each(array, v.type.dtype) for v, array in self.sweep.arrays.lines.items()}
        return {v: load_line(self.b, x, self.i, v, self.width, self.mask) for v, x in self.sweep.column_values.items()}

    def words(self, draw: int) -> Any:
        return self._of_each(self.sweep.arrays.words[draw], "i32")

    def scale(self, buffer: Buffer) -> Any:
        if buffer.name in self.sweep.scales:
            return splat(self.b, self.sweep.scales[buffer.name], self.width)
        return self._of_each(self.sweep.arrays.scales[buffer.name], "f32")

    def _of_each(self, array: Any, dtype: ir.DType) -> Any:
        """The numbers of the elements in one of the unit's arrays."""
        type = unit_type(dtype)
        align = 1 if type is I8 else 4
        x = self.b.load(at(self.b, array, self.place, type), typ=vector(type, self.width), align=align)
        return self.b.trunc(x, vector(I1, self.width)) if dtype == "b1" else x

    def decoded(self, buffer: Buffer, machine_flushes: bool) -> Any:
        known = self.sweep.arrays.decoded
        if buffer.name not in known:
            return super().decoded(buffer, machine_flushes)
        x = self._of_each(known[buffer.name], "f32")
        return self.inline(lambda b, x, scale: b.mul(x, scale), [x, self.scale(buffer)], result_flushes=machine_flushes)

    def read(self, buffer: Buffer) -> Any:
        if buffer.format.is_packed:
            return self._codes(buffer.name)
        type, place = vector(raw_type(buffer.format), self.width), self.sweep.address(buffer.name, self.i)
        return masked.load(self.b, place, type, 1, self.mask)

    def _codes(self, name: str) -> Any:
        """Codes that share bytes. A vector of them begins with a byte, unless they are laid out."""
        b, laid_out = self.b, self.sweep.arrays.codes
        if name in laid_out:
            return self._of_each(laid_out[name], "i32")
        if self.width == 1:
            return packing.load_one(b, self.sweep.pointers[name], self.i)
        octets = b.load(self.sweep.address(name, self.i), typ=vector(I8, self.width // 2), align=1)
        return packing.unpacked(b, octets, self.width)

    def write(self, buffer: Buffer, x: Any) -> None:
        masked.store(self.b, x, self.sweep.address(buffer.name, self.i), 1, self.mask)

    def stage_for_quantization(self, buffer: Buffer, x: Any) -> None:
        """Lay the values down, and note the largest magnitude in each lane of a vector so far."""
        b, arrays = self.b, self.sweep.arrays
        b.store(x, at(b, arrays.values[buffer.name], self.place, F32), align=4)
        largest = arrays.magnitudes[buffer.name]
        bits, old = self.inline(blocks.magnitude, [x]), b.load(largest, typ=vector(I32, self.width), align=4)
        b.store(b.select(b.icmp_signed(">", bits, old), bits, old), largest, align=4)

    def reduce(self, instr: Instr, env: Env) -> None:
        """Add to the sums of columns; keep terms."""
        assert isinstance(instr.op, ir.Reduce) and instr.result is not None
        if instr.result in self.sweep.columns:
            address = at(self.b, self.sweep.columns[instr.result], self.i, F64)
            total = masked.load(self.b, address, vector(F64, self.width), 8, self.mask)
            masked.store(self.b, self.sweep.accumulate(instr.op, total, env), address, 8, self.mask)
        elif instr.result in self.sweep.terms:
            address = at(self.b, self.sweep.terms[instr.result], self.i, F64)
            masked.store(self.b, env[instr.op.x], address, 8, self.mask)


def for_elements(body: SweepBody, begin: Any, end: Any, prefetches: Any = None) -> None:
    """Elements [begin, end) of a sweep without reductions, which may begin anywhere.

    The hardware's prefetchers lose pace with loops that compute much, so each line prefetches one a little ahead, if
    `prefetches` is true or absent.
    """
    b, lanes = body.b, body.lanes

    def prefetch_ahead(i: Any) -> None:
        with nullcontext() if prefetches is None else b.if_then(prefetches):
            body.prefetch(i, PREFETCH_BYTES)

    if body.m.masks_vectors:
        for i, count, mask in masked.vectors(b, begin, end, lanes, lanes, _start_of_lines(body), masks=True):
            if mask is None:
                prefetch_ahead(i)
            body.emit(i, count, mask=mask)
        return

    def line(start: Any, count: Any, lanes: int) -> None:
        with loop(b, integer(0), count, lanes=lanes) as j:
            body.emit(b.add(start, j, flags=["nsw", "nuw"]))

    full = b.add(begin, b.and_(b.sub(end, begin), integer(-lanes)))
    with loop(b, begin, full, lanes) as start:
        prefetch_ahead(start)
        line(start, integer(lanes), lanes)
    line(full, b.sub(end, full), 1)


def _start_of_lines(body: SweepBody) -> Any:
    """An element at which a cache line begins, in the widest stream that is stored: whole vectors cross no line there.

    Large arrays of NumPy begin 16 bytes behind a line.
    """
    b, names = body.b, stored(body.phase) or body.pointers
    formats = {x.name: x.format for x in body.m.kernel.buffers if x.name in names}  # in an order, as sets have none
    name = max(formats, key=lambda x: formats[x].bits)
    bytes_before = b.sub(integer(0), b.ptrtoint(body.address(name, integer(0)), I64))
    return b.lshr(bytes_before, integer((formats[name].bits // 8).bit_length() - 1))


def prefetch(b: ll.IRBuilder, address: Any) -> None:
    """Prefetch the cache line of an address into the second cache: the first one has no room for lines that are not
    needed at once."""
    type = ll.FunctionType(ll.VoidType(), [PTR, I32, I32, I32])
    to_read, second_cache, of_data = I32(0), I32(2), I32(1)
    b.call(b.module.declare_intrinsic("llvm.prefetch", [PTR], type), [address, to_read, second_cache, of_data])
