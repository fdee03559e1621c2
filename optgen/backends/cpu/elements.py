"""What a CPU's sweep does to the elements of one tensor, and the plain loop that does it: LLVM vectorises it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends import packing
from optgen.backends.control_flow import loop
from optgen.backends.cpu.line_arrays import load_line
from optgen.backends.cpu.module import CpuModuleBuilder
from optgen.backends.element_body import ElementBody, address, raw_type, stored
from optgen.backends.llvm import at, first_lanes, fold, integer, masked_load, masked_store, splat
from optgen.backends.llvm_types import F32, F64, I8, I32, PTR, TYPES, vector
from optgen.backends.module_builder import Env
from optgen.ir import Buffer, Instr, Phase, Value
from optgen.ir.storage import blocks

CACHE_LINE_BYTES = 64
PREFETCH_BYTES = 1024
"""How far ahead a loop prefetches its streams (0.5 to 4 KB do about equally well)."""


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
    both are among the `arrays`. `terms` are where those of reductions go that are folded later. `ahead` is where
    streams are prefetched: the address for element 0.
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
    ahead: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lanes(self) -> int:
        """How many elements fill a cache line, which is also the widest vector register there is."""
        return CACHE_LINE_BYTES * 8 // (32 if self.m.kernel.compute == "f32" else 64)

    @property
    def reductions(self) -> list[ir.Reduce]:
        """The reductions but those per column, and those whose terms are kept."""
        instrs = [i for i in self.phase.instrs if i.result not in self.columns and i.result not in self.terms]
        return [i.op for i in instrs if isinstance(i.op, ir.Reduce)]

    def emit(self, i: Any, width: int = 1, place: Any = None, mask: Any = None) -> Env:
        """Emit what is done to elements i, i+1, ..., to those in the `mask` alone if there is one.

        `place` is where element i is in the `arrays`.
        """
        return VectorBody(self, i, width, place, mask).emit()

    @property
    def can_mask(self) -> bool:
        """Whether a masked vector is an instruction or two, and streams are all that it touches."""
        return self.m.masks_vectors and not (self.columns or self.column_values or self.terms)

    def address(self, buffer: str, i: Any) -> Any:
        return address(self.b, self.pointers[buffer], i, self.m.kernel.buffer(buffer).format)

    def prefetch(self, i: Any, offset: int, locality: int, names: Collection[str] = ()) -> None:
        """Prefetch the cache line that is `offset` bytes behind element i, of every stream, or of `names`. Of streams
        in `ahead`, it is the line of element i there.

        It is prefetched for a write if the sweep writes the stream. Locality 3 is the first cache, 2 the second.
        """
        for name in names or self.pointers:
            if name in self.ahead:
                line = address(self.b, self.ahead[name], i, self.m.kernel.buffer(name).format)
            else:
                line = at(self.b, self.address(name, i), integer(offset), I8)
            prefetch(self.b, line, locality, write=name in stored(self.phase))


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
        return {v: load_line(self.b, x, self.i, v, self.width) for v, x in self.sweep.column_values.items()}

    def words(self, draw: int) -> Any:
        return self._of_each(self.sweep.arrays.words[draw], "i32")

    def scale(self, buffer: Buffer) -> Any:
        if buffer.name in self.sweep.scales:
            return splat(self.b, self.sweep.scales[buffer.name], self.width)
        return self._of_each(self.sweep.arrays.scales[buffer.name], "f32")

    def _of_each(self, array: Any, dtype: ir.DType) -> Any:
        """The numbers of the elements in one of the unit's arrays."""
        type = TYPES[dtype]
        return self.b.load(at(self.b, array, self.place, type), typ=vector(type, self.width), align=4)

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
        if self.mask is None:
            return self.b.load(place, typ=type, align=1)
        return masked_load(self.b, place, self.mask, type)

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
        place = self.sweep.address(buffer.name, self.i)
        if self.mask is None:
            self.b.store(x, place, align=1)
        else:
            masked_store(self.b, x, place, self.mask)

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
            total = self.b.load(address, typ=vector(F64, self.width), align=8)
            self.b.store(fold(self.b, instr.op.op, total, env[instr.op.x]), address, align=8)
        elif instr.result in self.sweep.terms:
            self.b.store(env[instr.op.x], at(self.b, self.sweep.terms[instr.result], self.i, F64), align=8)


def for_elements(body: SweepBody, begin: Any, end: Any) -> None:
    """Elements [begin, end) of a sweep without reductions: whole cache lines, whose length LLVM knows, and the rest.

    The hardware's prefetchers lose pace with loops that compute much, so each line prefetches one a little ahead.
    """
    b = body.b

    def line(start: Any, count: Any, lanes: int) -> None:
        with loop(b, integer(0), count, lanes=lanes) as j:
            body.emit(b.add(start, j, flags=["nsw", "nuw"]))

    full = b.add(begin, b.and_(b.sub(end, begin), integer(-body.lanes)))
    with loop(b, begin, full, body.lanes) as start:
        body.prefetch(start, PREFETCH_BYTES, locality=3)
        line(start, integer(body.lanes), body.lanes)
    rest = b.sub(end, full)
    if not body.can_mask:
        line(full, rest, 1)
        return
    with b.if_then(b.icmp_signed(">", rest, integer(0))):
        body.emit(full, body.lanes, mask=first_lanes(b, rest, body.lanes))


def prefetch(b: ll.IRBuilder, address: Any, locality: int, *, write: bool) -> None:
    """Prefetch the cache line of an address. Locality 3 is the first cache, 2 the second."""
    type = ll.FunctionType(ll.VoidType(), [PTR, I32, I32, I32])
    b.call(b.module.declare_intrinsic("llvm.prefetch", [PTR], type), [address, I32(int(write)), I32(locality), I32(1)])
