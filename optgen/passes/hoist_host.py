"""Host values move in front: computed once per tensor and step, in double, before any element is read."""

from __future__ import annotations

from dataclasses import replace

from optgen.ir.nodes import Instr, Kernel, Phase
from optgen.model import Kind


def hoist_host(kernel: Kernel) -> Kernel:
    """[update] -> [host, update]; host values depend on host values only, so the order among them stays."""
    (phase,) = kernel.phases
    host = tuple(i for i in phase.instrs if _is_host(i))
    rest = tuple(i for i in phase.instrs if not _is_host(i))
    return replace(kernel, phases=(Phase("host", host), Phase("update", rest)))


def _is_host(instr: Instr) -> bool:
    return instr.result is not None and instr.result.type.kind is Kind.HOST
