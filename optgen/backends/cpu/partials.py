"""What becomes of the partial results of a sweep: those of a row while the sweep goes on, the others after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop
from optgen.backends.cpu import fold
from optgen.backends.cpu.box import CpuBox
from optgen.backends.cpu.module import TASK, VOID, CpuModuleBuilder
from optgen.backends.cpu.shares import lines_of_part
from optgen.backends.cpu.step import StepFunction, TensorRegion
from optgen.backends.layout import Extent, blocks, reductions, widened
from optgen.backends.llvm import at, integer, maximum, minimum
from optgen.backends.llvm_types import F64, PTR
from optgen.ir import IDENTITY, ROW_BLOCK, Phase


def fold_row(tensor: TensorRegion, phase: Phase, row: Any, partials: Any) -> None:
    """Fold the partial results of a row, and keep what becomes of them."""
    m, b = tensor.s.m, tensor.s.b
    for r, instr in enumerate(reductions(phase, "row")):
        assert instr.result is not None and isinstance(instr.op, ir.Reduce)
        count, stride = blocks(b, tensor.extent.cols), integer(m.layout.stride)
        total = b.call(fold.pairwise(m, instr.op.op), [at(b, partials, integer(r), F64), count, stride])
        array = CpuBox(tensor).row_sums(r) if m.kernel.boxes else tensor.line_array(instr.result)
        b.store(widened(b, total, instr.result), at(b, array, row, F64))


def column_sums(tensor: TensorRegion, phase: Phase, row: Any) -> list[Any]:
    """Where the columns of the block of rows that this row is in add up, cleared at its first row."""
    found = reductions(phase, "col")
    if not found:
        return []
    m, b, extent, matrix = tensor.s.m, tensor.s.b, tensor.extent, integer(0)
    if extent.matrices is not None:
        matrix = b.udiv(row, extent.height)
        row = b.sub(row, b.mul(matrix, extent.height))
    block = b.lshr(row, integer(ROW_BLOCK.bit_length() - 1))
    block = b.add(block, b.mul(matrix, blocks(b, extent.height, ROW_BLOCK)))
    arrays = []
    for r, instr in enumerate(found):
        assert isinstance(instr.op, ir.Reduce)
        if m.kernel.boxes:
            start, first = CpuBox(tensor).column_sums(r, matrix, row)
        else:
            start = tensor.column_sums(r, block)
            first = b.icmp_signed("==", b.and_(row, integer(ROW_BLOCK - 1)), integer(0))
        with b.if_then(first), loop(b, integer(0), extent.cols) as j:
            b.store(ll.Constant(F64, IDENTITY[instr.op.op]), at(b, start, j, F64))
        arrays.append(start)
    return arrays


def fold_columns(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """Part `part` of `parts` after a sweep: fold the partial results of columns."""
    f, b = m.function(name, TASK)
    f.attributes.add("noinline")
    step, part, parts = f.args
    saved = m.float_mode.set(b)
    s = StepFunction(m, b, step)
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        box = CpuBox(tensor) if m.kernel.boxes else None
        first, last = lines_of_part(b, i, extent.columns, part, parts)
        count = blocks(b, extent.height, ROW_BLOCK) if box is None else box.row_blocks()
        for r, instr in enumerate(reductions(phase, "col")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            sums = tensor.column_sums(r, integer(0)) if box is None else box.lines(r)
            array, function = tensor.line_array(instr.result), fold.columns(m, instr.op.op)
            if extent.matrices is None:
                b.call(function, [sums, count, extent.cols, array, first, last])
                continue
            # The columns of low matrices are complete, and stand side by side.
            with b.if_else(b.icmp_signed("==", count, integer(1))) as (complete, several):
                with complete:
                    b.call(function, [sums, count, extent.columns, array, first, last])
                with several, _matrices(b, extent, first, last) as (k, low, high):
                    own = at(b, sums, b.mul(b.mul(k, count), extent.cols), F64)
                    b.call(function, [own, count, extent.cols, at(b, array, b.mul(k, extent.cols), F64), low, high])
    m.float_mode.restore(b, saved)
    b.ret_void()
    return f


@contextmanager
def _matrices(b: ll.IRBuilder, extent: Extent, first: Any, last: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Over the matrices that columns [first, last) are of: yields the number of one, and which of its columns are
    among these."""
    cols = maximum(b, extent.cols, integer(1))
    with loop(b, b.udiv(first, cols), b.udiv(b.add(last, b.sub(cols, integer(1))), cols)) as k:
        before = b.mul(k, cols)
        yield k, maximum(b, b.sub(first, before), integer(0)), minimum(b, b.sub(last, before), cols)


def fold_sweep(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """After a sweep: fold the partial results of tensors. Rows are complete, those of boxes after the exchange."""
    f, b = m.cold_function(name, ll.FunctionType(VOID, [PTR]))
    s = StepFunction(m, b, f.args[0])
    with s.tensors() as (i, extent, region):
        tensor = TensorRegion(s, i, extent, region, m.layout.region(b, extent))
        box = CpuBox(tensor) if m.kernel.boxes else None
        for r, instr in enumerate(reductions(phase, "all")):
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            partials = at(b, region, integer(r), F64) if box is None else box.area("partials", integer(r))
            count, stride = blocks(b, extent.whole), integer(m.layout.stride)
            s.keep(instr.result, b.call(fold.pairwise(m, instr.op.op), [partials, count, stride]), i)
        for r, instr in enumerate(reductions(phase, "row") if box is not None else []):
            assert instr.result is not None and box is not None
            box.copy(box.row_sums(r), extent.rows, tensor.line_array(instr.result))
    b.ret_void()
    return f
