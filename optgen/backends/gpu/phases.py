"""What a GPU does between sweeps: numbers of tensors, rows and columns are computed, and partial results folded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.gpu import fold
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.gpu.launches import Task
from optgen.backends.gpu.table import SEED, THREADS, TableWord
from optgen.backends.layout import narrowed, reductions, widened
from optgen.backends.llvm import at, ceil_div, integer
from optgen.backends.llvm_types import F64, I64
from optgen.backends.module_builder import Env
from optgen.ir import BLOCK, ROW_BLOCK, Phase, Value


def per_tensor(f: LaunchFunction, tasks: tuple[Task, ...]) -> None:
    """A block for each tensor, the first thread of which computes its numbers."""
    with f.units(*f.block_and_count()) as (i, _):
        for task in tasks:
            match task.kind:
                case "fold":
                    fold.tensor_partials(f, task.phase, i)
                case "tree":
                    fold.line_values(f, task.phase, i)
                case "scalar":
                    with f.one_thread(f.thread):
                        f.scalars(task.phase, i)
    f.b.ret_void()


def shared(f: LaunchFunction, tasks: tuple[Task, ...]) -> None:
    """One thread for all tensors; values that all tensors have in common are taken from the first."""
    with f.units(*f.block_and_count()) as (i, _), f.one_thread(f.thread):
        for task in tasks:
            f.scalars(task.phase, i)
    f.b.ret_void()


def per_line(f: LaunchFunction, tasks: tuple[Task, ...]) -> None:
    """A thread for each row, or each column."""
    with _lines(f) as (i, r):
        for task in tasks:
            (_fold_line if task.kind == "fold" else _line)(f, task.phase, i, r)
    f.b.ret_void()


def _lines(f: LaunchFunction) -> AbstractContextManager[tuple[Any, Any]]:
    """Over rows, columns or matrices, one for a thread: yields the tensor and the number."""
    b, threads = f.b, integer(THREADS)
    first = b.add(b.mul(b.zext(f.gpu.block_id(b), I64), threads), f.thread)
    return f.units(first, b.mul(b.zext(f.gpu.block_count(b), I64), threads))


def _fold_line(f: LaunchFunction, phase: Phase, i: Any, r: Any) -> None:
    """Fold the partial results of row, or column, r."""
    b, cols = f.b, f.column("cols", i)
    for scope in ("row", "col"):
        for k, instr in enumerate(f.m.in_lines(b, reductions(phase, scope))):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            if scope == "row":
                count, stride = ceil_div(b, cols, BLOCK), integer(f.m.layout.stride)
                start = b.add(b.mul(b.mul(r, count), stride), integer(k))
                base = at(b, f.area("row_partials", i), start, F64)
            else:
                count, stride = ceil_div(b, f.height(i), ROW_BLOCK), cols
                start = b.add(b.mul(b.mul(count, integer(k)), f.line_count(Kind.COL, i)), _first_sum(f, i, r, count))
                base = at(b, f.area("sums", i), start, F64)
            total = fold.in_place(f, instr.op.op, base, count, stride)
            b.store(widened(b, total, instr.result), f.line_array(instr.result, i, r=r))


def _first_sum(f: LaunchFunction, i: Any, r: Any, count: Any) -> Any:
    """Where the partial results of column r begin: a matrix has `count` lines of them, its columns side by side."""
    if not f.m.kernel.last_two:
        return r
    b, cols = f.b, f.column("cols", i)
    before = b.mul(b.udiv(r, cols), cols)  # the columns of the matrices before
    return b.add(b.mul(before, count), b.sub(r, before))


def per_matrix(f: LaunchFunction, tasks: tuple[Task, ...]) -> None:
    """A thread for each matrix."""
    with _lines(f) as (i, k):
        for task in tasks:
            fold.in_matrix(f, task.phase, i, k)
    f.b.ret_void()


def _line(f: LaunchFunction, phase: Phase, i: Any, r: Any) -> None:
    """Compute the numbers of row, or column, r; states are indexed by its number in the whole tensor."""
    kind = Kind.ROW if phase.kind == "row" else Kind.COL
    number = f.row_number(i, r) if kind is Kind.ROW else r
    env: Env = {}
    f.fetch(phase, env, i)

    def state(name: str, type: ll.Type) -> Any:
        return at(f.b, f.pointer(name, i), number, type)

    def load(v: Value) -> Any:
        return narrowed(f.b, f.b.load(f.line_array(v, i, r=r), typ=F64), v)

    def keep(v: Value, x: Any) -> None:
        f.b.store(widened(f.b, x, v), f.line_array(v, i, r=r))

    def word(op: ir.Word, held: Any) -> Any:
        return f.random_word(op, held, number, f.column("id", i), f.column("t", i), f.word(TableWord(SEED, 0)))

    def place() -> Any:
        if not f.m.kernel.last_two:
            return number
        return f.b.urem(number, f.height(i) if kind is Kind.ROW else f.column("cols", i))

    f.line(phase, env, f.m.layout.line_slots(kind), load, keep, state, word, place)
