"""Reductions over the elements of one tensor, in the fixed tree, block by block.

A sum must not be reordered, so LLVM does not vectorise a loop that has one. Here the vectors are written out. A block
is read in order, as the hardware prefetches that best, and the lanes of the tree are in memory, in the first cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optgen import ir
from optgen.backends import machine
from optgen.backends.control_flow import array, loop
from optgen.backends.cpu import masked
from optgen.backends.cpu.elements import CACHE_LINE_BYTES, SweepBody, add_to_lanes
from optgen.backends.cpu.fold import clear_lanes, fold_first_lanes, store_partials
from optgen.backends.cpu.rows import SHORT_ROW, RowBodies
from optgen.backends.llvm import at, integer, minimum
from optgen.backends.llvm_types import F64
from optgen.ir import BLOCK, LANES

VECTORS_OF_LONG_CHAINS = machine.value("sweeps.vectors_of_long_chains")
"""How many vectors a loop with divisions or roots takes at once: each waits long for the results of the one before."""
LONGEST_ROW_AHEAD = machine.value("sweeps.longest_row_ahead")
"""Elements. Longer rows prefetch within themselves: the second cache could not hold the next rows of all streams."""


def reduce_row(body: SweepBody, length: Any, partials: Any, stride: int) -> None:
    """`reduce_rows` of one row, which is quicker if it is short."""
    b, reductions = body.b, body.reductions
    with b.if_else(b.icmp_signed("<=", length, integer(SHORT_ROW))) as (short, long):
        with short:
            lanes = _lanes(body)
            clear_lanes(b, reductions, lanes, SHORT_ROW)
            with loop(b, integer(0), length) as j:
                add_to_lanes(body, lanes, j, body.emit(j))
            for r, reduce in enumerate(reductions):
                total = fold_first_lanes(b, reduce.op, at(b, lanes, integer(r * LANES), F64), SHORT_ROW)
                b.store(total, at(b, partials, integer(r), F64))
        with long:
            reduce_rows([body], length, [partials], stride)


def reduce_rows(bodies: Sequence[SweepBody], length: Any, partials: Sequence[Any], stride: int) -> None:
    """The reductions of some rows side by side, one after the other within each column, so that the sum of a column is
    read and written once. The result of block k of a row for reduction r goes to `partials[row][k*stride + r]`."""
    b, reductions, lanes = bodies[0].b, bodies[0].reductions, [_lanes(body) for body in bodies]
    with loop(b, integer(0), length, BLOCK) as block:
        for sums in lanes:
            clear_lanes(b, reductions, sums)
        _add(
            bodies,
            lanes,
            block,
            minimum(b, length, b.add(block, integer(BLOCK))),
            block,
            _ahead_of_rows(bodies, length),
        )
        for sums, to in zip(lanes, partials, strict=True):
            store_partials(b, reductions, sums, block, to, stride)


def reduce_blocks(
    body: SweepBody, begin: Any, end: Any, partials: Any, stride: int, rows: RowBodies | None = None
) -> None:
    """Elements [begin, end) of a sweep with reductions; `begin` is the start of a block. `rows` are those of elements
    that use row or column values.

    The result of block k for reduction r goes to `partials[k*stride + r]`.
    """
    b, reductions, lanes = body.b, body.reductions, _lanes(body)
    with loop(b, begin, end, BLOCK) as block:
        clear_lanes(b, reductions, lanes)
        stop = minimum(b, end, b.add(block, integer(BLOCK)))
        if rows is None:
            _add([body], [lanes], block, stop, block)
        else:
            for of_row, first, last, start in rows.of(block, stop):
                _add([of_row], [lanes], first, last, b.sub(block, start))
        store_partials(b, reductions, lanes, block, partials, stride)


def _lanes(body: SweepBody) -> Any:
    """The sums of the reductions, in the lanes of the tree. A vector may reach beyond the last one."""
    return array(body.b, F64, LANES * len(body.reductions) + body.lanes, CACHE_LINE_BYTES)


def _ahead_of_rows(bodies: Sequence[SweepBody], length: Any) -> Any:
    """How many elements ahead rows are prefetched that are visited side by side: short ones by as many rows, as what
    follows such a row is at hand."""
    b, rows, within = bodies[0].b, len(bodies), integer(bodies[0].prefetch_elements)
    if rows == 1:
        return within
    is_short = b.icmp_signed("<=", length, integer(LONGEST_ROW_AHEAD))
    return b.select(is_short, b.mul(length, integer(rows)), within)


def _add(
    bodies: Sequence[SweepBody], lanes: Sequence[Any], first: Any, last: Any, block: Any, ahead: Any = None
) -> None:
    """Add elements [first, last) of each body to its lanes; element `block` would be in lane 0. Elements are prefetched
    so many `ahead`."""
    b, width = bodies[0].b, bodies[0].lanes
    step = width * (VECTORS_OF_LONG_CHAINS if len(bodies) == 1 and _has_long_chains(bodies[0]) else 1)
    ahead = integer(bodies[0].prefetch_elements) if ahead is None else ahead
    for i, count, mask in masked.vectors(b, first, last, step, width, block, masks=bodies[0].m.masks_vectors):
        if count == step and mask is None:
            for body in bodies:
                for k in range(0, step, width):
                    body.prefetch(b.add(i, b.add(ahead, integer(k))), 0)
        lane = b.and_(b.sub(i, block), integer(LANES - 1))
        for body, sums in zip(bodies, lanes, strict=True):
            add_to_lanes(body, sums, lane, body.emit(i, count, mask=mask), mask)


def _has_long_chains(body: SweepBody) -> bool:
    return any(isinstance(i.op, ir.Div | ir.Sqrt) for i in body.phase.instrs)
