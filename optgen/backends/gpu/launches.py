"""Which functions a planned kernel becomes: one launch for a sweep, and few between two of them.

Between two launches, all threads of the device wait for one another. Consecutive tasks over the same units share a
launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from optgen import ir
from optgen.axes import Kind
from optgen.backends.element_body import line_values, stored, streams
from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.table import MAX_ACCESS_BYTES, Launch, Unit
from optgen.backends.layout import reductions
from optgen.ir import BLOCK, LANES, Kernel, Phase
from optgen.ir.storage import QUANT_BLOCK, Storage

LOADS_IN_FLIGHT = 8
"""The 16-byte loads of a thread that hide the latency of memory."""
MAX_GROUPS = 4
"""A thread has registers for so many groups of all streams."""
MAX_HALF_STREAMS, MAX_HALF_SUMS = 4, 2
"""Streams of 16 bits, and sums of their values, for which half of the registers of a thread are enough."""
MAX_WIDE_CODES = 2
"""Quantized states of which a thread has registers for 16 new values each, before they are coded."""
MAX_MEMORY_BOUND_OPS = 100
"""The most operations on an element in a loop that waits for memory, and not for arithmetic."""


@dataclass(frozen=True)
class Task:
    """`sweep`: the elements. `fold`: the partial results of a sweep. `lines`: a row or column phase; `tree`: what it
    reduces; `matrix`: what it reduces per matrix. `scalar`, `shared`: these phases."""

    kind: Literal["sweep", "fold", "lines", "tree", "matrix", "scalar", "shared"]
    phase: Phase


def schedule(kernel: Kernel, symbol: str, gpu: GpuTarget) -> list[tuple[Launch, tuple[Task, ...]]]:
    """The launches of a step, in order, and what each does."""
    groups: list[tuple[Unit, int, list[Task]]] = []
    for phase in kernel.phases[1:]:
        for unit, length, task in _tasks(kernel, phase, gpu):
            if groups and groups[-1][0] == unit and unit in ("rows", "cols", "tensor"):
                groups[-1][2].append(task)
            else:
                groups.append((unit, length, [task]))
    return [
        (_launch(f"{symbol}_{k}", unit, length, tasks[0]), tuple(tasks))
        for k, (unit, length, tasks) in enumerate(groups)
    ]


def _launch(prefix: str, unit: Unit, length: int, first: Task) -> Launch:
    return Launch(f"{prefix}_{first.kind}", unit, length, folds=first.kind == "fold" and unit == "tensor")


def _tasks(kernel: Kernel, phase: Phase, gpu: GpuTarget) -> list[tuple[Unit, int, Task]]:
    match phase.kind:
        case "shared":
            return [("step", 0, Task("shared", phase))]
        case "scalar":
            return [("tensor", 0, Task("scalar", phase))]
        case "row" | "col":
            unit: Unit = "rows" if phase.kind == "row" else "cols"
            tree = [("tensor", 0, Task("tree", phase))] if reductions(phase, "all") else []
            matrix = [("matrices", 0, Task("matrix", phase))] if reductions(phase, "matrix") else []
            return [(unit, 0, Task("lines", phase)), *tree, *matrix]  # type: ignore[list-item]
    sweep, fold = Task("sweep", phase), Task("fold", phase)
    if reductions(phase, "row"):
        return [("row blocks", BLOCK, sweep), ("rows", 0, fold)]
    if reductions(phase, "col"):
        return [("column tiles", LANES, sweep), ("cols", 0, fold)]
    if reductions(phase, "all"):
        return [("blocks", BLOCK, sweep), ("tensor", 0, fold)]
    return [("elements", LANES * groups_in_flight(kernel, phase, gpu), sweep)]


def coded(kernel: Kernel, phase: Phase) -> list[str]:
    """The quantized states that a sweep writes."""
    return [b.name for b in kernel.buffers if b.name in stored(phase) and b.is_quantized]


def groups_in_flight(kernel: Kernel, phase: Phase, gpu: GpuTarget) -> int:
    """How many groups a thread has in flight; a warp then takes LANES elements for each of them."""
    widest = max((groups_per_access(phase, buffer.format, gpu) for buffer in streams(kernel, phase)), default=1)
    if codes := coded(kernel, phase):
        return max(QUANT_BLOCK // LANES, widest if len(codes) <= MAX_WIDE_CODES else 1)
    if _operations(phase) > MAX_MEMORY_BOUND_OPS:
        return 1
    loads = sum(isinstance(i.op, ir.Load) for i in phase.instrs)
    return max(widest, min(MAX_GROUPS, LOADS_IN_FLIGHT // max(loads, 1)))


def groups_per_access(phase: Phase, storage: Storage, gpu: GpuTarget) -> int:
    """How many groups of a stream an access of 16 bytes has, or of 8 bytes for 4 bits an element; one in sweeps of
    which each row begins anew."""
    if reductions(phase, "row") or reductions(phase, "col"):
        return 1
    return min(MAX_GROUPS, max(1, MAX_ACCESS_BYTES * 8 // (gpu.group * storage.bits)))


def _operations(phase: Phase) -> int:
    """The operations of an element, where a table takes as many as the choices among its entries."""
    return sum(len(i.op.table.values) - 1 if isinstance(i.op, ir.Lookup) else 1 for i in phase.instrs)


def min_resident_blocks(kernel: Kernel, task: Task) -> int:
    """How many blocks a multiprocessor holds at least.

    Two, of which one computes while the other waits for memory, if half of the registers is enough for each. So it is
    for a sweep without codes in blocks, doubles or much arithmetic; one with storages of 16 bits must read few streams.
    One with sums has streams of 16 bits only, and no values of rows or columns.
    """
    instrs = task.phase.instrs
    sums = sum(isinstance(i.op, ir.Reduce) for i in instrs)
    loads = sum(isinstance(i.op, ir.Load) for i in instrs)
    formats = {b.format for b in kernel.buffers if b.kind is Kind.ELEM}
    few = loads <= MAX_HALF_STREAMS
    plain = all(f.bits == 32 or (few and f.bits == 16 and not (f.block or f.needs_draws)) for f in formats)
    lines = line_values(task.phase) or len(reductions(task.phase, "all")) < sums
    half = few and all(f.bits == 16 for f in formats)
    light = not sums or (half and sums <= MAX_HALF_SUMS and not lines)
    few_operations = _operations(task.phase) <= MAX_MEMORY_BOUND_OPS
    return 2 if task.kind == "sweep" and plain and light and few_operations else 1
