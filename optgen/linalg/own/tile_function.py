"""The function of a tile of a product whose sums are in registers: what `packed` and `gathered` share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import splat
from optgen.backends.llvm_types import I1, I32, I64, constant, vector
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
        return [[ll.Constant(self.kind, None)] * self.vectors for _ in range(self.rows)]

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
        left = splat(self.b, self.b.sub(n, I64(self.tile.lanes * (self.vectors - 1))), self.tile.lanes)
        lanes = ll.Constant(vector(I64, self.tile.lanes), list(range(self.tile.lanes)))
        return self.b.icmp_signed("<", lanes, left)

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
        size, zeros = I32(self.tile.word_bytes), ll.Constant(self.kind, None)
        return self.intrinsic(f"masked.load.{self.suffix}.p0", self.kind, place, size, mask, zeros)

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
