"""Panels from an operand (see the package's docstring)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends.control_flow import loop
from optgen.backends.llvm_types import F32, I1, I32, I64, PTR, constant, vector
from optgen.linalg.own.tile import ROUND, Tile


def emit_pack(module: ll.Module, tile: Tile) -> Any:
    """`pack(x, stride, along, lines, k, all, panels)`: panels of `all` lines of k elements each, of which `lines` are
    there; the others are zeros.

    If `along`, the elements of a line are consecutive in memory, and the lines `stride` apart; else the other way
    round.
    """
    kind = ll.FunctionType(ll.VoidType(), [PTR, I64, I1, I64, I64, I64, PTR])
    f = ll.Function(module, kind, "pack")
    f.linkage = "internal"
    x, stride, along, lines, k, all, panels = f.args
    packing = _Packing(tile, ll.IRBuilder(f.append_basic_block("entry")), x, stride, lines, k, all, panels)
    if tile.pairs:
        packing.round = ll.Function(module, ll.FunctionType(vector(I32, 16), [vector(F32, 16)] * 2), ROUND)
    packing.emit(along)
    return f


class _Packing:
    """Blocks of as many words as a panel has lines are packed in registers, what is left over word by word."""

    round: Any
    """The function ROUND; where there are pairs of bfloat16 only, whose panels have 16 lines."""

    def __init__(self, tile: Tile, b: ll.IRBuilder, *arguments: Any) -> None:
        self.tile, self.b = tile, b
        self.x, self.stride, self.lines, self.k, self.all, self.panels = arguments
        self.edge = tile.width
        self.words = b.sdiv(b.add(self.k, I64(tile.group - 1)), I64(tile.group))

    def emit(self, along: Any) -> None:
        b, edge, group = self.b, self.edge, self.tile.group
        whole_lines = b.mul(b.sdiv(self.lines, I64(edge)), I64(edge))
        whole_words = b.mul(b.sdiv(b.sdiv(self.k, I64(group)), I64(edge)), I64(edge))
        with b.if_else(along) as (then, otherwise):
            with then:
                with loop(b, I64(0), whole_lines, edge) as line, loop(b, I64(0), whole_words, edge) as word:
                    self.turned(word, line)
                self.single(I64(0), whole_words, whole_lines, self.place_along)
                self.single(whole_words, self.words, I64(0), self.place_along)
            with otherwise:
                with loop(b, I64(0), whole_words, edge) as word, loop(b, I64(0), whole_lines, edge) as line:
                    self.straight(word, line)
                self.single(I64(0), whole_words, whole_lines, self.place_across)
                self.single(whole_words, self.words, I64(0), self.place_across)
        b.ret_void()

    # ------------------------------------------------------------ word by word

    def place_along(self, line: Any, k: Any) -> Any:
        return self.b.gep(self.x, [self.b.add(self.b.mul(line, self.stride), k)], source_etype=self.tile.element)

    def place_across(self, line: Any, k: Any) -> Any:
        return self.b.gep(self.x, [self.b.add(self.b.mul(k, self.stride), line)], source_etype=self.tile.element)

    def single(self, first: Any, last: Any, line: Any, place: Any) -> None:
        """Words `first` to `last` of all lines from `line` on."""
        b, group = self.b, self.tile.group
        with loop(b, first, last) as word, loop(b, line, self.all) as i:
            parts = [self.element(i, b.add(b.mul(word, I64(group)), I64(part)), place) for part in range(group)]
            b.store(self.pair(*parts) if group == 2 else self.converted(parts[0], 1), self.to(word, i))

    def element(self, line: Any, k: Any, place: Any) -> Any:
        """An element, or 0 where there is none."""
        b, here = self.b, self.b.block
        there = b.and_(b.icmp_signed("<", line, self.lines), b.icmp_signed("<", k, self.k))
        with b.if_then(there):
            x, inside = b.load(place(line, k), typ=self.tile.element), b.block
        result = b.phi(self.tile.element)
        result.add_incoming(self.tile.element(0.0), here)
        result.add_incoming(x, inside)
        return result

    def to(self, word: Any, line: Any) -> Any:
        b, width = self.b, I64(self.tile.width)
        beside = b.srem(line, width)
        at = b.add(b.add(b.mul(b.sub(line, beside), self.words), b.mul(word, width)), beside)
        return b.gep(self.panels, [at], source_etype=self.tile.word)

    # ------------------------------------------------------------ in registers

    def load(self, place: Any, width: int) -> Any:
        return self.b.load(place, typ=vector(self.tile.element, width), align=self.tile.word_bytes)

    def straight(self, word: Any, line: Any) -> None:
        """The elements of one k, of consecutive lines, are consecutive."""
        b, group = self.b, self.tile.group
        for w in range(self.edge):
            here = b.add(word, I64(w))
            ks = [b.add(b.mul(here, I64(group)), I64(part)) for part in range(group)]
            parts = [self.load(self.place_across(line, k), self.edge) for k in ks]
            x = self.paired(*interleaved(b, *parts)) if group == 2 else self.converted(parts[0], self.edge)
            b.store(x, self.to(here, line), align=self.tile.word_bytes)

    def turned(self, word: Any, line: Any) -> None:
        """The elements of a line are consecutive: a block is transposed."""
        b, edge, group = self.b, self.edge, self.tile.group
        rows = []
        for i in range(edge):
            place = self.place_along(b.add(line, I64(i)), b.mul(word, I64(group)))
            kind = vector(self.tile.element, edge)
            parts = [self.load(b.gep(place, [I64(part)], source_etype=kind), edge) for part in range(group)]
            rows.append(self.paired(*parts) if group == 2 else self.converted(parts[0], edge))
        for w, x in enumerate(shuffled_transpose(b, rows)):
            b.store(x, self.to(b.add(word, I64(w)), line), align=self.tile.word_bytes)

    def paired(self, low: Any, high: Any) -> Any:
        """Words of two bfloat16 each, the nearest to 32 float32."""
        return self.b.call(self.round, [low, high])

    def pair(self, low: Any, high: Any) -> Any:
        """A word of two bfloat16, the nearest to two float32."""
        b = self.b
        low, high = (self.rounded(x, 1) for x in (low, high))
        return b.or_(b.lshr(low, I32(16)), high)

    def converted(self, x: Any, width: int) -> Any:
        """Words of one element each."""
        if self.tile.operand_type != "bfloat16":
            return x
        return self.b.bitcast(self.rounded(x, width), vector(F32, width))

    def rounded(self, x: Any, width: int) -> Any:
        """The bits of the bfloat16 nearest to float32, as float32; the even one of two. A NaN remains one."""
        b = self.b
        bits = b.bitcast(x, vector(I32, width))
        odd = b.and_(b.lshr(bits, constant(I32, 16, width)), constant(I32, 1, width))
        nearest = b.add(b.add(bits, constant(I32, 0x7FFF, width)), odd)
        quiet = b.or_(bits, constant(I32, 0x00400000, width))
        chosen = b.select(b.fcmp_unordered("uno", x, x), quiet, nearest)
        return b.and_(chosen, constant(I32, 0xFFFF0000, width))


def interleaved(b: ll.IRBuilder, x: Any, y: Any) -> list[Any]:
    """The elements of two vectors in turns, as two vectors."""
    n = x.type.count
    lanes = [i // 2 + n * (i % 2) for i in range(2 * n)]
    return [shuffled(b, x, y, half) for half in (lanes[:n], lanes[n:])]


def shuffled(b: ll.IRBuilder, x: Any, y: Any, lanes: Any) -> Any:
    """The lanes of two vectors, one after the other, that are named."""
    lanes = list(lanes)
    return b.shuffle_vector(x, y, ll.Constant(vector(I32, len(lanes)), lanes))


def shuffled_transpose(b: ll.IRBuilder, rows: list[Any]) -> list[Any]:
    """The columns of a square block in registers, of an edge that is a power of 2."""
    n = len(rows)
    step = 1
    while step < n:
        rows = [
            shuffled(b, rows[i & ~step], rows[i | step], [_from(j, i, step, n) for j in range(n)]) for i in range(n)
        ]
        step *= 2
    return rows


def _from(j: int, i: int, step: int, n: int) -> int:
    """The lane j of row i after the blocks off the diagonal of each 2*step block have changed places."""
    upper = bool(i & step)  # which half of the rows
    if bool(j & step) == upper:
        return j + n * upper
    return (j | step) if upper else (j & ~step) + n
