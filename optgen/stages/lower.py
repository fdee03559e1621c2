"""Lowers a variant with products, loops, groups or timings to one kernel, before it is cut (`optgen.stages`).

A value has the dimensions that the language gives it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import cast

from optgen import ir
from optgen.axes import ELEMENTS, Axes, Axis
from optgen.expressions import Binary, Call, Expr, Name, Transpose, children, is_grouped, with_children
from optgen.functions.matrices import MATRIX_FUNCTIONS
from optgen.functions.record import Reduction
from optgen.functions.table import reduction_of
from optgen.groups import LineGroup
from optgen.ir import Instr, Kernel, Value, Variant
from optgen.ir.buffers import buffers
from optgen.ir.build import WORDS, ScopedFolding, SpecLowering, scope_of
from optgen.ir.verify import verify
from optgen.lang.dimensions import ValueKind
from optgen.lang.kinds import base_names, infer_values, kind_of, never, silent, value_of
from optgen.lang.loops import loop_at, loops_around
from optgen.model import Equation, Loop, Optimizer, Program, Timing
from optgen.stages.plan import GROUPED
from optgen.stages.tree_folding import TreeFolding
from optgen.symbolic.written import expression


def build_whole(optimizer: Optimizer, variant: Variant, due: Collection[Timing], *, first: bool) -> Kernel:
    """The kernel of an update with these timings; `first`: the one that starts states."""
    program = optimizer.program(variant.flags, due=due)
    starts = optimizer.late_starts(program) if first else {}
    axes = {s.name: s.axes for s in program.states} | {i.name: i.axes for i in optimizer.inputs}
    own = [replace(b, starts_late=False, axes=axes.get(b.memory, b.axes)) for b in buffers(optimizer, variant, program)]
    kernel = _Whole(optimizer, variant, program, own, starts).kernel()
    return verify(replace(kernel, orientation=_orientation(program, kernel)))


class _Whole(SpecLowering):
    def __init__(
        self,
        optimizer: Optimizer,
        variant: Variant,
        program: Program,
        own: Sequence[ir.Buffer],
        starts: Mapping[str, Expr],
    ) -> None:
        super().__init__(optimizer, variant, program, own, starts)
        self.numbers = itertools.count()
        self.used: set[str] = set()
        """The names that values were given."""
        self.known = infer_values(program, base_names(optimizer, program.states), never)
        self.states = {s.name: kind_of(s) for s in program.states}
        self.exprs: dict[str, Expr] = {}
        """The values of numbers, by which counts and arguments of functions are known before the step."""
        self.spreads: dict[str, Value] = {}
        self.apart: dict[str, ir.Op] = {}
        """Conditions of groups, and values of groups in other dtypes than double, by their names."""
        groups = [kind.group for kind in self.known.values() if kind is not None and kind.group is not None]
        self.hyper += tuple(dict.fromkeys((*_turn_numbers(program), *map(str, (*groups, *program.groups)))))

    # ------------------------------------------------------------ equations and loops

    def equations(self) -> None:
        for states, equations in self.program.cut_by(self.starts):
            for state in states:  # a turn that reads one first does not know it behind the loop
                self.load(state)
            self.turns(equations, 0)

    def turns(self, equations: tuple[Equation, ...], level: int) -> None:
        """Lower equations, of which those in the `level`-th loop around them stand together."""
        for loop, own in groupby(equations, key=lambda e: loop_at(e.loop, level)):
            if loop is None:
                for equation in own:
                    self.equation(equation)
            else:
                self.loop(loop, tuple(own), level)

    def equation(self, equation: Equation) -> None:
        """Lower an equation, whose value has the name of its target then."""
        target = equation.target
        self.span = self.spans[target.key] = equation.span
        value = self.lower(equation.value)
        if not value.type.axes:
            self.exprs[target.array_key] = equation.value
        if target.at is not None:
            ((turn, _),) = target.at.terms
            self.values[target.key] = value = self.double(value)
            self.instrs.append(Instr(None, ir.Put(target.id, turn, value), self.span))
            return
        key = target.key
        if self.compute == "f64" and key in self.stored.values() and self.axes(target)[1:]:
            value = self.flushed(value)
        self.values[key] = self.rename(value, key)

    def loop(self, loop: Loop, equations: tuple[Equation, ...], level: int) -> None:
        """Lower a loop: its equations are a region, which takes and gives the values that it carries."""
        carried = [e.target for e in equations if e.loop == loop and e.target.primed]
        types = [self.type_of(x) for x in carried]
        starts = [self.name(replace(x, primed=False)) for x in carried]
        starts = [self.as_type(x, t) for x, t in zip(starts, types, strict=True)]
        outer, self.instrs = self.instrs, []
        values, spreads = dict(self.values), dict(self.spreads)
        takes = tuple(Value(f"{x.id}.turn", t) for x, t in zip(carried, types, strict=True))
        self.values |= {x.id: v for x, v in zip(carried, takes, strict=True)}
        self.spreads = {}
        self.turns(equations, level + 1)
        gives = tuple(self.as_type(self.values[x.key], t) for x, t in zip(carried, types, strict=True))
        results = tuple(Value(f"{x.id}.end", t) for x, t in zip(carried, types, strict=True))
        body, self.instrs = tuple(self.instrs), outer
        self.values, self.spreads = values | {x.key: v for x, v in zip(carried, results, strict=True)}, spreads
        region = ir.Region(takes, body, gives, results)
        repeat = ir.Repeat(loop.index or "", self.before(loop.count), tuple(starts), region)
        self.instrs.append(Instr(None, repeat, loop.span))

    def fresh(self) -> str:
        return str(next(self.numbers))

    def started(self, state: str, start: Expr) -> Value:
        wanted = self.type_of_kind(self.states[state])
        value = self.as_type(self.lower(start), wanted)
        if wanted.is_element:  # a number in the dtype of elements meets no others
            value = self.repeated(value, wanted.axes)
        return self.rename(value, f"{state}.start")

    # ------------------------------------------------------------ dimensions

    def axes(self, expr: Expr) -> Axes:
        """The dimensions that the language gives an expression."""
        found = value_of(expr, self.known, silent, draw_allowed=True)
        assert found is not None, expr
        return found.axes

    def type_of(self, name: Name) -> ir.Type:
        """The type of a value that a loop carries."""
        kind = self.known[name.key]
        assert kind is not None
        return self.type_of_kind(kind)

    def type_of_kind(self, kind: ValueKind) -> ir.Type:
        return ir.Type(kind.axes, self.compute if kind.is_element else "f64", kind.known)

    def as_type(self, x: Value, wanted: ir.Type) -> Value:
        """A value that can be repeated to one of this type."""
        return self.element(x) if wanted.is_element else self.double(x)

    def full(self, expr: Expr) -> Value:
        """An expression with a number for each place along its dimensions: elements in their dtype, a vector in
        double."""
        x, axes = self.lower(expr), self.axes(expr)
        return self.repeated(self.element(x) if len(axes) == 2 else self.double(x), axes)

    def repeated(self, x: Value, axes: Axes) -> Value:
        if group := x.type.group:
            x = x if axes == (group,) else self.spread(x)
        if x.type.axes == axes:
            return x
        return self.emit(ir.Repeated(self.element(x) if len(axes) == 2 else x, axes))

    def emit(self, op: ir.Op, /, id: str | None = None, *, wanted: ir.DType = "f64") -> Value:
        """Values of groups meet other ones as they are repeated for rows or columns."""
        values = tuple(ir.operands(op))
        groups = {g for v in values if (g := v.type.group)}
        if id is not None:
            id = self.unused(id)
            self.used.add(id)
        if groups and not isinstance(op, ir.Spread) and {v.type.axes for v in values if v.type.axes} != {(*groups,)}:
            op = ir.with_operands(op, lambda v: self.spread(v) if v.type.group else v)
        made = super().emit(op, id, wanted=wanted)
        if made.type.group and made.type.dtype != "f64":
            self.apart[made.id] = op
        return made

    def rename(self, value: Value, id: str) -> Value:
        named = super().rename(value, self.unused(id))
        if named != value:
            self.used.add(named.id)
        if value.id in self.apart:
            self.apart[named.id] = self.apart[value.id]
        return named

    def unused(self, id: str) -> str:
        """A name, or another one for what is computed in a turn, and again behind the loop."""
        return f"{id}.{self.fresh()}" if id in self.used else id

    def spread(self, x: Value) -> Value:
        """A value of groups, repeated for rows or columns. Conditions are those of what is compared, as no array holds
        them."""
        if x.id not in self.spreads:
            op = self.apart.get(x.id)
            again = None if op is None else ir.with_operands(op, lambda v: self.spread(v) if v.type.group else v)
            self.spreads[x.id] = super().emit(ir.Spread(x) if again is None else again)
        return self.spreads[x.id]

    def before(self, expr: Expr) -> ir.HostNumber:
        """An expression that is known before the step, of params and sizes alone."""

        def known(x: Expr) -> Expr:
            if isinstance(x, Name) and x.key in self.exprs:
                return known(self.exprs[x.key])
            return with_children(x, [known(y) for y in children(x)])

        found = known(expr)
        return ir.HostNumber(found, expression(found))

    # ------------------------------------------------------------ expressions

    def lower(self, expr: Expr) -> Value:
        match expr:
            case Transpose(operand=x):
                return self.emit(ir.Transposed(self.full(x)))
            case Binary(op="@", left=a, right=b):
                return self.emit(ir.MatMul(self.full(a), self.full(b)))
            case Call(function=function) if function in MATRIX_FUNCTIONS:
                return self.function(expr)
            case Call(function="triu" | "tril" as kept, args=(x,)):
                return self.emit(ir.Triangle("triu" if kept == "triu" else "tril", self.full(x)))
            case Call() if is_grouped(expr):
                return self.grouped(expr)
        return super().lower(expr)

    def function(self, call: Call) -> Value:
        arrays = tuple(self.full(x) for x in call.args if self.axes(x))
        numbers = tuple(self.before(x) for x in call.args if not self.axes(x))
        return self.emit(ir.MatrixFunction(call.function, arrays, numbers, self.axes(call)), wanted=self.compute)

    def name(self, name: Name) -> Value:
        if name.at is not None and name.id not in self.states and name.key not in self.values:
            place = self.sum(name.at, self.const(float(name.at.constant)))
            known = self.known[name.array_key]
            assert known is not None
            return super().emit(ir.Get(name.id, place, known.known))
        return super().name(name)

    # ------------------------------------------------------------ reductions

    def reduction(self, call: Call, what: Reduction) -> Value:
        if len(call.args) == 1:
            terms, all_terms = self.lower(call.args[0]), call.args[0]
        else:
            terms = what.terms(self, *(self.double(self.lower(x)) for x in call.args))
            all_terms = Binary("*", call.args[0], call.args[1], call.span)
        terms = self.double(self.repeated(terms, self.axes(all_terms)))
        value: Value = what.operations(ScopedFolding(self, scope_of(call)), terms)
        return value

    def fold(self, op: ir.ReduceOp, scope: str | None, x: Value) -> Value:
        if scope in ("row", "col"):
            return self.emit(ir.Reduce(op, x, "row" if scope == "row" else "col"))
        if scope == "matrix":
            is_turned = x.type.axes == ELEMENTS[::-1]  # its rows are the columns of what is stored
            lines = self.emit(ir.Reduce(op, x, "col" if is_turned else "row")) if x.type.is_element else x
            return self.emit(ir.Reduce(op, lines, "matrix"))
        total = self.emit(ir.Reduce(op, x)) if x.type.axes else x
        return self.emit(ir.ReduceOverParams(op, total)) if scope == "params" else total

    def count(self, scope: str | None, of: ir.Type) -> Value:
        axes = of.axes
        if scope in ("row", "col"):
            return self.length(axes[scope == "row"])
        if axes == ELEMENTS and scope != "matrix":
            each = self.load("size")
        else:
            lengths = [self.length(axis) for axis in axes] or [self.const(1.0)]
            each = lengths[0] if len(lengths) == 1 else self.emit(ir.Mul(*lengths))
            if axes and scope != "matrix" and self.optimizer.last_two:
                each = self.emit(ir.Mul(each, self.load("matrices")))
        return self.emit(ir.ReduceOverParams("sum", each)) if scope == "params" else each

    def length(self, axis: Axis) -> Value:
        """The length of a dimension, of groups how many there are."""
        if isinstance(axis, int):
            return self.const(float(axis))
        if not isinstance(axis, LineGroup):
            return self.load(axis)
        name = str(axis)
        if name not in self.values:
            self.values[name] = self.emit(ir.OwnHyper(name), name)
        return self.values[name]

    # ------------------------------------------------------------ groups of rows or columns

    def grouped(self, call: Call) -> Value:
        """A reduction of groups: that of each row or column first, and then of those of a group."""
        assert call.scope is not None
        x, function = call.args[0], call.function
        if function == "std":
            return self.std_of_groups(call)
        if function in ("norm", "rms"):
            squares = "sum" if function == "norm" else "mean"
            return self.emit(ir.Sqrt(self.of_groups(squares, (x, x), call)))
        reduction = reduction_of(call)
        if function not in GROUPED and reduction is not None and len(call.args) == 1:
            folding = TreeFolding(lambda how, y: replace(call, function=how, args=(y,)), call.span)
            tree: Expr = reduction.operations(folding, x)
            return self.lower(tree)
        return self.of_groups("sum" if function == "dot" else function, call.args, call)

    def of_groups(self, function: str, args: tuple[Expr, ...], call: Call) -> Value:
        """A sum, a mean, a largest or a smallest number of groups; of two arguments, that of their products."""
        group = call.scope
        assert isinstance(group, LineGroup)
        lines = group.lines
        across = {"rows": "cols", "cols": "rows"}[lines]
        joined: Expr = args[0] if len(args) == 1 else Binary("*", args[0], args[1], call.span)
        each = Name(across, False, call.span) if len(self.axes(joined)) == 2 else None
        if each is not None:
            inner = "dot" if len(args) == 2 else "sum" if function == "mean" else function
            joined = Call(inner, args, lines[:-1], call.span)
        value = self.double(self.repeated(self.lower(joined), (lines,)))
        one = ir.HostNumber(each, across) if each is not None else ir.ONE
        return self.emit(ir.ReduceGroups(cast(ir.GroupReduceOp, function), value, group, one))

    def std_of_groups(self, call: Call) -> Value:
        """The root of the mean square of what is left of elements, or lines, without the mean of their group: in
        doubles, which no expression of elements has."""
        x, group = call.args[0], call.scope
        assert isinstance(group, LineGroup)
        axes = self.axes(x)
        apart = self.emit(ir.Sub(self.double(self.repeated(self.lower(x), axes)), self.of_groups("mean", (x,), call)))
        squares, one = self.emit(ir.Mul(apart, apart)), ir.ONE
        if len(axes) == 2:
            squares = self.fold("sum", group.lines[:-1], squares)
            across = {"rows": "cols", "cols": "rows"}[group.lines]
            one = ir.HostNumber(Name(across, False, call.span), across)
        return self.emit(ir.Sqrt(self.emit(ir.ReduceGroups("mean", squares, group, one))))

    # ------------------------------------------------------------ draws

    def word(self, call: Call, held: Value | None) -> ir.Word:
        number = self.draws[call.span.line, call.span.column]
        made = WORDS.get(call.dims)
        return made(number, held) if made is not None else ir.MatrixWord(number, held, call.dims)


def _turn_numbers(program: Program) -> Iterator[str]:
    """The names of the numbers of turns."""
    for equation in program.equations:
        yield from (loop.index for loop in loops_around(equation.loop) if loop.index is not None)


def _orientation(program: Program, kernel: Kernel) -> tuple[Axes, ...]:
    """The order in which the dimensions of matrices are stored: those of the parameter, then of states as they are
    declared, then of other values as they come first."""
    values = (i.result.type.axes for i in kernel.instrs() if i.result is not None)
    found: dict[frozenset[Axis], Axes] = {}
    for axes in (ELEMENTS, *(s.axes for s in program.states), *values):
        if len(axes) == 2:
            found.setdefault(frozenset(axes), axes)
    return tuple(found.values())
