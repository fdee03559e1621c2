"""A sweep over the elements of one tensor: the loops in which all the time goes.

Without reductions it is a plain loop over noalias streams, which LLVM vectorises. A reduction must not be reordered, so
LLVM would leave its loop alone: there the vectors are written out, with the lanes of the tree in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import (
    F64,
    I8,
    I32,
    I64,
    IDENTITY,
    PTR,
    TYPES,
    at,
    constant,
    doubles,
    fold,
    integer,
    loop,
    lower,
    smaller,
    splat,
    vector,
)
from optgen.ir import nodes as ir
from optgen.ir.nodes import BLOCK, LANES, Phase, Value

LINE, ROW_LINES = 64, 4
"""Bytes of a cache line, and how many lines of each stream an elementwise loop takes between two prefetches."""
AHEAD = 2048
"""How many bytes ahead an elementwise loop asks for its streams (1 to 4 KB do equally well)."""
VECTORS = 2
"""How many vectors a reducing loop takes at once: its chains of dependent operations are long."""


@dataclass(frozen=True)
class Body:
    """What is done to one element, or to several at once."""

    b: ll.IRBuilder
    phase: Phase
    compute: ir.DType
    pointers: Mapping[str, Any]
    scalars: Mapping[Value, Any]
    consts: Mapping[Value, ir.Op]

    @property
    def lanes(self) -> int:
        """How many elements fill a cache line, which is also the widest vector register there is."""
        return LINE * 8 // (32 if self.compute == "f32" else 64)

    @property
    def reductions(self) -> list[ir.Reduce]:
        return [i.op for i in self.phase.instrs if isinstance(i.op, ir.Reduce)]

    def emit(self, i: Any, width: int = 1) -> dict[Value, Any]:
        """All of the phase for elements i, i+1, ... Any address will do: the streams need no alignment."""
        b, stored = self.b, vector(TYPES[self.compute], width)
        env = {v: splat(b, x, width) for v, x in self.scalars.items()}
        for instr in self.phase.instrs:
            match instr.op:
                case ir.Load(buffer=name):
                    assert instr.result is not None
                    env[instr.result] = b.load(self.address(name, i), typ=stored, align=1)
                case ir.Store(buffer=name, value=v):
                    b.store(self.operand(env, v, width), self.address(name, i), align=1)
                case ir.Reduce():
                    pass
                case op:
                    assert instr.result is not None
                    args = [self.operand(env, v, width) for v in ir.operands(op)]
                    env[instr.result] = lower(b, op, args, instr.result, width)
        return env

    def operand(self, env: Mapping[Value, Any], v: Value, width: int) -> Any:
        return env[v] if v in env else lower(self.b, self.consts[v], [], v, width)

    def address(self, buffer: str, i: Any) -> Any:
        return at(self.b, self.pointers[buffer], i, TYPES[self.compute])

    def prefetch(self, i: Any, offset: int, locality: int) -> None:
        """Ask for the cache line of every stream that is `offset` bytes behind element i."""
        stored = {x.op.buffer for x in self.phase.instrs if isinstance(x.op, ir.Store)}
        type = ll.FunctionType(ll.VoidType(), [PTR, I32, I32, I32])
        hint = self.b.module.declare_intrinsic("llvm.prefetch", [PTR], type)
        for name in self.pointers:
            line = at(self.b, self.address(name, i), integer(offset), I8)
            self.b.call(hint, [line, I32(int(name in stored)), I32(locality), I32(1)])


def for_elements(body: Body, begin: Any, end: Any) -> None:
    """Elements [begin, end): rows of a few cache lines, whose length LLVM knows, and the rest.

    The hardware's prefetchers lose pace with loops that compute much: a row asks for what lies a little ahead.
    """
    b = body.b
    width = ROW_LINES * body.lanes

    def row(start: Any, count: Any, lanes: int) -> None:
        with loop(b, integer(0), count, lanes=lanes) as j:
            body.emit(b.add(start, j, flags=["nsw", "nuw"]))

    full = b.add(begin, b.and_(b.sub(end, begin), integer(-width)))
    with loop(b, begin, full, width) as start:
        for line in range(ROW_LINES):
            body.prefetch(start, AHEAD + line * LINE, locality=3)
        row(start, integer(width), body.lanes)
    # Vectors for these few would cost more compile time than they can ever save.
    row(full, b.sub(end, full), 1)


def reduce_blocks(
    body: Body, begin: Any, end: Any, partials: Any, stride: int, fold_lanes: Callable[[ir.ReduceOp], ll.Function]
) -> None:
    """Elements [begin, end), block by block of the tree: each element to its lane, then the lanes folded.

    `begin` is the start of a block. The result of block k for reduction r goes to `partials[k*stride + r]`;
    `fold_lanes` gives the function that folds 128 lanes in memory.
    """
    b = body.b
    lanes = doubles(b, LANES * len(body.reductions), align=LINE)
    with loop(b, begin, end, BLOCK) as block:
        rest = b.sub(end, block)
        with b.if_else(b.icmp_signed(">=", rest, integer(BLOCK))) as (whole, part):
            with whole:
                _whole_block(body, block, lanes)
            with part:
                _part_block(body, block, rest, lanes)
        for r, reduce in enumerate(body.reductions):
            total = b.call(fold_lanes(reduce.op), [at(b, lanes, integer(r * LANES), F64)])
            index = b.mul(b.lshr(block, integer(BLOCK.bit_length() - 1)), integer(stride))
            b.store(total, at(b, partials, b.add(index, integer(r)), F64))


def _whole_block(body: Body, block: Any, lanes: Any) -> None:
    """Two vectors of lanes after the other down all rows, their sums in registers; then they go to `lanes`.

    Sums in memory would be read back where streams were just written at the same distance from a page's start, which
    processors take for a dependence. Every cache line is visited once; the next block's are asked for in order.
    """
    b, width = body.b, VECTORS * body.lanes
    rows = BLOCK // LANES
    with loop(b, integer(0), integer(LANES), width) as lane:
        first = b.add(block, lane)
        before = b.block
        head, after = b.append_basic_block("rows"), b.append_basic_block("summed")
        b.branch(head)
        b.position_at_end(head)
        row = b.phi(I64)
        row.add_incoming(integer(0), before)
        sums = []
        for reduce in body.reductions:
            sum = b.phi(vector(F64, width))
            sum.add_incoming(constant(F64, IDENTITY[reduce.op], width), before)
            sums.append(sum)
        ahead = b.add(block, b.add(b.mul(lane, integer(rows)), b.mul(row, integer(width))))
        for k in range(VECTORS):
            body.prefetch(ahead, (BLOCK // body.lanes + k) * LINE, locality=2)
        env = body.emit(b.add(first, b.mul(row, integer(LANES))), width)
        for reduce, sum in zip(body.reductions, sums, strict=True):
            sum.add_incoming(fold(b, reduce.op, sum, env[reduce.x]), b.block)
        next = b.add(row, integer(1))
        row.add_incoming(next, b.block)
        b.cbranch(b.icmp_signed("<", next, integer(rows)), head, after)
        b.position_at_end(after)
        for r, sum in enumerate(sums):
            b.store(sum.incomings[1][0], at(b, lanes, b.add(lane, integer(r * LANES)), F64), align=8)


def _part_block(body: Body, block: Any, count: Any, lanes: Any) -> None:
    """The last block of a tensor: row by row, with the sums in `lanes`."""
    b = body.b
    for r, reduce in enumerate(body.reductions):
        with loop(b, integer(r * LANES), integer((r + 1) * LANES)) as j:
            b.store(ll.Constant(F64, IDENTITY[reduce.op]), at(b, lanes, j, F64))
    with (
        loop(b, integer(0), count, LANES) as row,
        loop(b, integer(0), smaller(b, b.sub(count, row), integer(LANES)), lanes=body.lanes) as j,
    ):
        env = body.emit(b.add(block, b.add(row, j, flags=["nsw", "nuw"]), flags=["nsw", "nuw"]))
        for r, reduce in enumerate(body.reductions):
            sum = at(b, lanes, b.add(j, integer(r * LANES)), F64)
            b.store(fold(b, reduce.op, b.load(sum, typ=F64), env[reduce.x]), sum)
