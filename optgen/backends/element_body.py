"""What a sweep does to some neighbouring elements: streams decoded and encoded, instructions on vectors.

A subclass says how a CPU or a GPU reads and writes streams, and where it finds scales and random words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir as ll

from optgen import ir
from optgen.axes import Kind
from optgen.backends.flushing import flushed_by_mode, read_bitwise
from optgen.backends.llvm import at, flushed, inline, integer, lower, splat
from optgen.backends.llvm_types import F32, I32, constant, raw_type, vector
from optgen.backends.module_builder import Env, ModuleBuilder
from optgen.ir import ROUNDING_DRAW, Buffer, Instr, Kernel, Phase, Value, codec
from optgen.ir.storage import Storage


def address(b: ll.IRBuilder, start: Any, i: Any, storage: Storage, *, inbounds: bool = True) -> Any:
    """The address of element i of an array, or of the byte that it shares; `inbounds` as of `at`."""
    return at(b, start, b.lshr(i, integer(1)) if storage.is_packed else i, raw_type(storage), inbounds=inbounds)


class ElementBody(ABC):
    """The instructions of `phase` on `width` neighbouring elements; `scalars` are known."""

    def __init__(
        self, m: ModuleBuilder, b: ll.IRBuilder, phase: Phase, scalars: Mapping[Value, Any], width: int
    ) -> None:
        self.m, self.b, self.phase, self.scalars, self.width = m, b, phase, scalars, width

    @abstractmethod
    def line_values(self) -> Env:
        """The row and column values of the elements."""

    @abstractmethod
    def read(self, buffer: Buffer) -> Any:
        """The elements as they are stored: vectors of `raw_type`; of codes that share bytes, the codes as int32."""

    @abstractmethod
    def write(self, buffer: Buffer, x: Any) -> None:
        """The inverse of `read`, for all storages but codes in blocks."""

    @abstractmethod
    def stage_for_quantization(self, buffer: Buffer, x: Any) -> None:
        """Set new values of quantized states aside: they are coded when those of their whole block are known."""

    @abstractmethod
    def scale(self, buffer: Buffer) -> Any:
        """What the codes of the elements are multiplied with."""

    @abstractmethod
    def words(self, draw: int) -> Any:
        """The random words of the elements."""

    @abstractmethod
    def reduce(self, instr: Instr, env: Env) -> None:
        """Add to a reduction, unless the caller of `emit` does so."""

    def emit(self) -> Env:
        """Emit all instructions; the values that they compute."""
        env = {v: splat(self.b, x, self.width) for v, x in self.scalars.items()}
        env |= self.line_values()
        bitwise = read_bitwise(self.phase.instrs, self.m.consts)
        kept = self.m.kernel.stored_before(self.phase) if self.m.kernel.compute == "f64" else ()
        for instr in self.m.in_lines(self.b, self.phase.instrs):
            flushes = self.m.machine_flushes and flushed_by_mode(instr, bitwise)
            match instr.op:
                case ir.Load(buffer=name):
                    assert instr.result is not None
                    env[instr.result] = self.decoded(self.m.kernel.buffer(name), flushes or name in kept)
                case ir.Store(buffer=name, value=v):
                    self.store(self.m.kernel.buffer(name), self.operand(v, env))
                case ir.Word(draw=draw):
                    assert instr.result is not None
                    env[instr.result] = self.words(draw)
                case ir.Reduce():
                    self.reduce(instr, env)
                case op:
                    assert instr.result is not None
                    args = [self.operand(v, env) for v in ir.operands(op)]
                    env[instr.result] = lower(self.b, op, args, instr.result, self.width, machine_flushes=flushes)
        return env

    def operand(self, v: Value, env: Env) -> Any:
        return self.m.operand(self.b, v, env, self.width)

    def decoded(self, buffer: Buffer, is_flushed: bool) -> Any:
        """The elements of a stream in the dtype of the arithmetic, with zeros instead of subnormals, unless the machine
        sees to that where they are read, or they are doubles that this step has stored."""
        b, raw = self.b, self.read(buffer)
        if buffer.format.is_half:
            return b.fpext(raw, vector(F32, self.width))
        if buffer.format.codec is None:
            return raw if is_flushed else flushed(b, raw)
        args = [raw if buffer.format.is_packed else b.zext(raw, vector(I32, self.width))]
        if buffer.is_quantized:
            args.append(self.scale(buffer))
        return self.inline(codec.decoder(buffer), args, result_flushes=is_flushed)

    def store(self, buffer: Buffer, x: Any) -> None:
        """Write new values, rounded to the storage of their buffer."""
        if buffer.is_quantized:
            self.stage_for_quantization(buffer, x)
        else:
            self.write(buffer, self.encoded(buffer, x))

    def encoded(self, buffer: Buffer, x: Any) -> Any:
        """The inverse of `decoded`, for all storages but codes in blocks."""
        b = self.b
        if buffer.format.is_half:
            return b.fptrunc(x, vector(ll.HalfType(), self.width))
        if buffer.format.codec is None:
            return x
        args = [x]
        if buffer.format.needs_draws:
            args.append(self.rounding_bits(buffer.name))
        return b.trunc(self.inline(codec.encoder(buffer), args), vector(raw_type(buffer.format), self.width))

    def inline(self, function: Callable[..., Any], args: list[Any], *, result_flushes: bool = False) -> Any:
        """A function of an IR builder on the elements; `result_flushes` as for `llvm.inline`."""
        flushes = self.m.machine_flushes
        return inline(self.b, function, args, self.width, machine_flushes=flushes, result_flushes=result_flushes)

    def rounding_bits(self, name: str) -> Any:
        """The random bits that round a state: a word serves two states, the first one takes its low half."""
        state = self.m.kernel.rounded.index(name)
        word = self.words(ROUNDING_DRAW + state // 2)
        half = self.b.lshr(word, constant(I32, 16 * (state % 2), self.width))
        return self.b.and_(half, constant(I32, 0xFFFF, self.width))


def streams(kernel: Kernel, phase: Phase) -> list[Buffer]:
    """The buffers whose elements a sweep reads or writes."""
    touched = {i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Load | ir.Store)}
    return [b for b in kernel.buffers if b.name in touched]


def stored(phase: Phase) -> set[str]:
    """The names of the buffers that a sweep writes."""
    return {i.op.buffer for i in phase.instrs if isinstance(i.op, ir.Store)}


def line_values(phase: Phase) -> list[Value]:
    """The row and column values that a sweep reads."""
    found = [v for i in phase.instrs for v in ir.operands(i.op) if v.type.kind in (Kind.ROW, Kind.COL)]
    return list(dict.fromkeys(found))


def draws(kernel: Kernel, phase: Phase) -> list[int]:
    """The numbers of the draws that a sweep takes random words of, ascending."""
    found = {i.op.draw for i in phase.instrs if isinstance(i.op, ir.Word)}
    rounded = enumerate(kernel.rounded)
    return sorted(found | {ROUNDING_DRAW + k // 2 for k, name in rounded if name in stored(phase)})
