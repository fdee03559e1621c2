"""What a sweep does to the elements of one tensor, and the plain loop that does it: LLVM vectorises it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.llvm import (
    F64,
    I8,
    I16,
    I32,
    PTR,
    TYPES,
    at,
    constant,
    fold,
    inline,
    integer,
    loop,
    lower,
    splat,
    vector,
)
from optgen.ir import ROUNDING_DRAW, Buffer, Instr, Value, codec
from optgen.ir.storage import blocks

LINE = 64
"""Bytes of a cache line."""
AHEAD = 1024
"""How many bytes ahead a loop asks for its streams (0.5 to 4 KB do about equally well)."""
RAW: dict[int, ll.Type] = {1: I8, 2: I16, 4: TYPES["f32"], 8: F64}
"""What is read and written, by the bytes of an element."""

Env = dict[Value, Any]


@dataclass(frozen=True)
class Body:
    """What is done to one element: streams are read and written at `pointers`, `scalars` are known.

    `rounded` are all states that are rounded stochastically. `temps` are short arrays that belong to the elements at
    hand (`staged.py`): words of draws, by draw; scales of 8-bit codes and values about to be coded, by buffer; row and
    column values. `scales` are those of 8-bit codes where all elements at hand are of one block. `columns` add up what
    is reduced per column.
    """

    b: ll.IRBuilder
    instrs: tuple[Instr, ...]
    compute: ir.DType
    buffers: Mapping[str, Buffer]
    pointers: Mapping[str, Any]
    scalars: Mapping[Value, Any]
    consts: Mapping[Value, ir.Op]
    rounded: Sequence[str] = ()
    columns: Mapping[Value, Any] = field(default_factory=dict)
    temps: Mapping[Any, Any] = field(default_factory=dict)
    scales: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lanes(self) -> int:
        """How many elements fill a cache line, which is also the widest vector register there is."""
        return LINE * 8 // (32 if self.compute == "f32" else 64)

    @property
    def stored(self) -> set[str]:
        return {i.op.buffer for i in self.instrs if isinstance(i.op, ir.Store)}

    def emit(self, i: Any, width: int = 1, place: Any = None, lane: Any = None) -> Env:
        """All there is to do for elements i, i+1, ... Any address will do: the streams need no alignment.

        `place` is where element i is in the temporary arrays, `lane` where in those that have a place for each lane.
        """
        env = {v: splat(self.b, x, width) for v, x in self.scalars.items()}
        for v, temp in self.temps.items():
            if isinstance(v, Value):
                env[v] = self.temporary(temp, place, v.type.dtype, width)
        for instr in self.instrs:
            match instr.op:
                case ir.Load(buffer=name):
                    assert instr.result is not None
                    env[instr.result] = self.load(self.buffers[name], i, place, width)
                case ir.Store(buffer=name, value=v):
                    x = self.operand(env, v, width)
                    if self.buffers[name].is_quantized:
                        self.collect(name, x, place, lane, width)
                    else:
                        self.store(self.buffers[name], x, i, place, width)
                case ir.Word(draw=draw):
                    assert instr.result is not None
                    env[instr.result] = self.temporary(self.temps[draw], place, "i32", width)
                case ir.Reduce(op=op, x=x):
                    if instr.result is not None and instr.result in self.columns:
                        self.accumulate(op, self.columns[instr.result], i, env[x], width)
                case op:
                    assert instr.result is not None
                    args = [self.operand(env, v, width) for v in ir.operands(op)]
                    env[instr.result] = lower(self.b, op, args, instr.result, width)
        return env

    def operand(self, env: Env, v: Value, width: int) -> Any:
        return env[v] if v in env else lower(self.b, self.consts[v], [], v, width)

    # ------------------------------------------------------------ streams

    def load(self, buffer: Buffer, i: Any, place: Any, width: int) -> Any:
        b = self.b
        if buffer.format.is_half:
            half = b.load(self.address(buffer.name, i), typ=vector(ll.HalfType(), width), align=1)
            return b.fpext(half, vector(TYPES["f32"], width))
        raw = b.load(self.address(buffer.name, i), typ=vector(RAW[buffer.format.bytes], width), align=1)
        if buffer.format.codec is None:
            return raw
        args = [b.zext(raw, vector(I32, width))]
        if buffer.name in self.scales:
            args.append(splat(b, self.scales[buffer.name], width))
        elif buffer.is_quantized:
            args.append(self.temporary(self.temps[scale(buffer.name)], place, "f32", width))
        return inline(b, codec.decoder(buffer), args, width)

    def store(self, buffer: Buffer, x: Any, i: Any, place: Any, width: int) -> None:
        b = self.b
        if buffer.format.is_half:
            x = b.fptrunc(x, vector(ll.HalfType(), width))
        elif buffer.format.codec is not None:
            args = [x]
            if buffer.format.needs_draws:
                args.append(self.half_word(self.rounded.index(buffer.name), place, width))
            x = b.trunc(inline(b, codec.encoder(buffer), args, width), vector(RAW[buffer.format.bytes], width))
        b.store(x, self.address(buffer.name, i), align=1)

    def collect(self, name: str, x: Any, place: Any, lane: Any, width: int) -> None:
        """Values that are coded when their block is complete, and the largest magnitude in each lane so far."""
        b = self.b
        b.store(x, at(b, self.temps[name], place, TYPES["f32"]), align=4)
        largest = at(b, self.temps[magnitude(name)], lane, I32)
        bits, old = inline(b, blocks.magnitude, [x], width), b.load(largest, typ=vector(I32, width), align=4)
        b.store(b.select(b.icmp_signed(">", bits, old), bits, old), largest, align=4)

    def half_word(self, state: int, place: Any, width: int) -> Any:
        """The random bits that round a state: a word serves two, the first one takes its low half."""
        word = self.temporary(self.temps[ROUNDING_DRAW + state // 2], place, "i32", width)
        shifted = self.b.lshr(word, constant(I32, 16 * (state % 2), width))
        return self.b.and_(shifted, constant(I32, 0xFFFF, width))

    def temporary(self, temp: Any, place: Any, dtype: ir.DType, width: int) -> Any:
        type = TYPES[dtype]
        return self.b.load(at(self.b, temp, place, type), typ=vector(type, width), align=4)

    def accumulate(self, op: ir.ReduceOp, sums: Any, i: Any, x: Any, width: int) -> None:
        address = at(self.b, sums, i, F64)
        sum = self.b.load(address, typ=vector(F64, width), align=8)
        self.b.store(fold(self.b, op, sum, x), address, align=8)

    def address(self, buffer: str, i: Any) -> Any:
        return at(self.b, self.pointers[buffer], i, RAW[self.buffers[buffer].format.bytes])

    def prefetch(self, i: Any, offset: int, locality: int, names: Collection[str] = ()) -> None:
        """Ask for the cache line of every stream, or of `names`, that is `offset` bytes behind element i.

        It is asked for to write or to read, as the sweep will; it goes to the first cache for locality 3, for 2 to the
        second.
        """
        type = ll.FunctionType(ll.VoidType(), [PTR, I32, I32, I32])
        hint = self.b.module.declare_intrinsic("llvm.prefetch", [PTR], type)
        for name in names or self.pointers:
            line = at(self.b, self.address(name, i), integer(offset), I8)
            self.b.call(hint, [line, I32(int(name in self.stored)), I32(locality), I32(1)])


def scale(buffer: str) -> tuple[str, str]:
    """The temporary array of a buffer's old scales, element by element."""
    return ("scale", buffer)


def magnitude(buffer: str) -> tuple[str, str]:
    """The largest magnitudes, as bits, of the values about to be coded, one for each lane."""
    return ("magnitude", buffer)


def for_elements(body: Body, begin: Any, end: Any) -> None:
    """Elements [begin, end) of a sweep without reductions: whole cache lines, whose length LLVM knows, and the rest.

    The hardware's prefetchers lose pace with loops that compute much: each line asks for one that lies a little ahead.
    """
    b = body.b

    def line(start: Any, count: Any, lanes: int) -> None:
        with loop(b, integer(0), count, lanes=lanes) as j:
            body.emit(b.add(start, j, flags=["nsw", "nuw"]))

    full = b.add(begin, b.and_(b.sub(end, begin), integer(-body.lanes)))
    with loop(b, begin, full, body.lanes) as start:
        body.prefetch(start, AHEAD, locality=3)
        line(start, integer(body.lanes), body.lanes)
    # Vectors for these few would cost more compile time than they can ever save.
    line(full, b.sub(end, full), 1)
