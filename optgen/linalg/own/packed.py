"""The code behind `language.packed_gemm`: a product with a matrix that was packed before.

The columns of the packed matrix are the lines of panels. The other matrix is read as it is. So a matrix that many small
products have on their right is packed once, not in each of them, as BLAS does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir as ll

from optgen.backends import target
from optgen.backends.control_flow import loop
from optgen.backends.llvm_types import I64, PTR
from optgen.linalg.matrices import SUMMED
from optgen.linalg.own.tile import Tile, tile_for
from optgen.linalg.own.tile_function import PASSES, Sums, TileFunction
from optgen.loops import code

ENTRY = "optgen_packed_gemm"
PARAMETERS = [I64, I64, I64, PTR, I64, I64, PTR, I64, PTR, I64]
"""The types of the parameters of `language.packed_gemm` after `code`."""


@functools.cache
def tile_of(dtype: np.dtype[Any]) -> Tile:
    """The tile for float32 or float64 on this machine."""
    return tile_for("float32" if dtype == np.float32 else "float64", target.host(), fused=True)


@functools.cache
def address(dtype: np.dtype[Any]) -> int:
    """The function's address, for arrays of `dtype`, float32 or float64."""
    return code.load(text(tile_of(dtype)), ENTRY, PASSES)


def text(tile: Tile) -> str:
    """LLVM IR of ENTRY: as many columns at once as a tile has, then those that are left over; of these as many rows."""
    module = ll.Module("panels")
    f = ll.Function(module, ll.FunctionType(ll.VoidType(), PARAMETERS), ENTRY)
    m, n, k, a, row_stride, step, panels, adds, c, ldc = f.args
    b = ll.IRBuilder(f.append_basic_block("entry"))
    for vectors, first, last in column_blocks(b, tile, n):
        with loop(b, first, last, tile.lanes * vectors) as column:
            lines = [line_at(b, tile, panels, b.add(column, I64(v * tile.lanes)), k) for v in range(vectors)]
            for rows, top, bottom in row_blocks(b, tile, m):
                product = _TileProduct(module, tile, rows, vectors)
                with loop(b, top, bottom, rows) as row:
                    left = b.gep(a, [b.mul(row, row_stride)], source_etype=tile.element)
                    to = b.gep(c, [b.add(b.mul(row, ldc), column)], source_etype=tile.element)
                    product.call(b, k, left, row_stride, step, lines, adds, to, ldc, b.sub(n, column))
    b.ret_void()
    return str(module)


def whole(b: ll.IRBuilder, x: Any, of: int) -> Any:
    """The largest multiple of a number up to x."""
    return b.mul(b.sdiv(x, I64(of)), I64(of))


def choose(b: ll.IRBuilder, comparison: str, x: Any, y: Any) -> Any:
    """x or y, of which x is chosen if the comparison holds."""
    return b.select(b.icmp_signed(comparison, x, y), x, y)


def line_at(b: ll.IRBuilder, tile: Tile, panels: Any, line: Any, k: Any) -> Any:
    """The place of a line in the panels."""
    beside = b.srem(line, I64(tile.width))
    return b.gep(panels, [b.add(b.mul(b.sub(line, beside), k), beside)], source_etype=tile.element)


def column_blocks(b: ll.IRBuilder, tile: Tile, n: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yields the vectors of a block of n columns, and where such blocks begin and end: first as many as a tile has."""
    all_columns = whole(b, b.add(n, I64(tile.lanes - 1)), tile.lanes)
    start: Any = I64(0)
    for vectors in range(tile.vectors, 0, -1):
        stop = b.add(start, whole(b, b.sub(all_columns, start), tile.lanes * vectors))
        yield vectors, start, stop
        start = stop


def row_blocks(b: ll.IRBuilder, tile: Tile, m: Any) -> Iterator[tuple[int, Any, Any]]:
    """The same for m rows: as many as a tile has, then half of them, and so on."""
    start: Any = I64(0)
    for rows in (tile.rows >> shift for shift in range(tile.rows.bit_length())):
        stop = b.add(start, whole(b, b.sub(m, start), rows))
        yield rows, start, stop
        start = stop


class _TileProduct(TileFunction):
    """The function of a tile: `rows` rows of the product with `vectors` vectors of lines, of which `n` lines count."""

    def __init__(self, module: ll.Module, tile: Tile, rows: int, vectors: int) -> None:
        super().__init__(module, tile, rows, vectors, [I64, PTR, I64, I64, *[PTR] * vectors, I64, PTR, I64, I64])
        k, a, row_stride, step, *across, adds, c, ldc, n = self.function.args
        sums = self.sums(k, a, row_stride, step, across)
        self.store(sums, adds, [self.moved(c, self.b.mul(ldc, I64(r))) for r in range(rows)], n)
        self.b.ret_void()

    def call(
        self, b: ll.IRBuilder, k: Any, a: Any, row_stride: Any, step: Any, lines: list[Any], adds: Any, *others: Any
    ) -> None:
        """Calls that add SUMMED products each; one call if there are none, as it sets c to 0."""
        with loop(b, I64(0), choose(b, ">", k, I64(1)), SUMMED) as p:
            here = b.gep(a, [b.mul(p, step)], source_etype=self.tile.element)
            across = [b.gep(x, [b.mul(p, I64(self.tile.width))], source_etype=self.tile.element) for x in lines]
            count = choose(b, "<", b.sub(k, p), I64(SUMMED))
            b.call(self.function, [count, here, row_stride, step, *across, b.or_(adds, p), *others])

    def sums(self, k: Any, a: Any, row_stride: Any, step: Any, across: list[Any]) -> Sums:
        """The sums of k products."""
        b, tile = self.b, self.tile
        down = [self.moved(a, b.mul(row_stride, I64(r))) for r in range(self.rows)]

        def turn(p: Any, sums: Sums) -> Sums:
            at, beside = b.mul(p, I64(tile.width)), b.mul(p, step)
            y = [b.load(self.moved(line, at), typ=self.kind, align=tile.word_bytes) for line in across]
            return self.plus_products(sums, [self.moved(line, beside) for line in down], y)

        return self.repeated(k, self.zeros(), turn)
