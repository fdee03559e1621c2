"""What a well-formed kernel is. Run after the build and after every pass: a failure is a bug of the compiler."""

from __future__ import annotations

import re

from optgen.ir import nodes as ir
from optgen.ir.math import FUNCTIONS
from optgen.ir.nodes import Instr, Kernel, Phase, Type, Value, join
from optgen.model import Kind

# Constants may stand in any phase.
PHASE_KINDS: dict[ir.PhaseKind, tuple[Kind, ...]] = {
    "update": tuple(Kind),
    "host": (Kind.HOST,),
    "sweep": (Kind.ELEM,),
    "scalar": (Kind.HOST, Kind.TENSOR),
}
PHASE_ORDER = re.compile("(host )?update|host sweep( scalar sweep)*")


class InvalidKernel(AssertionError):
    """A kernel that breaks a rule of the IR."""


def verify(kernel: Kernel) -> Kernel:
    """Return `kernel`; raise InvalidKernel when it is not well-formed."""
    rules = _Rules(kernel)
    order = " ".join(p.kind for p in kernel.phases)
    _check(bool(PHASE_ORDER.fullmatch(order)), f"{kernel.name}: phases in the wrong order: {order}")
    for phase in kernel.phases:
        rules.begin(phase)
        for instr in phase.instrs:
            try:
                rules.check(instr)
            except InvalidKernel as error:
                raise InvalidKernel(f"{kernel.name}: {phase.kind}: {instr}: {error}") from None
    unstored = [b.name for b in kernel.buffers if b.written and b.name not in rules.stored]
    _check(not unstored, f"{kernel.name}: never stored: {unstored}")
    return kernel


class _Rules:
    """What is known on the way through a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.buffers = {b.name: b for b in kernel.buffers}
        self.known: dict[str, Type] = {}
        self.stored: set[str] = set()

    def begin(self, phase: Phase) -> None:
        self.phase = phase
        self.defined_here: set[str] = set()
        self.stored_here: set[str] = set()
        self.reduced_here: set[str] = set()

    def check(self, instr: Instr) -> None:
        op = instr.op
        for v in ir.operands(op):
            _check(self.known.get(v.id) == v.type, "an operand is not defined before, or with another type")
            _check(
                v.type.kind is not Kind.ELEM or v.id in self.defined_here, "an operand is an element of another phase"
            )
            _check(v.id not in self.reduced_here, "an operand is a reduction that this sweep has not completed")
        if isinstance(op, ir.Load | ir.Store):
            _check(op.buffer in self.buffers, "no such buffer")
            _check(op.buffer not in self.stored_here, "used after its store in one phase")
        if isinstance(op, ir.Hyper):
            _check(op.name in self.kernel.hyper, "not among the kernel's hyper-parameters")
        if isinstance(op, ir.Store):
            self.check_store(instr, op)
        else:
            self.check_result(instr)

    def check_store(self, instr: Instr, op: ir.Store) -> None:
        _check(self.buffers[op.buffer].written, "a read-only buffer")
        _check(op.buffer not in self.stored, "stored twice")
        _check(instr.result is None and op.value.type.dtype == self.kernel.compute, "not of the compute dtype")
        self.stored.add(op.buffer)
        self.stored_here.add(op.buffer)

    def check_result(self, instr: Instr) -> None:
        result = instr.result
        if result is None:
            raise InvalidKernel("no result")
        expected = result_type(instr.op, self.kernel.compute, result.type.dtype)
        _check(result.type == expected, "the result has another type")
        swept = Kind.ELEM if isinstance(instr.op, ir.Reduce) else result.type.kind
        free = isinstance(instr.op, ir.Const | ir.IntConst)
        _check(free or swept in PHASE_KINDS[self.phase.kind], "a value of a kind that this phase does not hold")
        _check(result.id not in self.known, "defined twice")
        self.known[result.id] = result.type
        if isinstance(instr.op, ir.Reduce) and self.phase.kind == "sweep":
            self.reduced_here.add(result.id)
        self.defined_here.add(result.id)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidKernel(message)


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
            _check(x.type == Type(Kind.ELEM, "f64"), "reduces f64 elements only")
            return Type(Kind.TENSOR, "f64")
        case ir.Compare(a=a, b=b):
            _check(len(dtypes) == 1 and "b1" not in dtypes, "compares two numbers of one dtype")
            return Type(kind, "b1")
        case ir.And() | ir.Or() | ir.Not():
            return _same(kind, dtypes, "b1")
        case ir.Select(condition=c, a=a, b=b):
            _check(c.type.dtype == "b1" and a.type.dtype == b.type.dtype, "operands of the wrong dtypes")
            return Type(kind, a.type.dtype)
        case ir.Convert(x=x):
            _check(x.type.dtype in ("f32", "f64"), "converts f32 and f64 only")
            return Type(kind, "f32" if x.type.dtype == "f64" else "f64")
        case ir.Bits():
            return Type(_same(kind, dtypes, "f64").kind, "i64")
        case ir.FromBits():
            return Type(_same(kind, dtypes, "i64").kind, "f64")
        case ir.Int() | ir.Shift():
            return _same(kind, dtypes, "i64")
        case ir.Math(function=function):
            _check(len(args) == FUNCTIONS[function][0], "the wrong number of arguments")
            return _same(kind, dtypes, "f64")
        case _:
            _check(len(dtypes) == 1 and dtypes <= {"f32", "f64"}, "operands must be of one floating dtype")
            return Type(kind, args[0].type.dtype)


def _same(kind: Kind, dtypes: set[ir.DType], dtype: ir.DType) -> Type:
    _check(dtypes == {dtype}, "an operand of the wrong dtype")
    return Type(kind, dtype)


def typed(op: ir.Op, id: str, compute: ir.DType, wanted: ir.DType = "f64") -> Value:
    """A value for the result of `op`, of the type the rules give it."""
    return Value(id, result_type(op, compute, wanted))
