"""Checks that a kernel is well-formed, after the build and after every pass. A failure is a bug in the compiler."""

from __future__ import annotations

from typing import get_args

from optgen import ir
from optgen.axes import COLS, ELEMENTS, ROWS, Axes, Kind, When
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.table import EXPANSIONS
from optgen.groups import LineGroup
from optgen.ir import Buffer, Instr, Kernel, Phase, Type, Value
from optgen.model import DIMENSIONS, PER_PARAMETER

# The kinds of the values that a phase may compute. Constants may stand in any phase.
PHASE_KINDS: dict[ir.PhaseKind, tuple[Kind, ...]] = {
    "update": tuple(Kind),
    "host": (Kind.UNIFORM, Kind.HOST),
    "shared": (Kind.UNIFORM, Kind.SHARED),
    "scalar": (Kind.UNIFORM, Kind.HOST, Kind.SHARED, Kind.TENSOR),
    "row": (Kind.ROW,),
    "col": (Kind.COL,),
    "sweep": (Kind.ELEM,),
}


_MATRIX_OPS = get_args(ir.MatrixOp)


class InvalidKernel(AssertionError):
    """A kernel that breaks a rule of the IR."""


def verify(kernel: Kernel) -> Kernel:
    """Return `kernel`; raise InvalidKernel when it is not well-formed."""
    rules = _Rules(kernel)
    order = [p.kind for p in kernel.phases]
    cut = order[:1] == ["host"] and not {"host", "update"} & {*order[1:]}
    uncut = order in (["update"], ["host", "update"])
    _check(cut or uncut, f"{kernel.name}: phases in the wrong order: {' '.join(order)}")
    for phase in kernel.phases:
        rules.begin(phase)
        rules.check_all(phase.instrs)
    needed = [b.name for b in kernel.buffers if b.written and not b.is_scale and not ir.is_gradient(b.name)]
    unstored = [name for name in needed if name not in rules.stored]
    _check(not unstored, f"{kernel.name}: never stored: {unstored}")
    return kernel


class _Rules:
    """The state of a walk through a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.buffers = {b.name: b for b in kernel.buffers}
        self.known: dict[str, Type] = {}
        self.ids: set[str] = set()
        """The names of all values so far, those of turns included."""
        self.turns: frozenset[str] = frozenset()
        """What the loops around an instruction call the numbers of their turns."""
        self.stored: set[str] = set()

    def begin(self, phase: Phase) -> None:
        self.phase = phase
        self.defined_here: set[str] = set()
        self.stored_here: set[str] = set()
        self.reduced_here: set[str] = set()

    def check_all(self, instrs: tuple[Instr, ...]) -> None:
        for instr in instrs:
            try:
                self.check(instr)
            except InvalidKernel as error:
                raise InvalidKernel(f"{self.kernel.name}: {self.phase.kind}: {instr}: {error}") from None

    def check(self, instr: Instr) -> None:
        op = instr.op
        for v in ir.operands(op):
            known = self.known.get(v.id)
            _check(known is v.type or known == v.type, "an operand is not defined before, or with another type")
            _check(not v.type.is_element or v.id in self.defined_here, "an operand is an element of another phase")
            _check(v.id not in self.reduced_here, "an operand is a reduction that this phase has not completed")
        if isinstance(op, ir.Load | ir.Store):
            _check(op.buffer in self.buffers, "no such buffer")
            _check(op.buffer not in self.stored_here, "used after its store in one phase")
        if isinstance(op, ir.Hyper):
            _check(op.name in self.kernel.hyper, "not among the kernel's hyper-parameters")
        if isinstance(op, ir.Store):
            self.check_store(instr, op)
        elif isinstance(op, ir.Repeat):
            self.check_loop(instr, op)
        elif isinstance(op, ir.Put):
            _check(op.x.type.dtype == "f64" and not op.x.type.axes, "puts no number")
        else:
            self.check_result(instr)

    def check_store(self, instr: Instr, op: ir.Store) -> None:
        buffer = self.buffers[op.buffer]
        _check(buffer.written, "a read-only buffer")
        _check(op.buffer not in self.stored, "stored twice")
        held = held_type(buffer, self.kernel.compute)
        _check(instr.result is None and op.value.type.dtype == held.dtype, "not of the dtype the buffer holds")
        _check(_fits(op.value.type, held), "not of the kind the buffer holds")
        _check(self.phase.kind == "update" or held.kind in PHASE_KINDS[self.phase.kind], "a buffer of another phase")
        self.stored.add(op.buffer)
        self.stored_here.add(op.buffer)

    def check_loop(self, instr: Instr, loop: ir.Repeat) -> None:
        """What a turn defines is not known behind the loop, but for the results."""
        region = loop.region
        _check(self.phase.kind == "update" and instr.result is None, "a loop in a kernel that is cut")
        for start, take, give, result in zip(loop.starts, region.takes, region.gives, region.results, strict=True):
            _check(take.type == result.type, "a result of another type than what the turns take")
            _check(all(_fits(x.type, take.type) for x in (start, give)), "a turn takes what it is not given")
        around = self.turns
        _check(loop.index not in around, "a loop around it calls the number of its turn the same")
        self.turns = around | ({loop.index} - {""})
        self.name(*region.takes)
        before = dict(self.known)
        self.known |= {v.id: v.type for v in region.takes}
        self.defined_here |= {v.id for v in region.takes}
        self.check_all(region.instrs)
        self.turns = around
        _check(all(self.known.get(v.id) == v.type for v in region.gives), "gives what is not defined")
        self.name(*region.results)
        self.known = before | {v.id: v.type for v in region.results}
        self.defined_here |= {v.id for v in region.results}

    def name(self, *values: Value) -> None:
        """Have names for values, which no others have, be it in turns of other loops."""
        for v in values:
            _check(v.id not in self.ids, "defined twice")
            self.ids.add(v.id)

    def check_result(self, instr: Instr) -> None:
        result = instr.result
        if result is None:
            raise InvalidKernel("no result")
        if isinstance(instr.op, ir.Load):
            expected = held_type(self.buffers[instr.op.buffer], self.kernel.compute)
        else:
            expected = result_type(instr.op, result.type.dtype)
        _check(result.type == expected, "the result has another type")
        at = instr.op.x.type.kind if isinstance(instr.op, ir.Reduce) else result.type.kind
        free = isinstance(instr.op, ir.Const | ir.IntConst)
        _check(free or at in PHASE_KINDS[self.phase.kind], "a value of a kind that this phase does not hold")
        self.name(result)
        self.known[result.id] = result.type
        if isinstance(instr.op, ir.Reduce) and self.phase.kind != "update":
            self.reduced_here.add(result.id)
        self.defined_here.add(result.id)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidKernel(message)


def _fits(x: Type, wanted: Type) -> bool:
    """Whether a value can be repeated to be one of this type."""
    return x.dtype == wanted.dtype and ir.joined(x, wanted) == wanted


def held_type(buffer: Buffer, compute: ir.DType) -> Type:
    """The type of a buffer's values in the kernel, whatever their storage."""
    return Type(buffer.axes, compute if buffer.is_element else "f64", buffer.known)


def result_type(op: ir.Op, wanted: ir.DType) -> Type:
    """The type of an operation's result. `wanted` is the dtype of a constant. The type of a load is `held_type`."""
    if isinstance(op, _MATRIX_OPS):
        return matrix_type(op, wanted)
    args = tuple(ir.operands(op))
    shape = ir.joined(*(v.type for v in args))
    dtypes = {v.type.dtype for v in args}
    match op:
        case ir.Const():
            return Type((), "f32" if wanted == "f32" else "f64", When.UNIFORM)
        case ir.IntConst():
            return Type((), "i32" if wanted == "i32" else "i64", When.UNIFORM)
        case ir.Hyper(name=name):
            differs = isinstance(op, ir.OwnHyper) or name in PER_TENSOR
            return Type((), "f64", When.HOST if differs else When.UNIFORM)
        case ir.Count():
            return Type((), "f64", When.HOST)
        case ir.RowNumber():
            return Type(ROWS, "f64")
        case ir.ColumnNumber():
            return Type(COLS, "f64")
        case ir.Word(axes=axes):
            return Type(axes, "i32")
        case ir.Reduce(x=x, scope=scope):
            _check(x.type.dtype == "f64", "reduces f64 elements only")
            return _reduced(x.type, scope)
        case ir.ReduceOverParams(x=x):
            _check(x.type.dtype == "f64" and not x.type.axes and x.type.known is not When.SHARED, "not of tensors")
            return Type((), "f64", When.SHARED)
        case ir.Compare(a=a, b=b):
            _check(len(dtypes) == 1 and "b1" not in dtypes, "compares two numbers of one dtype")
            return shape.of("b1")
        case ir.And() | ir.Or() | ir.Not():
            return _same(shape, dtypes, "b1")
        case ir.Select(condition=c, a=a, b=b):
            _check(c.type.dtype == "b1" and a.type.dtype == b.type.dtype, "operands of the wrong dtypes")
            return shape.of(a.type.dtype)
        case ir.Math(function=function):
            _check(len(args) == EXPANSIONS[function][0], "the wrong number of arguments")
            return _same(shape, dtypes, "f64")
        case ir.Int() | ir.Shift():
            _check(len(dtypes) == 1 and dtypes <= {"i32", "i64"}, "operands must be of one integer dtype")
            return shape.of(args[0].type.dtype)
        case ir.Lookup(table=table):
            _check(len(table.values) in (8, 16, 32) and dtypes == {"i32"}, "8, 16 or 32 entries, numbered by an i32")
            return shape.of("f32")
    if (to := CONVERSIONS.get(type(op))) is not None:
        _check(args[0].type.dtype in to, f"converts {' and '.join(to)} only")
        return shape.of(to[args[0].type.dtype])
    _check(len(dtypes) == 1 and dtypes <= {"f32", "f64"}, "operands must be of one floating dtype")
    return shape.of(args[0].type.dtype)


def matrix_type(op: ir.Op, wanted: ir.DType) -> Type:
    """The type of the result of an operation on whole matrices. `wanted` is the dtype of elements."""
    match op:
        case ir.MatMul(a=a, b=b):
            left, right = a.type.axes, b.type.axes
            _check(left[-1:] == right[:1] and len(left + right) > 2, "no product of these dimensions")
            return _array(left[:-1] + right[1:], (a if len(left) == 2 else b).type.dtype)
        case ir.Transposed(x=x):
            _check(x.type.is_element, "transposes a matrix")
            return Type(x.type.axes[::-1], x.type.dtype)
        case ir.MatrixFunction(function="trace"):
            return Type((), "f64")
        case ir.MatrixFunction(dims=dims):
            return _array(dims, wanted)
        case ir.Triangle(x=x):
            _check(x.type.is_element, "a triangle of a matrix")
            return x.type
        case ir.Repeated(x=x, dims=dims):
            _check({*x.type.axes} <= {*dims}, "repeated along other dimensions")
            return Type(dims, x.type.dtype)
        case ir.RepeatedDown(x=x, dims=dims):
            _check(x.type.axes * 2 == dims, "no vector of the columns of a square matrix")
            return Type(dims, x.type.dtype)
        case ir.Spread(x=x):
            if x.type.group is None:
                raise InvalidKernel("spreads values of groups")
            return Type((x.type.group.lines,), x.type.dtype)
        case ir.ReduceGroups(x=x, group=group):
            _check(x.type == Type((group.lines,), "f64"), "reduces the rows or columns of groups")
            return Type((group,), "f64")
        case ir.Get(known=known):
            return Type((), "f64", known)
        case ir.ArrayCall(type=own):
            found = _called_axes(op)
            _check((found[::-1] if op.turned else found) == own.axes, "a result of other dimensions than the call's")
            return own
        case ir.Keep(type=own):
            return own
    raise InvalidKernel("no result")


def _called_axes(call: ir.ArrayCall) -> Axes:
    """The dimensions of what a call computes of its operands."""
    _check(len(call.args) == len(call.transposed), "not as many operands as are transposed or not")
    args = [v.type.axes[::-1] if turned else v.type.axes for v, turned in zip(call.args, call.transposed, strict=True)]
    match call.function, args:
        case "product", [a, b]:
            _check(a[-1:] == b[:1] and len(a + b) > 2, "no product of these dimensions")
            return a[:-1] + b[1:]
        case "transpose", [a]:
            return a[::-1]
        case "spread", [(LineGroup(lines=lines),)]:
            return (lines,)
        case "sum" | "mean" | "max" | "min", [a]:
            group = call.type.group
            _check(group is not None and a == (group.lines,), "reduces the rows or columns of groups")
            return call.type.axes
        case "identity", []:
            return call.type.axes
    what = MATRIX_FUNCTIONS.get("diag" if call.function == "diagonal" else call.function)
    if what is None or len(args) + len(call.numbers) != len(what.needs):
        raise InvalidKernel("no call of these operands")
    for need, axes in zip(what.needs, args, strict=False):
        _check(need != "a square matrix" or (len(axes) == 2 and axes[0] == axes[1]), "the operand is not square")
    _check(call.function != "solve" or args[0][1:] == args[1][:1], "solves for other dimensions")
    return what.axes(*args)


def _array(axes: Axes, dtype: ir.DType) -> Type:
    """The type of a matrix of elements, or of a vector."""
    return Type(axes, dtype if len(axes) == 2 else "f64")


def _reduced(x: Type, scope: str) -> Type:
    """The type of what a reduction leaves of f64 values."""
    if scope in ("row", "col"):
        _check(x.is_element, "nothing to reduce in this scope")
        return Type((x.axes[scope == "col"],), "f64")
    _check(bool(x.axes) and (scope == "all" or x.axes != ELEMENTS), "nothing to reduce in this scope")
    return x if scope == "matrix" else Type((), "f64")


PER_TENSOR = (*PER_PARAMETER, *DIMENSIONS, *(f"parameter.{name}" for name in DIMENSIONS))
"""The hyper-parameters that differ between the tensors of a step in every spec."""
CONVERSIONS: dict[type[ir.Op], dict[ir.DType, ir.DType]] = {
    ir.Convert: {"f32": "f64", "f64": "f32"},
    ir.Bits: {"f64": "i64", "f32": "i32"},
    ir.FromBits: {"i64": "f64", "i32": "f32"},
    ir.Extend: {"i32": "i64"},
    ir.Truncate: {"i64": "i32"},
    ir.ToFloat: {"i64": "f64", "i32": "f32"},
    ir.ToInt: {"f64": "i64", "f32": "i32"},
}


def _same(shape: Type, dtypes: set[ir.DType], dtype: ir.DType) -> Type:
    _check(dtypes == {dtype}, "an operand of the wrong dtype")
    return shape.of(dtype)


def typed(op: ir.Op, id: str, wanted: ir.DType = "f64") -> Value:
    """A value for the result of `op`, of the type the rules give it."""
    return Value(id, result_type(op, wanted))
