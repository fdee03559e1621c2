"""Host values move in front: computed once per tensor and step, in double, before any element is read."""

from __future__ import annotations

from dataclasses import replace

from optgen.ir.nodes import Kernel, Phase
from optgen.model import Kind


def hoist_host(kernel: Kernel) -> Kernel:
    """[update] -> [host, update]; host values depend on host values only, so the order among them stays."""
    (phase,) = kernel.phases
    host = tuple(i for i in phase.instrs if i.result is not None and i.result.type.kind is Kind.HOST)
    rest = tuple(i for i in phase.instrs if i not in host)
    return replace(kernel, phases=(Phase("host", host), Phase("update", rest)))
