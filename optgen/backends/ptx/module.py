"""What the launches of a PTX module share: threads, the table, the places of values that cross phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.layout import Layout, narrowed, widened
from optgen.backends.llvm import F64, I32, I64, at, is_const, loop, lower
from optgen.backends.ptx.table import Counts, Launch, N, Place, Places
from optgen.backends.target import GPU, gpu_layout
from optgen.ir import Instr, Kernel, Phase, Value
from optgen.model import Kind

GLOBAL = ll.PointerType(addrspace=1)
"""An address in the memory of the device. What is reached through others is loaded as a number."""
VOID = ll.VoidType()
Env = dict[Value, Any]
ALL_LANES = -1


def integer(i: int) -> ll.Constant:
    return ll.Constant(I64, i)


class Module:
    """A module of a kernel; `launches` are the functions to call, in order, one after the other."""

    def __init__(self, kernel: Kernel, symbol: str, launches: Sequence[Launch]) -> None:
        self.kernel, self.symbol, self.launches = kernel, symbol, launches
        self.module = ll.Module(name=kernel.name)
        self.module.triple, self.module.data_layout = GPU, gpu_layout()
        self.consts = {i.result: i.op for i in kernel.instrs() if i.result is not None and is_const(i)}
        self.layout = Layout(kernel)
        self.columns = {buffer.name: k for k, buffer in enumerate(kernel.buffers)}
        self.places = Places(Counts.of(kernel), len(launches))
        self.invariant = self.module.add_metadata([])

    def entry(self, launch: Launch) -> Entry:
        f = ll.Function(self.module, ll.FunctionType(VOID, [GLOBAL]), launch.name)
        f.calling_convention = "ptx_kernel"
        return Entry(self, ll.IRBuilder(f.append_basic_block("entry")), self.launches.index(launch))

    def constant(self, b: ll.IRBuilder, v: Value) -> Any:
        return lower(b, self.consts[v], [], v)


class Entry:
    """A function under construction: what it reads from its table, and what its threads do together."""

    def __init__(self, m: Module, b: ll.IRBuilder, launch: int) -> None:
        self.m, self.b, self.launch = m, b, launch
        (self.table,) = b.function.args
        self.tid = self.register("tid.x")
        self.count = self.word(Place(N, 0))

    # ------------------------------------------------------------ threads

    def call(self, name: str, result: ll.Type, *args: Any) -> Any:
        """An intrinsic of NVVM."""
        type = ll.FunctionType(result, [x.type for x in args])
        return self.b.call(self.m.module.declare_intrinsic(f"llvm.nvvm.{name}", (), type), args)

    def register(self, name: str) -> Any:
        """A special register, as i64."""
        return self.b.zext(self.call(f"read.ptx.sreg.{name}", I32), I64)

    def barrier(self) -> None:
        """All threads of the block come here."""
        self.call("barrier.cta.sync.aligned.all", VOID, I32(0))

    def warp_barrier(self) -> None:
        """All threads of the warp come here."""
        self.call("bar.warp.sync", VOID, I32(ALL_LANES))

    def down(self, x: Any, lanes: int) -> Any:
        """What x is in the thread that is so many `lanes` up the warp; at its end, the own x."""

        def move(word: Any) -> Any:
            return self.call("shfl.sync.down.i32", I32, I32(ALL_LANES), word, I32(lanes), I32(31))

        return self.moved(x, move)

    def across(self, x: Any, lanes: int) -> Any:
        """What x is in the thread whose number differs in the bit `lanes`."""

        def move(word: Any) -> Any:
            return self.call("shfl.sync.bfly.i32", I32, I32(ALL_LANES), word, I32(lanes), I32(31))

        return self.moved(x, move)

    def moved(self, x: Any, move: Any) -> Any:
        """Shuffles move 32 bits; a double is two times that."""
        b = self.b
        if x.type == I32:
            return move(x)
        bits = b.bitcast(x, I64)
        low, high = move(b.trunc(bits, I32)), move(b.trunc(b.lshr(bits, integer(32)), I32))
        return b.bitcast(b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), integer(32))), x.type)

    # ------------------------------------------------------------ the table

    def address(self, place: Place, i: Any = None) -> Any:
        b = self.b
        index = integer(place.constant)
        if place.each:
            index = b.add(index, b.mul(self.count, integer(place.each)))
        return at(b, self.table, index if i is None else b.add(index, i), I64)

    def word(self, place: Place, i: Any = None, type: ll.Type = I64) -> Any:
        """Element i of what begins at a place; it does not change while the function runs."""
        found = self.b.load(self.address(place, i), typ=type)
        found.set_metadata("invariant.load", self.m.invariant)
        return found

    def column(self, name: str, i: Any) -> Any:
        return self.word(self.m.places.column(name), i)

    def area(self, name: str, i: Any) -> Any:
        return self.word(self.m.places.column(name), i, GLOBAL)

    def pointer(self, buffer: str, i: Any) -> Any:
        m, b = self.m, self.b
        row = b.mul(i, integer(len(m.columns)))
        return self.word(m.places.pointers, b.add(row, integer(m.columns[buffer])), GLOBAL)

    def number(self, i: Any, row: Any) -> Any:
        """Which row of the whole tensor the visited one is."""
        b = self.b
        if not self.m.kernel.rows_independent:
            return row
        index, cell = self.column("index", i), self.cell(row)
        with b.if_then(b.icmp_signed("!=", index, integer(0))):
            b.store(b.load(at(b, b.inttoptr(index, GLOBAL), row, I64), typ=I64), cell)
        return b.load(cell, typ=I64)

    # ------------------------------------------------------------ work

    @contextmanager
    def units(self, first: Any, step: Any) -> Iterator[tuple[Any, Any]]:
        """Over units first, first + step, ...: yields the tensor, and which of its units it is.

        Two loops, over tensors and over the units of one, so that what is read of a tensor is read once for all.
        """
        b = self.b
        starts = self.m.places.units(self.launch)
        total, cell = self.word(starts, self.count), self.cell(first)
        with self.repeat(lambda: b.icmp_signed("<", b.load(cell, typ=I64), total)):
            i = self.search(starts, b.load(cell, typ=I64))
            begin, end = (self.word(starts, k) for k in (i, b.add(i, integer(1))))
            with self.at_least_once(lambda: b.icmp_signed("<", b.load(cell, typ=I64), end)):
                unit = b.load(cell, typ=I64)
                yield i, b.sub(unit, begin)
                b.store(b.add(unit, step), cell)

    def search(self, starts: Place, unit: Any) -> Any:
        """The last tensor whose units begin at or before `unit`; those without units share their start with the next
        one."""
        b = self.b
        low, high = self.cell(integer(0)), self.cell(self.count)
        with self.repeat(lambda: b.icmp_signed("<", b.add(b.load(low, typ=I64), integer(1)), b.load(high, typ=I64))):
            bottom, top = b.load(low, typ=I64), b.load(high, typ=I64)
            middle = b.lshr(b.add(bottom, top), integer(1))
            before = b.icmp_signed("<=", self.word(starts, middle), unit)
            b.store(b.select(before, middle, bottom), low)
            b.store(b.select(before, top, middle), high)
        return b.load(low, typ=I64)

    @contextmanager
    def repeat(self, condition: Any) -> Iterator[None]:
        """`while (condition())`."""
        b = self.b
        head, body, after = (b.append_basic_block(name) for name in ("while", "do", "end"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(condition(), body, after)
        b.position_at_end(body)
        yield
        b.branch(head)
        b.position_at_end(after)

    @contextmanager
    def at_least_once(self, condition: Any) -> Iterator[None]:
        """`do ... while (condition())`."""
        b = self.b
        body, after = b.append_basic_block("do"), b.append_basic_block("end")
        b.branch(body)
        b.position_at_end(body)
        yield
        b.cbranch(condition(), body, after)
        b.position_at_end(after)

    def cell(self, start: Any) -> Any:
        """A variable, which LLVM puts into a register; it starts anew at each turn of a loop around it."""
        with self.b.goto_entry_block():
            memory = self.b.alloca(start.type)
        self.b.store(start, memory)
        return memory

    # ------------------------------------------------------------ values

    def place(self, v: Value) -> Place | None:
        """Where a value of tensors, or one of all of them, is kept; None for one that no later phase reads."""
        layout, places = self.m.layout, self.m.places
        if v in layout.shared:
            return Place(places.values.constant + layout.shared[v], places.values.each)
        return places.slot(layout.slots[v]) if v in layout.slots else None

    def keep(self, v: Value, x: Any, i: Any) -> None:
        place = self.place(v)
        if place is not None:
            shared = v.type.kind is Kind.SHARED
            self.b.store(widened(self.b, x, v), self.address(place, None if shared else i))

    def fetch(self, phase: Phase, env: Env, i: Any, fixed: bool = False) -> None:
        """Read the scalars that earlier phases left for this one; `fixed`: in an earlier launch."""
        here = {x.result for x in phase.instrs}
        for instr in phase.instrs:
            for v in ir.operands(instr.op):
                if v in env or v in self.m.consts or v in here:
                    continue
                place = self.place(v)
                if place is not None:
                    shared = v.type.kind is Kind.SHARED
                    x = self.b.load(self.address(place, None if shared else i), typ=F64)
                    if fixed:
                        x.set_metadata("invariant.load", self.m.invariant)
                    env[v] = narrowed(self.b, x, v)

    def operands(self, op: ir.Op, env: Env) -> list[Any]:
        return [env[v] if v in env else self.m.constant(self.b, v) for v in ir.operands(op)]

    def define(self, instr: Instr, env: Env) -> None:
        """An operation on single numbers."""
        assert instr.result is not None
        env[instr.result] = lower(self.b, instr.op, self.operands(instr.op, env), instr.result)

    @contextmanager
    def loop(self, start: Any, stop: Any, step: int = 1) -> Iterator[Any]:
        with loop(self.b, start, stop, step) as i:
            yield i
