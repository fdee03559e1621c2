"""Row and column values of a unit of elements, laid out on the stack as the elements lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.axes import Kind
from optgen.backends.control_flow import array, loop, variable, while_below
from optgen.backends.cpu.elements import CACHE_LINE_BYTES, SweepBody, unit_type
from optgen.backends.cpu.line_arrays import load_line
from optgen.backends.cpu.rows import NARROW_ROW, SHORT_ROW, TileOrigin
from optgen.backends.llvm import at, first_lanes, integer, minimum, splat
from optgen.backends.llvm_types import I64, vector
from optgen.ir import Value
from optgen.ir.storage import QUANT_BLOCK


def line_arrays(b: ll.IRBuilder, lines: Mapping[Value, Any]) -> dict[Value, Any]:
    """An array for each row or column value, with room for a short row before and behind the unit."""
    arrays = {}
    for v in lines:
        type = unit_type(v.type.dtype)
        arrays[v] = at(b, array(b, type, QUANT_BLOCK + 2 * SHORT_ROW, CACHE_LINE_BYTES), integer(SHORT_ROW), type)
    return arrays


@dataclass(frozen=True)
class StagedLines:
    """The `lines`, arrays of row and column values of a tensor, and the arrays `to` which those of a unit go."""

    body: SweepBody
    tile: TileOrigin
    lines: Mapping[Value, Any]
    to: Mapping[Value, Any]

    def fill(self, start: Any, count: Any) -> None:
        """Lay out the values of `count` elements from `start` on, one stretch of a row after the other."""
        if not self.lines:
            return
        b, tile = self.body.b, self.tile
        row, col, place = (array(b, I64, 1, 8) for _ in range(3))
        b.store(b.add(tile.row, b.udiv(start, tile.cols)), row)
        b.store(b.urem(start, tile.cols), col)
        b.store(integer(0), place)
        with while_below(b, place, count) as at_place:
            r, c = b.load(row, typ=I64), b.load(col, typ=I64)
            source_col = b.add(self._first_column(r), c)
            stretch = minimum(b, b.sub(tile.cols, c), b.sub(count, at_place))
            for v, source in self.lines.items():
                to = at(b, self.to[v], at_place, unit_type(v.type.dtype))
                along = v.type.kind is Kind.COL
                here = None if along else load_line(b, source, r, v)
                with loop(b, integer(0), stretch, lanes=self.body.lanes) as j:
                    x = load_line(b, source, b.add(source_col, j), v) if along else here
                    b.store(_as_kept(b, x, v), at(b, to, j, unit_type(v.type.dtype)))
            b.store(b.add(r, integer(1)), row)
            b.store(integer(0), col)
            b.store(b.add(at_place, stretch), place)

    def fill_short_rows(self, start: Any, count: Any) -> None:
        """`fill` for rows of at most SHORT_ROW elements: a vector each, whose last lanes the next row overwrites."""
        b, cols = self.body.b, self.tile.cols
        with b.if_else(b.icmp_signed("<=", cols, integer(NARROW_ROW))) as (narrow, wide):
            for case, width in ((narrow, NARROW_ROW), (wide, SHORT_ROW)):
                with case:
                    self._fill_short_rows(start, count, width)

    def _fill_short_rows(self, start: Any, count: Any, width: int) -> None:
        b, tile = self.body.b, self.tile
        first = b.add(tile.row, b.udiv(start, tile.cols))
        place, row = variable(b, b.neg(b.urem(start, tile.cols))), variable(b, first)
        left = variable(b, b.sub(tile.height, b.urem(first, tile.height)))  # rows of the matrix
        column = variable(b, self._first_column(first))
        mask = first_lanes(b, tile.cols, width)
        with while_below(b, place, count) as at_place:
            r, c = b.load(row, typ=I64), b.load(column, typ=I64)
            for v, source in self.lines.items():
                if v.type.kind is Kind.COL:
                    x = load_line(b, source, c, v, width, mask)
                else:
                    x = splat(b, load_line(b, source, r, v), width)
                to = at(b, self.to[v], at_place, unit_type(v.type.dtype))
                b.store(_as_kept(b, x, v, width), to, align=1)
            below = b.sub(b.load(left, typ=I64), integer(1))
            ends = b.icmp_signed("==", below, integer(0))
            b.store(b.add(at_place, tile.cols), place)
            b.store(b.add(r, integer(1)), row)
            b.store(b.select(ends, tile.height, below), left)
            b.store(b.select(ends, b.add(c, tile.cols), c), column)

    def _first_column(self, row: Any) -> Any:
        """The number of the first column value of a row: those of its matrix are behind those of others."""
        b, tile = self.body.b, self.tile
        return integer(0) if tile.height is None else b.mul(b.udiv(row, tile.height), tile.cols)


def _as_kept(b: ll.IRBuilder, x: Any, v: Value, width: int = 1) -> Any:
    return b.zext(x, vector(unit_type(v.type.dtype), width)) if v.type.dtype == "b1" else x
