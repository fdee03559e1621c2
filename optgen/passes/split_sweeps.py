"""For GPUs: a sweep that reduces rows and columns becomes two, one for each.

Whoever adds up a row has all of it, and whoever adds up a column has many rows: one thread cannot be both without
leaving most of the device idle. Before: planned phases. After: no sweep has both; the values do not change.
"""

from __future__ import annotations

from dataclasses import replace

from optgen import ir
from optgen.ir import Instr, Kernel, Phase, Value
from optgen.model import Kind


def split_sweeps(kernel: Kernel) -> Kernel:
    phases: list[Phase] = []
    for phase in kernel.phases:
        phases += _split(phase) if phase.kind == "sweep" else [phase]
    return replace(kernel, phases=tuple(phases))


def _split(phase: Phase) -> list[Phase]:
    rows, cols = ([i for i in phase.instrs if _reduces(i, scope)] for scope in ("row", "col"))
    if not (rows and cols):
        return [phase]
    # What is stored is stored by the second one, so that the first one has not changed what that reads.
    stores = [i for i in phase.instrs if isinstance(i.op, ir.Store)]
    first = _only(phase, [*rows])
    second = _only(phase, [*cols, *stores])
    return [replace(phase, instrs=first), replace(phase, instrs=_renamed(second))]


def _reduces(instr: Instr, scope: str) -> bool:
    return isinstance(instr.op, ir.Reduce) and instr.op.scope == scope


def _only(phase: Phase, roots: list[Instr]) -> tuple[Instr, ...]:
    """These instructions, and what they need of the phase."""
    kept: list[Instr] = []
    needed: set[str] = set()
    for instr in reversed(phase.instrs):
        is_root = isinstance(instr.op, ir.Reduce | ir.Store)
        if instr in roots if is_root else instr.result is not None and instr.result.id in needed:
            needed.update(v.id for v in ir.operands(instr.op))
            kept.append(instr)
    return tuple(reversed(kept))


def _renamed(instrs: tuple[Instr, ...]) -> tuple[Instr, ...]:
    """Elements are private to a sweep, so those of the second one have names of their own, which no spec can have."""

    def rename(v: Value) -> Value:
        return replace(v, id=f"{v.id}@col") if v.type.kind is Kind.ELEM else v

    return tuple(Instr(None if i.result is None else rename(i.result), ir.with_operands(i.op, rename)) for i in instrs)
