"""The function of a tile of a product whose sums are in registers: what `packed` and `gathered` share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as ll

from optgen.backends.control_flow import while_below
from optgen.backends.llvm import splat
from optgen.backends.llvm_types import I1, I32, I64, PTR, constant, vector
from optgen.backends.target import Passes
from optgen.linalg.own.tile import Tile

VOID = ll.VoidType()
PASSES: Passes = "none"
"""The sums are in registers as they are written, and nothing else takes time."""
Sums = list[list[Any]]
"""Vectors of sums: for each row of a tile, one for each vector of its columns."""


class TileFunction:
    """A function of `rows` rows of a product with `vectors` vectors of columns. `b` writes its body."""

    def __init__(self, module: ll.Module, tile: Tile, rows: int, vectors: int, parameters: list[Any]) -> None:
        self.tile, self.rows, self.vectors = tile, rows, vectors
        self.kind = vector(tile.element, tile.lanes)
        name = module.get_unique_name(f"tile.{rows}x{vectors}")
        self.function = ll.Function(module, ll.FunctionType(VOID, parameters), name)
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.b = ll.IRBuilder(self.function.append_basic_block("entry"))
        self.zero = ll.Constant(self.kind, None)  # one for all uses: llvmlite writes its elements once
        self.intrinsics = {x.name: x for x in module.functions if x.is_declaration}

    def repeated(self, count: Any, sums: Sums, turn: Callable[[Any, Sums], Sums]) -> Sums:
        """A loop of `count` turns over the registers of the tile, which begin as `sums`: turn i makes `turn(i, sums)`
        of them. What they are at the end."""
        b = self.b
        before, head, body, after = b.block, *(b.append_basic_block(name) for name in ("head", "body", "after"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(I64)
        registers = [[b.phi(self.kind) for _ in row] for row in sums]
        b.cbranch(b.icmp_signed("<", i, count), body, after)
        b.position_at_end(body)
        changed = turn(i, registers)
        i.add_incoming(I64(0), before)
        i.add_incoming(b.add(i, I64(1), flags=["nsw"]), b.block)
        for register, first, next in zip(*(itertools.chain(*x) for x in (registers, sums, changed)), strict=True):
            register.add_incoming(first, before)
            register.add_incoming(next, b.block)
        b.branch(head)
        b.position_at_end(after)
        return registers

    def zeros(self) -> Sums:
        return [[self.zero] * self.vectors for _ in range(self.rows)]

    def plus_products(self, sums: Sums, column: list[Any], row: list[Any]) -> Sums:
        """The sums plus the products of the elements at the places `column` with the vectors `row`."""
        found = []
        for place, line in zip(column, sums, strict=True):
            x = splat(self.b, self.b.load(place, typ=self.tile.element), self.tile.lanes)
            found.append([self.plus_product(sum, x, y) for sum, y in zip(line, row, strict=True)])
        return found

    def plus_product(self, sum: Any, x: Any, y: Any) -> Any:
        if not self.tile.fused:
            return self.b.fadd(sum, self.b.fmul(x, y))
        return self.intrinsic(f"fma.{self.suffix}", self.kind, x, y, sum)

    def last_lanes(self, n: Any) -> Any:
        """Of the last vector, which lanes are columns, of which there are `n` in all."""
        return self.first_lanes(self.b.sub(n, I64(self.tile.lanes * (self.vectors - 1))))

    def first_lanes(self, n: Any) -> Any:
        """Which lanes of a vector are the first `n`."""
        lanes = ll.Constant(vector(I64, self.tile.lanes), list(range(self.tile.lanes)))
        return self.b.icmp_signed("<", lanes, splat(self.b, n, self.tile.lanes))

    def store(self, sums: Sums, adds: Any, lines: list[Any], n: Any) -> None:
        """The sums in the rows of c that are at `lines`, or added to them. There are `n` columns in all."""
        b, tile = self.b, self.tile
        all, none = (constant(I1, x, tile.lanes) for x in (1, 0))
        last = self.last_lanes(n)
        adding = b.icmp_signed("!=", adds, I64(0))
        added, last_added = (b.select(adding, there, none) for there in (all, last))
        for line, row in zip(lines, sums, strict=True):
            for v, sum in enumerate(row):
                place = b.gep(line, [I64(v)], source_etype=self.kind)
                ends = v == self.vectors - 1
                old = self.masked_load(place, last_added if ends else added)
                self.masked_store(b.fadd(old, sum), place, last if ends else all)

    def masked_load(self, place: Any, mask: Any) -> Any:
        size = I32(self.tile.word_bytes)
        return self.intrinsic(f"masked.load.{self.suffix}.p0", self.kind, place, size, mask, self.zero)

    def masked_store(self, x: Any, place: Any, mask: Any) -> None:
        self.intrinsic(f"masked.store.{self.suffix}.p0", VOID, x, place, I32(self.tile.word_bytes), mask)

    @property
    def suffix(self) -> str:
        return f"v{self.tile.lanes}f{8 * self.tile.word_bytes}"

    def intrinsic(self, name: str, result: Any, *values: Any) -> Any:
        """A call of an intrinsic of LLVM."""
        name = f"llvm.{name}"
        if name not in self.intrinsics:
            kind = ll.FunctionType(result, [x.type for x in values])
            self.intrinsics[name] = ll.Function(self.function.module, kind, name)
        return self.b.call(self.intrinsics[name], values)

    def moved(self, pointer: Any, by: Any) -> Any:
        return self.b.gep(pointer, [by], source_etype=self.tile.element)


class Tiles:
    """A table of the functions of a tile and of its parts: for 1, 2, ... vectors, those of 1, 2, 4, ... rows.

    With fewer vectors than a tile has there may be more rows, for as many sums. `make(module, tile, rows, vectors)`
    writes a function; all have the same parameters. Loops call them by the table: a loop for each of them would take
    LLVM longer than the functions.
    """

    def __init__(
        self, module: ll.Module, tile: Tile, make: Callable[[ll.Module, Tile, int, int], TileFunction]
    ) -> None:
        self.tile = tile
        sums = tile.rows * tile.vectors
        counts = [(sums // vectors).bit_length() for vectors in range(1, tile.vectors + 1)]
        """For 1, 2, ... vectors, how many functions there are."""
        self.most = counts[0]
        functions = [
            [make(module, tile, 1 << s, v + 1).function for s in range(count)] for v, count in enumerate(counts)
        ]
        filled = [
            x for of_vectors in functions for x in (*of_vectors, *of_vectors[-1:] * (self.most - len(of_vectors)))
        ]
        self.pointer, kind = filled[0].type, ll.ArrayType(PTR, len(filled))
        self.table = self._constant(module, "tiles", kind, filled)
        self.largest = self._constant(module, "largest", ll.ArrayType(I64, len(counts)), [I64(x - 1) for x in counts])

    @staticmethod
    def _constant(module: ll.Module, name: str, kind: Any, values: list[Any]) -> Any:
        table = ll.GlobalVariable(module, kind, name)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ll.Constant(kind, values)
        return table

    @contextmanager
    def column_blocks(self, b: ll.IRBuilder, n: Any) -> Iterator[tuple[Any, Any]]:
        """A loop over blocks of n columns: yields the first column and the number of vectors, as many as a tile has or
        those that are left over. A block does not leave a single vector to the next: that would wait for its sums."""
        most = self.tile.vectors
        with self._blocks(b, n) as (column, left, to):
            there = b.sdiv(b.add(left, I64(self.tile.lanes - 1)), I64(self.tile.lanes))
            vectors = b.select(b.icmp_signed("<", there, I64(most)), there, I64(most))
            if most > 2:
                vectors = b.select(b.icmp_signed("==", there, I64(most + 1)), I64(most - 1), vectors)
            yield column, vectors
            b.store(b.add(column, b.mul(vectors, I64(self.tile.lanes))), to)

    @contextmanager
    def row_blocks(self, b: ll.IRBuilder, m: Any, vectors: Any) -> Iterator[tuple[Any, Any]]:
        """A loop over blocks of m rows, as many as a tile has, then half of them, and so on: yields the first row and
        the function for these rows of `vectors` vectors."""
        index = b.sub(vectors, I64(1))
        largest = b.load(b.gep(self.largest, [index], source_etype=I64), typ=I64)
        with self._blocks(b, m) as (row, left, to):
            shift: Any = I64(0)
            for s in range(1, self.most):
                fits = b.and_(b.icmp_signed(">=", left, I64(1 << s)), b.icmp_signed(">=", largest, I64(s)))
                shift = b.select(fits, I64(s), shift)
            place = b.gep(self.table, [b.add(b.mul(index, I64(self.most)), shift)], source_etype=PTR)
            yield row, b.load(place, typ=self.pointer)
            b.store(b.add(row, b.shl(I64(1), shift)), to)

    @staticmethod
    @contextmanager
    def _blocks(b: ll.IRBuilder, n: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yields where a block begins, what is left from there on, and where the body stores the next one's begin."""
        with b.goto_entry_block():
            cell = b.alloca(I64)
        b.store(I64(0), cell)
        with while_below(b, cell, n) as start:
            yield start, b.sub(n, start), cell
