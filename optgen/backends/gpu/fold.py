"""Reduction trees on a GPU: partial results, and arrays of row or column values, become one number each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import loop, repeat_while, variable
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.layout import reductions
from optgen.backends.llvm import at, ceil_div, fold, integer
from optgen.backends.llvm_types import F64, I64
from optgen.ir import BLOCK, IDENTITY, LANES, Phase

Address = Callable[[Any], Any]
"""The address of a number in an array, by its index."""


def tensor_partials(f: LaunchFunction, phase: Phase, i: Any) -> None:
    """Fold the partial results that a sweep has left of tensor i."""
    b, stride = f.b, integer(f.m.layout.stride)
    partials, count = f.area("partials", i), f.column("blocks", i)
    for r, instr in enumerate(f.m.in_lines(b, reductions(phase, "all"))):
        assert instr.result is not None and isinstance(instr.op, ir.Reduce)

        def source(k: Any, r: int = r) -> Any:
            return at(b, partials, b.add(b.mul(k, stride), integer(r)), F64)

        total = _pairwise(f, instr.op.op, source, count, f.area("folds", i))
        with f.one_thread(f.thread):
            f.keep(instr.result, total, i)


def line_values(f: LaunchFunction, phase: Phase, i: Any) -> None:
    """Fold the arrays of a row or column phase: each block by a warp, then the results of the blocks."""
    b = f.b
    count = f.line_count(Kind.ROW if phase.kind == "row" else Kind.COL, i)
    folds, blocks = f.area("folds", i), ceil_div(b, count, BLOCK)
    for instr in f.m.in_lines(b, reductions(phase, "all")):
        assert instr.result is not None and isinstance(instr.op, ir.Reduce)
        array = f.line_array(instr.op.x, i, count)
        op = instr.op.op
        with loop(b, f.warp(), blocks, f.warps) as block:
            total = _block(f, op, array, b.mul(block, integer(BLOCK)), count)
            with f.one_thread(f.lane()):
                b.store(total, at(b, folds, block, F64))
        f.block_barrier()
        total = _pairwise(f, op, lambda k: at(b, folds, k, F64), blocks, at(b, folds, blocks, F64))
        with f.one_thread(f.thread):
            f.keep(instr.result, total, i)


def _block(f: LaunchFunction, op: ir.ReduceOp, array: Any, begin: Any, count: Any) -> Any:
    """Fold a block of an array of doubles: each thread of the warp has as many lanes as a group, one warp apart."""
    b, lane = f.b, f.lane()
    sums = [variable(b, F64(IDENTITY[op])) for _ in range(f.gpu.group)]
    full = b.add(begin, integer(BLOCK))
    end = b.select(b.icmp_signed("<", full, count), full, count)
    with loop(b, begin, end, LANES) as row:
        for k, s in enumerate(sums):
            here = b.add(b.add(row, lane), integer(k * f.gpu.width))
            with b.if_then(b.icmp_signed("<", here, end)):
                b.store(fold(b, op, b.load(s, typ=F64), b.load(at(b, array, here, F64), typ=F64)), s)
    total = f.folded(op, [b.load(s, typ=F64) for s in sums])
    for distance in f.halves():
        total = fold(b, op, total, f.shuffle_down(total, distance))
    return total


def _pairwise(f: LaunchFunction, op: ir.ReduceOp, source: Address, count: Any, folds: Any) -> Any:
    """Fold `count` numbers, neighbours first, where an odd one moves up: a segment at a time, until one is left.

    A warp folds a segment. The results of a pass go behind those of the pass before, in `folds`.
    """
    b = f.b
    left, behind = variable(b, count), variable(b, integer(0))
    _segments(f, op, source, count, folds)
    _next(f, left, behind, first=True)
    with repeat_while(b, lambda: b.icmp_signed(">", b.load(left, typ=I64), integer(1))):
        now, start = b.load(left, typ=I64), b.load(behind, typ=I64)
        here = at(b, folds, start, F64)
        _segments(f, op, lambda k: at(b, here, k, F64), now, at(b, here, now, F64))
        _next(f, left, behind, first=False)
    total = b.load(at(b, folds, b.load(behind, typ=I64), F64), typ=F64)
    f.block_barrier()  # all have read the result before `folds` is written again
    return b.select(b.icmp_signed("==", count, integer(0)), F64(IDENTITY[op]), total)


def _next(f: LaunchFunction, left: Any, behind: Any, first: bool) -> None:
    """End a pass: as many numbers are left as there were segments."""
    b = f.b
    now = b.load(left, typ=I64)
    if not first:
        b.store(b.add(b.load(behind, typ=I64), now), behind)
    b.store(ceil_div(b, now, f.segment), left)
    f.block_barrier()


def _segments(f: LaunchFunction, op: ir.ReduceOp, source: Address, count: Any, to: Any) -> None:
    """A pass, in which each warp folds segments: neighbours in a thread, then pairs of threads."""
    b, lane = f.b, f.lane()
    segments = ceil_div(b, count, f.segment)
    with loop(b, f.warp(), segments, f.warps) as segment:
        mine = b.add(b.mul(segment, integer(f.segment)), b.shl(lane, integer(1)))
        last = b.sub(count, integer(1))
        one, two = (
            b.load(source(b.select(b.icmp_signed("<", k, count), k, last)), typ=F64)
            for k in (mine, b.add(mine, integer(1)))
        )
        total = b.select(b.icmp_signed("<", b.add(mine, integer(1)), count), fold(b, op, one, two), one)
        for distance in reversed(f.halves()):
            other = f.shuffle_down(total, distance)
            there = b.icmp_signed("<", b.add(mine, integer(2 * distance)), count)
            total = b.select(there, fold(b, op, total, other), total)
        with f.one_thread(lane):
            b.store(total, at(b, to, segment, F64))


def in_matrix(f: LaunchFunction, phase: Phase, i: Any, k: Any) -> None:
    """Fold the row values, or the column values, of matrix k in order, by one thread; each of them becomes the
    result."""
    b = f.b
    each = f.height(i) if phase.kind == "row" else f.column("cols", i)
    start = b.mul(k, each)
    for instr in f.m.in_lines(b, reductions(phase, "matrix")):
        assert instr.result is not None and isinstance(instr.op, ir.Reduce)
        op, array, result = instr.op.op, f.line_array(instr.op.x, i), f.line_array(instr.result, i)
        total = variable(b, F64(IDENTITY[op]))
        with loop(b, start, b.add(start, each)) as r:
            b.store(fold(b, op, b.load(total, typ=F64), b.load(at(b, array, r, F64), typ=F64)), total)
        with loop(b, start, b.add(start, each)) as r:
            b.store(b.load(total, typ=F64), at(b, result, r, F64))


def in_place(f: LaunchFunction, op: ir.ReduceOp, base: Any, count: Any, stride: Any) -> Any:
    """Fold `count` numbers that are `stride` apart, by one thread; they are overwritten."""
    b, left = f.b, variable(f.b, count)

    def place(k: Any) -> Any:
        return at(b, base, b.mul(k, stride), F64)

    with repeat_while(b, lambda: b.icmp_signed(">", b.load(left, typ=I64), integer(1))):
        now = b.load(left, typ=I64)
        half, odd = b.lshr(now, integer(1)), b.and_(now, integer(1))
        with loop(b, integer(0), half) as k:
            one, two = (b.load(place(b.add(b.shl(k, integer(1)), integer(d))), typ=F64) for d in (0, 1))
            b.store(fold(b, op, one, two), place(k))
        with b.if_then(b.icmp_signed("!=", odd, integer(0))):
            b.store(b.load(place(b.sub(now, integer(1))), typ=F64), place(half))
        b.store(b.add(half, odd), left)
    found = variable(b, F64(IDENTITY[op]))
    with b.if_then(b.icmp_signed(">", count, integer(0))):
        b.store(b.load(base, typ=F64), found)
    return b.load(found, typ=F64)
