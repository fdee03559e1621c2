"""For GPUs, splits a sweep that reduces both rows and columns into two, one for each.

A row is reduced by the threads that hold all of it, a column by a thread that reads many rows. One launch that did both
would leave most of the device idle. Before: planned phases. After: no sweep reduces both; the values do not change.
"""

from __future__ import annotations

from dataclasses import replace

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr, Kernel, Phase, Value


def split_sweeps(kernel: Kernel) -> Kernel:
    phases: list[Phase] = []
    for phase in kernel.phases:
        phases += _split(phase) if phase.kind == "sweep" else [phase]
    return replace(kernel, phases=tuple(phases))


def _split(phase: Phase) -> list[Phase]:
    rows, cols = ([i for i in phase.instrs if _reduces(i, scope)] for scope in ("row", "col"))
    if not (rows and cols):
        return [phase]
    # The second sweep does all stores, so that the first one changes nothing that the second one reads.
    stores = [i for i in phase.instrs if isinstance(i.op, ir.Store)]
    first = _only(phase, [*rows])
    second = _only(phase, [*cols, *stores])
    return [replace(phase, instrs=first), replace(phase, instrs=_renamed(second))]


def _reduces(instr: Instr, scope: str) -> bool:
    return isinstance(instr.op, ir.Reduce) and instr.op.scope == scope


def _only(phase: Phase, roots: list[Instr]) -> tuple[Instr, ...]:
    """These instructions of the phase, and those they depend on."""
    kept: list[Instr] = []
    needed: set[str] = set()
    for instr in reversed(phase.instrs):
        is_root = isinstance(instr.op, ir.Reduce | ir.Store)
        if instr in roots if is_root else instr.result is not None and instr.result.id in needed:
            needed.update(v.id for v in ir.operands(instr.op))
            kept.append(instr)
    return tuple(reversed(kept))


def _renamed(instrs: tuple[Instr, ...]) -> tuple[Instr, ...]:
    """Elements are private to a sweep, so the second one renames its own, to names that no spec can have."""

    def rename(v: Value) -> Value:
        return replace(v, id=f"{v.id}@col") if v.type.kind is Kind.ELEM else v

    return tuple(
        Instr(None if i.result is None else rename(i.result), ir.with_operands(i.op, rename), i.span) for i in instrs
    )
