"""Gives matrices one orientation, and makes calls of what is done to matrices as a whole.

A value of `cols x rows` is kept as its transpose, where `rows x cols` is how a matrix of these dimensions is stored
(`Kernel.orientation`). So most transposes are other names of what they transpose. What a call reads is an array.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from optgen import ir
from optgen.axes import Axes, Axis, When
from optgen.diagnostics import Span
from optgen.expressions import Name
from optgen.groups import LineGroup
from optgen.ir import Instr, Kernel, Type, Value
from optgen.ir.verify import held_type, typed
from optgen.stages.light import Light
from optgen.stages.plan import GROUPED

_SYMMETRIC = ("inverse_root", "diag")
"""Functions whose results are symmetric matrices, as identities of squares are."""
_LEAVES = (ir.Load, ir.Const, ir.Hyper, ir.Count, ir.Get)


def oriented(kernel: Kernel, exact: Collection[str]) -> tuple[Kernel, set[str]]:
    """A whole kernel with values in their orientation, and the names of its symmetric matrices. `exact` are the buffers
    that calls can read as they are."""
    (phase,) = kernel.phases
    orient = _Orient(kernel, exact)
    orient.block(phase.instrs)
    made = _without_copies(tuple(orient.instrs), orient.direct - orient.leaves - orient.roots)
    return replace(kernel, phases=(replace(phase, instrs=made),)), orient.symmetric


@dataclass(frozen=True)
class _Stored:
    """A value as it is stored. `transposed`: the transpose of it is meant, of a square matrix."""

    value: Value
    transposed: bool = False


class _Orient:
    def __init__(self, kernel: Kernel, exact: Collection[str]) -> None:
        self.compute, self.exact = kernel.compute, exact
        self.buffers = {b.name: b for b in kernel.buffers}
        self.stored_as: dict[frozenset[Axis], Axes] = {frozenset(axes): axes for axes in kernel.orientation}
        self.instrs: list[Instr] = []
        self.arrays: dict[str, _Stored] = {}
        """The values of the kernel, by their names there."""
        self.symmetric: set[str] = set()
        self.is_light = Light(self.compute)
        self.direct: set[str] = set()
        """The names of values that a call can read: those with arrays."""
        self.leaves: set[str] = set()
        """The names of values that no instruction of a kernel's stage computes."""
        self.narrow: set[str] = set()
        """The names of vectors in the dtype of elements, which products and functions make."""
        self.roots: set[str] = set()
        self.made: dict[tuple[ir.Op, Type], Value] = {}
        """What this block and those around it have made, but for elements that are written to arrays."""
        self.kept: dict[ir.Keep, Value] = {}
        """The copies for calls among them."""
        self.span: Span | None = None
        self.names = itertools.count()

    # ------------------------------------------------------------ instructions

    def block(self, instrs: Iterable[Instr]) -> None:
        for instr in instrs:
            self.span = instr.span
            match instr.op:
                case ir.Store() as store:
                    self.store(store)
                case ir.Repeat() as loop:
                    self.loop(loop)
                case _:
                    self.instr(instr)

    def instr(self, instr: Instr) -> None:
        op, result = instr.op, instr.result
        match op:
            case ir.Transposed(x=x):
                assert result is not None
                of = self.arrays[x.id]
                is_other = x.type.axes[0] == x.type.axes[1] and of.value.id not in self.symmetric
                self.arrays[result.id] = replace(of, transposed=not of.transposed) if is_other else of
                return
            case ir.MatMul() | ir.MatrixFunction() | ir.Spread() | ir.ReduceGroups():
                assert result is not None
                self.arrays[result.id] = _Stored(self.called(op, result))
                return
        turned = [self.is_turned(v.type.axes) for v in ir.operands(op)]
        op = ir.with_operands(op, self.value)
        if any(map(self.is_light.is_lost, ir.operands(op))):
            op = ir.with_operands(op, self.rounded)
        if isinstance(op, ir.Reduce) and turned[0]:
            op = replace(op, scope={"row": "col", "col": "row"}.get(op.scope, op.scope))  # type: ignore[arg-type]
        elif isinstance(op, ir.Triangle) and turned[0]:
            op = replace(op, kept="tril" if op.kept == "triu" else "triu")
        elif isinstance(op, ir.Repeated | ir.MatrixWord):
            op = replace(op, dims=self.stored(op.dims))
        elif isinstance(op, ir.RepeatedDown):
            op = replace(op, x=self.keep(op.x, op.x.type, columns=True))
        if result is None:
            self.instrs.append(Instr(None, op, self.span))
        else:
            self.arrays[result.id] = _Stored(self.emit(op, result))

    def emit(self, op: ir.Op, like: Value) -> Value:
        """Add an instruction, unless it was made before. The result has the name and the dtype of a value."""
        made = Value(like.id, self.type(like.type)) if isinstance(op, ir.Load) else typed(op, like.id, like.type.dtype)
        if (op, made.type) in self.made:
            return self.made[op, made.type]
        instr = Instr(made, op, self.span)
        self.instrs.append(instr)
        is_light = self.is_light(instr)
        if (is_light and not isinstance(op, ir.Get)) or isinstance(op, ir.Reduce | ir.ArrayCall):
            self.made[op, made.type] = made
        is_exact = isinstance(op, ir.Load) and op.buffer in self.exact
        if is_exact or isinstance(op, ir.ArrayCall | ir.Keep) or (made.type.is_element and not is_light):
            self.direct.add(made.id)
        if isinstance(op, _LEAVES):
            self.leaves.add(made.id)
        if self.is_symmetric(op, made):
            self.symmetric.add(made.id)
        return made

    def fresh(self, type: Type) -> Value:
        return Value(f"#{next(self.names)}", type)

    def is_symmetric(self, op: ir.Op, made: Value) -> bool:
        """Whether a result is known to be a symmetric matrix to the bit: of a call by its function, of elementwise
        operations as their operands are."""
        if isinstance(op, ir.ArrayCall):
            is_square = made.type.axes[:1] == made.type.axes[1:]
            return op.symmetric or op.function in _SYMMETRIC or (op.function == "identity" and is_square)
        arrays = [v for v in ir.operands(op) if v.type.axes]
        if isinstance(op, ir.Triangle | ir.Reduce) or len(made.type.axes) != 2:
            return False
        return bool(arrays) and all(v.id in self.symmetric for v in arrays)

    def rounded(self, v: Value) -> Value:
        """The weight that meets what the last rounding lost: a value of its own, as what is stored is computed from
        it."""
        is_own = v.id in self.direct and v.id not in self.leaves
        return v if is_own or not v.type.is_element or self.is_light.is_lost(v) else self.keep(v, v.type)

    # ------------------------------------------------------------ orientation

    def stored(self, axes: Axes) -> Axes:
        """The dimensions by which a value is stored."""
        return self.stored_as.get(frozenset(axes), axes) if len(axes) == 2 and axes[0] != axes[1] else axes

    def is_turned(self, axes: Axes) -> bool:
        """Whether a value of these dimensions is stored as its transpose."""
        return self.stored(axes) != axes

    def type(self, type: Type) -> Type:
        return Type(self.stored(type.axes), type.dtype) if len(type.axes) == 2 else type

    def value(self, v: Value) -> Value:
        """A value as elementwise operations read it."""
        array = self.arrays[v.id]
        if not array.transposed:
            return array.value
        call = ir.ArrayCall("transpose", (self.array(array.value),), (False,), (), array.value.type)
        return self.call(call)

    # ------------------------------------------------------------ calls

    def called(self, op: ir.Op, result: Value) -> Value:
        type, turned = self.type(result.type), self.is_turned(result.type.axes)
        match op:
            case ir.MatMul(a=a, b=b):
                return self.product(a, b, type, turned, result.id)
            case ir.MatrixFunction(function=function, args=args, numbers=numbers):
                is_diagonal = function == "diag" and len(args[0].type.axes) == 2
                operands = [self.operand(v) for v in args]
                values, transposed = tuple(x.value for x in operands), tuple(x.transposed for x in operands)
                name = "diagonal" if is_diagonal else function
                made = ir.ArrayCall(name, values, transposed, numbers, type, turned=turned and function != "identity")
            case ir.Spread(x=x):
                array = self.array(self.value(x))
                made = ir.ArrayCall("spread", (array,), (False,), _sizes(x.type.group), type)
            case ir.ReduceGroups(op=how, x=x, group=group, each=each):
                numbers = (*_sizes(group), each) if how == "mean" else _sizes(group)
                made = ir.ArrayCall(how, (self.array(self.value(x)),), (False,), numbers, type)
            case _:
                raise TypeError(op)
        return self.call(made, result.id)

    def product(self, a: Value, b: Value, type: Type, turned: bool, id: str) -> Value:
        x, y = self.operand(a), self.operand(b)
        is_same = x.value == y.value
        symmetric = is_same and (x.value.id in self.symmetric or x.transposed != y.transposed)
        vectors = tuple(k for k, side in enumerate((a, b)) if len(side.type.axes) == 1)
        if turned:  # (X @ Y)^T = Y^T @ X^T
            x, y = self.flipped(y), self.flipped(x)
        made = ir.ArrayCall(
            "product", (x.value, y.value), (x.transposed, y.transposed), (), type, symmetric, vectors
        )  # fmt: skip
        return self.call(made, id)

    def flipped(self, x: _Stored) -> _Stored:
        return x if x.value.id in self.symmetric else replace(x, transposed=not x.transposed)

    def call(self, call: ir.ArrayCall, id: str | None = None) -> Value:
        """The result of a call."""
        made = self.emit(call, Value(id, call.type) if id is not None else self.fresh(call.type))
        if call.function not in GROUPED:
            self.narrow.add(made.id)
        return made

    def operand(self, v: Value) -> _Stored:
        """What a product or a function reads: a matrix, or a vector in the dtype of elements."""
        of = self.arrays[v.id]
        if not of.value.type.is_element:
            is_narrow = of.value.id in self.narrow
            return of if is_narrow else replace(of, value=self.keep(of.value, of.value.type, narrow=True))
        turned = self.is_turned(v.type.axes)
        return _Stored(self.array(of.value), of.transposed or turned)

    def array(self, x: Value) -> Value:
        """A value with an array: the value itself, or a copy."""
        return x if x.id in self.direct else self.keep(x, x.type)

    def keep(self, x: Value, type: Type, *, narrow: bool = False, columns: bool = False) -> Value:
        kept = ir.Keep(x, type, narrow, columns)
        if kept not in self.kept:
            self.kept[kept] = self.emit(kept, self.fresh(type))
        return self.kept[kept]

    # ------------------------------------------------------------ loops and stores

    def loop(self, loop: ir.Repeat) -> None:
        """A loop carries values in arrays of their own."""
        region = loop.region
        types = [self.type(v.type) for v in region.takes]
        starts = tuple(self.copy(v, t) for v, t in zip(loop.starts, types, strict=True))
        takes = tuple(Value(v.id, t) for v, t in zip(region.takes, types, strict=True))
        outer, self.instrs, known = self.instrs, [], (self.made, self.kept)
        self.made, self.kept = dict(self.made), dict(self.kept)
        self.define(region.takes, takes)
        self.block(region.instrs)
        gives = tuple(self.copy(v, t) for v, t in zip(region.gives, types, strict=True))
        body, self.instrs, (self.made, self.kept) = tuple(self.instrs), outer, known
        results = tuple(Value(v.id, t) for v, t in zip(region.results, types, strict=True))
        self.define(region.results, results)
        both = zip(results, starts, gives, strict=True)
        self.symmetric |= {v.id for v, x, y in both if {x.id, y.id} <= self.symmetric}
        region = ir.Region(takes, body, gives, results)
        self.instrs.append(Instr(None, replace(loop, starts=starts, region=region), self.span))

    def define(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        """Values that loops carry have arrays."""
        self.arrays |= {v.id: _Stored(x) for v, x in zip(old, new, strict=True)}
        self.direct |= {x.id for x in new}
        self.leaves |= {x.id for x in new}

    def copy(self, v: Value, type: Type) -> Value:
        """A copy of a value of its own, for a loop that changes it, or for a store."""
        return self.emit(ir.Keep(self.value(v), type), self.fresh(type))

    def store(self, store: ir.Store) -> None:
        """A store has a value of its own, but for those of numbers of the host, and for those that go with the
        weight's."""
        op = ir.with_operands(store, self.value)
        assert isinstance(op, ir.Store)
        x, buffer = op.value, self.buffers[op.buffer]
        if buffer.known is not When.HOST and op.buffer != "copy" and not self.is_light.is_lost(x):
            held = self.type(held_type(buffer, self.compute))
            is_made = x.id in self.direct if held.is_element else x.id not in self.leaves
            if x.id in self.roots or not is_made or x.id in self.leaves or x.type.axes != held.axes:
                op = replace(op, value=self.copy(store.value, held))
            self.roots.add(op.value.id)
        self.instrs.append(Instr(None, op, self.span))


def _sizes(group: LineGroup | None) -> tuple[ir.HostNumber, ...]:
    """The numbers of a call of groups."""
    assert group is not None
    names = (str(group), group.length, group.repeats)
    return tuple(ir.HostNumber(Name(name, False, Span(0, 0, 0)), name) for name in names)


def _without_copies(instrs: tuple[Instr, ...], arrays: Collection[str]) -> tuple[Instr, ...]:
    """Loops that carry values in the arrays of what starts them, where nothing else reads that, and of what turns
    compute, where they give it once. `arrays` are the names of values that loops can change."""
    used = Counter(v.id for i in ir.nested(instrs) for v in _reads(i))

    def block(own: tuple[Instr, ...], gives: tuple[Value, ...] = ()) -> tuple[tuple[Instr, ...], tuple[Value, ...]]:
        made = {i.result.id: i.op for i in own if i.result is not None}
        plain: dict[str, Value] = {}

        def carried(copy: Value, *, once: bool) -> Value:
            op = made[copy.id]
            assert isinstance(op, ir.Keep)
            x = op.x
            if (
                x.id not in made.keys() & arrays
                or x.type != op.type
                or (once and used[x.id] > 1)
                or x in plain.values()
            ):
                return copy
            return plain.setdefault(copy.id, x)

        found = []
        for instr in own:
            if isinstance(loop := instr.op, ir.Repeat):
                starts = tuple(carried(v, once=True) for v in loop.starts)
                body, last = block(loop.region.instrs, loop.region.gives)
                region = replace(loop.region, instrs=body, gives=last)
                instr = replace(instr, op=replace(loop, starts=starts, region=region))
            found.append(instr)
        last = tuple(carried(v, once=False) for v in gives)
        return tuple(i for i in found if i.result is None or i.result.id not in plain), last

    return block(instrs)[0]


def _reads(instr: Instr) -> Iterable[Value]:
    yield from ir.operands(instr.op)
    if isinstance(instr.op, ir.Repeat):
        yield from instr.op.region.gives
