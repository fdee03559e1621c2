"""The new values of quantized states, coded a unit later than they are computed.

A unit has one block of codes, or two. The scale of a block is known when all of its values are. Before those of a unit
become codes, the values of the next unit are computed: then nothing waits for a scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from llvmlite import ir as ll

from optgen.backends import packing
from optgen.backends.control_flow import array, loop
from optgen.backends.cpu.elements import CACHE_LINE_BYTES, SweepBody
from optgen.backends.element_body import address
from optgen.backends.llvm import at, inline, integer, splat
from optgen.backends.llvm_types import F32, I32, PTR, constant, raw_type, vector
from optgen.ir import Buffer, codec
from optgen.ir.storage import QUANT_BLOCK


class Coder:
    """The values of two units at a time, on the stack: those at hand, and the last ones, which are not coded yet.

    `states` are the quantized states that the sweep stores, `scales` the addresses of all scales.
    """

    def __init__(
        self, body: SweepBody, states: Mapping[str, Buffer], scales: Mapping[str, Any], scale_origin: Any
    ) -> None:
        self.body, self.b, self.states = body, body.b, states
        self.scales, self.scale_origin = scales, scale_origin
        b = self.b
        self.blocks = {n: blocks_of_unit(x) for n, x in states.items()}
        self._magnitudes = {n: array(b, I32, k * body.lanes, CACHE_LINE_BYTES) for n, k in self.blocks.items()}
        self.values = {n: array(b, F32, 2 * QUANT_BLOCK, CACHE_LINE_BYTES) for n in states}
        self.nowhere = {n: array(b, raw_type(x.format), QUANT_BLOCK, CACHE_LINE_BYTES) for n, x in states.items()}
        self.last_factors = {n: array(b, F32, k, 4) for n, k in self.blocks.items()}
        with b.goto_entry_block():
            self.last_values, self.last_codes = ({n: b.alloca(PTR) for n in states} for _ in range(2))

    def start(self) -> None:
        """Before the first unit: the codes of the one before go nowhere."""
        for name in self.states:
            for k in range(self.blocks[name]):
                self.b.store(F32(0.0), at(self.b, self.last_factors[name], integer(k), F32))
            self._remember(name, self.values[name], self.nowhere[name])

    def begin_unit(self, start: Any) -> dict[str, Any]:
        """Where the values of the unit that begins with element `start` go."""
        for name, largest in self._magnitudes.items():
            for k in range(self.blocks[name]):
                self.b.store(constant(I32, 0, self.body.lanes), self._magnitudes_of(largest, integer(k)))
        half = self.b.and_(start, integer(QUANT_BLOCK))
        return {n: at(self.b, values, half, F32) for n, values in self.values.items()}

    def magnitudes(self, place: Any) -> dict[str, Any]:
        """Where the largest magnitudes of the blocks are noted that the element at this place in the unit is in."""
        return {n: self._magnitudes_of(x, self._block(n, place)) for n, x in self._magnitudes.items()}

    def code_last(self, count: Any) -> None:
        """Code the `count` values of the last unit."""
        b = self.b
        for name, buffer in self.states.items():
            values, codes = (b.load(cells[name], typ=PTR) for cells in (self.last_values, self.last_codes))
            for place, width in vectors(b, count, self.body.lanes):
                factor = b.load(at(b, self.last_factors[name], self._block(name, place), F32), typ=F32)
                x = b.load(at(b, values, place, F32), typ=vector(F32, width), align=4)
                code = self._inline(codec.encoder(buffer), [x, splat(b, factor, width)], width)
                self._write(buffer, code, codes, place, width)

    def _write(self, buffer: Buffer, code: Any, codes: Any, place: Any, width: int) -> None:
        b, type = self.b, raw_type(buffer.format)
        if buffer.format.is_packed and width == 1:
            packing.store_next(b, code, codes, place)
            return
        packed = buffer.format.is_packed
        stored = packing.packed(b, code, width) if packed else b.trunc(code, vector(type, width))
        b.store(stored, address(b, codes, place, buffer.format), align=1)

    def end_unit(self, start: Any, count: Any) -> None:
        """The unit of so many elements is computed, and is the last one now: its scales are known."""
        b = self.b
        half = b.and_(start, integer(QUANT_BLOCK))
        for name, buffer in self.states.items():
            for k in range(self.blocks[name]):
                first = integer(k * (QUANT_BLOCK // self.blocks[name]))
                with b.if_then(b.icmp_signed("<", first, count)) if k else nullcontext():
                    scale = self._new_scale(name, b.add(start, first), integer(k))
                    factor = self._inline(codec.encode_scale(buffer), [scale])
                    b.store(factor, at(b, self.last_factors[name], integer(k), F32))
            codes = address(b, self.body.pointers[name], start, buffer.format)
            self._remember(name, at(b, self.values[name], half, F32), codes)

    def _inline(self, function: Callable[..., Any], args: list[Any], width: int = 1) -> Any:
        """A function of a codec, in the mode of the sweep."""
        return inline(self.b, function, args, width, machine_flushes=self.body.m.machine_flushes)

    def _remember(self, name: str, values: Any, codes: Any) -> None:
        self.b.store(values, self.last_values[name])
        self.b.store(codes, self.last_codes[name])

    def _block(self, name: str, place: Any) -> Any:
        """Which block of a unit the element at this place is in."""
        if self.blocks[name] == 1:
            return integer(0)
        return self.b.lshr(place, block_shift(self.states[name]))

    def _magnitudes_of(self, magnitudes: Any, block: Any) -> Any:
        return at(self.b, magnitudes, self.b.mul(block, integer(self.body.lanes)), I32)

    def _new_scale(self, name: str, start: Any, block: Any) -> Any:
        """The largest magnitude of the new values of a block that begins with element `start`, stored as its scale."""
        b, lanes = self.b, self.body.lanes
        type = vector(I32, lanes)
        largest = b.module.declare_intrinsic(f"llvm.vector.reduce.smax.v{lanes}i32", (), ll.FunctionType(I32, [type]))
        scale = b.bitcast(b.call(largest, [b.load(self._magnitudes_of(self._magnitudes[name], block), typ=type)]), F32)
        number = b.lshr(b.add(self.scale_origin, start), block_shift(self.states[name]))
        b.store(scale, at(b, self.scales[name], number, F32))
        return scale


def blocks_of_unit(buffer: Buffer) -> int:
    """How many blocks of codes of a state are in a unit."""
    return QUANT_BLOCK // block_of(buffer)


def block_of(buffer: Buffer) -> int:
    """How many elements of a quantized state share a scale."""
    assert buffer.format.block is not None
    return buffer.format.block


def block_shift(buffer: Buffer) -> ll.Constant:
    """An element's number, shifted right by this, is that of its block of codes."""
    return integer(block_of(buffer).bit_length() - 1)


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
