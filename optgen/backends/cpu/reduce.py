"""Reductions over the elements of one tensor, in the fixed tree, block by block.

A sum must not be reordered, so LLVM would not vectorise a loop that has one: here the vectors are written out, with the
lanes of the tree in registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.cpu.sweep import LINE, Body
from optgen.backends.llvm import (
    F64,
    I32,
    I64,
    IDENTITY,
    array,
    at,
    constant,
    fold,
    integer,
    loop,
    smaller,
    vector,
)
from optgen.ir import BLOCK, LANES

VECTORS = 2
"""How many vectors a loop takes at once: the chains of dependent operations are long."""


def reduce_blocks(body: Body, begin: Any, end: Any, partials: Any, stride: int) -> None:
    """Elements [begin, end) of a sweep with reductions; `begin` is the start of a block.

    The result of block k for reduction r goes to `partials[k*stride + r]`.
    """
    b = body.b
    reductions = [i.op for i in body.instrs if isinstance(i.op, ir.Reduce) and i.result not in body.columns]
    lanes = array(b, F64, LANES * len(reductions), LINE)
    with loop(b, begin, end, BLOCK) as block:
        rest = b.sub(end, block)
        with b.if_else(b.icmp_signed(">=", rest, integer(BLOCK))) as (whole, part):
            with whole:
                _whole(body, reductions, block, lanes)
            with part:
                _part(body, reductions, block, rest, lanes)
        for r, reduce in enumerate(reductions):
            total = fold_lanes(b, reduce.op, at(b, lanes, integer(r * LANES), F64))
            index = b.mul(b.lshr(block, integer(BLOCK.bit_length() - 1)), integer(stride))
            b.store(total, at(b, partials, b.add(index, integer(r)), F64))


def _whole(body: Body, reductions: list[ir.Reduce], block: Any, lanes: Any) -> None:
    """Some lanes after the other down all rows, their sums in registers.

    Every cache line is visited once; those of the next block are asked for meanwhile, in order.
    """
    b, width = body.b, VECTORS * body.lanes
    rows = BLOCK // LANES
    with loop(b, integer(0), integer(LANES), width) as lane:
        before = b.block
        head, after = b.append_basic_block("rows"), b.append_basic_block("summed")
        b.branch(head)
        b.position_at_end(head)
        row = b.phi(I64)
        row.add_incoming(integer(0), before)
        sums = [b.phi(vector(F64, width)) for _ in reductions]
        ahead = b.add(block, b.add(b.mul(lane, integer(rows)), b.mul(row, integer(width))))
        for k in range(VECTORS):
            body.prefetch(ahead, (BLOCK // body.lanes + k) * LINE, locality=2)
        env = body.emit(b.add(b.add(block, lane), b.mul(row, integer(LANES))), width)
        totals = [fold(b, x.op, sum, env[x.x]) for x, sum in zip(reductions, sums, strict=True)]
        next = b.add(row, integer(1))
        row.add_incoming(next, b.block)
        for reduce, sum, total in zip(reductions, sums, totals, strict=True):
            sum.add_incoming(constant(F64, IDENTITY[reduce.op], width), before)
            sum.add_incoming(total, b.block)
        b.cbranch(b.icmp_signed("<", next, integer(rows)), head, after)
        b.position_at_end(after)
        for r, total in enumerate(totals):
            b.store(total, at(b, lanes, b.add(lane, integer(r * LANES)), F64), align=8)


def _part(body: Body, reductions: list[ir.Reduce], block: Any, count: Any, lanes: Any) -> None:
    """The last block of a tensor: row by row, with the sums in `lanes`."""
    b = body.b
    for r, reduce in enumerate(reductions):
        with loop(b, integer(r * LANES), integer((r + 1) * LANES)) as j:
            b.store(ll.Constant(F64, IDENTITY[reduce.op]), at(b, lanes, j, F64))
    with (
        loop(b, integer(0), count, LANES) as row,
        loop(b, integer(0), smaller(b, b.sub(count, row), integer(LANES)), lanes=body.lanes) as j,
    ):
        env = body.emit(b.add(block, b.add(row, j, flags=["nsw", "nuw"]), flags=["nsw", "nuw"]))
        for r, reduce in enumerate(reductions):
            sum = at(b, lanes, b.add(j, integer(r * LANES)), F64)
            b.store(fold(b, reduce.op, b.load(sum, typ=F64), env[reduce.x]), sum)


def fold_lanes(b: ll.IRBuilder, op: ir.ReduceOp, lanes: Any) -> Any:
    """128 lanes in memory, folded by halves."""
    half = LANES // 2
    low, high = (b.load(at(b, lanes, integer(k), F64), typ=vector(F64, half), align=8) for k in (0, half))
    x = fold(b, op, low, high)
    while half > 1:
        half //= 2
        low, high = (_slice(b, x, range(k, k + half)) for k in (0, half))
        x = fold(b, op, low, high)
    return b.extract_element(x, I32(0)) if isinstance(x.type, ll.VectorType) else x


def _slice(b: ll.IRBuilder, x: Any, indices: range) -> Any:
    if len(indices) == 1:
        return b.extract_element(x, I32(indices[0]))
    return b.shuffle_vector(x, x, ll.Constant(vector(I32, len(indices)), list(indices)))
