"""What a planned kernel moves and computes for each element."""

from __future__ import annotations

from dataclasses import dataclass

from optgen.ir import nodes as ir
from optgen.ir.nodes import Kernel

BYTES = {"float32": 4, "float64": 8}
_FLOPS = (ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Sqrt, ir.Floor, ir.Reduce)


@dataclass(frozen=True)
class Cost:
    """Per parameter element and step: streams read and written over all sweeps, and floating-point operations."""

    sweeps: int
    reads: int
    writes: int
    bytes: int
    flops: int

    @property
    def streams(self) -> int:
        return self.reads + self.writes


def cost(kernel: Kernel) -> Cost:
    sweeps = [p for p in kernel.phases if p.kind == "sweep"]
    ops = [i.op for p in sweeps for i in p.instrs]
    reads = sum(isinstance(op, ir.Load) for op in ops)
    writes = sum(isinstance(op, ir.Store) for op in ops)
    flops = sum(isinstance(op, _FLOPS) for op in ops)
    return Cost(len(sweeps), reads, writes, (reads + writes) * BYTES[kernel.dtype], flops)
