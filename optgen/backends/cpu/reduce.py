"""Reductions over the elements of one tensor, in the fixed tree, block by block.

A sum must not be reordered, so LLVM does not vectorise a loop that has one. Here the vectors are written out, with the
lanes of the tree in registers.
"""

from __future__ import annotations

from typing import Any

from optgen import ir
from optgen.backends.control_flow import array, loop
from optgen.backends.cpu.elements import CACHE_LINE_BYTES, SweepBody
from optgen.backends.cpu.fold import add_to_lanes, clear_lanes, fold_first_lanes, store_partials
from optgen.backends.llvm import F64, I64, IDENTITY, at, constant, fold, integer, minimum, vector
from optgen.ir import BLOCK, LANES

VECTORS_AT_ONCE = 2
"""How many vectors a loop takes at once: the chains of dependent operations are long."""


SHORT_ROW = 16
"""The rows of tiny matrices, such as those of convolutions, fill so many lanes of the tree at most."""


def reduce_row(body: SweepBody, length: Any, partials: Any, stride: int) -> None:
    """`reduce_blocks` of a row, which is quicker if it is short."""
    b, reductions = body.b, body.reductions
    with b.if_else(b.icmp_signed("<=", length, integer(SHORT_ROW))) as (short, long):
        with short:
            lanes = array(b, F64, LANES * len(reductions), CACHE_LINE_BYTES)
            clear_lanes(b, reductions, lanes, SHORT_ROW)
            with loop(b, integer(0), length) as j:
                add_to_lanes(b, reductions, lanes, j, body.emit(j))
            for r, reduce in enumerate(reductions):
                total = fold_first_lanes(b, reduce.op, at(b, lanes, integer(r * LANES), F64), SHORT_ROW)
                b.store(total, at(b, partials, integer(r), F64))
        with long:
            reduce_blocks(body, integer(0), length, partials, stride)


def reduce_blocks(body: SweepBody, begin: Any, end: Any, partials: Any, stride: int) -> None:
    """Elements [begin, end) of a sweep with reductions; `begin` is the start of a block.

    The result of block k for reduction r goes to `partials[k*stride + r]`.
    """
    b, reductions = body.b, body.reductions
    lanes = array(b, F64, LANES * len(reductions), CACHE_LINE_BYTES)
    with loop(b, begin, end, BLOCK) as block:
        rest = b.sub(end, block)
        with b.if_else(b.icmp_signed(">=", rest, integer(BLOCK))) as (whole, part):
            with whole:
                _whole(body, reductions, block, lanes)
            with part:
                _part(body, reductions, block, rest, lanes)
        store_partials(b, reductions, lanes, block, partials, stride)


def _whole(body: SweepBody, reductions: list[ir.Reduce], block: Any, lanes: Any) -> None:
    """A whole block: some lanes at a time go down all rows, with their sums in registers.

    Every cache line is visited once. Meanwhile, those of the next block are prefetched in order.
    """
    b, width = body.b, VECTORS_AT_ONCE * body.lanes
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
        for k in range(VECTORS_AT_ONCE):
            body.prefetch(ahead, (BLOCK // body.lanes + k) * CACHE_LINE_BYTES, locality=2)
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


def _part(body: SweepBody, reductions: list[ir.Reduce], block: Any, count: Any, lanes: Any) -> None:
    """The last block of a tensor: row by row, with the sums in `lanes`."""
    b = body.b
    clear_lanes(b, reductions, lanes)
    with (
        loop(b, integer(0), count, LANES) as row,
        loop(b, integer(0), minimum(b, b.sub(count, row), integer(LANES)), lanes=body.lanes) as j,
    ):
        env = body.emit(b.add(block, b.add(row, j, flags=["nsw", "nuw"]), flags=["nsw", "nuw"]))
        add_to_lanes(b, reductions, lanes, j, env)
