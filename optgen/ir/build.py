"""Lowers one variant of a checked model to a kernel: a single `update` phase, in the order in which the spec is
written.

Elements have the kernel's compute dtype, all smaller kinds are doubles. A double that meets elements is rounded once
(docs/arithmetic.md, "rounding"). Reductions and elementary functions widen elements to double.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from optgen import ir
from optgen.axes import COLS, ELEMENTS, ROWS, Axes, When
from optgen.diagnostics import Span
from optgen.expressions import Binary, Call, Expr, Index, Name, Number, Unary, children, walk
from optgen.functions.comparisons import clip
from optgen.functions.record import Draw, Inline, Reduction
from optgen.functions.rounding import to_stored
from optgen.functions.table import draw_of, elementwise_of, is_draw, is_reduction, reduction_of
from optgen.groups import LineGroup
from optgen.ir import Buffer, Instr, Kernel, Phase, Value, Variant, joined_axes
from optgen.ir.buffers import buffers, entry_index
from optgen.ir.expand import Emitter, InstrBuilder
from optgen.ir.kernel_builder import KernelBuilder
from optgen.ir.verify import held_type
from optgen.model import COUNTS, DIMENSIONS, EPSILON, PER_PARAMETER, PHASE, Optimizer, Program

COMPARISONS: dict[str, ir.CompareOp] = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
ARITHMETIC: dict[str, type[ir.Add | ir.Sub | ir.Mul | ir.Div]] = {"+": ir.Add, "-": ir.Sub, "*": ir.Mul, "/": ir.Div}
WORDS: dict[Axes, type[ir.Word]] = {(): ir.Word, ("rows",): ir.RowWord, ("cols",): ir.ColumnWord}
"""The random words of a draw, by its dimensions in the kernel."""


def build(optimizer: Optimizer, variant: Variant) -> Kernel:
    """The kernel of one variant."""
    program = optimizer.program(variant.flags, evaluate=variant.evaluate)
    own = buffers(optimizer, variant, program)
    starts = {} if variant.evaluate else optimizer.late_starts(program)
    return SpecLowering(optimizer, variant, program, own, starts).kernel()


class SpecLowering(KernelBuilder):
    """`starts` are what states start from in this update, by their names."""

    def __init__(
        self,
        optimizer: Optimizer,
        variant: Variant,
        program: Program,
        buffers: Sequence[Buffer],
        starts: Mapping[str, Expr],
    ) -> None:
        super().__init__(variant, buffers)
        self.optimizer, self.program, self.starts = optimizer, program, starts
        states = [s.name for s in program.states]
        self.stored = {"out": "w'"} if variant.evaluate else {name: f"{name}'" for name in ("w", *states)}
        """The names of what is stored, by buffers."""
        self.stored |= {"copy": "w'"} if variant.master and not variant.evaluate else {}
        self.spans: dict[str, Span] = {}  # of the equations, by the keys of their targets
        self.values: dict[str, Value] = {}
        self.language_axes = {"w'": ELEMENTS} | {f"{s.name}'": s.axes for s in program.states}
        """The dimensions that the language gives names, by their keys."""
        dims = (d.name for d in optimizer.dims)
        self.hyper = (*optimizer.all_params, *DIMENSIONS, *dims, "step", ir.GRADIENT_FACTOR)
        self.entries = {s.name: s.entries for s in optimizer.states}
        # Draws count in text order over all variants, so that a flag changes no other draw.
        values = [*optimizer.starts(), *(q.value for q in optimizer.update)]
        calls = {e.span: e for value in values for e in walk(value) if is_draw(e)}
        self.draws = {(c.span.line, c.span.column): k for k, c in enumerate(calls.values())}

    def kernel(self) -> Kernel:
        self.equations()
        for name, key in self.stored.items():
            self.span = self.spans.get(key)
            value = self.name(Name(key.removesuffix("'"), key.endswith("'"), Span(0, 0, 0)))
            if key != name and value == self.values.get(name) and name not in self.starts:  # m' = m
                self.buffers[name] = replace(self.buffers[name], written=False)
            else:
                buffer = self.buffers[name]
                place = self.place(buffer, Index(0)) if buffer.entries else None
                if name == "w" and self.variant.weights == "kahan" and not self.variant.evaluate:
                    value = self.compensated(self.element(value))
                self.instrs.append(Instr(None, ir.Store(name, self.converted(buffer, value), place), self.span))
        read = {i.op.name for i in ir.nested(self.instrs) if isinstance(i.op, ir.Hyper)}
        read |= {"matrices"} if self.optimizer.last_two else set()  # by which backends find rows and columns
        hyper = tuple(name for name in self.hyper if name in read)
        phases = (Phase("update", tuple(self.instrs)),)
        name, dtype, buffers = self.optimizer.name, self.variant.dtype, tuple(self.buffers.values())
        return Kernel(name, dtype, buffers, hyper, phases, not self.variant.evaluate, self.optimizer.last_two)

    def equations(self) -> None:
        """Lower the equations, in order."""
        kept = set(self.stored.values())
        for equation in self.program.equations:
            key = equation.target.key
            self.span = self.spans[key] = equation.span
            value = self.lower(equation.value)
            if key in kept and self.compute == "f64" and self.language_axes.get(key) == ELEMENTS:
                value = self.flushed(value)
            self.language_axes.setdefault(key, self.axes(equation.value))
            self.values[key] = self.rename(value, key)

    def compensated(self, value: Value) -> Value:
        """The new weight with what the last rounding lost, rounded to nearest; what is lost now is stored.

        In a step with phases, only the last phase does so: weights of earlier phases are not those of a finished step.
        """
        if self.variant.flags.get(PHASE) not in (None, *self.optimizer.phases[-1:]):
            return value
        self.buffers[ir.COMPENSATION] = replace(self.buffers[ir.COMPENSATION], written=True)
        whole = self.emit(ir.Add(value, self.emit(ir.Load(ir.COMPENSATION), ir.COMPENSATION)))
        weight = to_stored(self, whole)
        lost = self.emit(ir.Sub(whole, weight))
        self.instrs.append(Instr(None, ir.Store(ir.COMPENSATION, lost), self.span))
        return weight

    def converted(self, buffer: Buffer, x: Value) -> Value:
        return self.element(x) if held_type(buffer, self.compute).dtype == self.compute else self.double(x)

    # ------------------------------------------------------------ names

    def name(self, name: Name) -> Value:
        if name.key not in self.values:
            self.values[name.key] = self.first_use(name)
        return self.values[name.key]

    def first_use(self, name: Name) -> Value:
        id = name.id
        if name.at is not None or (id in self.buffers and self.buffers[id].entries):
            return self.entry(name)
        if id == "grad":
            return self.gradient()
        if id in self.starts:
            return self.started(id, self.starts[id])
        if id in self.buffers:
            return self.emit(ir.Load(id), id)
        if id == "g":
            rescaled = self.emit(ir.Mul(*self.meet(self.hyper_value("rescale_grad"), self.load("grad"))))
            bound = self.hyper_value("clip_gradient")
            return self.rename(clip(self, rescaled, bound), "g")
        if id == COUNTS[0]:
            return self.emit(ir.Count(), id)
        if id == EPSILON:
            return self.const(ir.EPSILONS[self.variant.dtype])
        assert id in self.hyper, id
        if id in self.optimizer.per_parameter and id not in PER_PARAMETER:
            return self.emit(ir.OwnHyper(id), id)
        return self.emit(ir.Hyper(id), id)

    def entry(self, name: Name) -> Value:
        """An entry of a history."""
        index = Index(0) if name.at is None else entry_index(name.at, self.entries.get(name.id, 0))
        key = name.key if name.at is not None and name.key in self.buffers else name.id
        if key not in self.values:
            buffer = self.buffers[key]
            self.values[key] = self.emit(ir.Load(key, self.place(buffer, index)), key)
        return self.values[key]

    def place(self, buffer: Buffer, index: Index) -> Value:
        """The number of an entry in memory: update t writes the one of (t - 1) mod n. `eval:` follows an update."""
        count = self.load("step" if buffer.known is When.SHARED else COUNTS[0])
        n = self.const(float(buffer.entries)) if isinstance(buffer.entries, int) else self.load(buffer.entries)
        ahead = self.emit(ir.Add(count, self.const(float(index.constant - (not self.variant.evaluate)))))
        ahead = self.emit(ir.Add(self.sum(index, ahead), n))
        turns = self.emit(ir.Floor(self.emit(ir.Div(ahead, n))))
        return self.emit(ir.Sub(ahead, self.emit(ir.Mul(turns, n))))

    def sum(self, index: Index, start: Value) -> Value:
        """The terms of an index, added to a number."""
        for term, k in index.terms:
            start = self.emit(ir.Add(start, self.emit(ir.Mul(self.const(float(k)), self.load(term)))))
        return start

    def started(self, state: str, start: Expr) -> Value:
        """The value of a state before the equations: in the first update, what it starts from.

        A shared state starts in the first step, as `t` may differ between parameters.
        """
        kept = self.emit(ir.Load(state))
        count = self.load("step" if self.buffers[state].known is When.SHARED else COUNTS[0])
        first = self.emit(ir.Compare("eq", count, self.const(1.0)))
        x = self.lower(start)
        a, b = (self.element(x), kept) if kept.type.is_element else (x, kept)
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
        a, b = self.meet(x, y)
        if op in COMPARISONS:
            return self.emit(ir.Compare(COMPARISONS[op], a, b))
        return self.emit(ARITHMETIC[op](a, b))

    def call(self, call: Call) -> Value:
        if (reduction := reduction_of(call)) is not None:
            return self.reduction(call, reduction)
        args = [self.lower(a) for a in call.args]
        if (draw := draw_of(call)) is not None:
            return self.draw(call, draw)
        what = elementwise_of(call)
        if what is None:
            raise TypeError(f"not a call of an equation: {call!r}")
        if isinstance(what.operations, Inline):
            value: Value = what.operations.function(self, *args)
            return value
        return self.math(call.function, *args)

    def math(self, function: str, *args: Value) -> Value:
        met = self.meet(*args)
        result = self.emit(ir.Math(function, tuple(self.double(a) for a in met)))
        return self.element(result) if result.type.is_element else result

    def reduction(self, call: Call, what: Reduction) -> Value:
        """A reduction, in doubles throughout."""
        if len(call.args) == 1:
            (arg,) = call.args
            terms = self.broadcast(self.lower(arg), self.axes(arg))
        else:
            axes = joined_axes(*map(self.axes, call.args))
            terms = self.broadcast(what.terms(self, *[self.double(self.lower(x)) for x in call.args]), axes)
        value: Value = what.operations(ScopedFolding(self, scope_of(call)), self.double(terms))
        return value

    def fold(self, op: ir.ReduceOp, scope: str | None, x: Value) -> Value:
        if scope in ("row", "col"):
            return self.emit(ir.Reduce(op, x, "row" if scope == "row" else "col"))
        if scope == "matrix":
            lines = self.emit(ir.Reduce(op, x, "row")) if x.type.is_element else x
            return self.emit(ir.Reduce(op, lines, "matrix"))
        total = self.emit(ir.Reduce(op, x)) if x.type.axes else x
        return self.emit(ir.ReduceOverParams(op, total)) if scope == "params" else total

    def axes(self, expr: Expr) -> Axes:
        """The dimensions that the language gives an expression. Its lowered value can have fewer: in m' = lr, m' is an
        element, but its value is that of lr."""
        match expr:
            case Name():
                return self.language_axes[expr.key] if expr.key in self.language_axes else self.name(expr).type.axes
            case Call(dims=dims) if is_draw(expr):
                return dims or ELEMENTS
            case Call(args=args, scope=scope) if is_reduction(expr):
                if scope == "matrix":
                    return COLS if joined_axes(*map(self.axes, args)) == COLS else ROWS
                return COLS if scope == "col" else ROWS if scope == "row" else ()
        return joined_axes(*map(self.axes, children(expr)))

    def broadcast(self, x: Value, axes: Axes) -> Value:
        """x, repeated along these dimensions where it is the value of a state that has them, and has fewer. A reduction
        then counts it once for each."""
        if x.type.axes == axes or not axes:
            return x
        like = next(b.name for b in self.buffers.values() if b.axes == axes and not b.is_scale)
        known = self.load(like)
        x = self.element(x) if axes == ELEMENTS else x
        return self.emit(ir.Select(self.emit(ir.Compare("eq", known, known)), x, x))

    def count(self, scope: str | None, of: ir.Type) -> Value:
        """How many values a reduction of values of this type folds."""
        axes = of.axes
        if scope in ("row", "col"):
            return self.load("cols" if scope == "row" else "rows")
        if scope == "matrix":
            lines = self.load("cols" if axes == COLS else "rows")
            return self.emit(ir.Mul(lines, self.load("cols"))) if axes == ELEMENTS else lines
        dimension = {ROWS: "rows", COLS: "cols", ELEMENTS: "size"}.get(axes)
        each = self.load(dimension) if dimension is not None else self.const(1.0)
        if self.optimizer.last_two and axes in (ROWS, COLS):
            each = self.emit(ir.Mul(each, self.load("matrices")))
        return self.emit(ir.ReduceOverParams("sum", each)) if scope == "params" else each

    def last_drawn(self, every: Expr, first: Expr) -> Value:
        """The last update in which a held draw was made anew. Draws are made in the updates first, first + every, first
        + 2*every and so on, and held in between."""
        distance, start = self.lower(every), self.lower(first)
        behind = self.emit(ir.Sub(self.load(COUNTS[0]), start))
        turns = self.emit(ir.Floor(self.emit(ir.Div(behind, distance))))
        return self.emit(ir.Add(start, self.emit(ir.Mul(turns, distance))))

    def draw(self, call: Call, what: Draw) -> Value:
        held = self.last_drawn(*call.args) if call.args else None
        word = self.emit(self.word(call, held))
        emitter = Emitter(f"{word.id}.", self.span)
        single = self.compute == "f32" and word.type.is_element
        operations = what.of_elements if single else what.operations
        result = operations(emitter, word)
        self.instrs += emitter.instrs
        return self.element(result) if word.type.is_element else result

    def word(self, call: Call, held: Value | None) -> ir.Word:
        """The random words of a draw."""
        return WORDS[call.dims](self.draws[call.span.line, call.span.column], held)


def scope_of(call: Call) -> str | None:
    """The scope of a reduction that is none of groups."""
    assert not isinstance(call.scope, LineGroup), call
    return call.scope


class ScopedFolding(InstrBuilder):
    """The `Folding` of a kernel in one scope."""

    def __init__(self, kernel: SpecLowering, scope: str | None) -> None:
        self.kernel, self.scope = kernel, scope

    def emit(self, op: ir.Op, /, *, wanted: ir.DType = "f64") -> Value:
        return self.kernel.emit(op, wanted=wanted)

    def math(self, function: str, x: Value) -> Value:
        return self.emit(ir.Math(function, (x,)))

    def fold(self, how: ir.ReduceOp, x: Value) -> Value:
        return self.kernel.fold(how, self.scope, x)

    def count(self, x: Value) -> Value:
        return self.kernel.count(self.scope, x.type)
