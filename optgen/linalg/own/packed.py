"""The code behind `language.packed_gemm`: a product with a matrix that was packed before.

The columns of the packed matrix are the lines of panels. The other matrix is read as it is. So a matrix that many small
products have on their right is packed once, not in each of them, as BLAS does.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir as ll

from optgen.backends import target
from optgen.backends.control_flow import loop
from optgen.backends.llvm_types import I64, PTR
from optgen.linalg.matrices import SUMMED
from optgen.linalg.own.tile import Tile, tile_for
from optgen.linalg.own.tile_function import PASSES, Sums, TileFunction, Tiles
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
    entry = ll.Function(module, ll.FunctionType(ll.VoidType(), PARAMETERS), ENTRY)
    m, n, k, a, row_stride, step, panels, adds, c, ldc = entry.args
    b = ll.IRBuilder(entry.append_basic_block("entry"))
    tiles = Tiles(module, tile, _TileProduct)
    with tiles.column_blocks(b, n) as (column, vectors):
        lines = [line_at(b, tile, panels, b.add(column, I64(v * tile.lanes)), k) for v in range(tile.vectors)]
        with tiles.row_blocks(b, m, vectors) as (row, f):
            left = b.gep(a, [b.mul(row, row_stride)], source_etype=tile.element)
            to = b.gep(c, [b.add(b.mul(row, ldc), column)], source_etype=tile.element)
            # Calls that add SUMMED products each; one call if there are none, as it sets c to 0.
            with loop(b, I64(0), choose(b, ">", k, I64(1)), SUMMED) as p:
                here = b.gep(left, [b.mul(p, step)], source_etype=tile.element)
                across = [b.gep(x, [b.mul(p, I64(tile.width))], source_etype=tile.element) for x in lines]
                count = choose(b, "<", b.sub(k, p), I64(SUMMED))
                b.call(f, [count, here, row_stride, step, *across, b.or_(adds, p), to, ldc, b.sub(n, column)])
    b.ret_void()
    return str(module)


def choose(b: ll.IRBuilder, comparison: str, x: Any, y: Any) -> Any:
    """x or y, of which x is chosen if the comparison holds."""
    return b.select(b.icmp_signed(comparison, x, y), x, y)


def line_at(b: ll.IRBuilder, tile: Tile, panels: Any, line: Any, k: Any) -> Any:
    """The place of a line in the panels."""
    beside = b.srem(line, I64(tile.width))
    return b.gep(panels, [b.add(b.mul(b.sub(line, beside), k), beside)], source_etype=tile.element)


class _TileProduct(TileFunction):
    """The function of a tile: `rows` rows of the product with `vectors` vectors of lines, of which `n` lines count."""

    def __init__(self, module: ll.Module, tile: Tile, rows: int, vectors: int) -> None:
        super().__init__(module, tile, rows, vectors, [I64, PTR, I64, I64, *[PTR] * tile.vectors, I64, PTR, I64, I64])
        k, a, row_stride, step, *across, adds, c, ldc, n = self.function.args
        sums = self.sums(k, a, row_stride, step, across)
        self.store(sums, adds, [self.moved(c, self.b.mul(ldc, I64(r))) for r in range(rows)], n)
        self.b.ret_void()

    def sums(self, k: Any, a: Any, row_stride: Any, step: Any, across: list[Any]) -> Sums:
        """The sums of k products."""
        b, tile = self.b, self.tile
        down = [self.moved(a, b.mul(row_stride, I64(r))) for r in range(self.rows)]

        def turn(p: Any, sums: Sums) -> Sums:
            at, beside = b.mul(p, I64(tile.width)), b.mul(p, step)
            y = [b.load(self.moved(line, at), typ=self.kind, align=tile.word_bytes) for line in across[: self.vectors]]
            return self.plus_products(sums, [self.moved(line, beside) for line in down], y)

        return self.repeated(k, self.zeros(), turn)
