"""A function under construction that computes single numbers: for all tensors, for each, or for its rows or columns.

A subclass says where a CPU's or a GPU's function finds buffers, and the values that phases hand to later ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.control_flow import loop, variable
from optgen.backends.layout import narrowed, widened
from optgen.backends.llvm import at, fold, inline, integer, lower
from optgen.backends.llvm_types import F64, I32, I64, TYPES, raw_type
from optgen.backends.module_builder import Env, ModuleBuilder
from optgen.functions.math import random
from optgen.ir import IDENTITY, Instr, Phase, Value


class FunctionBuilder(ABC):
    """Instructions are emitted by `b`; `n`, which a subclass sets, is the number of tensors."""

    n: Any

    def __init__(self, m: ModuleBuilder, b: ll.IRBuilder) -> None:
        self.m, self.b = m, b

    @abstractmethod
    def pointer(self, buffer: str, i: Any) -> Any:
        """The address of a buffer of tensor i."""

    def entry_size(self, kind: Kind, i: Any) -> Any:
        """How many numbers an entry of a history of tensor i has."""
        raise NotImplementedError

    def in_history(self, buffer: str, start: Any, i: Any) -> Any:
        """The address of a buffer of tensor i whose memory begins at `start`: of a history, that of its entry."""
        place = self.m.kernel.places.get(buffer)
        if place is None:
            return start
        b, found = self.b, self.m.kernel.buffer(buffer)
        slot = self.slot(place, i)
        number = self.operand(place, {}) if slot is None else b.load(slot, typ=F64)
        type = F64 if found.kind in (Kind.TENSOR, Kind.SHARED) else self.line_type(buffer)
        type = raw_type(found.format) if found.kind is Kind.ELEM else type
        return at(b, start, b.mul(b.fptosi(number, I64), self.entry_size(found.kind, i)), type)

    @abstractmethod
    def slot(self, v: Value, i: Any) -> Any | None:
        """The address where a value of tensor i, or one of all tensors, is kept; None if no later phase reads it."""

    # ------------------------------------------------------------ values

    def operand(self, v: Value, env: Env) -> Any:
        return self.m.operand(self.b, v, env)

    def define(self, instr: Instr, env: Env) -> None:
        """Emit an operation on single numbers."""
        assert instr.result is not None
        args = [self.operand(v, env) for v in ir.operands(instr.op)]
        env[instr.result] = lower(self.b, instr.op, args, instr.result)

    def keep(self, v: Value, x: Any, i: Any) -> None:
        """Store a value of tensor i where later phases find it, if there are any that read it."""
        slot = self.slot(v, i)
        if slot is not None:
            self.b.store(widened(self.b, x, v), slot)

    def fetch(self, phase: Phase, env: Env, i: Any) -> None:
        """Load the scalars that earlier phases left for this one."""
        for v, slot in self.slots(phase, env, i):
            env[v] = narrowed(self.b, self.b.load(slot, typ=F64), v)

    def slots(self, phase: Phase, env: Env, i: Any) -> Iterator[tuple[Value, Any]]:
        """The scalars that earlier phases left for this one, each with its address."""
        here = {x.result for x in phase.instrs}
        for instr in phase.instrs:
            for v in ir.operands(instr.op):
                if v in env or v in self.m.consts or v in here:
                    continue
                slot = self.slot(v, i)
                if slot is not None:
                    yield v, slot

    # ------------------------------------------------------------ phases

    def host(self, phase: Phase, i: Any, count: Any, hyper: Callable[[str], Any]) -> None:
        """The host phase of tensor i, whose update count is the i64 `count`; `hyper` loads a hyper-parameter."""
        env: Env = {}
        for instr in self.m.in_lines(self.b, phase.instrs):
            self.host_value(instr, env, i, count, hyper)
            if instr.result is not None:
                self.keep(instr.result, env[instr.result], i)

    def host_value(self, instr: Instr, env: Env, i: Any, count: Any, hyper: Callable[[str], Any]) -> None:
        """An instruction of the host phase of tensor i."""
        match instr.op:
            case ir.Hyper(name=name) if instr.result is not None:
                env[instr.result] = hyper(name)
            case ir.Count() if instr.result is not None:
                env[instr.result] = self.b.sitofp(count, F64)
            case _:
                self.scalar(instr, env, i)

    def scalars(self, phase: Phase, i: Any) -> None:
        """A phase that computes one number for tensor i, or for all tensors."""
        env: Env = {}
        self.fetch(phase, env, i)
        for instr in self.m.in_lines(self.b, phase.instrs):
            self.scalar(instr, env, i)
            if instr.result is not None:
                self.keep(instr.result, env[instr.result], i)

    def scalar(self, instr: Instr, env: Env, i: Any) -> None:
        """An instruction on single numbers of tensor i."""
        b = self.b
        match instr.op:
            case ir.Load(buffer=state):
                assert instr.result is not None
                env[instr.result] = b.load(self.pointer(state, i), typ=F64)
            case ir.Store(buffer=state, value=v):
                b.store(self.operand(v, env), self.pointer(state, i))
            case ir.ReduceOverParams(op=op, x=x):
                assert instr.result is not None
                env[instr.result] = self.over_tensors(op, x)
            case _:
                self.define(instr, env)

    def over_tensors(self, op: ir.ReduceOp, x: Value) -> Any:
        """A value of every tensor folded, in the order of the tensors."""
        b = self.b
        total = variable(b, F64(IDENTITY[op]))
        with loop(b, integer(0), self.n) as k:
            slot = self.slot(x, k)
            here = self.operand(x, {}) if slot is None else b.load(slot, typ=F64)
            b.store(fold(b, op, b.load(total, typ=F64), here), total)
        return b.load(total, typ=F64)

    def line_type(self, buffer: str) -> ll.Type:
        """What a buffer holds for each row or column."""
        return TYPES["f32" if self.m.kernel.buffer(buffer).storage == "float32" else "f64"]

    def random_word(self, op: ir.Word, held: Any, number: Any, id: Any, t: Any, seed: Any) -> Any:
        """A random word of the row, or the column, of this number in tensor `id`, in update t or in the one that it is
        `held` from."""
        b = self.b
        update = t if held is None else b.fptosi(held, I64)
        counter = b.lshr(number, integer(2))
        wide = (counter, b.lshr(counter, integer(32)), b.xor(id, integer(op.draw << 20)), update)
        words = inline(
            b,
            lambda e, *x: random.philox(e, x[:4], x[4:]),
            [b.trunc(x, I32) for x in (*wide, seed, b.lshr(seed, integer(32)))],
        )
        which, found = b.and_(number, integer(3)), words[0]
        for k in range(1, 4):
            found = b.select(b.icmp_signed("==", which, integer(k)), words[k], found)
        return found

    def line(
        self,
        phase: Phase,
        env: Env,
        kept: Container[Value],
        load: Callable[[Value], Any],
        keep: Callable[[Value, Any], None],
        state: Callable[[str, ll.Type], Any],
        word: Callable[[ir.Word, Any], Any],
        place: Callable[[], Any],
    ) -> None:
        """A phase that computes one number for each row, or each column: at one of these.

        The values `kept` stand in arrays: `load` gives this line's number in one, and `keep` stores it there. `state`
        is the address of this line's number in a buffer, whose elements are of the given type, and `word` this line's
        random word of a draw, which may be held from an update; `place` is its number in its matrix. Reductions are
        emitted by others.
        """
        b = self.b
        here = {x.result for x in phase.instrs}
        for instr in self.m.in_lines(b, phase.instrs):
            for v in ir.operands(instr.op):
                if v not in env and v not in here and v in kept:
                    env[v] = load(v)
            match instr.op:
                case ir.Load(buffer=name):
                    assert instr.result is not None
                    stored = self.line_type(name)
                    x = b.load(state(name, stored), typ=stored)
                    env[instr.result] = b.fpext(x, F64) if stored == TYPES["f32"] else x
                case ir.Store(buffer=name, value=v):
                    x, stored = self.operand(v, env), self.line_type(name)
                    b.store(b.fptrunc(x, stored) if stored == TYPES["f32"] else x, state(name, stored))
                case ir.Reduce():
                    continue
                case ir.RowNumber() | ir.ColumnNumber():
                    assert instr.result is not None
                    env[instr.result] = b.sitofp(place(), F64)
                case ir.Word(held=held):
                    assert instr.result is not None
                    env[instr.result] = word(instr.op, None if held is None else self.operand(held, env))
                case _:
                    self.define(instr, env)
            if instr.result is not None and instr.result in kept:
                keep(instr.result, env[instr.result])
