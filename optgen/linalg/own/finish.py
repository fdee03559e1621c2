"""What follows a product: alpha times it, and beta times a matrix added, each rounded as a sweep rounds."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import ELEMENTS
from optgen.backends.control_flow import loop
from optgen.backends.llvm import allow_flushing, flushed, lower, splat
from optgen.backends.llvm_types import I64, PTR, vector
from optgen.ir import Type, Value
from optgen.linalg.own.tile import Tile

FINISH = "optgen_finish_block"
"""`FINISH(c, z, stride, rows, columns, alpha, beta)`: rows and columns of c become beta*z + alpha*c. In float32,
nothing is subnormal, as in sweeps (docs/arithmetic.md, smallest numbers)."""


def emit_finish(module: ll.Module, tile: Tile, *, machine_flushes: bool) -> Any:
    """FINISH, which is called with the floating-point mode set. `machine_flushes`: that mode makes zeros of subnormal
    numbers."""
    f = ll.Function(module, function_type(tile), FINISH)
    f.linkage = "internal"
    f.attributes.add("noinline")  # the mode is set around the call
    if machine_flushes:
        allow_flushing(f)
    c, z, stride, rows, columns, alpha, beta = f.args
    b = ll.IRBuilder(f.append_basic_block("entry"))
    whole = b.mul(b.sdiv(columns, I64(tile.lanes)), I64(tile.lanes))
    with loop(b, I64(0), rows) as i:
        line = b.mul(i, stride)
        for first, last, width in ((I64(0), whole, tile.lanes), (whole, columns, 1)):
            with loop(b, first, last, width) as j:
                at = b.add(line, j)
                places = [b.gep(x, [at], source_etype=tile.element) for x in (z, c)]
                old, product = (
                    b.load(place, typ=vector(tile.element, width), align=tile.word_bytes) for place in places
                )
                factors = splat(b, beta, width), splat(b, alpha, width)
                x = _sum(b, tile, old, product, *factors, width, machine_flushes)
                b.store(x, places[1], align=tile.word_bytes)
    b.ret_void()
    return f


def function_type(tile: Tile) -> ll.FunctionType:
    return ll.FunctionType(ll.VoidType(), [PTR, PTR, I64, I64, I64, tile.element, tile.element])


def _sum(
    b: ll.IRBuilder, tile: Tile, old: Any, product: Any, beta: Any, alpha: Any, width: int, machine_flushes: bool
) -> Any:
    value = Value("x", Type(ELEMENTS, "f64" if tile.operand_type == "float64" else "f32"))
    if not machine_flushes and value.type.dtype == "f32":
        old, product = flushed(b, old), flushed(b, product)

    def computed(op: ir.Op, *operands: Any) -> Any:
        return lower(b, op, list(operands), value, width, machine_flushes=machine_flushes)

    terms = (computed(ir.Mul(value, value), factor, x) for factor, x in ((beta, old), (alpha, product)))
    return computed(ir.Add(value, value), *terms)
