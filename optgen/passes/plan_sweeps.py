"""A reduction cuts the kernel: everything that needs its result waits for a later sweep over the elements.

What two sweeps need is either recomputed from the streams or read back from the state it was stored to. Each state may
be stored in the first sweep that knows its new value or in the last one; the plan that moves the fewest streams wins.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from optgen.ir import nodes as ir
from optgen.ir.nodes import Instr, Kernel, Phase, Value
from optgen.model import Kind

StorePlan = dict[str, int]  # buffer -> the sweep that stores it


def plan_sweeps(kernel: Kernel) -> Kernel:
    """[host, update] -> [host, sweep, (scalar, sweep)*]."""
    host, update = kernel.phases
    levels = _levels(update.instrs)
    stores = [i.op for i in update.instrs if isinstance(i.op, ir.Store)]
    last = max(levels.get(s.value.id, 0) for s in stores)
    plans = [p for plan in _plans(stores, levels, last) if (p := _cut(update.instrs, levels, plan, last)) is not None]
    best = min(plans, key=streams)
    return replace(kernel, phases=(host, *best))


def streams(phases: tuple[Phase, ...]) -> int:
    """How many times a tensor is read or written in all sweeps."""
    return sum(isinstance(i.op, ir.Load | ir.Store) for p in phases if p.kind == "sweep" for i in p.instrs)


def _levels(instrs: tuple[Instr, ...]) -> dict[str, int]:
    """The sweep in which a value can first be known; a reduction's result is known after the sweep of its operand."""
    levels: dict[str, int] = {}
    for instr in instrs:
        if instr.result is not None:
            level = max((levels.get(v.id, 0) for v in ir.operands(instr.op)), default=0)
            levels[instr.result.id] = level + isinstance(instr.op, ir.Reduce)
    return levels


def _plans(stores: list[ir.Store], levels: Mapping[str, int], last: int) -> Iterator[StorePlan]:
    choices = [sorted({levels.get(s.value.id, 0), last}) for s in stores]
    for sweeps in itertools.product(*choices):
        yield dict(zip((s.buffer for s in stores), sweeps, strict=True))


def _cut(instrs: tuple[Instr, ...], levels: Mapping[str, int], plan: StorePlan, last: int) -> tuple[Phase, ...] | None:
    """The phases of one plan; None where a sweep needs an old value that an earlier one has overwritten."""
    phases: list[Phase] = []
    for sweep in range(last + 1):
        instrs_here = _sweep(instrs, levels, plan, sweep)
        if instrs_here is None:
            return None
        phases.append(Phase("sweep", instrs_here))
        scalars = tuple(i for i in instrs if _is_scalar(i) and levels[i.result.id] == sweep + 1)  # type: ignore[union-attr]
        if sweep < last:
            phases.append(Phase("scalar", scalars))
    return tuple(phases)


def _is_scalar(instr: Instr) -> bool:
    return instr.result is not None and instr.result.type.kind is Kind.TENSOR and not isinstance(instr.op, ir.Reduce)


def _sweep(
    instrs: tuple[Instr, ...], levels: Mapping[str, int], plan: StorePlan, sweep: int
) -> tuple[Instr, ...] | None:
    """What one sweep computes: its reductions and stores, and all they need that is not read back from a state."""
    overwritten = {buffer for buffer, at in plan.items() if at < sweep}
    read_back = {
        i.op.value.id: i.op.buffer for i in instrs if isinstance(i.op, ir.Store) and i.op.buffer in overwritten
    }
    needed: set[str] = set()
    kept: list[Instr] = []
    for instr in reversed(instrs):
        if isinstance(instr.op, ir.Store):
            root = plan[instr.op.buffer] == sweep
        elif isinstance(instr.op, ir.Reduce):
            root = levels[instr.result.id] == sweep + 1  # type: ignore[union-attr]
        else:
            root = instr.result is not None and instr.result.id in needed and instr.result.type.kind is Kind.ELEM
        if not root:
            continue
        if instr.result is not None and instr.result.id in read_back:
            instr = Instr(instr.result, ir.Load(read_back[instr.result.id]))
        elif isinstance(instr.op, ir.Load) and instr.op.buffer in overwritten:
            return None
        needed.update(v.id for v in ir.operands(instr.op))
        kept.append(instr)
    return _local(tuple(reversed(kept)), sweep)


def _local(instrs: tuple[Instr, ...], sweep: int) -> tuple[Instr, ...]:
    """Elements are private to a sweep: the second and later ones give theirs names of their own."""
    if sweep == 0:
        return instrs

    def rename(v: Value) -> Value:
        return replace(v, id=f"{v.id}@{sweep}") if v.type.kind is Kind.ELEM else v

    return tuple(Instr(None if i.result is None else rename(i.result), ir.with_operands(i.op, rename)) for i in instrs)
