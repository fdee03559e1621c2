"""Dead code elimination in whole kernels: leaves out what no store depends on, in loops too.

What all parameters share may be kept: parameters of other variants read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

from optgen import ir
from optgen.ir import Instr, Kernel, Region


def eliminate_dead_code(kernel: Kernel, *, keeps_sums: bool = False) -> Kernel:
    """A whole kernel with the instructions that its stores depend on, and with `keeps_sums` its reductions over
    parameters."""
    (phase,) = kernel.phases
    sums = [i for i in ir.nested(phase.instrs) if isinstance(i.op, ir.ReduceOverParams)] if keeps_sums else []
    found = _live(phase.instrs, {i.result.id for i in sums if i.result is not None}, set())
    hyper = {i.op.name for i in ir.nested(found) if isinstance(i.op, ir.Hyper)}
    kept = tuple(name for name in kernel.hyper if name in hyper or name == "matrices")
    return replace(kernel, hyper=kept, phases=(replace(phase, instrs=found),))


def _live(instrs: Sequence[Instr], needed: set[str], arrays: set[str]) -> tuple[Instr, ...]:
    """The instructions that stores, and the values of these names and the elements of these `arrays`, depend on. Both
    get what those depend on."""
    kept: list[Instr] = []
    for instr in reversed(instrs):
        op = instr.op
        if isinstance(op, ir.Repeat):
            loop = _live_loop(op, needed, arrays)
            if loop is not None:
                kept.append(replace(instr, op=loop))
        elif _is_needed(instr, needed, arrays):
            kept.append(instr)
            needed.update(v.id for v in ir.operands(op))
            if isinstance(op, ir.Get):
                arrays.add(op.array)
    return tuple(reversed(kept))


def _is_needed(instr: Instr, needed: set[str], arrays: set[str]) -> bool:
    if isinstance(instr.op, ir.Put):
        return instr.op.array in arrays
    return instr.result is None or instr.result.id in needed


def _live_loop(loop: ir.Repeat, needed: set[str], arrays: set[str]) -> ir.Repeat | None:
    """A loop that carries what is read behind it, and what turns need for that; None if that is nothing."""
    region = loop.region
    carried = [v.id in needed for v in region.results]
    while True:
        own, known = {v.id for v in compress(region.gives, carried)}, len(arrays)
        instrs = _live(region.instrs, own, arrays)
        more = [x or take.id in own for x, take in zip(carried, region.takes, strict=True)]
        if more == carried and len(arrays) == known:
            break
        carried = more
    if not instrs and not any(carried):
        return None
    kept = [tuple(compress(x, carried)) for x in (loop.starts, region.takes, region.gives, region.results)]
    needed |= own | {v.id for v in kept[0]}
    return replace(loop, starts=kept[0], region=Region(kept[1], instrs, *kept[2:]))
