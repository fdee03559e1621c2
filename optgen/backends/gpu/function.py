"""A launched function under construction: what it reads of the table, and what its threads do together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import do_while, repeat_while, variable
from optgen.backends.function_builder import FunctionBuilder
from optgen.backends.gpu.module import GpuModuleBuilder
from optgen.backends.gpu.table import LINE_AREAS, THREADS, Launch, N, TableWord
from optgen.backends.layout import narrowed
from optgen.backends.llvm import at, fold, integer
from optgen.backends.llvm_types import F64, I32, I64
from optgen.backends.module_builder import Env
from optgen.ir import Phase, Value


class LaunchFunction(FunctionBuilder):
    """The function of a launch. Addresses that are no parameters are loaded as pointers to the device's memory."""

    m: GpuModuleBuilder

    def __init__(self, m: GpuModuleBuilder, launch: Launch) -> None:
        super().__init__(m, m.function(launch))
        self.gpu, self.launch = m.gpu, m.launches.index(launch)
        (self.table,) = self.b.function.args
        self.thread = self.b.zext(self.gpu.thread_id(self.b), I64)
        self.n = self.word(TableWord(N, 0))

    # ------------------------------------------------------------ threads

    def block_and_count(self) -> tuple[Any, Any]:
        """The number of this block, and how many there are."""
        b = self.b
        return b.zext(self.gpu.block_id(b), I64), b.zext(self.gpu.block_count(b), I64)

    def warp(self) -> Any:
        """The number of this warp in its block."""
        return self.b.lshr(self.thread, integer(self.gpu.width.bit_length() - 1))

    def lane(self) -> Any:
        """The number of this thread in its warp."""
        return self.b.and_(self.thread, integer(self.gpu.width - 1))

    @property
    def warps(self) -> int:
        """How many warps a block has."""
        return THREADS // self.gpu.width

    def halves(self) -> list[int]:
        """The distances at which threads are folded until one has the values of the warp: 16, 8, 4, 2, 1 of 32."""
        return [self.gpu.width >> k for k in range(1, self.gpu.width.bit_length())]

    @property
    def segment(self) -> int:
        """How many partial results a warp folds to one: two for each thread."""
        return 2 * self.gpu.width

    def folded(self, op: ir.ReduceOp, parts: list[Any]) -> Any:
        """The lanes of the reduction tree that a thread has, folded by halves."""
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [fold(self.b, op, x, y) for x, y in zip(parts[:half], parts[half:], strict=True)]
        return parts[0]

    @contextmanager
    def one_thread(self, number: Any) -> Iterator[None]:
        """Code for the thread of which this number is 0: its number in the block, or in the warp."""
        with self.b.if_then(self.b.icmp_signed("==", number, integer(0))):
            yield

    def block_barrier(self) -> None:
        self.gpu.block_barrier(self.b)

    def warp_barrier(self) -> None:
        self.gpu.warp_barrier(self.b)

    def shuffle_down(self, x: Any, lanes: int) -> Any:
        """What x is in the thread so many `lanes` up the warp; at its end, the thread's own x."""
        return self._by_words(x, lambda word: self.gpu.shuffle_down(self.b, word, lanes))

    def shuffle_xor(self, x: Any, lanes: int) -> Any:
        """What x is in the thread whose number differs in the bit `lanes`."""
        return self._by_words(x, lambda word: self.gpu.shuffle_xor(self.b, word, lanes))

    def _by_words(self, x: Any, move: Callable[[Any], Any]) -> Any:
        """Shuffles move 32 bits: a double is moved in two halves."""
        b = self.b
        if x.type == I32:
            return move(x)
        bits = b.bitcast(x, I64)
        low, high = move(b.trunc(bits, I32)), move(b.trunc(b.lshr(bits, integer(32)), I32))
        return b.bitcast(b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), integer(32))), x.type)

    # ------------------------------------------------------------ the table

    def address(self, word: TableWord, i: Any = None) -> Any:
        b = self.b
        index = integer(word.constant)
        if word.per_tensor:
            index = b.add(index, b.mul(self.n, integer(word.per_tensor)))
        return at(b, self.table, index if i is None else b.add(index, i), I64)

    def word(self, word: TableWord, i: Any = None, type: ll.Type = I64) -> Any:
        """Word i of what begins at a word of the table; none of them changes while the function runs."""
        return self.mark_invariant(self.b.load(self.address(word, i), typ=type))

    def mark_invariant(self, load: Any) -> Any:
        """A load of what nobody writes in this launch: it goes through the read-only cache."""
        load.set_metadata("invariant.load", self.m.invariant)
        return load

    def column(self, name: str, i: Any) -> Any:
        return self.word(self.m.table.column(name), i)

    def area(self, name: str, i: Any) -> Any:
        """The address of tensor i's part of an area of the workspace."""
        return self.word(self.m.table.column(name), i, self.gpu.global_pointer)

    def pointer(self, buffer: str, i: Any) -> Any:
        m, b = self.m, self.b
        row = b.mul(i, integer(len(m.buffer_index)))
        place = b.add(row, integer(m.buffer_index[buffer]))
        return self.in_history(buffer, self.word(m.table.pointers, place, self.gpu.global_pointer), i)

    def entry_size(self, kind: Kind, i: Any) -> Any:
        if kind is Kind.ELEM:
            return self.column("size", i)
        return self.line_count(kind, i) if kind in (Kind.ROW, Kind.COL) else integer(1)

    def row_number(self, i: Any, row: Any) -> Any:
        """The row of the whole tensor that a visited one is."""
        b = self.b
        if not self.m.kernel.rows_independent:
            return row
        index, number = self.column("index", i), variable(b, row)
        with b.if_then(b.icmp_signed("!=", index, integer(0))):
            b.store(b.load(at(b, b.inttoptr(index, self.gpu.global_pointer), row, I64), typ=I64), number)
        return b.load(number, typ=I64)

    # ------------------------------------------------------------ values

    def slot(self, v: Value, i: Any) -> Any | None:
        layout, table = self.m.layout, self.m.table
        if v in layout.shared:
            return self.address(table.shared(layout.shared[v]))
        return self.address(table.slot(layout.slots[v]), i) if v in layout.slots else None

    def fetch_invariant(self, phase: Phase, env: Env, i: Any) -> None:
        """`fetch`, of what no thread writes in this launch."""
        for v, slot in self.slots(phase, env, i):
            env[v] = narrowed(self.b, self.mark_invariant(self.b.load(slot, typ=F64)), v)

    def line_count(self, kind: Kind, i: Any) -> Any:
        """How many rows, or columns, all matrices of tensor i have."""
        if kind is Kind.ROW:
            return self.column("rows", i)
        cols = self.column("cols", i)
        return self.b.mul(cols, self.matrices(i)) if self.m.kernel.last_two else cols

    def matrices(self, i: Any) -> Any:
        """How many matrices tensor i has; of a kernel for batches alone."""
        return self.word(self.m.table.matrices, i)

    def height(self, i: Any) -> Any:
        """How many rows one matrix of tensor i has."""
        rows = self.column("rows", i)
        return self.b.udiv(rows, self.matrices(i)) if self.m.kernel.last_two else rows

    def line_array(self, v: Value, i: Any, count: Any = None, r: Any = None) -> Any:
        """The array of a row value or column value of tensor i, or the place of number r in it.

        `count` is how many rows, or columns, the tensor has, if that is loaded already.
        """
        b, kind = self.b, v.type.kind
        start = self.area(LINE_AREAS[kind], i)
        if count is None:
            count = self.line_count(kind, i)
        index = b.mul(count, integer(self.m.layout.line_slots(kind)[v]))
        return at(b, start, index if r is None else b.add(index, r), F64)

    # ------------------------------------------------------------ work

    @contextmanager
    def units(self, first: Any, step: Any) -> Iterator[tuple[Any, Any]]:
        """Over units first, first + step, ...: yields the tensor, and which of its units it is.

        Two loops, over tensors and over the units of one, so that what is read of a tensor is read once for all.
        """
        b = self.b
        starts = self.m.table.units(self.launch)
        total, cell = self.word(starts, self.n), variable(b, first)
        with repeat_while(b, lambda: b.icmp_signed("<", b.load(cell, typ=I64), total)):
            i = self._tensor_of(starts, b.load(cell, typ=I64))
            begin, end = (self.word(starts, k) for k in (i, b.add(i, integer(1))))
            with do_while(b, lambda: b.icmp_signed("<", b.load(cell, typ=I64), end)):
                unit = b.load(cell, typ=I64)
                yield i, b.sub(unit, begin)
                b.store(b.add(unit, step), cell)

    def _tensor_of(self, starts: TableWord, unit: Any) -> Any:
        """The last tensor whose units begin at or before `unit`, by bisection; those without units share their start
        with the next one."""
        b = self.b
        low, high = variable(b, integer(0)), variable(b, self.n)
        with repeat_while(
            b, lambda: b.icmp_signed("<", b.add(b.load(low, typ=I64), integer(1)), b.load(high, typ=I64))
        ):
            bottom, top = b.load(low, typ=I64), b.load(high, typ=I64)
            middle = b.lshr(b.add(bottom, top), integer(1))
            before = b.icmp_signed("<=", self.word(starts, middle), unit)
            b.store(b.select(before, middle, bottom), low)
            b.store(b.select(before, top, middle), high)
        return b.load(low, typ=I64)
