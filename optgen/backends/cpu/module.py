"""What the parts of a CPU module share: the step's fields, functions, and the places of values that cross phases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.cpu.reduce import fold_lanes
from optgen.backends.layout import Extent, Layout, Region, blocks, narrowed, widened
from optgen.backends.llvm import (
    F64,
    I64,
    IDENTITY,
    PTR,
    at,
    fold,
    halving,
    integer,
    is_const,
    load,
    loop,
    lower,
    smaller,
)
from optgen.backends.target import control_register
from optgen.ir import BLOCK, LANES, Instr, Kernel, Phase, Value

VOID = ll.VoidType()
TASK = ll.FunctionType(VOID, [PTR, I64, I64])
PARALLEL = ll.FunctionType(VOID, [PTR, PTR, PTR, I64])
EXCHANGE = ll.FunctionType(I64, [PTR, PTR, I64])
N, SIZE, BUFFERS, T, HYPER, WORKSPACE, RUN, POOL, COLS, ID, SEED, INDEX, PRESENT, FIRST, WHOLE, SHARE, PEERS = range(17)
"""The fields of optgen_step, eight bytes each."""
Env = dict[Value, Any]


@dataclass
class Tables:
    """What the values of tensors are found by."""

    n: Any
    buffers: Any
    workspace: Any
    scalars: Any


class Step(Tables):
    """The fields of optgen_step: make one in a function's first block."""

    def __init__(self, b: ll.IRBuilder, step: Any, layout: Layout) -> None:
        self.b, self.step = b, step
        workspace = self.pointer(WORKSPACE)
        scalars = at(b, workspace, integer(len(layout.shared)), F64)
        super().__init__(self.word(N), self.pointer(BUFFERS), workspace, scalars)
        self.size = self.pointer(SIZE)
        self.regions = at(b, self.scalars, b.mul(self.n, integer(len(layout.slots))), F64)

    def word(self, field: int) -> Any:
        return load(self.b, self.step, integer(field), I64)

    def pointer(self, field: int) -> Any:
        return load(self.b, self.step, integer(field), PTR)


@dataclass(frozen=True)
class Lines:
    """The arrays of one tensor's row or column values, by value."""

    base: Any
    count: Any
    slots: dict[Value, int]

    def of(self, b: ll.IRBuilder, v: Value) -> Any:
        return at(b, self.base, b.mul(self.count, integer(self.slots[v])), F64)


class Module:
    def __init__(self, kernel: Kernel, symbol: str, triple: str) -> None:
        self.kernel = kernel
        self.symbol = symbol
        self.control_register = control_register(triple)
        self.module = ll.Module(name=kernel.name)
        self.module.triple = triple
        self.consts = {i.result: i.op for i in kernel.instrs() if i.result is not None and is_const(i)}
        self.layout = Layout(kernel)
        self.columns = {buffer.name: k for k, buffer in enumerate(kernel.buffers)}

    # ------------------------------------------------------------ functions

    def function(self, name: str, type: ll.FunctionType) -> tuple[ll.Function, ll.IRBuilder]:
        f = ll.Function(self.module, type, name)
        f.linkage = "internal" if "." in name else "external"
        f.attributes.add("nounwind")
        return f, ll.IRBuilder(f.append_basic_block("entry"))

    def driver(self, name: str, type: ll.FunctionType) -> tuple[ll.Function, ll.IRBuilder]:
        """A function that runs once per sweep and part: optimising it would only cost compile time."""
        f, b = self.function(name, type)
        f.attributes.add("noinline")
        f.attributes.add("optnone")
        return f, b

    def strict_floats(self, b: ll.IRBuilder) -> Any:
        """Set the floating-point mode; returns where the caller's mode is kept, or that mode itself."""
        register = self.control_register
        if register is None:
            return None
        word = ll.IntType(register.bits)
        if not register.by_address:
            before = b.call(self._intrinsic(register.read, word, []), [])
            b.call(self._intrinsic(register.write, VOID, [word]), [word(register.value)])
            return before
        saved, ours = b.alloca(word), b.alloca(word)
        b.store(word(register.value), ours)
        b.call(self._intrinsic(register.read, VOID, [PTR]), [saved])
        b.call(self._intrinsic(register.write, VOID, [PTR]), [ours])
        return saved

    def restore_floats(self, b: ll.IRBuilder, saved: Any) -> None:
        if self.control_register is not None:
            b.call(self._intrinsic(self.control_register.write, VOID, [saved.type]), [saved])

    def _intrinsic(self, name: str, result: Any, parameters: list[Any]) -> Any:
        return self.module.declare_intrinsic(name, (), ll.FunctionType(result, parameters))

    # ------------------------------------------------------------ tensors

    def cell(self, b: ll.IRBuilder, start: Any) -> Any:
        """A variable: in the function's first block, so that a loop does not make a new one each time."""
        with b.goto_entry_block():
            memory = b.alloca(start.type)
        b.store(start, memory)
        return memory

    @contextmanager
    def tensors(self, b: ll.IRBuilder, s: Step) -> Iterator[tuple[Any, Extent, Any]]:
        """A loop over the tensors: yields the number, the extent, and the place of the region."""
        base = self.cell(b, integer(0))
        with loop(b, integer(0), s.n) as i:
            extent = self.extent(b, s, i)
            here = b.load(base, typ=I64)
            b.store(b.add(here, self.layout.region(b, extent).end), base)
            yield i, extent, at(b, s.regions, here, F64)

    def extent(self, b: ll.IRBuilder, s: Step, i: Any) -> Extent:
        size = load(b, s.size, i, I64)
        whole, first = self.whole(b, s, i, size) if self.can_be_cut else (size, integer(0))
        if not (self.layout.matrix or self.kernel.rows_independent):
            return Extent(size, whole, first, None, None, None)
        cols, present = load(b, s.pointer(COLS), i, I64), self.cell(b, integer(-1))
        counts = s.pointer(PRESENT)
        with b.if_then(b.icmp_unsigned("!=", counts, ll.Constant(PTR, None))):
            b.store(load(b, counts, i, I64), present)
        rows = b.load(present, typ=I64)
        by_rows = b.icmp_signed(">=", rows, integer(0))
        elements = b.select(by_rows, b.mul(rows, cols), size)
        if self.layout.matrix:
            rows = b.select(by_rows, rows, b.sdiv(size, cols))
            whole = elements
        return Extent(elements, whole, first, rows, cols, by_rows)

    @property
    def can_be_cut(self) -> bool:
        return not self.layout.matrix

    def whole(self, b: ll.IRBuilder, s: Step, i: Any, size: Any) -> tuple[Any, Any]:
        """How many elements the tensor has that piece i is of, and which of them is the first of the piece."""
        found = []
        for field, otherwise in ((WHOLE, size), (FIRST, integer(0))):
            cell, numbers = self.cell(b, otherwise), s.pointer(field)
            with b.if_then(b.icmp_unsigned("!=", numbers, ll.Constant(PTR, None))):
                b.store(load(b, numbers, i, I64), cell)
            found.append(b.load(cell, typ=I64))
        return found[0], found[1]

    def row_number(self, b: ll.IRBuilder, s: Step, i: Any, r: Any) -> Any:
        """The row of the whole tensor that the r-th visited one is."""
        number = self.cell(b, r)
        lists, none = s.pointer(INDEX), ll.Constant(PTR, None)
        with b.if_then(b.icmp_unsigned("!=", lists, none)):
            rows = load(b, lists, i, PTR)
            with b.if_then(b.icmp_unsigned("!=", rows, none)):
                b.store(load(b, rows, r, I64), number)
        return b.load(number, typ=I64)

    def pointer(self, b: ll.IRBuilder, s: Tables, i: Any, buffer: str) -> Any:
        row = b.mul(i, integer(len(self.columns)))
        return load(b, s.buffers, b.add(row, integer(self.columns[buffer])), PTR)

    def row_lines(self, b: ll.IRBuilder, region: Any, places: Region, extent: Extent) -> Lines:
        return Lines(at(b, region, places.rows, F64), extent.rows, self.layout.rows)

    def col_lines(self, b: ll.IRBuilder, region: Any, places: Region, extent: Extent) -> Lines:
        return Lines(at(b, region, places.cols, F64), extent.cols, self.layout.cols)

    # ------------------------------------------------------------ values

    def define(self, b: ll.IRBuilder, instr: Instr, env: Env) -> None:
        assert instr.result is not None
        args = [env[v] if v in env else self.constant(b, v) for v in ir.operands(instr.op)]
        env[instr.result] = lower(b, instr.op, args, instr.result)

    def constant(self, b: ll.IRBuilder, v: Value) -> Any:
        return lower(b, self.consts[v], [], v)

    def place(self, b: ll.IRBuilder, s: Tables, v: Value, i: Any) -> Any:
        """Where a value of tensor i, or one of all tensors, is kept; None for one that no later phase reads."""
        if v in self.layout.shared:
            return at(b, s.workspace, integer(self.layout.shared[v]), F64)
        if v in self.layout.slots:
            return at(b, s.scalars, b.add(b.mul(s.n, integer(self.layout.slots[v])), i), F64)
        return None

    def keep(self, b: ll.IRBuilder, s: Tables, v: Value, env: Env, i: Any) -> None:
        place = self.place(b, s, v, i)
        if place is not None:
            b.store(widened(b, env[v], v), place)

    def fetch(self, b: ll.IRBuilder, s: Tables, phase: Phase, env: Env, i: Any) -> None:
        """Read the scalars that earlier phases left for this one."""
        here = {x.result for x in phase.instrs}
        for instr in phase.instrs:
            for v in ir.operands(instr.op):
                if v in env or v in self.consts or v in here:
                    continue
                place = self.place(b, s, v, i)
                if place is not None:
                    env[v] = narrowed(b, b.load(place, typ=F64), v)

    # ------------------------------------------------------------ reduction trees

    def pairwise(self, op: ir.ReduceOp) -> ll.Function:
        """f(base, count, stride): fold numbers `stride` apart, in place: neighbours first, an odd one moves up."""
        name = f"{self.symbol}.pairwise.{op}"
        if name in self.module.globals:
            return self.module.globals[name]
        f, b = self.function(name, ll.FunctionType(F64, [PTR, I64, I64]))
        base, count, stride = f.args
        with b.if_then(b.icmp_signed("==", count, integer(0))):
            b.ret(ll.Constant(F64, IDENTITY[op]))
        with halving(b, count) as (left, shrink):
            half = b.lshr(left, integer(1))
            with loop(b, integer(0), half) as i:
                pair = at(b, base, b.mul(b.shl(i, integer(1)), stride), F64)
                total = fold(b, op, b.load(pair, typ=F64), load(b, pair, stride, F64))
                b.store(total, at(b, base, b.mul(i, stride), F64))
            odd = b.and_(left, integer(1))
            with b.if_then(b.icmp_signed("==", odd, integer(1))):
                last = load(b, base, b.mul(b.sub(left, integer(1)), stride), F64)
                b.store(last, at(b, base, b.mul(half, stride), F64))
            shrink(b.add(half, odd))
        b.ret(b.load(base, typ=F64))
        return f

    def tree(self, op: ir.ReduceOp) -> ll.Function:
        """f(x, count, scratch): the reduction tree over an array of doubles."""
        name = f"{self.symbol}.tree.{op}"
        if name in self.module.globals:
            return self.module.globals[name]
        f, b = self.function(name, ll.FunctionType(F64, [PTR, I64, PTR]))
        x, count, scratch = f.args
        lanes = b.alloca(F64, LANES)
        lanes.type = PTR
        with loop(b, integer(0), count, BLOCK) as block:
            with loop(b, integer(0), integer(LANES)) as j:
                b.store(ll.Constant(F64, IDENTITY[op]), at(b, lanes, j, F64))
            rest = b.sub(count, block)
            with loop(b, integer(0), smaller(b, rest, integer(BLOCK))) as k:
                lane = at(b, lanes, b.and_(k, integer(LANES - 1)), F64)
                b.store(fold(b, op, b.load(lane, typ=F64), load(b, x, b.add(block, k), F64)), lane)
            total = fold_lanes(b, op, lanes)
            b.store(total, at(b, scratch, b.lshr(block, integer(BLOCK.bit_length() - 1)), F64))
        b.ret(b.call(self.pairwise(op), [scratch, blocks(b, count), integer(1)]))
        return f


@dataclass(frozen=True)
class Callee:
    """An untyped pointer that is called as a function: llvmlite wants the type at the callee."""

    pointer: Any
    function_type: ll.FunctionType

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())
