"""Functions of a CPU module that fold many numbers into one, in the order that the reduction tree has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends import machine
from optgen.backends.control_flow import halving, loop, variable
from optgen.backends.cpu import masked
from optgen.backends.cpu.module import VOID, CpuModuleBuilder
from optgen.backends.layout import blocks
from optgen.backends.llvm import at, fold, integer, load, minimum
from optgen.backends.llvm_types import F64, I32, I64, PTR, vector
from optgen.ir import BLOCK, IDENTITY, LANES

COLUMNS_AT_ONCE = machine.value("sweeps.columns_at_once")
"""The number of columns that are folded before the next: the sums of some thousand rows of them fit into the first
cache."""
WIDTH = 8
"""The lanes of the vectors that fold lines."""


def pairwise(m: CpuModuleBuilder, op: ir.ReduceOp) -> ll.Function:
    """f(base, count, stride): fold numbers `stride` apart, in place: neighbours first, an odd one moves up."""
    name = f"{m.symbol}.pairwise.{op}"
    if name in m.module.globals:
        return m.module.globals[name]
    f, b = m.function(name, ll.FunctionType(F64, [PTR, I64, I64]))
    base, count, stride = f.args
    with b.if_then(b.icmp_signed("==", count, integer(0))):
        b.ret(ll.Constant(F64, IDENTITY[op]))
    with halving(b, count) as (left, shrink):
        half = b.lshr(left, integer(1))
        with loop(b, integer(0), half) as i:
            pair = at(b, base, b.mul(b.shl(i, integer(1)), stride), F64)
            total = fold(b, op, b.load(pair, typ=F64), load(b, pair, stride, F64))
            b.store(total, at(b, base, b.mul(i, stride), F64))
        odd = b.and_(left, integer(1))
        with b.if_then(b.icmp_signed("==", odd, integer(1))):
            last = load(b, base, b.mul(b.sub(left, integer(1)), stride), F64)
            b.store(last, at(b, base, b.mul(half, stride), F64))
        shrink(b.add(half, odd))
    b.ret(b.load(base, typ=F64))
    return f


def tree(m: CpuModuleBuilder, op: ir.ReduceOp) -> ll.Function:
    """f(x, count, scratch): the reduction tree over an array of doubles."""
    name = f"{m.symbol}.tree.{op}"
    if name in m.module.globals:
        return m.module.globals[name]
    f, b = m.function(name, ll.FunctionType(F64, [PTR, I64, PTR]))
    x, count, scratch = f.args
    lanes = b.alloca(F64, LANES)
    lanes.type = PTR
    with loop(b, integer(0), count, BLOCK) as block:
        with loop(b, integer(0), integer(LANES)) as j:
            b.store(ll.Constant(F64, IDENTITY[op]), at(b, lanes, j, F64))
        rest = b.sub(count, block)
        with loop(b, integer(0), minimum(b, rest, integer(BLOCK))) as k:
            lane = at(b, lanes, b.and_(k, integer(LANES - 1)), F64)
            b.store(fold(b, op, b.load(lane, typ=F64), load(b, x, b.add(block, k), F64)), lane)
        total = fold_lanes(b, op, lanes)
        b.store(total, at(b, scratch, b.lshr(block, integer(BLOCK.bit_length() - 1)), F64))
    b.ret(b.call(pairwise(m, op), [scratch, blocks(b, count), integer(1)]))
    return f


def columns(m: CpuModuleBuilder, op: ir.ReduceOp) -> ll.Function:
    """f(sums, count, cols, result, first, last): fold columns [first, last) of `count` lines of `cols` numbers, in
    place: neighbours first. It goes by some columns of all lines, which fit into the first cache."""
    name = f"{m.symbol}.columns.{op}"
    if name in m.module.globals:
        return m.module.globals[name]
    f, b = m.function(name, ll.FunctionType(VOID, [PTR, I64, I64, PTR, I64, I64]))
    sums, count, cols, result, begin, end = f.args
    with b.if_then(b.icmp_signed("==", count, integer(0))):
        with loop(b, begin, end) as j:
            b.store(ll.Constant(F64, IDENTITY[op]), at(b, result, j, F64))
        b.ret_void()
    with loop(b, begin, end, COLUMNS_AT_ONCE) as first:
        last = minimum(b, end, b.add(first, integer(COLUMNS_AT_ONCE)))
        _fold_lines(m, b, op, sums, count, cols, first, last)
        with loop(b, first, last) as j:
            b.store(load(b, sums, j, F64), at(b, result, j, F64))
    b.ret_void()
    return f


def _fold_lines(
    m: CpuModuleBuilder, b: ll.IRBuilder, op: ir.ReduceOp, sums: Any, count: Any, cols: Any, first: Any, last: Any
) -> None:
    """Fold columns [first, last) of `count` lines into the first line."""

    def place(line: Any, j: Any) -> Any:
        return at(b, sums, b.add(b.mul(line, cols), j), F64)

    def fold_into(to: Any, *lines: Any) -> None:
        for j, width, mask in masked.vectors(b, first, last, WIDTH, WIDTH, first, masks=m.masks_vectors):
            x, *more = (masked.load(b, place(line, j), vector(F64, width), 8, mask) for line in lines)
            for y in more:
                x = fold(b, op, x, y)
            masked.store(b, x, place(to, j), 8, mask)

    with halving(b, count) as (left, shrink):
        half = b.lshr(left, integer(1))
        with loop(b, integer(0), half) as k:
            pair = b.shl(k, integer(1))
            fold_into(k, pair, b.add(pair, integer(1)))
        odd = b.and_(left, integer(1))
        with b.if_then(b.icmp_signed("==", odd, integer(1))):
            fold_into(half, b.sub(left, integer(1)))
        shrink(b.add(half, odd))


def matrices(m: CpuModuleBuilder, op: ir.ReduceOp) -> ll.Function:
    """f(x, count, each, own, result): fold the `each` numbers of each of `count` matrices in order, to `own` times the
    result."""
    name = f"{m.symbol}.matrices.{op}"
    if name in m.module.globals:
        return m.module.globals[name]
    f, b = m.function(name, ll.FunctionType(VOID, [PTR, I64, I64, I64, PTR]))
    x, count, each, own, result = f.args
    with b.if_else(b.icmp_signed("==", b.or_(each, own), integer(1))) as (numbers, several):
        with numbers, loop(b, integer(0), count) as k:
            b.store(fold(b, op, F64(IDENTITY[op]), load(b, x, k, F64)), at(b, result, k, F64))
        with several, loop(b, integer(0), count) as k:
            start, total = b.mul(k, each), variable(b, F64(IDENTITY[op]))
            with loop(b, integer(0), each) as j:
                b.store(fold(b, op, b.load(total, typ=F64), load(b, x, b.add(start, j), F64)), total)
            with loop(b, integer(0), own) as j:
                b.store(b.load(total, typ=F64), at(b, result, b.add(b.mul(k, own), j), F64))
    b.ret_void()
    return f


def fold_first_lanes(b: ll.IRBuilder, op: ir.ReduceOp, lanes: Any, count: int) -> Any:
    """`fold_lanes` if only the first `count` lanes have values. One by one: vectors would wait for what was just
    stored."""
    found = [b.load(at(b, lanes, integer(k), F64), typ=F64) for k in range(count)]
    while len(found) > 1:
        half = len(found) // 2
        found = [fold(b, op, x, y) for x, y in zip(found[:half], found[half:], strict=True)]
    return found[0]


def fold_lanes(b: ll.IRBuilder, op: ir.ReduceOp, lanes: Any) -> Any:
    """128 lanes in memory, folded by halves."""
    half = LANES // 2
    low, high = (b.load(at(b, lanes, integer(k), F64), typ=vector(F64, half), align=8) for k in (0, half))
    return fold_vector(b, op, fold(b, op, low, high))


def fold_vector(b: ll.IRBuilder, op: ir.ReduceOp, x: Any) -> Any:
    """A vector folded by halves."""
    half = x.type.count
    while half > 1:
        half //= 2
        low, high = (_slice(b, x, range(k, k + half)) for k in (0, half))
        x = fold(b, op, low, high)
    return x


def clear_lanes(b: ll.IRBuilder, reductions: Sequence[ir.Reduce], lanes: Any, count: int = LANES) -> None:
    """Start `count` sums of each reduction."""
    for r, reduce in enumerate(reductions):
        with loop(b, integer(r * LANES), integer(r * LANES + count)) as j:
            b.store(ll.Constant(F64, IDENTITY[reduce.op]), at(b, lanes, j, F64))


def store_partials(
    b: ll.IRBuilder, reductions: Sequence[ir.Reduce], lanes: Any, block: Any, partials: Any, stride: int
) -> None:
    """Fold the lanes of a block, which begins with element `block`: block k's reduction r goes to
    `partials[k*stride + r]`."""
    for r, reduce in enumerate(reductions):
        total = fold_lanes(b, reduce.op, at(b, lanes, integer(r * LANES), F64))
        index = b.mul(b.lshr(block, integer(BLOCK.bit_length() - 1)), integer(stride))
        b.store(total, at(b, partials, b.add(index, integer(r)), F64))


def _slice(b: ll.IRBuilder, x: Any, indices: range) -> Any:
    if len(indices) == 1:
        return b.extract_element(x, I32(indices[0]))
    return b.shuffle_vector(x, x, ll.Constant(vector(I32, len(indices)), list(indices)))
