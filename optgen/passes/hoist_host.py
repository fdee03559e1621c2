"""Moves host values, such as `1 - beta1^t`, into a phase of their own. They depend on no element, and are computed once
per tensor and step, before any element is read."""

from __future__ import annotations

from dataclasses import replace

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr, Kernel, Phase

HOST = (Kind.UNIFORM, Kind.HOST)


def hoist_host(kernel: Kernel) -> Kernel:
    """[update] -> [host, update]. Host values depend on host values only, so their order stays."""
    (phase,) = kernel.phases
    stores = {b.name for b in kernel.buffers if b.kind is Kind.HOST}
    host = tuple(i for i in phase.instrs if _is_host(i, stores))
    rest = tuple(i for i in phase.instrs if not _is_host(i, stores))
    return replace(kernel, phases=(Phase("host", host), Phase("update", rest)))


def _is_host(instr: Instr, states: set[str]) -> bool:
    if isinstance(instr.op, ir.Store):
        return instr.op.buffer in states
    return instr.result is not None and instr.result.type.kind in HOST
