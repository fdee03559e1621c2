"""How a sweep adds an element to a sum: with fused multiply-add where that gives the bits of an addition."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.llvm import integer, splat
from optgen.backends.llvm_types import F64, I64
from optgen.ir import Phase, Value


def exact_products(phase: Phase) -> dict[Value, tuple[Value, Value]]:
    """The factors of products that need no rounding: of two float32 numbers, in float64."""
    ops = {i.result: i.op for i in phase.instrs if i.result is not None}

    def is_float32(v: Value) -> bool:
        op = ops.get(v)
        return isinstance(op, ir.Convert) and op.x.type.dtype == "f32"

    return {
        v: (op.a, op.b)
        for v, op in ops.items()
        if isinstance(op, ir.Mul) and v.type.dtype == "f64" and is_float32(op.a) and is_float32(op.b)
    }


def fused(b: ll.IRBuilder, x: Any, y: Any, total: Any) -> Any:
    """x*y + total, rounded once. y may be a single number."""
    type = total.type
    if not isinstance(type, ll.VectorType):
        return b.call(b.module.declare_intrinsic("llvm.fma.f64", (), ll.FunctionType(F64, [F64] * 3)), [x, y, total])
    y = y if isinstance(y.type, ll.VectorType) else splat(b, y, type.count)
    name = f"llvm.fma.v{type.count}f64"
    return b.call(b.module.declare_intrinsic(name, (), ll.FunctionType(type, [type] * 3)), [x, y, total])


def one(b: ll.IRBuilder, pointer: Any) -> Any:
    """The number 1, which LLVM does not know: x*1 + total has the bits of x + total, but on some CPUs it is the work of
    the multipliers, which have less to do than the adders where sums of rows and columns are added."""
    highest_bit = b.lshr(b.ptrtoint(pointer, I64), integer(63))  # no address of a process has it
    return b.uitofp(b.add(integer(1), highest_bit), F64)
