"""Operations of the kernel IR as LLVM instructions, for CPUs and GPUs alike.

No fast-math flag is ever set: LLVM may neither reorder, contract nor approximate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import ELEMENTS
from optgen.backends.flushing import flushed_by_mode, read_bitwise
from optgen.backends.llvm_types import F64, I32, I64, PTR, TYPES, constant, vector
from optgen.backends.lookup import lookup
from optgen.ir import Instr, Type, Value
from optgen.ir.expand import Emitter

INT = {"add": "add", "sub": "sub", "mul": "mul", "and": "and_", "or": "or_", "xor": "xor"}
ORDERED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def splat(b: ll.IRBuilder, x: Any, width: int) -> Any:
    """A vector of which every element is the scalar x."""
    if width == 1:
        return x
    one = b.insert_element(ll.Constant(vector(x.type, width), ll.Undefined), x, I32(0))
    return b.shuffle_vector(one, one, ll.Constant(vector(I32, width), [0] * width))


def lower(
    b: ll.IRBuilder, op: ir.Op, args: list[Any], result: Value, width: int = 1, *, machine_flushes: bool = False
) -> Any:
    """Emit one operation that is neither a stream access nor a reduction, on `width` elements at once.

    `args` are its lowered operands, scalars or vectors of that width. `machine_flushes`: the machine gives zeros
    instead of float32 subnormals by itself, where the result is computed or where it is read.
    """
    x = _rounded(b, op, args, result, width)
    return x if machine_flushes or result.type.dtype != "f32" else _flushed_result(b, op, args, x, width)


def _rounded(b: ll.IRBuilder, op: ir.Op, args: list[Any], result: Value, width: int) -> Any:
    """The operation as IEEE 754 has it."""
    match op:
        case ir.Const(value=x) | ir.IntConst(value=x):
            return constant(TYPES[result.type.dtype], x, width)
        case ir.Neg():
            return b.fneg(*args)
        case ir.Abs():
            return unary(b, "llvm.fabs", args[0])
        case ir.Sqrt():
            return unary(b, "llvm.sqrt", args[0])
        case ir.Floor():
            return unary(b, "llvm.floor", args[0])
        case ir.Add():
            return b.fadd(*args)
        case ir.Sub():
            return b.fsub(*args)
        case ir.Mul():
            return b.fmul(*args)
        case ir.Div():
            return b.fdiv(*args)
        case ir.Compare(op=name, a=a):
            return compare(b, name, a.type.dtype, *args)
        case ir.And():
            return b.and_(*args)
        case ir.Or():
            return b.or_(*args)
        case ir.Not():
            return b.not_(*args)
        case ir.Select():
            return b.select(*args)
        case ir.Convert():
            to = vector(TYPES[result.type.dtype], width)
            return (b.fptrunc if result.type.dtype == "f32" else b.fpext)(args[0], to)
        case ir.Bits() | ir.FromBits():
            return b.bitcast(args[0], vector(TYPES[result.type.dtype], width))
        case ir.Extend():
            return b.zext(args[0], vector(I64, width))
        case ir.Truncate():
            return b.trunc(args[0], vector(I32, width))
        case ir.ToFloat():
            return b.sitofp(args[0], vector(TYPES[result.type.dtype], width))
        case ir.ToInt():
            return b.fptosi(args[0], vector(TYPES[result.type.dtype], width))
        case ir.Int(op=name):
            return getattr(b, INT[name])(*args)
        case ir.Shift(op=name, by=by):
            return (b.shl if name == "shl" else b.lshr)(args[0], constant(TYPES[result.type.dtype], by, width))
        case ir.Lookup(table=table):
            return lookup(b, table.values, args[0], width)
    raise TypeError(f"no LLVM for {op!r}")


def _flushed_result(b: ll.IRBuilder, op: ir.Op, args: list[Any], x: Any, width: int) -> Any:
    """The float32 x, which is the rounded result of an operation, or a zero of its sign where the operation has one.

    Of a product or a double, x itself does not tell: what rounds to less than 2^-126 with 24 bits can round to 2^-126
    with fewer.
    """

    def number(value: float) -> Any:
        return constant(TYPES["f32"], value, width)

    match op:
        case ir.FromBits() | ir.Add() | ir.Sub():
            return flushed(b, x)
        case ir.Mul():
            scaled = b.fmul(args[0], b.fmul(args[1], number(2.0**64)))
            tiny = b.fcmp_ordered("<", unary(b, "llvm.fabs", scaled), number(2.0**64 * ir.LEAST_NORMAL))
        case ir.Div():  # no quotient of float32 lies between 2^-126 - 2^-150 and 2^-126
            scaled = b.fmul(unary(b, "llvm.fabs", args[0]), number(1 / ir.LEAST_NORMAL))
            tiny = b.fcmp_ordered("<", scaled, unary(b, "llvm.fabs", args[1]))
        case ir.Convert():
            least = constant(F64, ir.LEAST_ROUNDED, width)
            tiny = b.fcmp_ordered("<", unary(b, "llvm.fabs", args[0]), least)
        case _:
            return x
    return _zero_where(b, tiny, x, width)


def flushed(b: ll.IRBuilder, x: Any) -> Any:
    """x, or a zero of its sign where it is subnormal: floats, or a vector of them. By integers, whatever the machine's
    mode."""
    width = x.type.count if isinstance(x.type, ll.VectorType) else 1
    type, exponent = (I64, 0x7FF << 52) if _element(x.type) == F64 else (I32, 0xFF << 23)
    there = b.and_(b.bitcast(x, vector(type, width)), constant(type, exponent, width))
    return _zero_where(b, b.icmp_unsigned("==", there, constant(type, 0, width)), x, width)


def _zero_where(b: ll.IRBuilder, condition: Any, x: Any, width: int) -> Any:
    """x, or a zero of its sign where the condition holds."""
    type, sign = (I64, 1 << 63) if _element(x.type) == F64 else (I32, 1 << 31)
    bits = b.bitcast(x, vector(type, width))
    return b.bitcast(b.select(condition, b.and_(bits, constant(type, sign, width)), bits), x.type)


def compare(b: ll.IRBuilder, name: ir.CompareOp, dtype: ir.DType, x: Any, y: Any) -> Any:
    """An ordered comparison of floats, or a signed one of integers; only `ne` is true of a NaN."""
    if dtype in ("i64", "i32"):
        return b.icmp_signed(ORDERED[name], x, y)
    return b.fcmp_unordered("!=", x, y) if name == "ne" else b.fcmp_ordered(ORDERED[name], x, y)


def fold(b: ll.IRBuilder, op: ir.ReduceOp, x: Any, y: Any) -> Any:
    """Two numbers folded: the step of a reduction. A NaN stays."""
    if op == "sum":
        return b.fadd(x, y)
    first = b.or_(b.fcmp_unordered("uno", x, x), b.fcmp_ordered(">" if op == "max" else "<", x, y))
    return b.select(first, x, y)


def inline(
    b: ll.IRBuilder,
    function: Callable[..., Any],
    args: list[Any],
    width: int = 1,
    *,
    machine_flushes: bool = False,
    result_flushes: bool = False,
) -> Any:
    """Emit a function over an IR builder as instructions on `width` elements at once.

    A function with several results gives a list. With `machine_flushes`, the machine's arithmetic gives zeros instead
    of float32 subnormals; with `result_flushes`, only such arithmetic reads the result.
    """
    emitter = Emitter("")
    names = {type: name for name, type in TYPES.items()}
    values = [Value(f"arg{k}", Type(ELEMENTS, names[_element(x.type)])) for k, x in enumerate(args)]
    env: dict[Value, Any] = dict(zip(values, args, strict=True))
    result = function(emitter, *values)
    results = result if isinstance(result, tuple) else (result,)
    consts = {i.result: i.op for i in emitter.instrs if i.result is not None and is_const(i)}
    bitwise = read_bitwise(emitter.instrs, consts, () if result_flushes else results)
    for instr in emitter.instrs:
        assert instr.result is not None
        operands = [env[v] for v in ir.operands(instr.op)]
        flushes = machine_flushes and flushed_by_mode(instr, bitwise)
        env[instr.result] = lower(b, instr.op, operands, instr.result, width, machine_flushes=flushes)
    return [env[r] for r in results] if isinstance(result, tuple) else env[result]


def _element(type: ll.Type) -> ll.Type:
    return type.element if isinstance(type, ll.VectorType) else type


def unary(b: ll.IRBuilder, name: str, x: Any) -> Any:
    """An intrinsic of a float or a vector of floats."""
    function = b.module.declare_intrinsic(f"{name}.{_suffix(x.type)}", (), ll.FunctionType(x.type, [x.type]))
    return b.call(function, [x])


def first_lanes(b: ll.IRBuilder, count: Any, width: int) -> Any:
    """The mask of the first `count` of `width` lanes; `count` is an i64 of at most `width`."""
    lanes = ll.Constant(vector(I32, width), list(range(width)))
    return b.icmp_signed("<", lanes, splat(b, b.trunc(count, I32), width))


def masked_load(b: ll.IRBuilder, address: Any, mask: Any, type: ll.VectorType) -> Any:
    """The elements of a vector in memory that are in the mask, and zeros. Any address will do."""
    name = f"llvm.masked.load.{_suffix(type)}.p0"
    function = ll.FunctionType(type, [PTR, I32, mask.type, type])
    zeros = ll.Constant(type, None)
    return b.call(b.module.declare_intrinsic(name, (), function), [address, I32(1), mask, zeros])


def masked_store(b: ll.IRBuilder, x: Any, address: Any, mask: Any) -> None:
    """Store the elements of a vector that are in the mask. Any address will do."""
    name = f"llvm.masked.store.{_suffix(x.type)}.p0"
    function = ll.FunctionType(ll.VoidType(), [x.type, PTR, I32, mask.type])
    b.call(b.module.declare_intrinsic(name, (), function), [x, address, I32(1), mask])


def _suffix(type: ll.Type) -> str:
    """A type in the name of an intrinsic."""
    return f"v{type.count}{type.element.intrinsic_name}" if isinstance(type, ll.VectorType) else type.intrinsic_name


def allow_flushing(f: ll.Function) -> None:
    """Have LLVM know that the function runs in whatever mode of subnormal numbers; it takes it for IEEE's otherwise."""
    set.add(f.attributes, '"denormal-fp-math"="dynamic,dynamic"')  # llvmlite's own `add` does not know it


def integer(i: int) -> ll.Constant:
    """An i64."""
    return ll.Constant(I64, i)


def minimum(b: ll.IRBuilder, x: Any, y: Any) -> Any:
    """The smaller one of two signed integers."""
    return b.select(b.icmp_signed("<", x, y), x, y)


def maximum(b: ll.IRBuilder, x: Any, y: Any) -> Any:
    """The larger one of two signed integers."""
    return b.select(b.icmp_signed(">", x, y), x, y)


def at(b: ll.IRBuilder, base: Any, index: Any, type: ll.Type, *, inbounds: bool = True) -> Any:
    """The address of element `index` of an array of `type`. `inbounds`: it is in the array, or just behind it; of any
    other place, LLVM takes the address to be undefined."""
    return b.gep(base, [index], inbounds=inbounds, source_etype=type)


def load(b: ll.IRBuilder, base: Any, index: Any, type: ll.Type) -> Any:
    """Element `index` of an array of `type`."""
    return b.load(at(b, base, index, type), typ=type)


def ceil_div(b: ll.IRBuilder, x: Any, size: int) -> Any:
    """x / size, rounded up; x is not negative."""
    return b.udiv(b.add(x, integer(size - 1)), integer(size))


def is_const(instr: Instr) -> bool:
    """Whether an instruction is a constant: these are emitted where they are used, and never kept."""
    return isinstance(instr.op, ir.Const | ir.IntConst)
