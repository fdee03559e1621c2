"""The loop over rows of a tensor, for sweeps that do to each what they do to a tensor: a whole tensor is one row.

The rows of a row-sparse gradient lie anywhere in memory, so it takes many requests at once to keep that busy. The first
cache waits for few lines, the second for more: later rows are prefetched for the second one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.backends import machine
from optgen.backends.control_flow import loop
from optgen.backends.cpu.elements import (
    CACHE_LINE_BYTES,
    SweepBody,
    elements_per_line,
    for_elements,
    prefetch,
)
from optgen.backends.cpu.module import VOID, CpuModuleBuilder
from optgen.backends.cpu.step import listed_row
from optgen.backends.element_body import address
from optgen.backends.llvm import at, integer, maximum
from optgen.backends.llvm_types import I8, I64, PTR, TYPES
from optgen.ir import Buffer, Phase, Value
from optgen.ir.storage import Storage

NO_LIST = ll.Constant(PTR, None)
"""The list that stands for all rows of a tensor."""
LINES_AHEAD = machine.value("sweeps.list_lines_ahead")
"""A row is prefetched as many rows before it is updated as have so many cache lines of each stream."""
LONGEST = machine.value("sweeps.longest_list_row")
"""Elements. Longer rows prefetch within themselves."""


def listed_rows(
    m: CpuModuleBuilder, phase: Phase, name: str, streams: Sequence[Buffer], scalars: Sequence[Value]
) -> ll.Function:
    """f(first, last, begin, end, distance, index, *streams, *scalars): update elements [begin, end) of rows [first,
    last) of the list `index`. With several rows, these are all elements of a row. A gradient has the rows of the list
    alone; without a list, null, it has all rows. Rows are prefetched so many others before they are updated, or, if
    `distance` is 0, within themselves."""
    types = [I64, I64, I64, I64, I64, PTR, *[PTR] * len(streams), *[TYPES[v.type.dtype] for v in scalars]]
    f, b = m.function(name, ll.FunctionType(VOID, types))
    f.attributes.add("noinline")
    first, last, begin, end, distance, index, *rest = f.args
    for arg in rest[: len(streams)]:
        arg.add_attribute("noalias")
    starts = {x.name: arg for x, arg in zip(streams, rest, strict=False)}
    body = SweepBody(m, b, phase, starts, dict(zip(scalars, rest[len(streams) :], strict=True)), {})
    formats = {x.name: x.format for x in streams}
    cols = b.sub(end, begin)
    within = b.icmp_signed("==", distance, integer(0))
    with loop(b, b.sub(first, distance), last, below_zero=True) as row:
        later = b.add(row, distance)
        with b.if_then(b.and_(b.not_(within), b.icmp_signed("<", later, last))):
            _prefetch_row(b, _row(b, starts, formats, cols, index, later), formats, cols)
        with b.if_then(b.icmp_signed(">=", row, first)):
            here = _row(b, starts, formats, cols, index, row)
            for_elements(replace(body, pointers=here), begin, end, prefetches=within)
    b.ret_void()
    return f


def prefetch_distance(m: CpuModuleBuilder, b: ll.IRBuilder, cols: Any) -> Any:
    """How many rows before it is updated a row of `cols` elements is prefetched; 0 if it is long."""
    lanes = elements_per_line(m.kernel)
    rows = b.udiv(integer(LINES_AHEAD * lanes), maximum(b, cols, integer(lanes)))
    return b.select(b.icmp_signed("<=", cols, integer(LONGEST)), rows, integer(0))


def _row(
    b: ll.IRBuilder, starts: Mapping[str, Any], formats: Mapping[str, Storage], cols: Any, index: Any, row: Any
) -> dict[str, Any]:
    """Where a row of the list begins in each stream."""
    number = listed_row(b, index, row)
    rows = {name: row if ir.is_gradient(name) else number for name in starts}
    return {name: address(b, x, b.mul(rows[name], cols), formats[name]) for name, x in starts.items()}


def _prefetch_row(b: ll.IRBuilder, row: Mapping[str, Any], formats: Mapping[str, Storage], cols: Any) -> None:
    """Prefetch all lines of a row of each stream."""
    units = {name: storage.bits // 8 for name, storage in formats.items()}
    for unit in sorted(set(units.values())):
        size = b.mul(cols, integer(unit))
        places = [x for name, x in row.items() if units[name] == unit]
        with loop(b, integer(0), size, CACHE_LINE_BYTES) as offset:
            for place in places:
                prefetch(b, at(b, place, offset, I8))
        for place in places:  # the row may begin within a line, or have no elements
            prefetch(b, at(b, place, b.sub(size, integer(1)), I8, inbounds=False))
