"""Phases that visit no elements: once for all tensors, once for each, or over its rows or its columns."""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import loop
from optgen.backends.cpu import fold
from optgen.backends.cpu.box import CpuBox
from optgen.backends.cpu.module import TASK, VOID, CpuModuleBuilder
from optgen.backends.cpu.shares import lines_of_part
from optgen.backends.cpu.step import StepFunction, TensorRegion
from optgen.backends.layout import Extent, reductions
from optgen.backends.llvm import at, integer, load, maximum
from optgen.backends.llvm_types import F64, I64, PTR
from optgen.backends.module_builder import Env
from optgen.ir import Instr, Phase


def scalar(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """One number for each tensor."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    with loop(b, integer(0), s.n) as i:
        s.scalars(phase, i)
    b.ret_void()
    return f


def shared(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """One number for all tensors; values that all tensors have in common are taken from the first."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    with b.if_then(b.icmp_signed(">", s.n, integer(0))):
        s.scalars(phase, integer(0))
    b.ret_void()
    return f


def lines(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """Part `part` of `parts`: one number for each row, or for each column, of every tensor; then what becomes of those
    of a matrix. That of boxes is left to `reduce_lines`, and `fold_lines`."""
    f, b = m.function(name, TASK)
    f.attributes.add("noinline")
    step, part, parts = f.args
    saved = m.float_mode.set(b)
    s, kind = StepFunction(m, b, step), _kind(phase)
    within = [] if m.kernel.boxes else reductions(phase, "matrix")
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        arrays = tensor.line_arrays(kind)
        env: Env = {}
        s.fetch(phase, env, i)
        states = [x.op.buffer for x in phase.instrs if isinstance(x.op, ir.Load | ir.Store)]
        pointers = {name: s.pointer(name, i) for name in states}
        length = _own_length(extent, kind)
        first, last = lines_of_part(b, i, arrays.count, part, parts, length if within else None)
        with loop(b, first, last) as r:
            number = s.row_number(i, r) if kind is Kind.ROW and m.kernel.rows_independent else r

            def state(name: str, type: ll.Type, number: Any = number) -> Any:
                return at(b, pointers[name], number, type)

            def whole(tensor: Any = tensor, number: Any = number) -> Any:
                return CpuBox(tensor).line_number(kind, number) if m.kernel.boxes else number

            def word(op: ir.Word, held: Any, i: Any = i, whole: Any = whole) -> Any:
                id, t = (load(b, s.field(name), i, I64) for name in ("id", "t"))
                return s.random_word(op, held, whole(), id, t, s.field("seed"))

            def place(tensor: Any = tensor, extent: Extent = extent, whole: Any = whole) -> Any:
                each = CpuBox(tensor).length(kind) if m.kernel.boxes else _own_length(extent, kind)
                return b.urem(whole(), maximum(b, each, integer(1))) if m.kernel.last_two else whole()

            own_arrays = partial(arrays.load, b, r), partial(arrays.keep, b, r)
            s.line(phase, dict(env), arrays.slots, *own_arrays, state, word, place)
        for instr in within:
            assert isinstance(instr.op, ir.Reduce) and instr.result is not None
            x, to = (at(b, arrays.array(b, v), first, F64) for v in (instr.op.x, instr.result))
            matrices = b.udiv(b.sub(last, first), maximum(b, length, integer(1)))
            b.call(fold.matrices(m, instr.op.op), [x, matrices, length, length, to])
    m.float_mode.restore(b, saved)
    b.ret_void()
    return f


def reduce_lines(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """The reductions of all rows, or columns, of every tensor. What boxes reduce is left for the exchange."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s, kind = StepFunction(m, b, f.args[0]), _kind(phase)
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        arrays = tensor.line_arrays(kind)
        for k, instr in enumerate(_reductions(phase) if m.kernel.boxes else reductions(phase, "all")):
            assert isinstance(instr.op, ir.Reduce)
            values = arrays.array(b, instr.op.x)
            if m.kernel.boxes:
                box = CpuBox(tensor)
                box.copy(values, arrays.count, box.values(k, box.count(kind)))
            else:
                _fold(tensor, kind, instr, values, arrays.count, _own_length(extent, kind), tensor.tree())
    b.ret_void()
    return f


def fold_lines(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """The reductions of the row or column values of all boxes of every tensor."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s, kind = StepFunction(m, b, f.args[0]), _kind(phase)
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        box = CpuBox(tensor)
        count, scratch = box.count(kind), box.area("scratch", integer(0))
        for k, instr in enumerate(_reductions(phase)):
            _fold(tensor, kind, instr, box.values(k, count), count, box.length(kind), scratch)
    b.ret_void()
    return f


def _kind(phase: Phase) -> Kind:
    return Kind.ROW if phase.kind == "row" else Kind.COL


def _reductions(phase: Phase) -> list[Instr]:
    """The reductions of row or column values."""
    return [*reductions(phase, "all"), *reductions(phase, "matrix")]


def _own_length(extent: Extent, kind: Kind) -> Any:
    """How many rows, or columns, of a matrix a step visits."""
    return extent.height if kind is Kind.ROW else extent.cols


def _fold(tensor: TensorRegion, kind: Kind, instr: Instr, values: Any, count: Any, length: Any, scratch: Any) -> None:
    """A reduction of `count` row or column values: over all of them, or over the `length` ones of each matrix."""
    s, b, m = tensor.s, tensor.s.b, tensor.s.m
    assert instr.result is not None and isinstance(instr.op, ir.Reduce)
    if instr.op.scope == "all":
        s.keep(instr.result, b.call(fold.tree(m, instr.op.op), [values, count, scratch]), tensor.i)
        return
    matrices, own = tensor.extent.matrices, _own_length(tensor.extent, kind)
    b.call(fold.matrices(m, instr.op.op), [values, matrices, length, own, tensor.line_array(instr.result)])
