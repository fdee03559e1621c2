"""The rows of a sweep that uses row or column values: within a row, a row value is one number, and column values lie as
the elements do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir as ll

from optgen.axes import Kind
from optgen.backends.control_flow import loop, variable, while_below
from optgen.backends.cpu.elements import SweepBody, for_elements
from optgen.backends.cpu.line_arrays import line_type, load_line
from optgen.backends.element_body import address
from optgen.backends.layout import Extent
from optgen.backends.llvm import at, integer, maximum, minimum
from optgen.backends.llvm_types import F64
from optgen.ir import Value

ROWS_AT_ONCE, STREAMS_AT_ONCE = 8, 8
"""At most so many rows are added to column sums at once, which are then read and written once for all of them; and at
most so many streams of all rows together: rows may lie a multiple of a page apart, and such lines share few places in a
cache."""
SHORT_ROW = 16
"""The rows of tiny matrices, such as those of convolutions, fill so many lanes of the tree at most."""
NARROW_ROW = 4
"""Elements. Such rows take shorter vectors."""


@contextmanager
def row_groups(b: ll.IRBuilder, first: Any, last: Any, extent: Extent, size: int) -> Iterator[tuple[Any, Any, Any]]:
    """A loop over rows [first, last), which begin at a block of rows: yields a row, and the contexts of the code for
    `size` rows from it on, and of that for one. A group is within one matrix, and so within a block. Short rows are
    taken one by one."""
    place = variable(b, first)
    with while_below(b, place, last) as row:
        left = b.sub(extent.height, b.urem(row, extent.height))
        long = b.icmp_signed(">", extent.cols, integer(SHORT_ROW))
        several = b.and_(long, b.icmp_signed(">=", left, integer(size)))
        b.store(b.add(row, b.select(several, integer(size), integer(1))), place)
        with b.if_else(several) as (then, otherwise):
            yield row, then, otherwise


@dataclass(frozen=True)
class RowOrigin:
    """Element 0 of a loop begins row `row`, of `cols` elements. In a batch, a matrix has `height` rows."""

    row: Any
    cols: Any
    height: Any = None


@dataclass(frozen=True)
class TileOrigin:
    """Where the elements of a loop lie: element 0 is element `origin` of the whole tensor and `scale_origin` of its
    blocks of codes, and begins row `row`, of `cols` elements. `id`, `t` and `seed` determine its draws.

    The rest is None where it does not apply. In a batch, a matrix has `height` rows. Blocks of codes may `restart`
    after so many elements. In kernels for boxes, element 0 is element `origin` of the box. The box lies in runs of
    `run` elements in the whole tensor; `origins` is the address of the numbers of their first elements there.
    """

    origin: Any
    scale_origin: Any
    row: Any
    cols: Any
    id: Any
    t: Any
    seed: Any
    height: Any = None
    restart: Any = None
    run: Any = None
    origins: Any = None


class RowBodies:
    """The rows from `origin` on. `lines` are the arrays of the tensor's row and column values."""

    def __init__(self, body: SweepBody, origin: RowOrigin, lines: Mapping[Value, Any]) -> None:
        self.body, self.b, self.origin, self.lines = body, body.b, origin, lines

    def body_of(self, k: Any, matrix: Any = None) -> SweepBody:
        """The body of the k-th row, counted from 0: element 0 is the first of that row. `matrix` is the number of the
        row's matrix, if that is known."""
        b, body, row = self.b, self.body, self.b.add(self.origin.row, k)
        first = b.mul(k, self.origin.cols)
        of_rows = {v: x for v, x in self.lines.items() if v.type.kind is Kind.ROW}
        of_columns = {v: x for v, x in self.lines.items() if v.type.kind is Kind.COL}
        if matrix is None:
            matrix = integer(0) if self.origin.height is None else b.udiv(row, self.origin.height)
        columns_before = b.mul(matrix, self.origin.cols)
        formats = {name: body.m.kernel.buffer(name).format for name in body.pointers}
        return replace(
            body,
            pointers={name: address(b, x, first, formats[name]) for name, x in body.pointers.items()},
            scalars={**body.scalars, **{v: load_line(b, x, row, v) for v, x in of_rows.items()}},
            column_values={v: at(b, x, columns_before, line_type(v)) for v, x in of_columns.items()},
            terms={v: at(b, x, first, F64) for v, x in body.terms.items()},
        )

    def of(self, begin: Any, end: Any) -> Iterator[tuple[SweepBody, Any, Any, Any]]:
        """A loop over the rows that elements [begin, end) are in: yields the body of a row, the first and the last + 1
        of its elements that are among these, and the number of its element 0."""
        b, cols = self.b, self.origin.cols
        rows = b.udiv(b.add(end, b.sub(cols, integer(1))), cols)
        with loop(b, b.udiv(begin, cols), rows) as k:
            start = b.mul(k, cols)
            first, last = maximum(b, b.sub(begin, start), integer(0)), minimum(b, b.sub(end, start), cols)
            yield self.body_of(k), first, last, start

    def for_elements(self, begin: Any, end: Any) -> None:
        """Elements [begin, end) of a sweep without reductions."""
        for body, first, last, _ in self.of(begin, end):
            for_elements(body, first, last)
