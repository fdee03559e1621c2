"""What a sweep does to the elements of one tensor, and the plain loop that does it: LLVM vectorises it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import I8, I32, PTR, TYPES, at, integer, loop, lower, splat, vector
from optgen.ir import nodes as ir
from optgen.ir.nodes import Instr, Value

LINE = 64
"""Bytes of a cache line."""
AHEAD = 1024
"""How many bytes ahead a loop asks for its streams (0.5 to 4 KB do about equally well)."""

Env = dict[Value, Any]


@dataclass(frozen=True)
class Body:
    """What is done to one element: streams are read and written at `pointers`, `scalars` are known."""

    b: ll.IRBuilder
    instrs: tuple[Instr, ...]
    compute: ir.DType
    pointers: Mapping[str, Any]
    scalars: Mapping[Value, Any]
    consts: Mapping[Value, ir.Op]

    @property
    def lanes(self) -> int:
        """How many elements fill a cache line, which is also the widest vector register there is."""
        return LINE * 8 // (32 if self.compute == "f32" else 64)

    @property
    def stored(self) -> set[str]:
        return {i.op.buffer for i in self.instrs if isinstance(i.op, ir.Store)}

    def emit(self, i: Any, width: int = 1) -> Env:
        """All there is to do for elements i, i+1, ... Any address will do: the streams need no alignment."""
        b, stored = self.b, vector(TYPES[self.compute], width)
        env = {v: splat(b, x, width) for v, x in self.scalars.items()}
        for instr in self.instrs:
            match instr.op:
                case ir.Load(buffer=name):
                    assert instr.result is not None
                    env[instr.result] = b.load(self.address(name, i), typ=stored, align=1)
                case ir.Store(buffer=name, value=v):
                    b.store(self.operand(env, v, width), self.address(name, i), align=1)
                case ir.Reduce():
                    pass
                case op:
                    assert instr.result is not None
                    args = [self.operand(env, v, width) for v in ir.operands(op)]
                    env[instr.result] = lower(b, op, args, instr.result, width)
        return env

    def operand(self, env: Env, v: Value, width: int) -> Any:
        return env[v] if v in env else lower(self.b, self.consts[v], [], v, width)

    def address(self, buffer: str, i: Any) -> Any:
        return at(self.b, self.pointers[buffer], i, TYPES[self.compute])

    def prefetch(self, i: Any, offset: int, locality: int) -> None:
        """Ask for the cache line of every stream that is `offset` bytes behind element i, to write or to read it.

        It goes to the first cache for locality 3, for 2 to the second.
        """
        type = ll.FunctionType(ll.VoidType(), [PTR, I32, I32, I32])
        hint = self.b.module.declare_intrinsic("llvm.prefetch", [PTR], type)
        for name in self.pointers:
            line = at(self.b, self.address(name, i), integer(offset), I8)
            self.b.call(hint, [line, I32(int(name in self.stored)), I32(locality), I32(1)])


def for_elements(body: Body, begin: Any, end: Any) -> None:
    """Elements [begin, end) of a sweep without reductions: whole cache lines, whose length LLVM knows, and the rest.

    The hardware's prefetchers lose pace with loops that compute much: each line asks for one that lies a little ahead.
    """
    b = body.b

    def line(start: Any, count: Any, lanes: int) -> None:
        with loop(b, integer(0), count, lanes=lanes) as j:
            body.emit(b.add(start, j, flags=["nsw", "nuw"]))

    full = b.add(begin, b.and_(b.sub(end, begin), integer(-body.lanes)))
    with loop(b, begin, full, body.lanes) as start:
        body.prefetch(start, AHEAD, locality=3)
        line(start, integer(body.lanes), body.lanes)
    # Vectors for these few would cost more compile time than they can ever save.
    line(full, b.sub(end, full), 1)
