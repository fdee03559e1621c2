"""One flag variant of a checked model becomes one kernel: a single `update` phase in the order the spec is written.

Host, shared and tensor values are doubles; elements are of the kernel's compute dtype. Where a double meets elements it
is rounded once (spec-language rule 6); reductions and elementary functions widen elements to double.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optgen.diagnostics import Diagnostic, Source, Span, SpecErrors
from optgen.ir import nodes as ir
from optgen.ir.nodes import Buffer, Instr, Kernel, Phase, Value
from optgen.ir.verify import typed
from optgen.model import Binary, Call, Expr, Flags, Kind, Name, Number, Optimizer, Program, State, Unary

COMPARISONS: dict[str, ir.CompareOp] = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
ARITHMETIC: dict[str, type[ir.Add | ir.Sub | ir.Mul | ir.Div]] = {"+": ir.Add, "-": ir.Sub, "*": ir.Mul, "/": ir.Div}
MATH: tuple[ir.MathFunction, ...] = ("exp", "expm1", "log", "log1p", "tanh", "cbrt")
REDUCTIONS = ("sum", "mean", "norm", "rms", "max", "min")


class NotCompiled(SpecErrors):
    """A spec that is right but needs what the compiler does not build yet."""


def build(optimizer: Optimizer, flags: Flags, dtype: str) -> Kernel:
    """The kernel of one variant, elements stored as `dtype` (`float32` or `float64`); raises NotCompiled."""
    program = optimizer.program(flags)
    return _Builder(optimizer, program, ir.COMPUTE[dtype]).kernel(dtype)


class _Builder:
    def __init__(self, optimizer: Optimizer, program: Program, compute: ir.DType) -> None:
        self.optimizer = optimizer
        self.program = program
        self.compute = compute
        self.instrs: list[Instr] = []
        self.values: dict[str, Value] = {}
        self.states = {s.name for s in program.states}
        self.inputs = {i.name for i in optimizer.inputs}
        self.hyper = optimizer.all_params()

    def kernel(self, dtype: str) -> Kernel:
        for state in self.program.states:
            if state.kind is not Kind.ELEM:
                raise self.not_compiled(state.span, f"states of kind '{state.kind.value}'")
        for equation in self.program.equations:
            value = self.lower(equation.value)
            self.values[equation.target.key] = self.rename(value, equation.target.key)
        stored = ["w", *(s.name for s in self.program.states)]
        for name in stored:
            self.instrs.append(Instr(None, ir.Store(name, self.element(self.values[name + "'"]))))
        read = {i.op.name for i in self.instrs if isinstance(i.op, ir.Hyper)}
        buffers = [Buffer("w", True), Buffer("grad", False)]
        buffers += [Buffer(s.name, True, _start(s)) for s in self.program.states]
        hyper = tuple(name for name in self.hyper if name in read)
        return Kernel(self.optimizer.name, dtype, tuple(buffers), hyper, (Phase("update", tuple(self.instrs)),))

    # ------------------------------------------------------------ emitting

    def emit(self, op: ir.Op, id: str | None = None, wanted: ir.DType = "f64") -> Value:
        value = typed(op, id or str(len(self.instrs)), self.compute, wanted)
        self.instrs.append(Instr(value, op))
        return value

    def rename(self, value: Value, id: str) -> Value:
        """Give an equation's value the name of its target, for whoever reads the IR."""
        last = self.instrs[-1]
        if last.result is None or last.result != value or not value.id.isdigit():
            return value
        named = replace(value, id=id)
        self.instrs[-1] = replace(last, result=named)
        return named

    def const(self, x: float) -> Value:
        return self.emit(ir.Const(x))

    def element(self, x: Value) -> Value:
        """x in the compute dtype: a double is rounded here, once."""
        if x.type.dtype == self.compute:
            return x
        definition = self.instrs[int(x.id)].op if x.id.isdigit() else None
        if isinstance(definition, ir.Const):
            with np.errstate(over="ignore"):
                return self.emit(ir.Const(float(np.float32(definition.value))), wanted="f32")
        return self.emit(ir.Convert(x))

    def double(self, x: Value) -> Value:
        return x if x.type.dtype == "f64" else self.emit(ir.Convert(x))

    def together(self, *values: Value) -> list[Value]:
        """The operands of one operation in one dtype."""
        if any(v.type.kind is Kind.ELEM for v in values):
            return [self.element(v) for v in values]
        return list(values)

    # ------------------------------------------------------------ names

    def name(self, name: Name) -> Value:
        if name.key not in self.values:
            self.values[name.key] = self.first_use(name)
        return self.values[name.key]

    def first_use(self, name: Name) -> Value:
        id = name.id
        if id in self.inputs:
            raise self.not_compiled(name.span, f"the input '{id}'")
        if id in ("w", "grad") or id in self.states:
            return self.emit(ir.Load(id), id)
        if id == "g":
            rescaled = self.emit(ir.Mul(*self.together(self.hyper_value("rescale_grad"), self.load("grad"))))
            bound = self.hyper_value("clip_gradient")
            return self.rename(self.clip(rescaled, self.emit(ir.Neg(bound)), bound), "g")
        if id in self.hyper:
            return self.emit(ir.Hyper(id), id)
        if id == "t":
            return self.emit(ir.Count(), "t")
        if id == "size":
            return self.emit(ir.Size(), "size")
        raise self.not_compiled(name.span, f"'{id}'")

    def load(self, buffer: str) -> Value:
        return self.name(Name(buffer, False, Span(0, 0, 0)))

    hyper_value = load

    # ------------------------------------------------------------ expressions

    def lower(self, expr: Expr) -> Value:
        match expr:
            case Number(value=value):
                return self.const(value)
            case Name():
                return self.name(expr)
            case Unary(op="-", operand=x):
                return self.emit(ir.Neg(self.lower(x)))
            case Unary(op="not", operand=x):
                return self.emit(ir.Not(self.lower(x)))
            case Binary(op="^", left=x, right=Number(value=2.0)):
                base = self.lower(x)
                return self.emit(ir.Mul(base, base))
            case Binary(op="^", left=x, right=y):
                return self.math("pow", self.lower(x), self.lower(y))
            case Binary(op=op, left=x, right=y):
                return self.binary(op, self.lower(x), self.lower(y))
            case Call():
                return self.call(expr)
        raise TypeError(f"not an expression of an equation: {expr!r}")

    def binary(self, op: str, x: Value, y: Value) -> Value:
        if op in ("and", "or"):
            return self.emit(ir.And(x, y) if op == "and" else ir.Or(x, y))
        a, b = self.together(x, y)
        if op in COMPARISONS:
            return self.emit(ir.Compare(COMPARISONS[op], a, b))
        return self.emit(ARITHMETIC[op](a, b))

    def call(self, call: Call) -> Value:
        name = call.function
        if call.scope is not None:
            raise self.not_compiled(call.span, f"'{name}' over {call.scope}")
        args = [self.lower(a) for a in call.args]
        if name in REDUCTIONS and len(args) == 1:
            return self.reduce(name, args[0])
        if name in MATH:
            return self.math(name, *args)
        match name, args:
            case "sqrt", [x]:
                return self.emit(ir.Sqrt(x))
            case "abs", [x]:
                return self.emit(ir.Abs(x))
            case "floor", [x]:
                return self.emit(ir.Floor(x))
            case "pow", [x, y]:
                return self.math("pow", x, y)
            case "sign", [x]:
                return self.sign(x)
            case (("max" | "min"), [x, y]):
                return self.extreme("gt" if name == "max" else "lt", x, y)
            case "clip", [x, bound]:
                return self.clip(x, self.emit(ir.Neg(bound)), bound)
            case "clip", [x, low, high]:
                return self.clip(x, low, high)
            case "where", [condition, x, y]:
                a, b = self.together(x, y)
                return self.emit(ir.Select(condition, a, b))
        raise self.not_compiled(call.span, f"'{name}()'")

    def sign(self, x: Value) -> Value:
        """+1, -1, and +0 for both zeros and NaN."""
        x, zero, plus, minus = self.together(x, self.const(0.0), self.const(1.0), self.const(-1.0))
        below = self.emit(ir.Select(self.emit(ir.Compare("lt", x, zero)), minus, zero))
        return self.emit(ir.Select(self.emit(ir.Compare("gt", x, zero)), plus, below))

    def extreme(self, op: ir.CompareOp, x: Value, y: Value) -> Value:
        """where(a != a or a > b, a, b): a NaN on either side stays."""
        a, b = self.together(x, y)
        nan = self.emit(ir.Compare("ne", a, a))
        return self.emit(ir.Select(self.emit(ir.Or(nan, self.emit(ir.Compare(op, a, b)))), a, b))

    def clip(self, x: Value, low: Value, high: Value) -> Value:
        """Compare and select: NaN stays NaN, and a bound that is NaN (unset) clips nothing."""
        x, low, high = self.together(x, low, high)
        capped = self.emit(ir.Select(self.emit(ir.Compare("gt", x, high)), high, x))
        return self.emit(ir.Select(self.emit(ir.Compare("lt", capped, low)), low, capped))

    def math(self, function: ir.MathFunction, *args: Value) -> Value:
        met = self.together(*args)
        result = self.emit(ir.Math(function, tuple(self.double(a) for a in met)))
        return self.element(result) if any(a.type.kind is Kind.ELEM for a in met) else result

    def reduce(self, name: str, x: Value) -> Value:
        """Doubles all the way: the square of a float32 neither overflows nor underflows in a norm."""
        wide = self.double(x)
        if name in ("max", "min"):
            return self.emit(ir.Reduce("max" if name == "max" else "min", wide))
        if name in ("norm", "rms"):
            wide = self.emit(ir.Mul(wide, wide))
        total = self.emit(ir.Reduce("sum", wide))
        if name in ("mean", "rms"):
            total = self.emit(ir.Div(total, self.load("size")))
        return self.emit(ir.Sqrt(total)) if name in ("norm", "rms") else total

    def not_compiled(self, span: Span, what: str) -> NotCompiled:
        source: Source = self.optimizer.source
        return NotCompiled(source, [Diagnostic("E901", f"the compiler does not build {what} yet", span)])


def _start(state: State) -> float | str:
    return state.init.value if isinstance(state.init, Number) else state.init.id
