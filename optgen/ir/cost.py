"""The cost of a planned kernel: what it moves and computes for each element."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optgen import ir
from optgen.ir import Kernel

_FLOPS = (ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Sqrt, ir.Floor, ir.Reduce)


@dataclass(frozen=True)
class Cost:
    """Per parameter element and step: streams read and written over all sweeps, and floating-point operations."""

    sweeps: int
    reads: int
    writes: int
    bytes: float
    flops: int

    @property
    def streams(self) -> int:
        return self.reads + self.writes


@dataclass(frozen=True)
class SweepCost:
    """The buffers that a sweep reads and writes, in the kernel's order, and how many bytes of an element."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    bytes_read: float
    bytes_written: float


def cost(kernel: Kernel) -> Cost:
    swept = sweeps(kernel)
    flops = sum(isinstance(i.op, _FLOPS) for p in kernel.phases if p.kind == "sweep" for i in p.instrs)
    reads, writes = sum(len(s.reads) for s in swept), sum(len(s.writes) for s in swept)
    return Cost(len(swept), reads, writes, sum(s.bytes_read + s.bytes_written for s in swept), flops)


def sweeps(kernel: Kernel) -> list[SweepCost]:
    """What each sweep moves."""
    found = []
    for phase in kernel.phases:
        if phase.kind == "sweep":
            ops = [i.op for i in phase.instrs]
            read = {op.buffer for op in ops if isinstance(op, ir.Load)}
            written = {op.buffer for op in ops if isinstance(op, ir.Store)}
            reads, writes = (tuple(b.name for b in kernel.buffers if b.name in some) for some in (read, written))
            found.append(SweepCost(reads, writes, _bytes(kernel, reads), _bytes(kernel, writes)))
    return found


def own_ceiling(kernel: Kernel) -> float:
    """The speed of the sweeps where memory is the limit, as a share of that of one sweep over the same streams.

    It follows the bytes that are read: a line that is written was read before.
    """
    swept = sweeps(kernel)
    once = tuple({name for s in swept for name in s.reads})
    read = sum(s.bytes_read for s in swept)
    return _bytes(kernel, once) / read if read else 1.0


def _bytes(kernel: Kernel, names: Iterable[str]) -> float:
    """The bytes of an element in these buffers, with its share of float32 scales."""
    formats = [kernel.buffer(name).format for name in names]
    return sum(x.bits / 8 + (4 / x.block if x.block else 0) for x in formats)
