"""Expands a `Math` operation to the IR that computes it: the bridge to `optgen.functions.math`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from optgen import ir
from optgen.diagnostics import Span
from optgen.functions.table import EXPANSIONS
from optgen.ir import Instr, Value
from optgen.ir.verify import typed


def expand(instr: Instr) -> list[Instr]:
    """The instructions that compute a `Math` instruction; the last one defines its result."""
    assert isinstance(instr.op, ir.Math) and instr.result is not None
    _, function = EXPANSIONS[instr.op.function]
    emitter = Emitter(f"{instr.result.id}.", instr.span)
    result = function(emitter, *instr.op.args)
    last = next(i for i in emitter.instrs if i.result == result)
    head = [i for i in emitter.instrs if i is not last]
    # The result need not be the last value. Nothing after it depends on it, so it can move to the end.
    assert all(v != result for i in head for v in ir.operands(i.op))
    return [*head, Instr(instr.result, last.op, instr.span)]


class InstrBuilder(ABC):
    """The `Builder` that makes IR instructions. A result has the join of its operands' kinds."""

    @abstractmethod
    def emit(self, op: ir.Op, /, *, wanted: ir.DType = "f64") -> Value:
        """Add an instruction, whose result is the value. `wanted` is the dtype of a constant."""

    def const(self, x: float) -> Value:
        return self.emit(ir.Const(x))

    def const32(self, x: float) -> Value:
        return self.emit(ir.Const(ir.constant_f32(x)), wanted="f32")

    def iconst(self, i: int) -> Value:
        return self.emit(ir.IntConst(i))

    def iconst32(self, i: int) -> Value:
        return self.emit(ir.IntConst(i), wanted="i32")

    def add(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Add(a, b))

    def sub(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Sub(a, b))

    def mul(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Mul(a, b))

    def div(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Div(a, b))

    def neg(self, a: Value) -> Value:
        return self.emit(ir.Neg(a))

    def abs(self, a: Value) -> Value:
        return self.emit(ir.Abs(a))

    def floor(self, a: Value) -> Value:
        return self.emit(ir.Floor(a))

    def sqrt(self, a: Value) -> Value:
        return self.emit(ir.Sqrt(a))

    def lt(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Compare("lt", a, b))

    def le(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Compare("le", a, b))

    def gt(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Compare("gt", a, b))

    def ge(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Compare("ge", a, b))

    def eq(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Compare("eq", a, b))

    def ne(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Compare("ne", a, b))

    def and_(self, a: Value, b: Value) -> Value:
        return self.emit(ir.And(a, b))

    def or_(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Or(a, b))

    def not_(self, a: Value) -> Value:
        return self.emit(ir.Not(a))

    def select(self, c: Value, a: Value, b: Value) -> Value:
        return self.emit(ir.Select(c, a, b))

    def bits(self, a: Value) -> Value:
        return self.emit(ir.Bits(a))

    def from_bits(self, i: Value) -> Value:
        return self.emit(ir.FromBits(i))

    def iadd(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Int("add", a, b))

    def isub(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Int("sub", a, b))

    def imul(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Int("mul", a, b))

    def iand(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Int("and", a, b))

    def ior(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Int("or", a, b))

    def ixor(self, a: Value, b: Value) -> Value:
        return self.emit(ir.Int("xor", a, b))

    def shl(self, i: Value, k: int) -> Value:
        return self.emit(ir.Shift("shl", i, k))

    def shr(self, i: Value, k: int) -> Value:
        return self.emit(ir.Shift("shr", i, k))

    def extend(self, i: Value) -> Value:
        return self.emit(ir.Extend(i))

    def truncate(self, i: Value) -> Value:
        return self.emit(ir.Truncate(i))

    def to_float(self, i: Value) -> Value:
        return self.emit(ir.ToFloat(i))

    def to_int(self, a: Value) -> Value:
        return self.emit(ir.ToInt(a))

    def convert(self, a: Value) -> Value:
        return self.emit(ir.Convert(a))

    def lookup(self, table: Sequence[float], i: Value) -> Value:
        return self.emit(ir.Lookup(ir.Table(tuple(float(np.float32(x)) for x in table)), i))


class Emitter(InstrBuilder):
    """Keeps what it makes, numbered behind a prefix, all of one `span`."""

    def __init__(self, prefix: str, span: Span | None = None) -> None:
        self.prefix, self.span = prefix, span
        self.instrs: list[Instr] = []

    def emit(self, op: ir.Op, /, *, wanted: ir.DType = "f64") -> Value:
        value = typed(op, f"{self.prefix}{len(self.instrs)}", wanted)
        self.instrs.append(Instr(value, op, self.span))
        return value
