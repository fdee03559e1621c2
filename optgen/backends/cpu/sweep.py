"""A sweep as a task: part p of P takes an even share of all elements. Of each tensor in its share, it hands a range of
elements to the function that loops over them.

A share never splits what belongs together: blocks of reductions, units of staged sweeps, whole rows where a tensor is
updated row by row, ROW_BLOCK rows where rows or columns are reduced. So the result depends on neither the number of
parts nor the vector width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends.control_flow import loop, variable
from optgen.backends.cpu import sums
from optgen.backends.cpu.box import CpuBox
from optgen.backends.cpu.element_loops import batch_loop, flat_loop
from optgen.backends.cpu.elements import SweepBody
from optgen.backends.cpu.listed_rows import NO_LIST, listed_rows, prefetch_distance
from optgen.backends.cpu.module import TASK, VOID, CpuModuleBuilder
from optgen.backends.cpu.partials import column_sums, fold_row
from optgen.backends.cpu.reduce import reduce_row, reduce_rows
from optgen.backends.cpu.rows import ROWS_AT_ONCE, STREAMS_AT_ONCE, RowBodies, RowOrigin, TileOrigin, row_groups
from optgen.backends.cpu.shares import boundary, boundary_in_matrix
from optgen.backends.cpu.staged import StagedLoop, is_staged
from optgen.backends.cpu.step import StepFunction, TensorRegion
from optgen.backends.cpu.tiny import TinyMatrices, is_tiny
from optgen.backends.element_body import address, line_values, streams
from optgen.backends.layout import Extent, blocks, reductions
from optgen.backends.llvm import at, integer, load, maximum, minimum
from optgen.backends.llvm_types import F64, I8, I64, PTR, TYPES
from optgen.backends.module_builder import Env
from optgen.ir import BLOCK, LANES, ROW_BLOCK, Phase, Value
from optgen.ir.storage import QUANT_BLOCK
from optgen.ir.storage.packing import CODES_PER_BYTE


def sweep_task(m: CpuModuleBuilder, phase: Phase, name: str) -> ll.Function:
    """Part `part` of `parts` of a sweep: its share of every tensor."""
    sweep = CpuSweep(m, phase)
    body = sweep.tensor(f"{name}.tensor")
    f, b = m.cold_function(name, TASK)
    step, part, parts = f.args
    saved = m.float_mode.set(b, flushing=m.machine_flushes)
    s = StepFunction(m, b, step)
    elements, offset = s.count_elements(), variable(b, integer(0))
    low = b.sdiv(b.mul(elements, part), parts)
    high = b.sdiv(b.mul(elements, b.add(part, integer(1))), parts)
    with s.tensors() as (i, extent, region):
        here = b.load(offset, typ=I64)
        behind = b.add(here, extent.elements)
        b.store(behind, offset)
        with b.if_then(b.and_(b.icmp_signed("<", low, behind), b.icmp_signed("<", here, high))):
            begin, end = variable(b, integer(0)), variable(b, extent.elements)
            with b.if_then(b.or_(b.icmp_signed(">", low, here), b.icmp_signed("<", high, behind))):
                unit = sweep.unit(b, extent)
                shift = sweep.shift(s, i, extent, unit) if m.kernel.boxes else None
                where = boundary_in_matrix if sweep.by_rows and sweep.in_batches else boundary
                b.store(where(b, b.sub(low, here), extent, unit, shift), begin)
                b.store(where(b, b.sub(high, here), extent, unit, shift), end)
            first, last = b.load(begin, typ=I64), b.load(end, typ=I64)
            with b.if_then(b.icmp_signed("<", first, last)):
                b.call(body, [step, i, first, last, region])
    m.float_mode.restore(b, saved)
    b.ret_void()
    return f


class CpuSweep:
    """One sweep of a kernel: what it reads, and the functions it becomes."""

    def __init__(self, m: CpuModuleBuilder, phase: Phase) -> None:
        self.m, self.phase = m, phase
        self.streams = streams(m.kernel, phase)
        self.scales = {x.name: x.format.block for x in self.streams if x.format.block}
        self.staged = is_staged(m.kernel, phase)
        self.lines = line_values(phase)
        self.columns = [i.result for i in reductions(phase, "col") if i.result is not None]
        self.by_rows = bool(reductions(phase, "row") or self.columns)
        self.totals = [i.result for i in reductions(phase, "all") if i.result is not None]
        self.can_go_by_rows = m.kernel.goes_by_rows and not (self.by_rows or self.totals)
        # Blocks of codes that may restart anywhere in a unit.
        self.restarts = m.kernel.by_row and bool(self.scales) and bool(self.by_rows or self.totals)
        self.in_batches = m.layout.matrix and m.kernel.last_two
        needed = {"height": self.in_batches, "restart": self.restarts, "run": m.kernel.boxes, "origins": m.kernel.boxes}
        # Matrices of a batch may be tiny: their rows are too short to go by rows.
        self.stages_short_rows = self.in_batches and bool(self.lines) and not (self.staged or self.by_rows)
        of_rows = fields(RowOrigin) if self.by_rows or self.lines else ()
        origin = fields(TileOrigin) if self.staged or self.stages_short_rows else of_rows
        self.origin_fields = [x.name for x in origin if needed.get(x.name, True)]
        # Rows that are alike but for where they are: a loop over them is one function.
        self.has_listed_rows = self.can_go_by_rows and not origin
        # Kernels for boxes may have a place of its own for each row of column sums.
        self.has_row_groups = bool(self.columns) and not (self.staged or m.kernel.boxes)
        self.takes_tiny_matrices = (
            self.has_row_groups and self.in_batches and m.masks_vectors and not m.kernel.rows_independent
        )

    def unit(self, b: ll.IRBuilder, extent: Extent) -> Any:
        """How many elements stay together: shares begin at multiples of it."""
        boxes = self.m.kernel.boxes
        cols = maximum(b, extent.cols, integer(1)) if boxes else extent.cols  # a box can have rows without elements
        if self.by_rows:
            return b.mul(integer(ROW_BLOCK), cols)
        has_blocks = self.totals if boxes else self.m.layout.partials
        flat = integer(BLOCK if has_blocks else QUANT_BLOCK if self.staged else LANES)
        return b.select(extent.by_rows, cols, flat) if self.can_go_by_rows else flat

    def shift(self, s: StepFunction, i: Any, extent: Extent, unit: Any) -> Any:
        """How many elements a box begins behind the beginning of a unit."""
        b = s.b
        if self.by_rows:
            return b.mul(b.and_(s.box_field(i, "first_row"), integer(ROW_BLOCK - 1)), extent.cols)
        return b.urem(extent.first, unit) if self.totals else integer(0)

    @property
    def rows_at_once(self) -> int:
        """How many rows are added to the sums of columns together: a power of two, and at least two."""
        most = STREAMS_AT_ONCE // max(len(self.streams), 1)  # of products of rows and columns alone there is none
        return min(1 << max(most.bit_length() - 1, 1), ROWS_AT_ONCE)

    # ------------------------------------------------------------ one tensor

    def tensor(self, name: str) -> ll.Function:
        """f(step, i, begin, end, region): load the pointers and scalars of tensor i for the loop over its elements."""
        m, layout = self.m, self.m.layout
        # The rows of a batch may be many, and short.
        function = m.function if self.in_batches else m.cold_function
        f, b = function(name, ll.FunctionType(VOID, [PTR, I64, I64, I64, PTR]))
        step, i, begin, end, region = f.args
        s = StepFunction(m, b, step)
        extent = s.extent(i)
        tensor = TensorRegion(s, i, extent, region, layout.region(b, extent) if layout.matrix else None)
        scalars: Env = {}
        s.fetch(self.phase, scalars, i)
        if self.has_listed_rows:
            elements = listed_rows(m, self.phase, f"{name}.elements", self.streams, list(scalars))
        else:
            elements = self.elements(f"{name}.elements", list(scalars))

        loops = _TensorLoops(self, name, tensor, begin, end, scalars, elements)
        if self.by_rows:
            loops.rows()
        elif self.can_go_by_rows:
            with b.if_else(extent.by_rows) as (one_by_one, whole):
                with one_by_one:
                    loops.rows()
                with whole:
                    loops.flat(region)
        elif m.kernel.boxes and self.totals:
            loops.box()
        else:
            loops.flat(region if m.kernel.boxes else tensor.partials())
        b.ret_void()
        return f

    def origin(self, tensor: TensorRegion, row: Any, number: Any) -> list[Any]:
        """The fields of TileOrigin or RowOrigin that are needed. The blocks of codes restart at the rows of a tensor
        that is updated by rows."""
        if not self.origin_fields:
            return []
        s, b, extent, zero = tensor.s, tensor.s.b, tensor.extent, integer(0)
        scale_origin = zero if number is None else b.mul(number, extent.cols)
        origin = scale_origin if self.m.kernel.boxes else b.add(extent.first, scale_origin)
        if number is not None and self.finds_row_scales:
            scale_origin = b.select(extent.by_rows, zero, scale_origin)
        id, t = (load(b, s.field(name), tensor.i, I64) for name in ("id", "t"))
        found = {
            "origin": origin,
            "scale_origin": scale_origin,
            "row": zero if row is None else row,
            "cols": integer(1) if extent.cols is None else extent.cols,
            "id": id,
            "t": t,
            "seed": s.field("seed"),
        }
        if self.in_batches:
            found["height"] = extent.height
        if self.restarts:
            found["restart"] = self.restart(b, extent)
        if self.m.kernel.boxes:
            found |= {name: s.box_field(tensor.i, name) for name in ("run", "origins")}
        return [found[name] for name in self.origin_fields]

    @property
    def finds_row_scales(self) -> bool:
        """Whether a row that is visited is handed the scales of its own blocks, where blocks restart at rows."""
        return self.m.kernel.goes_by_rows and not self.restarts

    def restart(self, b: ll.IRBuilder, extent: Extent) -> Any:
        """After how many elements the blocks of codes restart; more than there are if they do not."""
        never = b.add(extent.elements, integer(1))
        return b.select(extent.by_rows, maximum(b, extent.cols, integer(1)), never)

    def pointers(self, tensor: TensorRegion, row: Any, number: Any) -> list[Any]:
        """The streams, from the row at hand on; a gradient of some rows holds no others. Then the scales."""
        s, b, extent = tensor.s, tensor.s.b, tensor.extent
        found = []
        for buffer in self.streams:
            start = s.pointer(buffer.name, tensor.i)
            if buffer.format.is_packed:
                start = self.where_codes_restart(b, extent, start, number, CODES_PER_BYTE, I8)
            elif number is not None:
                which = row if ir.is_gradient(buffer.name) else number
                start = address(b, start, b.mul(which, extent.cols), buffer.format)
            found.append(start)
        for name, block in self.scales.items():
            start = s.pointer(f"{name}.scale", tensor.i)
            found.append(self.where_codes_restart(b, extent, start, number, block, TYPES["f32"]))
        return found

    def where_codes_restart(
        self, b: ll.IRBuilder, extent: Extent, start: Any, number: Any, each: int, type: Any
    ) -> Any:
        """The address of the scales of row `number`, or of its bytes of packed codes. One scale, or one byte, is for
        `each` elements. If blocks restart at each row, every row has scales and bytes of its own; else the address is
        that of the tensor's first one."""
        if number is None or not self.finds_row_scales:
            return start
        first = b.mul(number, blocks(b, extent.cols, each))
        return at(b, start, b.select(extent.by_rows, first, integer(0)), type)

    # ------------------------------------------------------------ the loop

    def elements(self, name: str, scalars: list[Value], *, terms: bool = False, rows: int = 1) -> ll.Function:
        """The loop over elements [begin, end) of one tensor. Streams are noalias: `bind` refuses overlapping ones.

        With several `rows`, these elements of each of them. With `terms`, those of reductions go where partial results
        would, those of element 0 of each block of a reduction first.
        """
        m = self.m
        arrays = len(self.lines) + len(self.columns) + len(self.streams) + len(self.scales)
        numbers, given = [I64] * len(self.origin_fields), [TYPES[v.type.dtype] for v in scalars]
        types = [I64, I64, PTR, *numbers, *[PTR] * arrays, *given]
        f, b = m.function(name, ll.FunctionType(VOID, types))
        f.attributes.add("noinline")
        begin, end, partials, *rest = f.args

        def take(count: int, noalias: bool = True) -> list[Any]:
            taken: list[Any] = rest[:count]
            del rest[:count]
            for arg in taken:
                if noalias:
                    arg.add_attribute("noalias")
            return taken

        place = dict(zip(self.origin_fields, take(len(self.origin_fields), False), strict=True))
        lines = dict(zip(self.lines, take(len(self.lines)), strict=True))
        columns = dict(zip(self.columns, take(len(self.columns)), strict=True))
        pointers = dict(zip((x.name for x in self.streams), take(len(self.streams)), strict=True))
        scales = dict(zip(self.scales, take(len(self.scales)), strict=True))
        known = dict(zip(scalars, rest, strict=True))
        one = sums.one(b, partials) if columns and m.has_fma else None
        body = SweepBody(m, b, self.phase, pointers, known, columns, rows=rows, one=one)
        if terms:
            totals = {x: at(b, partials, integer(k * BLOCK), F64) for k, x in enumerate(self.totals)}
            body = replace(body, terms=totals)
        self.emit_loop(body, place, lines, scales, begin, end, partials, rows)
        b.ret_void()
        return f

    def emit_loop(
        self,
        body: SweepBody,
        place: Mapping[str, Any],
        lines: Mapping[Value, Any],
        scales: Mapping[str, Any],
        begin: Any,
        end: Any,
        partials: Any,
        rows: int,
    ) -> None:
        """What `elements` does. `place` are the fields of the origin, `lines` and `scales` addresses of arrays."""
        b, stride = body.b, self.m.layout.stride
        if self.staged:
            aligned = not (self.by_rows or self.restarts)
            StagedLoop(body, TileOrigin(**place), lines, scales, aligned).run(begin, end, partials, stride)
        elif self.by_rows:
            bodies = [RowBodies(body, RowOrigin(**place), lines).body_of(integer(k)) for k in range(rows)]
            if rows == 1 and self.in_batches and body.reductions:
                reduce_row(bodies[0], end, partials, stride)
            else:
                each = b.mul(blocks(b, end), integer(stride))
                reduce_rows(bodies, end, [at(b, partials, b.mul(each, integer(k)), F64) for k in range(rows)], stride)
        elif self.stages_short_rows:
            batch_loop(body, TileOrigin(**place), lines, begin, end, partials, stride)
        else:
            by_rows = RowBodies(body, RowOrigin(**place), lines) if self.lines else None
            flat_loop(body, begin, end, partials, stride, by_rows)


@dataclass(frozen=True)
class _TensorLoops:
    """Calls of the loops over elements [begin, end) of a tensor, of which `elements` is the usual one."""

    sweep: CpuSweep
    name: str
    tensor: TensorRegion
    begin: Any
    end: Any
    scalars: Env
    elements: ll.Function

    def flat(self, partials: Any) -> None:
        """All at once."""
        if self.sweep.has_listed_rows:
            self._listed_rows(integer(0), integer(1), self.begin, self.end, integer(0), NO_LIST)
        else:
            self._call(self.elements, self.begin, self.end, partials)

    def rows(self) -> None:
        """Row by row, or several rows at once where columns are added up."""
        sweep, b, extent = self.sweep, self.tensor.s.b, self.tensor.extent
        first, last = b.udiv(self.begin, extent.cols), b.udiv(self.end, extent.cols)
        if sweep.has_listed_rows:
            distance = prefetch_distance(sweep.m, b, extent.cols)
            index = self.tensor.s.row_list(self.tensor.i) if sweep.m.kernel.rows_independent else NO_LIST
            self._listed_rows(first, last, integer(0), extent.cols, distance, index)
            return
        if not sweep.has_row_groups:
            with loop(b, first, last) as row:
                self._some_rows(self.elements, row, 1)
            return
        if sweep.takes_tiny_matrices:
            with b.if_else(is_tiny(b, extent)) as (tiny, others):
                with tiny:
                    self._tiny_matrices().reduce(first, last)
                with others:
                    self._groups_of_rows(first, last)
        else:
            self._groups_of_rows(first, last)

    def _listed_rows(self, *place: Any) -> None:
        """A call of `listed_rows`, whose first arguments say which elements."""
        streams = self.sweep.pointers(self.tensor, None, None)
        self.tensor.s.b.call(self.elements, [*place, *streams, *self.scalars.values()])

    def _groups_of_rows(self, first: Any, last: Any) -> None:
        """Rows [first, last), several at once, and the rest of a matrix one by one."""
        sweep, b, extent = self.sweep, self.tensor.s.b, self.tensor.extent
        size = sweep.rows_at_once
        group = sweep.elements(f"{self.name}.rows", list(self.scalars), rows=size)
        with row_groups(b, first, last, extent, size) as (row, several, one):
            with several:
                self._some_rows(group, row, size)
            with one:
                self._some_rows(self.elements, row, 1)

    def _tiny_matrices(self) -> TinyMatrices:
        sweep, tensor, b = self.sweep, self.tensor, self.tensor.s.b
        names = [x.name for x in sweep.streams]
        pointers = dict(zip(names, sweep.pointers(tensor, None, None), strict=True))
        rows = [x.result for x in reductions(sweep.phase, "row") if x.result is not None]
        return TinyMatrices(
            SweepBody(sweep.m, b, sweep.phase, pointers, self.scalars, {}),
            tensor.extent,
            {v: tensor.line_array(v) for v in sweep.lines},
            {v: tensor.line_array(v) for v in rows},
            {v: tensor.column_sums(r, integer(0)) for r, v in enumerate(sweep.columns)},
        )

    def box(self) -> None:
        """The whole blocks of a box; of others it leaves the terms."""
        b, box = self.tensor.s.b, CpuBox(self.tensor)
        terms = self.sweep.elements(f"{self.name}.terms", list(self.scalars), terms=True)
        head, tail = box.bounds()
        parts = (
            (terms, integer(0), head, box.head_terms()),
            (self.elements, head, tail, box.partials(head)),
            (terms, tail, self.tensor.extent.elements, box.tail_terms(tail)),
        )
        for function, low, high, results in parts:
            first, last = maximum(b, self.begin, low), minimum(b, self.end, high)
            with b.if_then(b.icmp_signed("<", first, last)):
                self._call(function, first, last, results)

    def _some_rows(self, function: ll.Function, row: Any, count: int) -> None:
        sweep, tensor, b = self.sweep, self.tensor, self.tensor.s.b
        number = tensor.s.row_number(tensor.i, row) if sweep.m.kernel.rows_independent else row
        partials = tensor.row_partials(row)
        columns = column_sums(tensor, sweep.phase, row)
        self._call(function, integer(0), tensor.extent.cols, partials, row, number, columns)
        for k in range(count):
            this = b.add(row, integer(k))
            fold_row(tensor, sweep.phase, this, tensor.row_partials(this))

    def _call(
        self,
        function: ll.Function,
        first: Any,
        last: Any,
        partials: Any,
        row: Any = None,
        number: Any = None,
        columns: Sequence[Any] = (),
    ) -> None:
        """The loop over elements [first, last), counted from `row` on, which is row `number` of the tensor; from
        element 0 on if they are None."""
        sweep, tensor = self.sweep, self.tensor
        origin = sweep.origin(tensor, row, number)
        lines = [tensor.line_array(v) for v in sweep.lines]
        pointers = sweep.pointers(tensor, row, number)
        args = [first, last, partials, *origin, *lines, *columns, *pointers, *self.scalars.values()]
        tensor.s.b.call(function, args)
