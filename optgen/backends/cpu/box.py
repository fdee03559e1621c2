"""Boxes of tensors, in kernels for these: what one leaves for the exchange, and where it finds the results.

A block of the reduction tree that the bounds of boxes divide has no partial result: each box leaves the terms of its
elements, in order, and the block is folded from all of them. So it is with ROW_BLOCK rows whose columns are reduced.
"""

from __future__ import annotations

from typing import Any

from optgen.axes import Kind
from optgen.backends.control_flow import loop
from optgen.backends.cpu.step import TensorRegion
from optgen.backends.layout import blocks
from optgen.backends.llvm import at, integer, load, maximum, minimum
from optgen.backends.llvm_types import F64, I64, PTR
from optgen.ir import BLOCK, ROW_BLOCK


class CpuBox:
    """The box that a tensor is."""

    def __init__(self, tensor: TensorRegion) -> None:
        self.s, self.b, self.i, self.extent = tensor.s, tensor.s.b, tensor.i, tensor.extent

    def field(self, name: str) -> Any:
        return self.s.box_field(self.i, name)

    def area(self, name: str, offset: Any) -> Any:
        """The address of a number in one of the box's places in the area."""
        return at(self.b, self.s.field("area"), self.b.add(self.field(name), offset), F64)

    # ------------------------------------------------------------ blocks of elements

    def bounds(self) -> tuple[Any, Any]:
        """The elements of the box between the blocks that its bounds divide: the first one, and the one behind."""
        b, first, size = self.b, self.extent.first, self.extent.elements
        end = b.add(first, size)
        head = minimum(b, b.and_(b.neg(first), integer(BLOCK - 1)), size)
        divided = b.select(b.icmp_signed("==", end, self.extent.whole), integer(0), b.and_(end, integer(BLOCK - 1)))
        tail = b.sub(size, divided)
        return head, b.select(b.icmp_signed("<", tail, head), head, tail)

    def head_terms(self) -> Any:
        """Where the term of element 0 goes, before `bounds`."""
        return self.area("head", self.b.and_(self.extent.first, integer(BLOCK - 1)))

    def tail_terms(self, begin: Any) -> Any:
        """Where the term of element 0 would go, if that of element `begin` is the first one of its block."""
        return self.area("tail", self.b.neg(begin))

    def partials(self, begin: Any) -> Any:
        """Where the partial results of blocks go, from that of element `begin` on."""
        b = self.b
        block = b.lshr(b.add(self.extent.first, begin), integer(BLOCK.bit_length() - 1))
        return self.area("partials", b.mul(block, integer(self.s.m.layout.stride)))

    # ------------------------------------------------------------ rows and columns

    def column_sums(self, r: int, matrix: Any, row: Any) -> tuple[Any, Any]:
        """Where the columns of a row add up, for reduction r; whether it is the first row that adds there.

        `matrix` is the number of its matrix in the box, and `row` its number in the box's part of the matrix.

        In ROW_BLOCK rows that a bound divides, every row has a place of its own.
        """
        b, cols = self.b, self.extent.cols
        first = self.field("first_row")
        end, number = b.add(first, self.extent.height), b.add(first, row)
        inside = b.and_(number, integer(ROW_BLOCK - 1))
        begin = b.sub(number, inside)
        starts_before = b.icmp_signed("<", begin, first)
        ends_behind = b.icmp_signed(">", b.add(begin, integer(ROW_BLOCK)), end)
        ends_behind = b.and_(ends_behind, b.icmp_signed("!=", end, self.field("height")))
        divided = b.or_(starts_before, ends_behind)
        terms = b.select(starts_before, self.field("head_rows"), self.field("tail_rows"))
        line = b.add(inside, integer(r * ROW_BLOCK))
        block = b.lshr(number, integer(ROW_BLOCK.bit_length() - 1))
        whole_line = b.add(b.mul(self.row_blocks(), b.add(self._matrices_before(r), matrix)), block)
        place = b.select(divided, terms, self.field("lines"))
        offset = b.add(place, b.mul(b.select(divided, line, whole_line), cols))
        is_first = b.or_(divided, b.icmp_signed("==", inside, integer(0)))
        return at(b, self.s.field("area"), offset, F64), is_first

    def row_blocks(self) -> Any:
        """How many blocks of ROW_BLOCK rows a matrix of the tensor has."""
        return blocks(self.b, self.field("height"), ROW_BLOCK)

    def _matrices_before(self, r: int) -> Any:
        """How many matrices the lines of reductions before r are of."""
        matrices = self.extent.matrices
        return integer(r) if matrices is None else self.b.mul(matrices, integer(r))

    def lines(self, r: int) -> Any:
        """The partial results of columns, for reduction r."""
        b = self.b
        matrices = self._matrices_before(r)
        return self.area("lines", b.mul(b.mul(self.row_blocks(), matrices), self.extent.cols))

    def line_number(self, kind: Kind, r: Any) -> Any:
        """The number in the tensor of row, or column, r of the box."""
        b, cols, width = self.b, self.extent.cols, self.field("width")
        first = r  # the element of the box with which the row, or the column, begins
        if kind is Kind.ROW:
            first = b.mul(r, cols)
        elif self.extent.matrices is not None:
            matrix = b.udiv(r, cols)
            first = b.add(b.mul(matrix, b.mul(self.extent.height, cols)), b.sub(r, b.mul(matrix, cols)))
        run, origins = self.field("run"), b.inttoptr(self.field("origins"), PTR)
        element = b.add(load(b, origins, b.udiv(first, run), I64), b.urem(first, run))
        row = b.udiv(element, width)
        if kind is Kind.ROW:
            return row
        matrix = b.udiv(row, maximum(b, self.field("height"), integer(1)))
        return b.add(b.mul(matrix, width), b.urem(element, width))

    def row_sums(self, r: int) -> Any:
        """The results of rows, for reduction r."""
        return self.area("row_sums", self.b.mul(self.extent.rows, integer(r)))

    def count(self, kind: Kind) -> Any:
        """How many rows, or columns, the tensor has."""
        return self.field("rows" if kind is Kind.ROW else "cols")

    def length(self, kind: Kind) -> Any:
        """How many rows, or columns, a matrix of the tensor has."""
        return self.field("height" if kind is Kind.ROW else "width")

    def values(self, k: int, count: Any) -> Any:
        """The row or column values, `count` in the tensor, of the k-th reduction of a phase."""
        return self.area("values", self.b.mul(count, integer(k)))

    def copy(self, source: Any, count: Any, to: Any) -> None:
        with loop(self.b, integer(0), count) as k:
            self.b.store(load(self.b, source, k, F64), at(self.b, to, k, F64))
