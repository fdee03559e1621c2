"""Sums of rows and columns of tiny matrices, such as those of convolutions: all matrices of a part in one loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop, variable
from optgen.backends.cpu import masked
from optgen.backends.cpu.elements import SweepBody
from optgen.backends.cpu.fold import fold_vector
from optgen.backends.cpu.rows import NARROW_ROW, SHORT_ROW, RowBodies, RowOrigin
from optgen.backends.layout import Extent, reductions
from optgen.backends.llvm import at, first_lanes, fold, integer
from optgen.backends.llvm_types import F64, constant, vector
from optgen.ir import IDENTITY, ROW_BLOCK, Instr, Value


def is_tiny(b: ll.IRBuilder, extent: Extent) -> Any:
    """Whether the rows of a tensor's matrices fit a vector, and their columns are added up in one block of rows."""
    narrow, low = (
        b.icmp_signed("<=", extent.cols, integer(SHORT_ROW)),
        b.icmp_signed("<=", extent.height, integer(ROW_BLOCK)),
    )
    return b.and_(narrow, low)


@dataclass(frozen=True)
class TinyMatrices:
    """The matrices of a tensor. `body` has its streams, `lines` are its arrays of row and column values.

    The results of rows and of columns go to the arrays `row_sums` and `column_sums`, of doubles.
    """

    body: SweepBody
    extent: Extent
    lines: Mapping[Value, Any]
    row_sums: Mapping[Value, Any]
    column_sums: Mapping[Value, Any]

    def reduce(self, first: Any, last: Any) -> None:
        """Rows [first, last), which are whole matrices."""
        b, cols, height = self.body.b, self.extent.cols, self.extent.height
        with b.if_else(b.icmp_signed("==", b.mul(cols, height), integer(1))) as (numbers, matrices):
            with numbers:
                self._reduce_numbers(first, last)
            with matrices:
                low, high = b.udiv(first, height), b.udiv(last, height)
                with b.if_else(b.icmp_signed("<=", cols, integer(NARROW_ROW))) as (narrow, wide):
                    for case, width in ((narrow, NARROW_ROW), (wide, SHORT_ROW)):
                        with case:
                            self._reduce_matrices(low, high, width)

    def _reduce_numbers(self, first: Any, last: Any) -> None:
        """Matrices of one element, which is its own row and column."""
        body = replace(self.body, column_values=self.lines)
        b, lanes = body.b, body.lanes
        for i, width, mask in masked.vectors(b, first, last, lanes, lanes, first, masks=True):
            env = body.emit(i, width, mask=mask)
            for reduce, to in (*self._rows(), *self._columns()):
                term = body.accumulate(reduce, _start(reduce, width), env)
                masked.store(b, term, at(b, to, i, F64), 8, mask)

    def _reduce_matrices(self, first: Any, last: Any, width: int) -> None:
        """Matrices [first, last), whose rows are at most `width` elements."""
        body, b, cols, height = self.body, self.body.b, self.extent.cols, self.extent.height
        mask = first_lanes(b, cols, width)
        rows = RowBodies(body, RowOrigin(integer(0), cols, height), self.lines)
        with loop(b, first, last) as matrix:
            totals = [variable(b, _start(reduce, width)) for reduce, _ in self._columns()]
            with loop(b, integer(0), height) as k:
                row = b.add(b.mul(matrix, height), k)
                env = rows.body_of(row, matrix).emit(integer(0), width, mask=mask)
                for (reduce, _), total in zip(self._columns(), totals, strict=True):
                    old = b.load(total, typ=vector(F64, width))
                    b.store(body.accumulate(reduce, old, env), total)
                for reduce, to in self._rows():
                    nothing = _start(reduce, width)
                    terms = b.select(mask, fold(b, reduce.op, nothing, env[reduce.x]), nothing)
                    b.store(fold_vector(b, reduce.op, terms), at(b, to, row, F64))
            for (_, to), total in zip(self._columns(), totals, strict=True):
                sums = b.load(total, typ=vector(F64, width))
                masked.store(b, sums, at(b, to, b.mul(matrix, cols), F64), 8, mask)

    def _rows(self) -> list[tuple[ir.Reduce, Any]]:
        return _with_arrays(reductions(self.body.phase, "row"), self.row_sums)

    def _columns(self) -> list[tuple[ir.Reduce, Any]]:
        return _with_arrays(reductions(self.body.phase, "col"), self.column_sums)


def _with_arrays(found: list[Instr], arrays: Mapping[Value, Any]) -> list[tuple[ir.Reduce, Any]]:
    return [(i.op, arrays[i.result]) for i in found if i.result is not None and isinstance(i.op, ir.Reduce)]


def _start(reduce: ir.Reduce, width: int) -> Any:
    return constant(F64, IDENTITY[reduce.op], width)
