"""The reductions that a later sweep takes, as it reads their operand anyway.

In LANS, the norm of the gradient is needed before the norms of the update, and the norm of the weight only with these.
The first sweep therefore need not read the weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr


def deferred(
    instrs: Sequence[Instr], reductions: Sequence[Sequence[Instr]], known: Mapping[str, int]
) -> dict[str, int]:
    """Reduction -> the later sweep that takes it. That sweep reads all streams of the operand anyway, and the first
    possible sweep does not.

    `reductions[k]` are those of sweep k, as early as possible. `known` has the sweeps before a smaller value is known.
    """
    streams = _streams(instrs)
    last = _latest(instrs, known, len(reductions))
    waiting: dict[str, tuple[int, int, frozenset[str]]] = {}
    read: list[set[str]] = [set() for _ in reductions]
    for k, own in enumerate(reductions):
        for instr in own:
            assert instr.result is not None and isinstance(instr.op, ir.Reduce)
            needed, limit = streams.get(instr.op.x.id, frozenset()), last[instr.result.id]
            if instr.op.scope == "all" and limit > k + 1:
                waiting[instr.result.id] = k, limit, needed
            else:
                read[k] |= needed
    found = {}
    for id, (first, limit, needed) in waiting.items():
        sweep = next((k for k in range(first, limit) if needed <= read[k]), first)
        if sweep > first:
            found[id] = sweep
    return found


def _streams(instrs: Sequence[Instr]) -> dict[str, frozenset[str]]:
    """Element -> the buffers it is computed from."""
    found: dict[str, frozenset[str]] = {}
    for instr in instrs:
        if instr.result is not None and instr.result.type.kind is Kind.ELEM:
            own = [{instr.op.buffer}] if isinstance(instr.op, ir.Load) else []
            found[instr.result.id] = frozenset().union(*own, *(found.get(v.id, ()) for v in ir.operands(instr.op)))
    return found


def _latest(instrs: Sequence[Instr], known: Mapping[str, int], sweeps: int) -> dict[str, int]:
    """Value -> the largest number of sweeps that may run before it is known, while all other reductions stay as early
    as possible. A value that stored elements are computed from must be known before the last sweep."""
    found: dict[str, int] = {}
    for instr in reversed(instrs):
        op = instr.op
        if isinstance(op, ir.Store):
            limit = sweeps - 1 if op.value.type.kind is Kind.ELEM else sweeps
        elif isinstance(op, ir.Reduce) and op.x.type.kind is Kind.ELEM:
            assert instr.result is not None
            limit = known[instr.result.id] - 1
        else:
            assert instr.result is not None
            limit = found.get(instr.result.id, sweeps)
        for v in ir.operands(op):
            found[v.id] = min(found.get(v.id, sweeps), limit)
    return {i.result.id: found.get(i.result.id, sweeps) for i in instrs if i.result is not None}
