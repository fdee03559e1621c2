"""The tile of a product whose sums are in registers: its sizes, and its code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from llvmlite import ir as ll

from optgen.backends.control_flow import loop
from optgen.backends.llvm import splat
from optgen.backends.llvm_types import F32, F64, I1, I32, I64, PTR, vector
from optgen.backends.target import CpuTarget

OperandType = Literal["bfloat16", "float32", "float64"]
"""The type of what is multiplied. Sums are in float32 for bfloat16."""
DOT = "optgen_dot"
"""The function that adds the products of two vectors of pairs of bfloat16 to a vector of float32."""


@dataclass(frozen=True)
class Tile:
    """`rows` by `columns` sums, in vectors of `lanes`."""

    operand_type: OperandType
    lanes: int
    rows: int
    vectors: int
    pairs: bool
    """Whether the CPU multiplies pairs of bfloat16, two to a word. Without that, bfloat16 are float32 in the panels."""
    fused: bool
    """Whether a product is added to a sum with one rounding."""

    @property
    def columns(self) -> int:
        return self.lanes * self.vectors

    @property
    def width(self) -> int:
        """The lines of a panel."""
        return max(self.lanes, self.rows)

    @property
    def element(self) -> Any:
        """The LLVM type of an element of the result."""
        return F64 if self.operand_type == "float64" else F32

    @property
    def word(self) -> Any:
        """The LLVM type of a word of a panel."""
        return I32 if self.pairs else self.element

    @property
    def word_bytes(self) -> int:
        return 8 if self.operand_type == "float64" else 4

    @property
    def group(self) -> int:
        """The consecutive k in a word."""
        return 2 if self.pairs else 1


def has_large_tiles(target: CpuTarget) -> bool:
    """Whether code of our own multiplies faster than BLAS does: where there is AVX-512."""
    return "avx512f" in target.required()


def tile_for(operand_type: OperandType, target: CpuTarget, *, fused: bool) -> Tile:
    """The largest tile that fits the registers, with a row of b and an element of a; `fused` if that is wanted, where
    the CPU can."""
    features = set(target.required())
    arm = target.triple.startswith(("aarch64", "arm64"))
    size, many = (64, True) if "avx512f" in features else (32, False) if "avx2" in features else (16, arm)
    pairs = operand_type == "bfloat16" and {"avx512f", "avx512bf16"} <= features
    fused = fused and (arm or not {"fma", "avx512f"}.isdisjoint(features))
    lanes = size // (8 if operand_type == "float64" else 4)
    # Of 32 or 16 registers, 24 or 12 are sums. A product that is rounded on its own needs a register, and on 64-bit Arm
    # LLVM keeps several such products: fewer sums fit.
    return Tile(operand_type, lanes, 8 if many else 4, 3 if fused or size == 64 else 2, pairs, fused)


ROUND = "optgen_round"
"""The function that makes of 32 float32, in two vectors, the nearest bfloat16, two to a word."""
DEFINITIONS = {
    DOT: f"""\
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
define internal <16 x float> @{DOT}(<16 x float> %sum, <16 x i32> %a, <16 x i32> %b) alwaysinline {{
  %x = bitcast <16 x i32> %a to <32 x bfloat>
  %y = bitcast <16 x i32> %b to <32 x bfloat>
  %r = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %sum, <32 x bfloat> %x, <32 x bfloat> %y)
  ret <16 x float> %r
}}""",
    ROUND: f"""\
declare <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float>, <16 x float>)
define internal <16 x i32> @{ROUND}(<16 x float> %low, <16 x float> %high) alwaysinline {{
  %r = call <32 x bfloat> @llvm.x86.avx512bf16.cvtne2ps2bf16.512(<16 x float> %high, <16 x float> %low)
  %words = bitcast <32 x bfloat> %r to <16 x i32>
  ret <16 x i32> %words
}}""",
}
"""What replaces the declarations of these functions in the text of a module: llvmlite has no type `bfloat`."""


def emit_tile(module: ll.Module, tile: Tile) -> Any:
    """`tile(a, b..., words, c, ldc, rows, columns, add)`: the first rows and columns of the product of panels, in c or,
    if `add`, added to it. There are as many b as the tile has vectors; all addresses are within panels. `words` is the
    length of the panels along k, `ldc` the distance of the rows of c."""
    across = [PTR] * tile.vectors
    f = ll.Function(module, ll.FunctionType(ll.VoidType(), [PTR, *across, I64, PTR, I64, I64, I64, I1]), "tile")
    f.linkage = "internal"
    f.attributes.add("noinline")
    a, *panels, words, c, ldc, rows, columns, add = f.args
    b = ll.IRBuilder(f.append_basic_block("entry"))
    dot = _dot(module, tile)
    sums = _sums(b, tile, dot, a, panels, words)
    whole = b.and_(b.icmp_signed("==", rows, I64(tile.rows)), b.icmp_signed("==", columns, I64(tile.columns)))
    with b.if_else(whole) as (then, otherwise):
        with then:
            _store_whole(b, tile, sums, c, ldc, add)
        with otherwise:
            _store_part(b, tile, sums, c, ldc, rows, columns, add)
    b.ret_void()
    return f


def _dot(module: ll.Module, tile: Tile) -> Any:
    """sum + x*y for vectors, as the instructions that compute it."""
    if not tile.pairs:
        if tile.fused:
            kind = vector(tile.element, tile.lanes)
            fma = ll.Function(
                module, ll.FunctionType(kind, [kind] * 3), f"llvm.fma.v{tile.lanes}f{8 * tile.word_bytes}"
            )
            return lambda b, sum, x, y: b.call(fma, [x, y, sum])
        return lambda b, sum, x, y: b.fadd(sum, b.fmul(x, y))
    sums, pairs = vector(F32, tile.lanes), vector(I32, tile.lanes)
    f = ll.Function(module, ll.FunctionType(sums, [sums, pairs, pairs]), DOT)
    return lambda b, sum, x, y: b.call(f, [sum, x, y])


def _sums(b: ll.IRBuilder, tile: Tile, dot: Any, a: Any, panels: list[Any], words: Any) -> list[list[Any]]:
    """The sums over k: a loop whose variables are the registers of the tile."""
    before, body, after = b.block, b.append_basic_block("k"), b.append_basic_block("sums")
    kind, loaded = vector(tile.element, tile.lanes), vector(tile.word, tile.lanes)
    b.branch(body)
    b.position_at_end(body)
    k, at = b.phi(I64), b.phi(I64)
    phis = [[b.phi(kind) for _ in range(tile.vectors)] for _ in range(tile.rows)]
    across = [
        b.load(b.gep(panel, [at], source_etype=tile.word), typ=loaded, align=tile.word_bytes * tile.lanes)
        for panel in panels
    ]
    down = b.gep(a, [at], source_etype=tile.word)
    sums = []
    for i, row in enumerate(phis):
        x = splat(b, b.load(b.gep(down, [I64(i)], source_etype=tile.word), typ=tile.word), tile.lanes)
        sums.append([dot(b, sum, x, y) for sum, y in zip(row, across, strict=True)])
    next_k = b.add(k, I64(1))
    next_at = b.add(at, I64(tile.width))
    b.cbranch(b.icmp_signed("<", next_k, words), body, after)
    zero = ll.Constant(kind, [0.0] * tile.lanes)
    starts = [(k, I64(0), next_k), (at, I64(0), next_at)]
    starts += [(phi, zero, sum) for row, new in zip(phis, sums, strict=True) for phi, sum in zip(row, new, strict=True)]
    for phi, start, next in starts:
        phi.add_incoming(start, before)
        phi.add_incoming(next, body)
    b.position_at_end(after)
    return sums


def _store_whole(b: ll.IRBuilder, tile: Tile, sums: list[list[Any]], c: Any, ldc: Any, add: Any) -> None:
    kind, size = vector(tile.element, tile.lanes), tile.word_bytes
    places = [
        [
            b.gep(b.gep(c, [b.mul(ldc, I64(i))], source_etype=tile.element), [I64(v)], source_etype=kind)
            for v in range(tile.vectors)
        ]
        for i in range(tile.rows)
    ]
    with b.if_else(add) as (then, otherwise):
        with then:
            for row, to in zip(sums, places, strict=True):
                for x, p in zip(row, to, strict=True):
                    b.store(b.fadd(b.load(p, typ=kind, align=size), x), p, align=size)
        with otherwise:
            for row, to in zip(sums, places, strict=True):
                for x, p in zip(row, to, strict=True):
                    b.store(x, p, align=size)


def _store_part(
    b: ll.IRBuilder, tile: Tile, sums: list[list[Any]], c: Any, ldc: Any, rows: Any, columns: Any, add: Any
) -> None:
    """By way of the stack, element by element."""
    with b.goto_entry_block():
        memory = b.alloca(tile.element, tile.rows * tile.columns)
    memory.align, memory.type = 64, PTR
    for i, row in enumerate(sums):
        for v, x in enumerate(row):
            at = I64(i * tile.columns + v * tile.lanes)
            b.store(x, b.gep(memory, [at], source_etype=tile.element), align=tile.word_bytes)
    with loop(b, I64(0), rows) as i, loop(b, I64(0), columns) as j:
        place = b.gep(c, [b.add(b.mul(i, ldc), j)], source_etype=tile.element)
        at = b.add(b.mul(i, I64(tile.columns)), j)
        x = b.load(b.gep(memory, [at], source_etype=tile.element), typ=tile.element)
        with b.if_else(add) as (then, otherwise):
            with then:
                b.store(b.fadd(b.load(place, typ=tile.element), x), place)
            with otherwise:
                b.store(x, place)
