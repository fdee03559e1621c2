"""What a kernel computes: all equations of a variant, or some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optgen.expressions import Expr
from optgen.ir.buffers import buffers
from optgen.ir.kernel import Buffer, Variant
from optgen.model import DIMENSIONS, Equation, Kind, Optimizer

PARAMETER_SIZES = {name: f"parameter.{name}" for name in DIMENSIONS}
"""The sizes of a parameter, in a kernel over other matrices."""


@dataclass(frozen=True)
class KernelWork:
    """What a kernel computes: `equations`, with which values `reads` from buffers and `starts` of states, and what it
    stores: buffer -> key. `kinds` are those that keys have in the kernel. `own_sizes`: its matrices are not those of
    the parameter, whose sizes are then the hyper-parameters `parameter.rows` and so on."""

    equations: tuple[Equation, ...]
    buffers: tuple[Buffer, ...]
    stored: Mapping[str, str]
    kinds: Mapping[str, Kind]
    reads: Mapping[str, str] = field(default_factory=dict)
    starts: Mapping[str, Expr] = field(default_factory=dict)
    own_sizes: bool = False
    advances: bool = True


def whole_work(optimizer: Optimizer, variant: Variant) -> KernelWork:
    """All equations of a variant."""
    program = optimizer.program(variant.flags, evaluate=variant.evaluate)
    own = tuple(buffers(optimizer, variant, program))
    kinds = {"w'": Kind.ELEM} | {f"{s.name}'": s.kind for s in program.states}
    if variant.evaluate:
        return KernelWork(program.equations, own, {"out": "w'"}, kinds, advances=False)
    late = [s for s in program.states if optimizer.starts_in(s, variant.flags)]
    starts = {s.name: x for s in late if (x := optimizer.start(s)) is not None}
    stored = {name: f"{name}'" for name in ("w", *(s.name for s in program.states))}
    stored |= {"copy": "w'"} if variant.master else {}
    return KernelWork(program.equations, own, stored, kinds, starts=starts)
