"""What happens between sweeps: partial results become results, and numbers are made of these, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optgen import ir
from optgen.backends.layout import narrowed, reductions, widened
from optgen.backends.llvm import F64, I64, IDENTITY, TYPES, at, fold, integer
from optgen.backends.ptx.launches import Task
from optgen.backends.ptx.module import Entry, Env
from optgen.backends.ptx.table import SEGMENT, THREADS, WARP
from optgen.ir import BLOCK, LANES, ROW_BLOCK, Phase, Value
from optgen.model import Kind

Address = Callable[[Any], Any]
"""Of a number in an array."""


def per_tensor(entry: Entry, tasks: tuple[Task, ...]) -> None:
    """A block for each tensor, the first thread of which computes its numbers."""
    b = entry.b
    first, step = entry.register("ctaid.x"), entry.register("nctaid.x")
    with entry.units(first, step) as (i, _):
        for task in tasks:
            match task.kind:
                case "fold":
                    _fold_sweep(entry, task.phase, i)
                case "tree":
                    _fold_lines(entry, task.phase, i)
                case "scalar":
                    with b.if_then(b.icmp_signed("==", entry.tid, integer(0))):
                        _straight(entry, task.phase, i)
    b.ret_void()


def shared(entry: Entry, tasks: tuple[Task, ...]) -> None:
    """One thread for all tensors; what is uniform is taken from the first."""
    b = entry.b
    first, step = entry.register("ctaid.x"), entry.register("nctaid.x")
    with (
        entry.units(first, step) as (i, _),
        b.if_then(b.icmp_signed("==", entry.tid, integer(0))),
    ):
        for task in tasks:
            _straight(entry, task.phase, i)
    b.ret_void()


def _straight(entry: Entry, phase: Phase, i: Any) -> None:
    env: Env = {}
    entry.fetch(phase, env, i)
    for instr in phase.instrs:
        _one(entry, instr, env, i)
        if instr.result is not None:
            entry.keep(instr.result, env[instr.result], i)


def _one(entry: Entry, instr: ir.Instr, env: Env, i: Any) -> None:
    b = entry.b
    match instr.op:
        case ir.Load(buffer=state):
            assert instr.result is not None
            env[instr.result] = b.load(entry.pointer(state, i), typ=F64)
        case ir.Store(buffer=state):
            (x,) = entry.operands(instr.op, env)
            b.store(x, entry.pointer(state, i))
        case ir.ReduceOverParams(op=op, x=x):
            assert instr.result is not None
            total, place = entry.cell(_identity(op)), entry.place(x)
            with entry.loop(integer(0), entry.count) as k:
                here = entry.m.constant(b, x) if place is None else b.load(entry.address(place, k), typ=F64)
                b.store(fold(b, op, b.load(total, typ=F64), here), total)
            env[instr.result] = b.load(total, typ=F64)
        case _:
            entry.define(instr, env)


def _identity(op: ir.ReduceOp) -> Any:
    return F64(IDENTITY[op])


# ---------------------------------------------------------------- trees, by the threads of a block


def _fold_sweep(entry: Entry, phase: Phase, i: Any) -> None:
    b, stride = entry.b, integer(entry.m.layout.stride)
    partials, count = entry.area("partials", i), entry.column("blocks", i)
    for r, instr in enumerate(reductions(phase, "all")):
        assert instr.result is not None and isinstance(instr.op, ir.Reduce)

        def source(k: Any, r: int = r) -> Any:
            return at(b, partials, b.add(b.mul(k, stride), integer(r)), F64)

        total = _pairwise(entry, instr.op.op, source, count, entry.area("folds", i))
        _keep(entry, instr.result, total, i)


def _fold_lines(entry: Entry, phase: Phase, i: Any) -> None:
    """The arrays of a row or column phase: blocks of the tree, by warps; then these."""
    b = entry.b
    area, column = ("rows_at", "rows") if phase.kind == "row" else ("cols_at", "cols")
    slots = entry.m.layout.rows if phase.kind == "row" else entry.m.layout.cols
    count, folds = entry.column(column, i), entry.area("folds", i)
    blocks = b.udiv(b.add(count, integer(BLOCK - 1)), integer(BLOCK))
    for instr in reductions(phase, "all"):
        assert instr.result is not None and isinstance(instr.op, ir.Reduce)
        array = at(b, entry.area(area, i), b.mul(count, integer(slots[instr.op.x])), F64)
        op = instr.op.op
        with entry.loop(_warp(entry), blocks, THREADS // WARP) as block:
            total = _block(entry, op, array, b.mul(block, integer(BLOCK)), count)
            with b.if_then(b.icmp_signed("==", _lane(entry), integer(0))):
                b.store(total, at(b, folds, block, F64))
        entry.barrier()
        total = _pairwise(entry, op, lambda k: at(b, folds, k, F64), blocks, at(b, folds, blocks, F64))
        _keep(entry, instr.result, total, i)


def _keep(entry: Entry, v: Value, total: Any, i: Any) -> None:
    b = entry.b
    with b.if_then(b.icmp_signed("==", entry.tid, integer(0))):
        entry.keep(v, total, i)


def _block(entry: Entry, op: ir.ReduceOp, array: Any, begin: Any, count: Any) -> Any:
    """A block of an array of doubles: each thread of the warp has four lanes, LANES/4 apart."""
    b, lane = entry.b, _lane(entry)
    sums = [entry.cell(_identity(op)) for _ in range(LANES // WARP)]
    full = b.add(begin, integer(BLOCK))
    end = b.select(b.icmp_signed("<", full, count), full, count)
    with entry.loop(begin, end, LANES) as row:
        for k, s in enumerate(sums):
            here = b.add(b.add(row, lane), integer(k * WARP))
            with b.if_then(b.icmp_signed("<", here, end)):
                b.store(fold(b, op, b.load(s, typ=F64), b.load(at(b, array, here, F64), typ=F64)), s)
    one, two, three, four = (b.load(s, typ=F64) for s in sums)
    total = fold(b, op, fold(b, op, one, three), fold(b, op, two, four))
    for distance in (16, 8, 4, 2, 1):
        total = fold(b, op, total, entry.down(total, distance))
    return total


def _pairwise(entry: Entry, op: ir.ReduceOp, source: Address, count: Any, folds: Any) -> Any:
    """`count` numbers folded, neighbours first, an odd one moves up: SEGMENT by SEGMENT, until there is one.

    A warp folds a segment; what comes out goes behind what the pass before it left in `folds`.
    """
    b = entry.b
    left, behind = entry.cell(count), entry.cell(integer(0))
    _segments(entry, op, source, count, folds)
    _next(entry, left, behind, first=True)
    with entry.repeat(lambda: b.icmp_signed(">", b.load(left, typ=I64), integer(1))):
        now, start = b.load(left, typ=I64), b.load(behind, typ=I64)
        here = at(b, folds, start, F64)
        _segments(entry, op, lambda k: at(b, here, k, F64), now, at(b, here, now, F64))
        _next(entry, left, behind, first=False)
    total = b.load(at(b, folds, b.load(behind, typ=I64), F64), typ=F64)
    entry.barrier()  # before somebody writes there again
    return b.select(b.icmp_signed("==", count, integer(0)), _identity(op), total)


def _next(entry: Entry, left: Any, behind: Any, first: bool) -> None:
    """One pass more: as many are left as there were segments."""
    b = entry.b
    now = b.load(left, typ=I64)
    if not first:
        b.store(b.add(b.load(behind, typ=I64), now), behind)
    b.store(b.udiv(b.add(now, integer(SEGMENT - 1)), integer(SEGMENT)), left)
    entry.barrier()


def _segments(entry: Entry, op: ir.ReduceOp, source: Address, count: Any, to: Any) -> None:
    """Each warp folds segments: neighbours in a thread, then pairs of threads."""
    b, lane = entry.b, _lane(entry)
    segments = b.udiv(b.add(count, integer(SEGMENT - 1)), integer(SEGMENT))
    with entry.loop(_warp(entry), segments, THREADS // WARP) as segment:
        mine = b.add(b.mul(segment, integer(SEGMENT)), b.shl(lane, integer(1)))
        last = b.sub(count, integer(1))
        one, two = (
            b.load(source(b.select(b.icmp_signed("<", k, count), k, last)), typ=F64)
            for k in (mine, b.add(mine, integer(1)))
        )
        total = b.select(b.icmp_signed("<", b.add(mine, integer(1)), count), fold(b, op, one, two), one)
        for distance in (1, 2, 4, 8, 16):
            other = entry.down(total, distance)
            there = b.icmp_signed("<", b.add(mine, integer(2 * distance)), count)
            total = b.select(there, fold(b, op, total, other), total)
        with b.if_then(b.icmp_signed("==", lane, integer(0))):
            b.store(total, at(b, to, segment, F64))


def _warp(entry: Entry) -> Any:
    return entry.b.lshr(entry.tid, integer(WARP.bit_length() - 1))


def _lane(entry: Entry) -> Any:
    return entry.b.and_(entry.tid, integer(WARP - 1))


# ---------------------------------------------------------------- rows and columns, a thread for each


def per_line(entry: Entry, tasks: tuple[Task, ...]) -> None:
    b = entry.b
    threads = integer(THREADS)
    first = b.add(b.mul(entry.register("ctaid.x"), threads), entry.tid)
    with entry.units(first, b.mul(entry.register("nctaid.x"), threads)) as (i, r):
        for task in tasks:
            (_fold_line if task.kind == "fold" else _line)(entry, task.phase, i, r)
    b.ret_void()


def _array(entry: Entry, v: Value, i: Any, r: Any) -> Any:
    """Where the value of row or column r is."""
    b, layout = entry.b, entry.m.layout
    area, column, slots = (
        ("rows_at", "rows", layout.rows) if v.type.kind is Kind.ROW else ("cols_at", "cols", layout.cols)
    )
    return at(b, entry.area(area, i), b.add(b.mul(entry.column(column, i), integer(slots[v])), r), F64)


def _fold_line(entry: Entry, phase: Phase, i: Any, r: Any) -> None:
    """The partial results of one row or one column, which lie `stride` apart."""
    b, cols = entry.b, entry.column("cols", i)
    for scope in ("row", "col"):
        for k, instr in enumerate(reductions(phase, scope)):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            if scope == "row":
                count, stride = b.udiv(b.add(cols, integer(BLOCK - 1)), integer(BLOCK)), integer(entry.m.layout.stride)
                start = b.add(b.mul(b.mul(r, count), stride), integer(k))
                base = at(b, entry.area("row_partials", i), start, F64)
            else:
                rows = entry.column("rows", i)
                count, stride = b.udiv(b.add(rows, integer(ROW_BLOCK - 1)), integer(ROW_BLOCK)), cols
                start = b.add(b.mul(b.mul(count, integer(k)), cols), r)
                base = at(b, entry.area("sums", i), start, F64)
            total = _in_place(entry, instr.op.op, base, count, stride)
            b.store(widened(b, total, instr.result), _array(entry, instr.result, i, r))


def _in_place(entry: Entry, op: ir.ReduceOp, base: Any, count: Any, stride: Any) -> Any:
    """The pairwise tree by one thread; what was there is lost."""
    b, left = entry.b, entry.cell(count)

    def place(k: Any) -> Any:
        return at(b, base, b.mul(k, stride), F64)

    with entry.repeat(lambda: b.icmp_signed(">", b.load(left, typ=I64), integer(1))):
        now = b.load(left, typ=I64)
        half, odd = b.lshr(now, integer(1)), b.and_(now, integer(1))
        with entry.loop(integer(0), half) as k:
            one, two = (b.load(place(b.add(b.shl(k, integer(1)), integer(d))), typ=F64) for d in (0, 1))
            b.store(fold(b, op, one, two), place(k))
        with b.if_then(b.icmp_signed("!=", odd, integer(0))):
            b.store(b.load(place(b.sub(now, integer(1))), typ=F64), place(half))
        b.store(b.add(half, odd), left)
    found = entry.cell(_identity(op))
    with b.if_then(b.icmp_signed(">", count, integer(0))):
        b.store(b.load(base, typ=F64), found)
    return b.load(found, typ=F64)


def _line(entry: Entry, phase: Phase, i: Any, r: Any) -> None:
    """Row (or column) r; states are addressed by its number in the whole tensor."""
    b, m = entry.b, entry.m
    kind = Kind.ROW if phase.kind == "row" else Kind.COL
    slots = m.layout.rows if kind is Kind.ROW else m.layout.cols
    number = entry.number(i, r) if kind is Kind.ROW else r
    stored = TYPES["f32" if m.kernel.compute == "f32" else "f64"]
    here = {x.result for x in phase.instrs}
    env: Env = {}
    entry.fetch(phase, env, i)
    for instr in phase.instrs:
        for v in ir.operands(instr.op):
            if v not in env and v not in here and v in slots:
                env[v] = narrowed(b, b.load(_array(entry, v, i, r), typ=F64), v)
        match instr.op:
            case ir.Load(buffer=state):
                assert instr.result is not None
                x = b.load(at(b, entry.pointer(state, i), number, stored), typ=stored)
                env[instr.result] = b.fpext(x, F64) if stored == TYPES["f32"] else x
            case ir.Store(buffer=state):
                (x,) = entry.operands(instr.op, env)
                x = b.fptrunc(x, stored) if stored == TYPES["f32"] else x
                b.store(x, at(b, entry.pointer(state, i), number, stored))
            case ir.Reduce():
                continue
            case _:
                entry.define(instr, env)
        if instr.result is not None and instr.result in slots:
            b.store(widened(b, env[instr.result], instr.result), _array(entry, instr.result, i, r))
