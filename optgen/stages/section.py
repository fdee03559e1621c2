"""Makes the kernel of a stage: instructions of one level and one pair of dimensions, and the light ones that they read.

Dimensions are those of the kernel: over `r x cols`, a value of `cols` is one of columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from optgen import ir
from optgen.axes import COLS, ELEMENTS, ROWS, Axes
from optgen.diagnostics import Span
from optgen.expressions import Call
from optgen.functions.record import Inline
from optgen.functions.table import elementwise_of
from optgen.ir import Buffer, Instr, Kernel, Phase, Value, Variant
from optgen.ir.kernel_builder import KernelBuilder
from optgen.ir.verify import held_type
from optgen.model import DIMENSIONS
from optgen.stages.plan import PARAMETER, PARAMETER_SIZES

_WORDS: Mapping[Axes, type[ir.Word]] = {ELEMENTS: ir.Word, ROWS: ir.RowWord, COLS: ir.ColumnWord}


def relative_axes(axes: Axes, domain: Axes) -> Axes:
    """The dimensions of a value in a kernel over `domain`, whose rows and columns these are."""
    if len(axes) != 1:
        return ELEMENTS if axes else ()
    assert axes[0] in domain, (axes, domain)
    return ROWS if axes[0] == domain[0] else COLS


class SectionBuilder(KernelBuilder):
    """Adds instructions of a whole kernel to a kernel over `domain`. `arrays` has the buffers by the values that they
    hold before; `light` has the instructions that are added where they are first read."""

    def __init__(
        self, variant: Variant, buffers: Sequence[Buffer], domain: Axes, arrays: Mapping[str, str],
        light: Mapping[str, Instr],
    ) -> None:  # fmt: skip
        super().__init__(variant, buffers)
        self.domain, self.arrays, self.light = domain, arrays, light
        self.values: dict[str, Value] = {}
        self.used: set[str] = set()
        self.elements: dict[tuple[str, Value], Value] = {}  # of arrays that loops fill, by their places

    def kernel(self, whole: Kernel) -> Kernel:
        read = {i.op.name for i in self.instrs if isinstance(i.op, ir.Hyper)}
        read |= {"matrices"} if whole.last_two else set()  # by which backends find rows and columns
        known = (*whole.hyper, *PARAMETER_SIZES.values(), *sorted(read))
        hyper = tuple(name for name in dict.fromkeys(known) if name in read)
        phases = (Phase("update", tuple(self.instrs)),)
        return Kernel(whole.name, whole.dtype, tuple(self.buffers.values()), hyper, phases, False, whole.last_two)

    def include(self, instr: Instr) -> None:
        """Add an instruction of the whole kernel, behind the light ones that it reads."""
        self.need(ir.operands(instr.op))
        self.one(instr)

    def need(self, values: Iterable[Value]) -> None:
        """Add the light instructions of values, each behind what it reads."""
        pending = [self.light[v.id] for v in values if v.id in self.light]
        pending.reverse()
        while pending:
            instr = pending[-1]
            assert instr.result is not None
            missing = [self.light[v.id] for v in ir.operands(instr.op) if self._is_missing(v)]
            if missing:
                pending += reversed(missing)
            else:
                pending.pop()
                if instr.result.id not in self.values:
                    self.one(instr)

    def _is_missing(self, v: Value) -> bool:
        return v.id in self.light and v.id not in self.values

    def one(self, instr: Instr) -> None:
        op, result, self.span = instr.op, instr.result, instr.span
        match op:
            case ir.Put(array=array, x=x):
                self.values[array] = self.read(x)
            case ir.Store(buffer=buffer, value=value, place=place):
                self.store(buffer, self.read(value), None if place is None else self.read(place))
            case _:
                assert result is not None
                self.values[result.id] = self.made(op, result)

    def made(self, op: ir.Op, result: Value) -> Value:
        match op:
            case ir.Keep(x=x) | ir.Repeated(x=x) | ir.RepeatedDown(x=x):
                return self.read(x)
            case ir.Triangle(kept=kept, x=x):
                return self.triangle(kept, self.read(x))
            case ir.Get(array=array, place=place):
                return self.element_of(array, self.read(place))
            case ir.Word(draw=draw, held=held):
                made = _WORDS[relative_axes(result.type.axes, self.domain)]
                return self.named(made(draw, None if held is None else self.read(held)), result)
            case ir.Hyper(name=name) if name in DIMENSIONS and self.domain != PARAMETER:
                return self.named(replace(op, name=PARAMETER_SIZES[name]), result)
            case ir.Reduce(x=x):
                wide = self.repeated(self.read(x), relative_axes(x.type.axes, self.domain))
                return self.named(replace(op, x=wide), result)
        return self.named(ir.with_operands(op, self.read), result)

    def named(self, op: ir.Op, like: Value) -> Value:
        """Emit an operation. Names that a spec gives to values are kept, for people who read kernels."""
        name = like.id.partition(".")[0]
        is_free = name[:1].isalpha() and name not in self.used
        self.used.add(name)
        return self.emit(op, name if is_free else None, wanted=like.type.dtype)

    def read(self, v: Value) -> Value:
        """A value of the whole kernel in this one."""
        if v.id not in self.values:
            buffer = self.buffers[self.arrays[v.id]]
            place = self.turn(buffer.turn) if buffer.turn else None
            self.values[v.id] = self.named(ir.Load(buffer.name, place), v)
        return self.values[v.id]

    def triangle(self, kept: str, x: Value) -> Value:
        what = elementwise_of(Call(kept, (), None, Span(0, 0, 0)))
        assert what is not None and isinstance(what.operations, Inline)
        found: Value = what.operations.function(self, x)
        return found

    def repeated(self, x: Value, axes: Axes) -> Value:
        """A value, repeated for each element, row or column, of which a reduction counts it once for each."""
        if x.type.axes == axes:
            return x
        known = self.row_number() if axes != COLS else self.column_number()
        known = self.emit(ir.Add(known, self.column_number())) if axes == ELEMENTS else known
        return self.emit(ir.Select(self.emit(ir.Compare("eq", known, known)), x, x))

    # ------------------------------------------------------------ arrays that loops fill

    def turn(self, name: str) -> Value:
        return self.emit(ir.Hyper(name))

    def element_of(self, array: str, place: Value) -> Value:
        """An element of an array that a loop fills. Each one that is read has a buffer in the memory of the array."""
        if (array, place) not in self.elements:
            buffer = self.buffers[array]
            name = f"{array}[{len(self.elements)}]"
            self.buffers[name] = replace(buffer, name=name, of=array, written=False)
            self.elements[array, place] = self.emit(ir.Load(name, place))
        return self.elements[array, place]

    # ------------------------------------------------------------ stores

    def store(self, name: str, value: Value, place: Value | None = None) -> None:
        """Store a value of this kernel in a buffer, in the entry of a history with a `place`."""
        buffer = self.buffers[name]
        place = self.turn(buffer.turn) if buffer.turn else place
        is_element = held_type(buffer, self.compute).dtype == self.compute
        x = self.element(value) if is_element else self.double(value)
        self.instrs.append(Instr(None, ir.Store(name, x, place), self.span))
