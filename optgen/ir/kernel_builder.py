"""The operations of a kernel that is being written, in the dtypes that the language gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optgen import ir
from optgen.diagnostics import Span
from optgen.ir import Buffer, Instr, Value, Variant, joined
from optgen.ir.expand import Emitter, InstrBuilder
from optgen.ir.storage import float16
from optgen.ir.verify import held_type, typed


class KernelBuilder(InstrBuilder):
    """The `Lowering` (`optgen.functions.builder`) of functions of the language: it adds instructions to a kernel of a
    variant. The dtype of elements is `compute`, all smaller kinds are doubles."""

    def __init__(self, variant: Variant, buffers: Sequence[Buffer]) -> None:
        self.variant = variant
        self.compute = ir.COMPUTE[variant.dtype]
        self.buffers = {b.name: b for b in buffers}
        self.instrs: list[Instr] = []
        self.constants: dict[str, float] = {}  # by the names of their values
        self.unnamed: set[str] = set()  # the ids of values that may be named after what an equation sets
        self.span: Span | None = None  # of the equation that is lowered

    @property
    def weight(self) -> str:
        return self.variant.weight

    def emit(self, op: ir.Op, /, id: str | None = None, *, wanted: ir.DType = "f64") -> Value:
        name = id or self.fresh()
        self.unnamed |= {name} if id is None else set()
        if isinstance(op, ir.Load):
            value = Value(name, held_type(self.buffers[op.buffer], self.compute))
        else:
            value = typed(op, name, wanted)
        self.instrs.append(Instr(value, op, self.span))
        if isinstance(op, ir.Const):
            self.constants[name] = op.value
        return value

    def fresh(self) -> str:
        """A name for a value that has none."""
        return str(len(self.instrs))

    def rename(self, value: Value, id: str) -> Value:
        """Name the value of an equation after its target, so that the IR can be read."""
        last = self.instrs[-1] if self.instrs else None
        if last is None or last.result is None or last.result != value or value.id not in self.unnamed:
            return value
        named = replace(value, id=id)
        self.instrs[-1] = replace(last, result=named)
        return named

    def element(self, x: Value) -> Value:
        """x in the compute dtype. A double is rounded here, once."""
        if x.type.dtype == self.compute:
            return x
        if x.id in self.constants:
            return self.emit(ir.Const(ir.constant_f32(self.constants[x.id])), wanted="f32")
        return self.emit(ir.Convert(x))

    def double(self, x: Value) -> Value:
        return x if x.type.dtype == "f64" else self.emit(ir.Convert(x))

    def flushed(self, x: Value) -> Value:
        """A double that becomes an element of a state, or a zero of its sign where that is subnormal."""
        if x.type.is_element and any(i.result == x and isinstance(i.op, ir.Load) for i in self.instrs):
            return x
        bits = self.emit(ir.Bits(x))
        exponent = self.emit(ir.Int("and", bits, self.emit(ir.IntConst(0x7FF << 52), wanted="i64")))
        is_zero = self.emit(ir.Compare("eq", exponent, self.emit(ir.IntConst(0), wanted="i64")))
        sign = self.emit(ir.Int("and", bits, self.emit(ir.IntConst(-1 << 63), wanted="i64")))
        return self.emit(ir.Select(is_zero, self.emit(ir.FromBits(sign)), x))

    def is_double(self, x: Value) -> bool:
        return x.type.dtype == "f64"

    def meet(self, *values: Value) -> tuple[Value, ...]:
        """The operands of one operation in one dtype. A row value and a column value make elements, and are rounded."""
        if joined(*(v.type for v in values)).is_element:
            return tuple(self.element(v) for v in values)
        return values

    def sides(self, condition: Value, x: Value, y: Value) -> tuple[Value, ...]:
        """Two values that a condition chooses between, in one dtype: that of elements, if these have conditions."""
        return (self.element(x), self.element(y)) if condition.type.is_element else self.meet(x, y)

    def sign_mask(self, x: Value) -> Value:
        return self.iconst(-1 << 63) if self.is_double(x) else self.iconst32(-1 << 31)

    def row_number(self) -> Value:
        return self.emit(ir.RowNumber())

    def column_number(self) -> Value:
        return self.emit(ir.ColumnNumber())

    def to_float16(self, x: Value) -> Value:
        emitter = Emitter(f"{self.fresh()}.", self.span)
        rounded = float16.nearest(emitter, x)
        self.instrs += emitter.instrs
        return rounded
