"""A planned kernel as an LLVM module for GPUs of NVIDIA: one function for each launch (`launches.py`), each of which
takes the address of the step's table (`table.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from optgen.backends.ptx import small
from optgen.backends.ptx.launches import resident, schedule
from optgen.backends.ptx.module import Module
from optgen.backends.ptx.sweep import Sweep
from optgen.backends.ptx.table import THREADS, Counts, Launch
from optgen.ir import Kernel


@dataclass(frozen=True)
class GpuModule:
    """LLVM IR text, which functions of it are launched for a step, in order, and what makes up their table."""

    llvm: str
    launches: tuple[Launch, ...]
    counts: Counts


def emit(kernel: Kernel, symbol: str) -> GpuModule:
    """A planned kernel, in which no sweep reduces both rows and columns."""
    planned = schedule(kernel, symbol)
    launches = tuple(launch for launch, _ in planned)
    m = Module(kernel, symbol, launches)
    for launch, tasks in planned:
        entry = m.entry(launch)
        match launch.unit:
            case "tensor":
                small.per_tensor(entry, tasks)
            case "step":
                small.shared(entry, tasks)
            case "rows" | "cols":
                small.per_line(entry, tasks)
            case _:
                (task,) = tasks
                Sweep(entry, task.phase, launch).emit()
    text = _bounded(str(m.module), {launch.name: resident(kernel, task) for launch, (task, *_) in planned})
    return GpuModule(text, launches, m.places.counts)


def _bounded(text: str, blocks: Mapping[str, int]) -> str:
    """Say how many threads a block has, and how many blocks of each function a multiprocessor shall hold at least,
    which llvmlite has no word for: a thread gets the registers that this leaves. Without the second number ptxas spills
    some to have more.
    """

    def bounds(match: re.Match[str]) -> str:
        return f'{match[0]} "nvvm.maxntid"="{THREADS}" "nvvm.minctasm"="{blocks[match[1]]}"'

    return re.sub(r'^define ptx_kernel void @"(.*?)"\(.*\)$', bounds, text, flags=re.M)
