"""The cost of a planned kernel: what it moves and computes for each element."""

from __future__ import annotations

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


def cost(kernel: Kernel) -> Cost:
    sweeps = [p for p in kernel.phases if p.kind == "sweep"]
    ops = [i.op for p in sweeps for i in p.instrs]
    reads = [op.buffer for op in ops if isinstance(op, ir.Load)]
    writes = [op.buffer for op in ops if isinstance(op, ir.Store)]
    bytes = sum(_bytes(kernel, name) for name in (*reads, *writes))
    flops = sum(isinstance(op, _FLOPS) for op in ops)
    return Cost(len(sweeps), len(reads), len(writes), bytes, flops)


def _bytes(kernel: Kernel, name: str) -> float:
    """The bytes of an element, with its share of a float32 scale."""
    storage = kernel.buffer(name).format
    return storage.bytes + (4 / storage.block if storage.block else 0)
