"""What a well-formed kernel is. Run after the build and after every pass: a failure is a bug of the compiler."""

from __future__ import annotations

from optgen.ir import nodes as ir
from optgen.ir.nodes import Instr, Kernel, Phase, Type, Value, join
from optgen.model import Kind

SCALARS = (Kind.HOST, Kind.SHARED, Kind.TENSOR)
PHASE_KINDS: dict[ir.PhaseKind, tuple[Kind, ...]] = {
    "update": tuple(Kind),
    "host": (Kind.HOST,),
    "sweep": (Kind.ELEM,),
    "scalar": (Kind.HOST, Kind.TENSOR),
}


class InvalidKernel(AssertionError):
    """A kernel that breaks a rule of the IR."""


def verify(kernel: Kernel) -> Kernel:
    """Return `kernel`; raise InvalidKernel when it is not well-formed."""
    known: dict[str, Type] = {}
    stored: set[str] = set()
    buffers = {b.name: b for b in kernel.buffers}
    for phase in kernel.phases:
        here: set[str] = set()
        stored_here: set[str] = set()
        for instr in phase.instrs:
            where = f"{kernel.name}: {phase.kind}: {instr}"
            for v in ir.operands(instr.op):
                _check(known.get(v.id) == v.type, f"{where}: {v} is not defined before, or with another type")
                _check(v.type.kind is not Kind.ELEM or v.id in here, f"{where}: {v} is an element of another phase")
            if isinstance(instr.op, ir.Load | ir.Store):
                _check(instr.op.buffer in buffers, f"{where}: no such buffer")
                _check(instr.op.buffer not in stored_here, f"{where}: used after its store in one phase")
            if isinstance(instr.op, ir.Store):
                _check(buffers[instr.op.buffer].written, f"{where}: a read-only buffer")
                _check(instr.op.buffer not in stored, f"{where}: stored twice")
                stored.add(instr.op.buffer)
                stored_here.add(instr.op.buffer)
            if isinstance(instr.op, ir.Hyper):
                _check(instr.op.name in kernel.hyper, f"{where}: not among the kernel's hyper-parameters")
            _check_type(kernel, phase, instr, where)
            if instr.result is not None:
                _check(instr.result.id not in known, f"{where}: defined twice")
                known[instr.result.id] = instr.result.type
                here.add(instr.result.id)
    unstored = [b.name for b in kernel.buffers if b.written and b.name not in stored]
    _check(not unstored, f"{kernel.name}: never stored: {unstored}")
    return kernel


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidKernel(message)


def _check_type(kernel: Kernel, phase: Phase, instr: Instr, where: str) -> None:
    if isinstance(instr.op, ir.Store):
        _check(instr.result is None and instr.op.value.type.dtype == kernel.compute, f"{where}: bad store")
        return
    _check(instr.result is not None, f"{where}: no result")
    assert instr.result is not None
    expected = result_type(instr.op, kernel.compute, instr.result.type.dtype)
    _check(instr.result.type == expected, f"{where}: the result is {instr.result.type}, not {expected}")
    swept = Kind.ELEM if isinstance(instr.op, ir.Reduce) else instr.result.type.kind
    _check(swept in PHASE_KINDS[phase.kind], f"{where}: a {swept.value} value in a {phase.kind} phase")


def result_type(op: ir.Op, compute: ir.DType, wanted: ir.DType) -> Type:
    """The type of an operation's result. `wanted` decides where the operation alone does not (a constant's dtype)."""
    args = tuple(ir.operands(op))
    kind = join(*(v.type.kind for v in args))
    dtypes = {v.type.dtype for v in args}
    match op:
        case ir.Const():
            return Type(Kind.HOST, "f32" if wanted == "f32" else "f64")
        case ir.IntConst():
            return Type(Kind.HOST, "i64")
        case ir.Hyper() | ir.Count() | ir.Size():
            return Type(Kind.HOST, "f64")
        case ir.Load():
            return Type(Kind.ELEM, compute)
        case ir.Reduce(x=x):
            _check(x.type == Type(Kind.ELEM, "f64"), f"{op}: reduces f64 elements only")
            return Type(Kind.TENSOR, "f64")
        case ir.Compare(a=a, b=b):
            _check(len(dtypes) == 1 and "b1" not in dtypes, f"{op}: compares two numbers of one dtype")
            return Type(kind, "b1")
        case ir.And() | ir.Or() | ir.Not():
            return _same(op, kind, dtypes, "b1")
        case ir.Select(condition=c, a=a, b=b):
            _check(c.type.dtype == "b1" and a.type.dtype == b.type.dtype, f"{op}: bad dtypes")
            return Type(kind, a.type.dtype)
        case ir.Convert(x=x):
            _check(x.type.dtype in ("f32", "f64"), f"{op}: converts f32 and f64 only")
            return Type(kind, "f32" if x.type.dtype == "f64" else "f64")
        case ir.Bits():
            return Type(_same(op, kind, dtypes, "f64").kind, "i64")
        case ir.FromBits():
            return Type(_same(op, kind, dtypes, "i64").kind, "f64")
        case ir.Int() | ir.Shift():
            return _same(op, kind, dtypes, "i64")
        case ir.Math():
            return _same(op, kind, dtypes, "f64")
        case _:
            _check(len(dtypes) == 1 and dtypes <= {"f32", "f64"}, f"{op}: operands of one floating dtype")
            return Type(kind, args[0].type.dtype)


def _same(op: ir.Op, kind: Kind, dtypes: set[ir.DType], dtype: ir.DType) -> Type:
    _check(dtypes == {dtype}, f"{op}: operands must be {dtype}")
    return Type(kind, dtype)


def typed(op: ir.Op, id: str, compute: ir.DType, wanted: ir.DType = "f64") -> Value:
    """A value for the result of `op`, of the type the rules give it."""
    return Value(id, result_type(op, compute, wanted))
