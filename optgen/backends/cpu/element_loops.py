"""The loops over elements of a sweep that does not go row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from optgen.backends.cpu.elements import SweepBody, for_elements
from optgen.backends.cpu.reduce import reduce_blocks
from optgen.backends.cpu.rows import SHORT_ROW, RowBodies, RowOrigin, TileOrigin
from optgen.backends.cpu.staged import StagedLoop
from optgen.backends.llvm import integer
from optgen.ir import Value


def flat_loop(body: SweepBody, begin: Any, end: Any, partials: Any, stride: int, rows: RowBodies | None) -> None:
    """The loop over elements [begin, end) that does not care where rows begin, but for row and column values."""
    if body.reductions:
        reduce_blocks(body, begin, end, partials, stride, rows)
    elif rows is not None:
        rows.for_elements(begin, end)
    else:
        for_elements(body, begin, end)


def batch_loop(
    body: SweepBody, tile: TileOrigin, lines: Mapping[Value, Any], begin: Any, end: Any, partials: Any, stride: int
) -> None:
    """`flat_loop` for matrices: of one element each, whose row and column values lie as they do; with short rows;
    others."""
    b = body.b
    with b.if_else(b.icmp_signed("==", b.mul(tile.cols, tile.height), integer(1))) as (numbers, matrices):
        with numbers:
            flat_loop(replace(body, column_values=lines), begin, end, partials, stride, None)
        with matrices, b.if_else(b.icmp_signed("<=", tile.cols, integer(SHORT_ROW))) as (short, long):
            with short:
                StagedLoop(body, tile, lines, {}, True, short_rows=True).run(begin, end, partials, stride)
            with long:
                rows = RowBodies(body, RowOrigin(tile.row, tile.cols, tile.height), lines)
                flat_loop(body, begin, end, partials, stride, rows)
