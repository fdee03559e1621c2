"""The new values of 8-bit states, coded a unit later than they are computed.

A unit is a block of codes, whose scale is known when all of its values are. Before those of a unit become codes, the
values of the next unit are computed: then nothing waits for the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llvmlite import ir as ll

from optgen.backends.control_flow import array, loop
from optgen.backends.cpu.elements import CACHE_LINE_BYTES, SweepBody
from optgen.backends.element_body import raw_type
from optgen.backends.llvm import at, inline, integer, load, splat
from optgen.backends.llvm_types import F32, I32, PTR, constant, vector
from optgen.ir import Buffer, codec
from optgen.ir.storage import QUANT_BLOCK

BLOCK_SHIFT = integer(QUANT_BLOCK.bit_length() - 1)
"""An element's number, shifted right by this, is that of its block of codes."""


class Coder:
    """The values of two units at a time, on the stack: those at hand, and the last ones, which are not coded yet.

    `states` are the 8-bit states that the sweep stores, `scales` the addresses of all scales.
    """

    def __init__(
        self, body: SweepBody, states: Mapping[str, Buffer], scales: Mapping[str, Any], scale_origin: Any
    ) -> None:
        self.body, self.b, self.states = body, body.b, states
        self.scales, self.scale_origin = scales, scale_origin
        b = self.b
        self.magnitudes = {n: array(b, I32, body.lanes, CACHE_LINE_BYTES) for n in states}
        self.values = {n: array(b, F32, 2 * QUANT_BLOCK, CACHE_LINE_BYTES) for n in states}
        self.aside = {n: array(b, raw_type(x.format), QUANT_BLOCK, CACHE_LINE_BYTES) for n, x in states.items()}
        with b.goto_entry_block():
            self.last_values, self.last_factors, self.last_codes = (
                {n: b.alloca(type) for n in states} for type in (PTR, F32, PTR)
            )

    def start(self) -> None:
        """Before the first unit: the codes of the one before go nowhere."""
        for name in self.states:
            self._remember(name, self.values[name], F32(0.0), self.aside[name])

    def begin_unit(self, start: Any) -> dict[str, Any]:
        """Where the values of the unit that begins with element `start` go."""
        for largest in self.magnitudes.values():
            self.b.store(constant(I32, 0, self.body.lanes), largest)
        half = self.b.and_(start, integer(QUANT_BLOCK))
        return {n: at(self.b, values, half, F32) for n, values in self.values.items()}

    def code_last(self, count: Any) -> None:
        """Code the `count` values of the last unit."""
        b = self.b
        for name, buffer in self.states.items():
            values, factor, codes = (
                b.load(cells[name], typ=type)
                for cells, type in ((self.last_values, PTR), (self.last_factors, F32), (self.last_codes, PTR))
            )
            type, lanes, whole = raw_type(buffer.format), self.body.lanes, isinstance(count, ll.Constant)
            to = codes if whole else self.aside[name]
            with loop(b, integer(0), count, lanes) as place:  # what is behind the last value does no harm
                x = b.load(at(b, values, place, F32), typ=vector(F32, lanes), align=4)
                code = self._inline(codec.encoder(buffer), [x, splat(b, factor, lanes)], lanes)
                b.store(b.trunc(code, vector(type, lanes)), at(b, to, place, type), align=1)
            if not whole:
                with loop(b, integer(0), count) as place:
                    b.store(load(b, to, place, type), at(b, codes, place, type))

    def end_unit(self, start: Any) -> None:
        """The unit is computed, and is the last one now: its scales are known."""
        b = self.b
        half = b.and_(start, integer(QUANT_BLOCK))
        for name, buffer in self.states.items():
            factor = self._inline(codec.encode_scale(buffer), [self._new_scale(name, start)])
            codes = at(b, self.body.pointers[name], start, raw_type(buffer.format))
            self._remember(name, at(b, self.values[name], half, F32), factor, codes)

    def _inline(self, function: Callable[..., Any], args: list[Any], width: int = 1) -> Any:
        """A function of a codec, in the mode of the sweep."""
        return inline(self.b, function, args, width, machine_flushes=self.body.m.machine_flushes)

    def _remember(self, name: str, values: Any, factor: Any, codes: Any) -> None:
        found = (self.last_values, values), (self.last_factors, factor), (self.last_codes, codes)
        for cells, x in found:
            self.b.store(x, cells[name])

    def _new_scale(self, name: str, start: Any) -> Any:
        """The largest magnitude of a unit's new values, stored as the scale of its block."""
        b, lanes = self.b, self.body.lanes
        type = vector(I32, lanes)
        largest = b.module.declare_intrinsic(f"llvm.vector.reduce.smax.v{lanes}i32", (), ll.FunctionType(I32, [type]))
        scale = b.bitcast(b.call(largest, [b.load(self.magnitudes[name], typ=type)]), F32)
        block = b.lshr(b.add(self.scale_origin, start), BLOCK_SHIFT)
        b.store(scale, at(b, self.scales[name], block, F32))
        return scale


def vectors(b: ll.IRBuilder, stop: Any, width: int) -> Iterator[tuple[Any, int]]:
    """Loops over [0, stop): vectors, and single elements for the rest, if `stop` is no constant.

    Yields the first number of a turn, and how many it takes. They are written out, as LLVM's own vectors would look up
    tables in memory.
    """
    known = isinstance(stop, ll.Constant)
    full = stop if known else b.and_(stop, integer(-width))
    with loop(b, integer(0), full, width) as j:
        yield j, width
    if not known:
        with loop(b, full, stop, lanes=1) as j:
            yield j, 1
