"""The value of a sweep that a later one reads back, where there is memory for one that is no state.

Such a temporary takes the place of a buffer, whose old values are gone then. What is saved is what a later
sweep needs for this value alone: its dominators tell that, in time linear in the instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optgen import ir
from optgen.axes import Kind
from optgen.ir import Instr

DIVISION, OPERATION = 1.0, 1 / 16
"""The cost of an element's division or root, and of any other operation, beside 1 for a byte that is read."""
WRITTEN_BYTE = 0.5
"""To write a cache line that was read anyway takes less time than to read one."""
_ROOT = ""


@dataclass(frozen=True)
class Temporary:
    """Sweep `sweep` stores `value` in a buffer, and later sweeps load it there."""

    value: ir.Value
    sweep: int


def choose_temporary(
    bodies: Sequence[Sequence[Instr]],
    computable: Sequence[Sequence[Instr]],
    buffer: ir.Buffer,
    read_bytes: Callable[[ir.Op], float],
) -> Temporary | None:
    """The temporary in `buffer` that saves most, None if none saves anything.

    `bodies` are the sweeps, and `computable` what each can compute from what it reads anyway. Values of one name are
    equal in all of them.
    """
    best, most = None, 0.0
    saved: dict[str, float] = {}  # by later sweeps that need the value
    allowed: set[str] | None = None  # the values for which alone later sweeps need what is in the buffer; None: all
    for k in reversed(range(len(bodies))):
        for instr in computable[k]:
            v = instr.result
            if v is None or v.id not in saved or isinstance(instr.op, ir.Load):
                continue
            if not buffer.format.is_exact(v.type.dtype):
                continue
            gain = saved[v.id] - WRITTEN_BYTE * buffer.format.bits / 8
            if gain > most and (allowed is None or v.id in allowed):
                best, most = Temporary(v, k), gain
        own, covering = _needed_alone(bodies[k], buffer.name, read_bytes)
        for id, cost in own.items():
            saved[id] = saved.get(id, 0.0) + cost - buffer.format.bits / 8
        if covering is not None:
            allowed = covering if allowed is None else allowed & covering
    return best


def _needed_alone(
    body: Sequence[Instr], buffer: str, read_bytes: Callable[[ir.Op], float]
) -> tuple[dict[str, float], set[str] | None]:
    """Element -> the cost that is saved where it is read back: its own, and that of all that nothing else needs. Also
    the elements that every use of `buffer` goes through; None if the sweep does not read it."""
    parents = _dominators(body)
    cost, loads = dict.fromkeys(parents, 0.0), dict.fromkeys(parents, 0)
    cost[_ROOT], loads[_ROOT] = 0.0, 0
    for instr in body:
        if instr.result is None or instr.result.id not in parents:
            continue
        id, op = instr.result.id, instr.op
        own = read_bytes(op) if isinstance(op, ir.Load) else DIVISION if isinstance(op, ir.Div | ir.Sqrt) else OPERATION
        cost[id] += own
        loads[id] += isinstance(op, ir.Load) and op.buffer == buffer
        cost[parents[id]] += cost[id]
        loads[parents[id]] += loads[id]
    total = loads.pop(_ROOT)
    del cost[_ROOT]
    return cost, {id for id, n in loads.items() if n == total} if total else None


def _dominators(body: Sequence[Instr]) -> dict[str, str]:
    """The immediate dominators. Element -> the nearest other element that every path from it to a result of the sweep
    goes through; _ROOT, which stands for all results, if there is none."""
    parents: dict[str, str] = {}
    depth = {_ROOT: 0}

    def meet(a: str, b: str) -> str:
        while a != b:
            a, b = (parents[a], b) if depth[a] > depth[b] else (a, parents[b])
        return a

    for instr in reversed(body):
        user = _ROOT
        if instr.result is not None and instr.result.id in parents:
            user = instr.result.id
            depth[user] = depth[parents[user]] + 1
        for v in ir.operands(instr.op):
            if v.type.kind is Kind.ELEM:
                parents[v.id] = meet(parents[v.id], user) if v.id in parents else user
    return parents
