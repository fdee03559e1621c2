"""Lowers one variant of a checked model to a kernel: a single `update` phase, in the order in which the spec is
written.

Elements have the kernel's compute dtype, all smaller kinds are doubles. A double that meets elements is rounded once
(docs/language.md, "rounding"). Reductions and elementary functions widen elements to double.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

from optgen import ir
from optgen.diagnostics import Span
from optgen.expressions import DRAWS, REDUCTIONS, Binary, Call, Expr, Index, Name, Number, Unary, children, walk
from optgen.ir import Buffer, Instr, Kernel, Phase, Value, Variant, join
from optgen.ir.buffers import entry_index
from optgen.ir.expand import Emitter
from optgen.ir.math import FUNCTIONS as MATH
from optgen.ir.math import random
from optgen.ir.storage import float16
from optgen.ir.verify import held_type, typed
from optgen.ir.work import PARAMETER_SIZES, KernelWork, whole_work
from optgen.model import COUNTS, DIMENSIONS, EPSILON, PER_PARAMETER, PHASE, Kind, Optimizer

COMPARISONS: dict[str, ir.CompareOp] = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
ARITHMETIC: dict[str, type[ir.Add | ir.Sub | ir.Mul | ir.Div]] = {"+": ir.Add, "-": ir.Sub, "*": ir.Mul, "/": ir.Div}
REDUCED = {*((name, 1) for name in REDUCTIONS), ("dot", 2)}
"""Reductions, and how many arguments they have."""
_WORDS: dict[tuple[str, ...], type[ir.Word]] = {(): ir.Word, ("rows",): ir.RowWord, ("cols",): ir.ColumnWord}
"""The random words of a draw, by its dimensions in the kernel."""


def build(optimizer: Optimizer, variant: Variant) -> Kernel:
    """The kernel of one variant."""
    return build_work(optimizer, variant, whole_work(optimizer, variant))


def build_work(optimizer: Optimizer, variant: Variant, work: KernelWork) -> Kernel:
    """The kernel of a part of a variant."""
    return _Lowering(optimizer, variant, work).kernel()


def _turn_numbers(optimizer: Optimizer) -> Iterator[str]:
    """The names of the numbers of turns."""
    for equation in optimizer.update:
        loop = equation.loop
        while loop is not None:
            if loop.index is not None:
                yield loop.index
            loop = loop.outer


class _Lowering:
    def __init__(self, optimizer: Optimizer, variant: Variant, work: KernelWork) -> None:
        self.optimizer = optimizer
        self.variant = variant
        self.work = work
        self.compute = ir.COMPUTE[variant.dtype]
        self.instrs: list[Instr] = []
        self.values: dict[str, Value] = {}
        self.kinds = dict(work.kinds)
        self.hyper = (*optimizer.all_params, *DIMENSIONS, "step", ir.GRADIENT_FACTOR)
        self.hyper += (*PARAMETER_SIZES.values(), *dict.fromkeys(_turn_numbers(optimizer)))
        self.buffers = {b.name: b for b in work.buffers}
        self.entries = {s.name: s.entries for s in optimizer.states}
        # Draws count in text order over all variants, so that a flag changes no other draw.
        values = [*optimizer.starts(), *(q.value for q in optimizer.update)]
        calls = [e for value in values for e in walk(value) if isinstance(e, Call) and e.function in DRAWS]
        self.draws = {(c.span.line, c.span.column): k for k, c in enumerate(calls)}

    def kernel(self) -> Kernel:
        kept = set(self.work.stored.values())
        for equation in self.work.equations:
            value = self.lower(equation.value)
            is_kept = equation.target.key in kept
            if is_kept and self.compute == "f64" and self.kinds.get(equation.target.key) is Kind.ELEM:
                value = self.flushed(value)
            self.kinds.setdefault(equation.target.key, self.kind(equation.value))
            self.values[equation.target.key] = self.rename(value, equation.target.key)
        for name, key in self.work.stored.items():
            value = self.name(Name(key.removesuffix("'"), key.endswith("'"), Span(0, 0, 0)))
            if key != name and value == self.values.get(name) and not self.buffers[name].starts_late:  # m' = m
                self.buffers[name] = replace(self.buffers[name], written=False)
            else:
                buffer = self.buffers[name]
                place = self.written(buffer) if buffer.entries else None
                if name == "w" and self.variant.weights == "kahan" and not self.variant.evaluate:
                    value = self.compensated(self.element(value))
                self.instrs.append(Instr(None, ir.Store(name, self.converted(buffer, value), place)))
        read = {i.op.name for i in self.instrs if isinstance(i.op, ir.Hyper)}
        read |= {"matrices"} if self.optimizer.last_two else set()  # by which backends find rows and columns
        hyper = tuple(name for name in self.hyper if name in read)
        phases = (Phase("update", tuple(self.instrs)),)
        name, dtype, buffers = self.optimizer.name, self.variant.dtype, tuple(self.buffers.values())
        return Kernel(name, dtype, buffers, hyper, phases, self.work.advances, self.optimizer.last_two)

    def compensated(self, value: Value) -> Value:
        """The new weight with what the last rounding lost, rounded to nearest; what is lost now is stored.

        Of a step with phases, the weights of all but the last one are those of no step, and stay as they are.
        """
        if self.variant.flags.get(PHASE) not in (None, *self.optimizer.phases[-1:]):
            return value
        self.buffers[ir.COMPENSATION] = replace(self.buffers[ir.COMPENSATION], written=True)
        whole = self.emit(ir.Add(value, self.emit(ir.Load(ir.COMPENSATION), ir.COMPENSATION)))
        weight = self.stored(whole)
        lost = self.emit(ir.Sub(whole, weight))
        self.instrs.append(Instr(None, ir.Store(ir.COMPENSATION, lost)))
        return weight

    def converted(self, buffer: Buffer, x: Value) -> Value:
        return self.element(x) if held_type(buffer, self.compute).dtype == self.compute else self.double(x)

    # ------------------------------------------------------------ emitting

    def emit(self, op: ir.Op, id: str | None = None, wanted: ir.DType = "f64") -> Value:
        name = id or str(len(self.instrs))
        if isinstance(op, ir.Load):
            value = Value(name, held_type(self.buffers[op.buffer], self.compute))
        else:
            value = typed(op, name, wanted)
        self.instrs.append(Instr(value, op))
        return value

    def rename(self, value: Value, id: str) -> Value:
        """Name the value of an equation after its target, so that the IR can be read."""
        last = self.instrs[-1]
        if last.result is None or last.result != value or not value.id.isdigit():
            return value
        named = replace(value, id=id)
        self.instrs[-1] = replace(last, result=named)
        return named

    def const(self, x: float) -> Value:
        return self.emit(ir.Const(x))

    def element(self, x: Value) -> Value:
        """x in the compute dtype. A double is rounded here, once."""
        if x.type.dtype == self.compute:
            return x
        definition = self.instrs[int(x.id)].op if x.id.isdigit() else None
        if isinstance(definition, ir.Const):
            return self.emit(ir.Const(ir.constant_f32(definition.value)), wanted="f32")
        return self.emit(ir.Convert(x))

    def double(self, x: Value) -> Value:
        return x if x.type.dtype == "f64" else self.emit(ir.Convert(x))

    def flushed(self, x: Value) -> Value:
        """A double that becomes an element of a state, or a zero of its sign where that is subnormal."""
        if x.type.kind is Kind.ELEM and any(i.result == x and isinstance(i.op, ir.Load) for i in self.instrs):
            return x
        bits = self.emit(ir.Bits(x))
        exponent = self.emit(ir.Int("and", bits, self.emit(ir.IntConst(0x7FF << 52), wanted="i64")))
        is_zero = self.emit(ir.Compare("eq", exponent, self.emit(ir.IntConst(0), wanted="i64")))
        sign = self.emit(ir.Int("and", bits, self.emit(ir.IntConst(-1 << 63), wanted="i64")))
        return self.emit(ir.Select(is_zero, self.emit(ir.FromBits(sign)), x))

    def coerce_operands(self, *values: Value) -> list[Value]:
        """The operands of one operation in one dtype. A row value and a column value make elements, and are rounded."""
        if join(*(v.type.kind for v in values)) is Kind.ELEM:
            return [self.element(v) for v in values]
        return list(values)

    # ------------------------------------------------------------ names

    def name(self, name: Name) -> Value:
        if name.key not in self.values:
            self.values[name.key] = self.first_use(name)
        return self.values[name.key]

    def first_use(self, name: Name) -> Value:
        id = name.id
        if name.key in self.work.reads:
            buffer = self.buffers[self.work.reads[name.key]]
            return self.emit(ir.Load(buffer.name, self.written(buffer) if buffer.entries else None), name.key)
        if name.at is not None or (id in self.buffers and self.buffers[id].entries):
            return self.entry(name)
        if id == "grad":
            return self.gradient()
        if id in self.work.starts:
            return self.started(id, self.work.starts[id])
        if id in self.buffers:
            return self.emit(ir.Load(id), id)
        if id == "g":
            rescaled = self.emit(ir.Mul(*self.coerce_operands(self.hyper_value("rescale_grad"), self.load("grad"))))
            bound = self.hyper_value("clip_gradient")
            return self.rename(self.clip(rescaled, self.emit(ir.Neg(bound)), bound), "g")
        if id == COUNTS[0]:
            return self.emit(ir.Count(), id)
        if id == EPSILON:
            return self.const(ir.EPSILONS[self.variant.dtype])
        assert id in self.hyper, id
        if id in self.optimizer.per_parameter and id not in PER_PARAMETER:
            return self.emit(ir.OwnHyper(id), id)
        return self.emit(ir.Hyper(PARAMETER_SIZES[id] if self.work.own_sizes and id in DIMENSIONS else id), id)

    def entry(self, name: Name) -> Value:
        """An entry of a history, or of an array that a loop has filled."""
        index = Index(0) if name.at is None else entry_index(name.at, self.entries.get(name.id, ""))
        key = name.key if name.at is not None and name.key in self.buffers else name.id
        if key not in self.values:
            buffer = self.buffers[key]
            place = self.sum(index, self.const(float(index.constant))) if buffer.turn else self.place(buffer, index)
            self.values[key] = self.emit(ir.Load(key, place), key)
        return self.values[key]

    def written(self, buffer: Buffer) -> Value:
        """The number of the entry that is written, of a history or an array."""
        return self.load(buffer.turn) if buffer.turn else self.place(buffer, Index(0))

    def place(self, buffer: Buffer, index: Index) -> Value:
        """The number of an entry in memory: update t writes the one of (t - 1) mod n. `eval:` follows an update."""
        count = self.load("step" if buffer.kind is Kind.SHARED else COUNTS[0])
        n = self.const(float(buffer.entries)) if buffer.entries.isdigit() else self.load(buffer.entries)
        ahead = self.emit(ir.Add(count, self.const(float(index.constant - (not self.variant.evaluate)))))
        ahead = self.emit(ir.Add(self.sum(index, ahead), n))
        turns = self.emit(ir.Floor(self.emit(ir.Div(ahead, n))))
        return self.emit(ir.Sub(ahead, self.emit(ir.Mul(turns, n))))

    def sum(self, index: Index, start: Value) -> Value:
        """The terms of an index, added to a number."""
        for term, k in index.terms:
            start = self.emit(ir.Add(start, self.emit(ir.Mul(self.const(float(k)), self.load(term)))))
        return start

    def extent(self, dimension: str) -> Value:
        """A size of the matrices that the kernel is over."""
        return self.emit(ir.Hyper(dimension)) if self.work.own_sizes else self.load(dimension)

    def started(self, state: str, start: Expr) -> Value:
        """The value of a state before the equations: in the first update, what it starts from.

        A shared state starts in the first step, as `t` may differ between parameters.
        """
        kept = self.emit(ir.Load(state))
        count = self.load("step" if self.buffers[state].kind is Kind.SHARED else COUNTS[0])
        first = self.emit(ir.Compare("eq", count, self.const(1.0)))
        x = self.lower(start)
        a, b = (self.element(x), kept) if kept.type.kind is Kind.ELEM else (x, kept)
        return self.rename(self.emit(ir.Select(first, a, b)), state)

    def gradient(self) -> Value:
        """The sum of all gradients, in their order, in the compute dtype; a scaled variant has each times a factor."""
        names = map(ir.gradient, range(self.variant.gradients))
        terms = [self.emit(ir.Load(name), name) for name in names]
        if self.variant.scaled:
            factor = self.element(self.hyper_value(ir.GRADIENT_FACTOR))
            terms = [self.emit(ir.Mul(term, factor)) for term in terms]
        total = functools.reduce(lambda a, b: self.emit(ir.Add(a, b)), terms)
        return self.rename(total, "grad.sum")  # so that an equation m' = grad does not rename it

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
        a, b = self.coerce_operands(x, y)
        if op in COMPARISONS:
            return self.emit(ir.Compare(COMPARISONS[op], a, b))
        return self.emit(ARITHMETIC[op](a, b))

    def call(self, call: Call) -> Value:
        name = call.function
        if name == "dot":
            left, right = call.args
            kind = join(self.kind(left), self.kind(right))
            sides = [self.double(self.lower(x)) for x in call.args]
            return self.reduce("sum", call.scope, self.broadcast(self.emit(ir.Mul(*sides)), kind))
        args = [self.lower(a) for a in call.args]
        if name in REDUCTIONS and len(args) == 1:
            return self.reduce(name, call.scope, self.broadcast(args[0], self.kind(call.args[0])))
        if name in DRAWS:
            return self.draw(call)
        if name in MATH:
            return self.math(name, *args)
        if name in ("max", "min"):
            return functools.reduce(functools.partial(self.min_or_max, "gt" if name == "max" else "lt"), args)
        match name, args:
            case "triu" | "tril", [x]:
                place = self.coerce_operands(self.emit(ir.RowNumber()), self.emit(ir.ColumnNumber()))
                is_kept = self.emit(ir.Compare("le" if name == "triu" else "ge", *place))
                return self.emit(ir.Select(is_kept, self.element(x), self.element(self.const(0.0))))
            case "sqrt", [x]:
                return self.emit(ir.Sqrt(x))
            case "abs", [x]:
                return self.emit(ir.Abs(x))
            case "floor", [x]:
                return self.emit(ir.Floor(x))
            case "ceil", [x]:
                return self.emit(ir.Neg(self.emit(ir.Floor(self.emit(ir.Neg(x))))))
            case "round", [x]:
                return self.round(x)
            case "float32", [x]:
                return x if x.type.dtype == "f32" else self.emit(ir.Convert(self.emit(ir.Convert(x))))
            case "bfloat16", [x]:
                return self.bfloat16(x)
            case "stored", [x]:
                return self.stored(x)
            case "sign", [x]:
                return self.sign(x)
            case "clip", [x, bound]:
                return self.clip(x, self.emit(ir.Neg(bound)), bound)
            case "clip", [x, low, high]:
                return self.clip(x, low, high)
            case "where", [condition, x, y]:
                elements = condition.type.kind is Kind.ELEM
                a, b = (self.element(x), self.element(y)) if elements else self.coerce_operands(x, y)
                return self.emit(ir.Select(condition, a, b))
        raise TypeError(f"not a call of an equation: {call!r}")

    def sign(self, x: Value) -> Value:
        """1 with the sign of x, but +0 for both zeros, and NaN for NaN."""
        x, zero = self.coerce_operands(x, self.const(0.0))
        integer: ir.DType = "i64" if x.type.dtype == "f64" else "i32"
        wide = integer == "i64"
        mask = self.emit(ir.IntConst(-1 << (63 if wide else 31)), wanted=integer)
        one = self.emit(ir.IntConst(0x3FF << 52 if wide else 0x7F << 23), wanted=integer)
        sign = self.emit(ir.Int("and", self.emit(ir.Bits(x)), mask))
        unit = self.emit(ir.FromBits(self.emit(ir.Int("or", sign, one))))
        nonzero = self.emit(ir.Compare("gt", self.emit(ir.Abs(x)), zero))
        return self.emit(ir.Select(nonzero, unit, self.emit(ir.Add(x, zero))))  # -0 + 0 is +0

    def round(self, x: Value) -> Value:
        """The nearest whole number, the even one of two: from 2^52 (2^23 for f32) on there are whole numbers alone."""
        wide = x.type.dtype == "f64"
        x, large = self.coerce_operands(x, self.const(2.0**52 if wide else 2.0**23))
        size = self.emit(ir.Abs(x))
        rounded = self.emit(ir.Sub(self.emit(ir.Add(size, large)), large))
        integer: ir.DType = "i64" if wide else "i32"
        mask = self.emit(ir.IntConst(-1 << (63 if wide else 31)), wanted=integer)
        sign = self.emit(ir.Int("and", self.emit(ir.Bits(x)), mask))
        signed = self.emit(ir.FromBits(self.emit(ir.Int("or", self.emit(ir.Bits(rounded)), sign))))
        return self.emit(ir.Select(self.emit(ir.Compare("lt", size, large)), signed, x))

    def bfloat16(self, x: Value) -> Value:
        """The float32 nearest to x, and the bfloat16 nearest to that, which is its upper half; a NaN stays."""
        if x.type.dtype != "f32":
            return self.emit(ir.Convert(self.bfloat16(self.emit(ir.Convert(x)))))
        bits = self.emit(ir.Bits(x))

        def number(n: int) -> Value:
            return self.emit(ir.IntConst(n), wanted="i32")

        even = self.emit(ir.Int("and", self.emit(ir.Shift("shr", bits, 16)), number(1)))
        moved = self.emit(ir.Int("add", self.emit(ir.Int("add", bits, number(0x7FFF))), even))
        rounded = self.emit(ir.FromBits(self.emit(ir.Int("and", moved, number(-1 << 16)))))
        return self.emit(ir.Select(self.emit(ir.Compare("ne", x, x)), x, rounded))

    def stored(self, x: Value) -> Value:
        """x rounded to nearest to the dtype of the weight that equations read."""
        dtype = self.variant.weight
        if dtype == "bfloat16":
            return self.bfloat16(x)
        if dtype == "float64" or (dtype == "float32" and x.type.dtype == "f32"):
            return x
        if x.type.dtype != "f32":
            return self.emit(ir.Convert(self.stored(self.emit(ir.Convert(x)))))
        emitter = Emitter(f"{len(self.instrs)}.")
        rounded = float16.nearest(emitter, x)
        self.instrs += emitter.instrs
        return rounded

    def min_or_max(self, op: ir.CompareOp, x: Value, y: Value) -> Value:
        """where(a != a or a > b, a, b): a NaN on either side stays."""
        a, b = self.coerce_operands(x, y)
        nan = self.emit(ir.Compare("ne", a, a))
        return self.emit(ir.Select(self.emit(ir.Or(nan, self.emit(ir.Compare(op, a, b)))), a, b))

    def clip(self, x: Value, low: Value, high: Value) -> Value:
        """x clipped by compare and select. NaN stays NaN, a bound that is NaN (unset) clips nothing, and if low > high,
        every number becomes low."""
        x, low, high = self.coerce_operands(x, low, high)
        capped = self.emit(ir.Select(self.emit(ir.Compare("gt", x, high)), high, x))
        return self.emit(ir.Select(self.emit(ir.Compare("lt", capped, low)), low, capped))

    def math(self, function: str, *args: Value) -> Value:
        met = self.coerce_operands(*args)
        result = self.emit(ir.Math(function, tuple(self.double(a) for a in met)))
        return self.element(result) if result.type.kind is Kind.ELEM else result

    def reduce(self, name: str, scope: str | None, x: Value) -> Value:
        """A reduction, in doubles throughout: in a norm, the square of a float32 neither overflows nor underflows."""
        op: ir.ReduceOp = "max" if name == "max" else "min" if name == "min" else "sum"
        x = self.double(x)
        if name == "std":
            x = self.emit(ir.Sub(x, self.reduce("mean", scope, x)))
            return self.reduce("rms", scope, x)
        if name in ("norm", "rms"):
            x = self.emit(ir.Mul(x, x))
        total = self.fold(op, scope, x)
        if name in ("mean", "rms"):
            total = self.emit(ir.Div(total, self.count(scope, x.type.kind)))
        return self.emit(ir.Sqrt(total)) if name in ("norm", "rms") else total

    def fold(self, op: ir.ReduceOp, scope: str | None, x: Value) -> Value:
        if scope in ("row", "col"):
            return self.emit(ir.Reduce(op, x, "row" if scope == "row" else "col"))
        if scope == "matrix":
            lines = self.emit(ir.Reduce(op, x, "row")) if x.type.kind is Kind.ELEM else x
            return self.emit(ir.Reduce(op, lines, "matrix"))
        swept = x.type.kind in (Kind.ROW, Kind.COL, Kind.ELEM)
        total = self.emit(ir.Reduce(op, x)) if swept else x
        return self.emit(ir.ReduceOverParams(op, total)) if scope == "params" else total

    def kind(self, expr: Expr) -> Kind:
        """The kind that the language gives an expression. Its lowered value can have a smaller one: in m' = lr, m' is
        an element, but its value is that of lr."""
        match expr:
            case Name():
                return self.kinds.get(expr.key) or self.name(expr).type.kind
            case Call(function=name, dims=dims) if name in DRAWS:
                return _WORDS[dims].kind
            case Call(function=name, args=args, scope=scope) if (name, len(args)) in REDUCED:
                if scope == "matrix":
                    return Kind.COL if join(*map(self.kind, args)) is Kind.COL else Kind.ROW
                return {"row": Kind.ROW, "col": Kind.COL, "params": Kind.SHARED}.get(scope or "", Kind.TENSOR)
        return join(*map(self.kind, children(expr)))

    def broadcast(self, x: Value, kind: Kind) -> Value:
        """x repeated for each element, row or column, if x is the smaller value of a state of that kind: reductions
        count it as often."""
        if x.type.kind is kind or kind not in (Kind.ELEM, Kind.ROW, Kind.COL):
            return x
        like = next(b.name for b in self.buffers.values() if b.kind is kind and not b.is_scale)
        known = self.load(like)
        x = self.element(x) if kind is Kind.ELEM else x
        return self.emit(ir.Select(self.emit(ir.Compare("eq", known, known)), x, x))

    def count(self, scope: str | None, kind: Kind) -> Value:
        """How many values a reduction of a value of this kind folds."""
        if scope in ("row", "col"):
            return self.extent("cols" if scope == "row" else "rows")
        if scope == "matrix":
            lines = self.extent("cols" if kind is Kind.COL else "rows")
            return self.emit(ir.Mul(lines, self.extent("cols"))) if kind is Kind.ELEM else lines
        dimension = {Kind.ROW: "rows", Kind.COL: "cols", Kind.ELEM: "size"}.get(kind)
        each = self.extent(dimension) if dimension is not None else self.const(1.0)
        if self.optimizer.last_two and kind in (Kind.ROW, Kind.COL):
            each = self.emit(ir.Mul(each, self.extent("matrices")))
        return self.emit(ir.ReduceOverParams("sum", each)) if scope == "params" else each

    def last_drawn(self, every: Expr, first: Expr) -> Value:
        """The last update in which a draw is drawn that is held: first, first + every and so on."""
        distance, start = self.lower(every), self.lower(first)
        behind = self.emit(ir.Sub(self.load(COUNTS[0]), start))
        turns = self.emit(ir.Floor(self.emit(ir.Div(behind, distance))))
        return self.emit(ir.Add(start, self.emit(ir.Mul(turns, distance))))

    def draw(self, call: Call) -> Value:
        held = self.last_drawn(*call.args) if call.args else None
        made = _WORDS[call.dims]
        word = self.emit(made(self.draws[call.span.line, call.span.column], held))
        emitter = Emitter(f"{word.id}.")
        single = self.compute == "f32" and made.kind is Kind.ELEM
        normal = random.normal_single if single else random.normal
        distributions = {"normal": normal, "uniform": random.uniform, "rademacher": random.rademacher}
        result = distributions[call.function](emitter, word)
        self.instrs += emitter.instrs
        return self.element(result) if made.kind is Kind.ELEM else result
