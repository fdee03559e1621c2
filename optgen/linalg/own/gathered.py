"""Products whose operands lie anywhere: tables say where the rows are. Convolutions consist of such products.

An image with its channels last has, for each pixel, what is under a place of a kernel as consecutive elements. So the
windows of a convolution are rows at places that tables have, and no matrix of windows is made. `language` says what
the functions compute:

    gathered_gemm    the rows of the first matrix are gathered, the second is in panels: outputs, gradients of images
    gathered_sum     columns of the first matrix and rows of the second are gathered: gradients of weights
    gathered_dot     rows of both matrices are gathered, and what is summed is consecutive: those of small groups
    turn             a transposed copy, whose rows go anywhere: channels last, channels first, panels of weights
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir as ll

from optgen.backends.control_flow import loop, while_below
from optgen.backends.llvm_types import I1, I64, PTR, constant
from optgen.linalg.own.packed import choose, line_at, tile_of
from optgen.linalg.own.packing import shuffled_transpose
from optgen.linalg.own.tile import Tile
from optgen.linalg.own.tile_function import PASSES, VOID, Sums, TileFunction, Tiles
from optgen.loops import code

CHUNK = 384
"""About so many products are added up before they are added to the result: what rows and columns have for so many fits
into the second cache."""


def _element(b: ll.IRBuilder, tile: Tile, x: Any, *indices: Any) -> Any:
    """The address of an element, whose index is the sum of `indices`."""
    for index in indices:
        x = b.gep(x, [index], source_etype=tile.element)
    return x


def _integer(b: ll.IRBuilder, table: Any, i: Any) -> Any:
    return b.load(b.gep(table, [i], source_etype=I64), typ=I64)


def _emit_gemm(
    module: ll.Module, tile: Tile, b: ll.IRBuilder, m: Any, n: Any, k: Any, count: Any, a: Any, rows_of_a: Any,
    offsets: Any, panels: Any, adds: Any, c: Any, rows_of_c: Any,
) -> None:  # fmt: skip
    """For a chunk of the sums, whose part of a stays in the second cache, and for a block of columns, whose panels do
    so too, all rows."""
    length = b.mul(count, k)
    fitting = b.sdiv(I64(CHUNK), choose(b, ">", k, I64(1)))
    most = choose(b, ">", fitting, I64(1))
    # One chunk if there are none, as it sets c to 0.
    chunks = b.sdiv(b.add(choose(b, ">", count, I64(1)), b.sub(most, I64(1))), most)
    chunk = choose(b, ">", b.sdiv(b.add(count, b.sub(chunks, I64(1))), chunks), I64(1))  # all about as long
    tiles = Tiles(module, tile, _GatheredRows)
    done = b.alloca(I64)
    b.store(I64(0), done)
    with while_below(b, done, choose(b, ">", count, I64(1))) as o:
        size = choose(b, "<", b.sub(count, o), chunk)
        before = b.mul(b.mul(o, k), I64(tile.width))
        here = b.gep(offsets, [o], source_etype=I64)
        with tiles.column_blocks(b, n) as (column, vectors):
            lines = [line_at(b, tile, panels, b.add(column, I64(v * tile.lanes)), length) for v in range(tile.vectors)]
            across = [_element(b, tile, x, before) for x in lines]
            with tiles.row_blocks(b, m, vectors) as (row, f):
                tables = [b.gep(x, [row], source_etype=I64) for x in (rows_of_a, rows_of_c)]
                to = _element(b, tile, c, column)
                b.call(f, [size, k, a, tables[0], here, *across, b.or_(adds, o), to, tables[1], b.sub(n, column)])
        b.store(b.add(o, chunk), done)


class _GatheredRows(TileFunction):
    """A tile whose rows of a, for each of `count` offsets, are k elements at the sum of the row's place and it."""

    def __init__(self, module: ll.Module, tile: Tile, rows: int, vectors: int) -> None:
        kinds = [I64, I64, PTR, PTR, PTR, *[PTR] * tile.vectors, I64, PTR, PTR, I64]
        super().__init__(module, tile, rows, vectors, kinds)
        count, k, a, rows_of_a, offsets, *across, adds, c, rows_of_c, n = self.function.args
        b = self.b
        down = [self.moved(a, _integer(b, rows_of_a, I64(r))) for r in range(rows)]
        lines = [self.moved(c, _integer(b, rows_of_c, I64(r))) for r in range(rows)]
        self.store(self.sums(count, k, down, offsets, across), adds, lines, n)
        b.ret_void()

    def sums(self, count: Any, k: Any, down: list[Any], offsets: Any, across: list[Any]) -> Sums:
        """The sums of `count` times k products."""
        b, tile = self.b, self.tile

        def offset_turn(o: Any, sums: Sums) -> Sums:
            offset = _integer(b, offsets, o)
            places = [self.moved(x, offset) for x in down]
            start = b.mul(b.mul(o, k), I64(tile.width))
            panels = [self.moved(x, start) for x in across[: self.vectors]]

            def turn(p: Any, sums: Sums) -> Sums:
                at = b.mul(p, I64(tile.width))
                y = [b.load(self.moved(x, at), typ=self.kind, align=tile.word_bytes) for x in panels]
                return self.plus_products(sums, [self.moved(place, p) for place in places], y)

            return self.repeated(k, sums, turn)

        return self.repeated(count, self.zeros(), offset_turn)


def _emit_sum(
    module: ll.Module, tile: Tile, b: ll.IRBuilder, m: Any, n: Any, k: Any, a: Any, columns_of_a: Any, x: Any,
    rows_of_x: Any, adds: Any, c: Any, ldc: Any,
) -> None:  # fmt: skip
    tiles = Tiles(module, tile, _GatheredColumns)
    with tiles.column_blocks(b, n) as (column, vectors), tiles.row_blocks(b, m, vectors) as (row, f):
        to = _element(b, tile, c, b.mul(row, ldc), column)
        places = _element(b, tile, a, row), columns_of_a, _element(b, tile, x, column), rows_of_x
        b.call(f, [k, *places, adds, to, ldc, b.sub(n, column)])


class _GatheredColumns(TileFunction):
    """A tile that adds up products of `rows` elements of a column of a and a row of x, for each of k rows."""

    def __init__(self, module: ll.Module, tile: Tile, rows: int, vectors: int) -> None:
        super().__init__(module, tile, rows, vectors, [I64, PTR, PTR, PTR, PTR, I64, PTR, I64, I64])
        k, a, columns_of_a, x, rows_of_x, adds, c, ldc, n = self.function.args
        b = self.b
        lines = [self.moved(c, b.mul(ldc, I64(r))) for r in range(rows)]
        self.store(self.sums(k, a, columns_of_a, x, rows_of_x, self.last_lanes(n)), adds, lines, n)
        b.ret_void()

    def sums(self, k: Any, a: Any, columns_of_a: Any, x: Any, rows_of_x: Any, last: Any) -> Sums:
        """The sums of k products; `last` are the lanes of the last vector that are columns."""
        b, tile = self.b, self.tile

        def turn(p: Any, sums: Sums) -> Sums:
            line = self.moved(x, _integer(b, rows_of_x, p))
            places = [b.gep(line, [I64(v)], source_etype=self.kind) for v in range(self.vectors)]
            y = [b.load(place, typ=self.kind, align=tile.word_bytes) for place in places[:-1]]
            y.append(self.masked_load(places[-1], last))
            down = self.moved(a, _integer(b, columns_of_a, p))
            return self.plus_products(sums, [self.moved(down, I64(r)) for r in range(self.rows)], y)

        return self.repeated(k, self.zeros(), turn)


def _emit_dot(
    module: ll.Module, tile: Tile, b: ll.IRBuilder, lanes: Any, m: Any, n: Any, k: Any, a: Any, rows_of_a: Any, x: Any,
    rows_of_x: Any, adds: Any, c: Any, ldc: Any,
) -> None:  # fmt: skip
    tiles = Tiles(module, tile, _Dots)
    with tiles.column_blocks(b, b.mul(n, lanes)) as (column, vectors), tiles.row_blocks(b, m, vectors) as (row, f):
        tables = b.gep(rows_of_a, [row], source_etype=I64), b.gep(rows_of_x, [b.sdiv(column, lanes)], source_etype=I64)
        to = _element(b, tile, c, b.mul(row, ldc), column)
        b.call(f, [k, a, tables[0], x, tables[1], adds, to, ldc])


class _Dots(TileFunction):
    """A tile whose elements are vectors of sums: of products of `rows` rows of a and `vectors` rows of x."""

    def __init__(self, module: ll.Module, tile: Tile, rows: int, vectors: int) -> None:
        super().__init__(module, tile, rows, vectors, [I64, PTR, PTR, PTR, PTR, I64, PTR, I64])
        k, a, rows_of_a, x, rows_of_x, adds, c, ldc = self.function.args
        b = self.b
        down = [self.moved(a, _integer(b, rows_of_a, I64(r))) for r in range(rows)]
        across = [self.moved(x, _integer(b, rows_of_x, I64(v))) for v in range(vectors)]
        lines = [self.moved(c, b.mul(ldc, I64(r))) for r in range(rows)]
        self.store(self.sums(k, down, across), adds, lines, I64(vectors * tile.lanes))
        b.ret_void()

    def sums(self, k: Any, down: list[Any], across: list[Any]) -> Sums:
        """The sums of every so manieth of k products."""
        b, tile = self.b, self.tile
        whole = b.sdiv(k, I64(tile.lanes))
        left = b.sub(k, b.mul(whole, I64(tile.lanes)))
        mask = self.first_lanes(left)

        def turn(p: Any, sums: Sums, load: Callable[[Any], Any]) -> Sums:
            at = b.mul(p, I64(tile.lanes))
            y = [load(self.moved(place, at)) for place in across]
            found = []
            for place, line in zip(down, sums, strict=True):
                x = load(self.moved(place, at))
                found.append([self.plus_product(sum, x, z) for sum, z in zip(line, y, strict=True)])
            return found

        def whole_load(place: Any) -> Any:
            return b.load(place, typ=self.kind, align=tile.word_bytes)

        in_whole = self.repeated(whole, self.zeros(), lambda p, sums: turn(p, sums, whole_load))
        rest = choose(b, "<", left, I64(1))  # 0 or 1 turns
        return self.repeated(rest, in_whole, lambda p, sums: turn(whole, sums, lambda at: self.masked_load(at, mask)))


def _emit_turn(
    module: ll.Module, tile: Tile, b: ll.IRBuilder, x: Any, ldx: Any, to: Any, places: Any, rows: Any, columns: Any
) -> None:  # fmt: skip
    """Squares of as many elements as a vector has, in registers; at the margins, with masks. What is written is
    consecutive for as long as it can be."""
    square = _Square(module, tile)
    with loop(b, I64(0), columns, tile.lanes) as j, loop(b, I64(0), rows, tile.lanes) as i:
        here, there = _element(b, tile, x, b.mul(i, ldx), j), b.gep(places, [j], source_etype=I64)
        b.call(square.function, [here, ldx, _element(b, tile, to, i), there, b.sub(rows, i), b.sub(columns, j)])


class _Square(TileFunction):
    """The transpose of a square, or of its first rows and columns."""

    def __init__(self, module: ll.Module, tile: Tile) -> None:
        super().__init__(module, tile, tile.lanes, 1, [PTR, I64, PTR, PTR, I64, I64])
        x, ldx, to, places, rows, columns = self.function.args
        b, edge = self.b, I64(tile.lanes)
        whole = b.and_(b.icmp_signed(">=", rows, edge), b.icmp_signed(">=", columns, edge))
        square = self.loaded(x, ldx, rows, columns, whole)
        self.stored(shuffled_transpose(b, square), to, places, rows, columns, whole)
        b.ret_void()

    def loaded(self, x: Any, ldx: Any, rows: Any, columns: Any, whole: Any) -> list[Any]:
        """The rows, as vectors, with zeros where there is nothing."""
        b, tile = self.b, self.tile
        lines = [self.moved(x, b.mul(ldx, I64(r))) for r in range(tile.lanes)]
        with b.if_else(whole) as (then, otherwise):
            with then:
                all = [b.load(line, typ=self.kind, align=tile.word_bytes) for line in lines]
                after_all = b.block
            with otherwise:
                there, none = self.first_lanes(columns), constant(I1, 0, tile.lanes)
                masks = [b.select(b.icmp_signed("<", I64(r), rows), there, none) for r in range(tile.lanes)]
                some = [self.masked_load(line, mask) for line, mask in zip(lines, masks, strict=True)]
                after_some = b.block
        square = [b.phi(self.kind) for _ in lines]
        for register, ordinary, masked in zip(square, all, some, strict=True):
            register.add_incoming(ordinary, after_all)
            register.add_incoming(masked, after_some)
        return square

    def stored(self, lines: list[Any], to: Any, places: Any, rows: Any, columns: Any, whole: Any) -> None:
        """Write the columns, of which the k-th is at `to` plus the k-th of `places`."""
        b, tile = self.b, self.tile
        with b.if_else(whole) as (then, otherwise):
            with then:
                for k, line in enumerate(lines):
                    b.store(line, self.moved(to, _integer(b, places, I64(k))), align=tile.word_bytes)
            with otherwise:
                there, none = self.first_lanes(rows), constant(I1, 0, tile.lanes)
                for k, line in enumerate(lines):
                    counts = b.icmp_signed("<", I64(k), columns)
                    place = _integer(b, places, b.select(counts, I64(k), I64(0)))
                    self.masked_store(line, self.moved(to, place), b.select(counts, there, none))


ENTRIES: dict[str, tuple[Callable[..., None], list[Any]]] = {
    "gathered_gemm": (_emit_gemm, [I64, I64, I64, I64, PTR, PTR, PTR, PTR, I64, PTR, PTR]),
    "gathered_sum": (_emit_sum, [I64, I64, I64, PTR, PTR, PTR, PTR, I64, PTR, I64]),
    "gathered_dot": (_emit_dot, [I64, I64, I64, I64, PTR, PTR, PTR, PTR, I64, PTR, I64]),
    "turn": (_emit_turn, [PTR, I64, PTR, PTR, I64, I64]),
}
"""The functions of `language` that are here: what writes each, and the types of its parameters after `code`."""


@functools.cache
def address(entry: str, dtype: np.dtype[Any]) -> int:
    """The address of a function, for arrays of `dtype`, float32 or float64."""
    return code.load(text(tile_of(dtype), entry), f"optgen_{entry}", PASSES)


def text(tile: Tile, entry: str) -> str:
    """LLVM IR of a function, in a module of its own: a network calls few of them, and waits while they compile."""
    emit, parameters = ENTRIES[entry]
    module = ll.Module(entry)
    f = ll.Function(module, ll.FunctionType(VOID, parameters), f"optgen_{entry}")
    b = ll.IRBuilder(f.append_basic_block("entry"))
    emit(module, tile, b, *f.args)
    b.ret_void()
    return str(module)
