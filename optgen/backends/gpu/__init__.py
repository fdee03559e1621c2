"""A planned kernel as an LLVM module for GPUs: one function for each launch (`launches.py`), each of which
takes the address of the step's table (`table.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from optgen.backends.gpu import phases
from optgen.backends.gpu.amd import Amd
from optgen.backends.gpu.function import LaunchFunction
from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.launches import min_resident_blocks, schedule
from optgen.backends.gpu.module import GpuModuleBuilder
from optgen.backends.gpu.nvidia import Nvidia
from optgen.backends.gpu.sweep import GpuSweep
from optgen.backends.gpu.table import THREADS, Counts, Launch
from optgen.ir import Kernel

TARGETS: dict[str, type[GpuTarget]] = {x.name: x for x in (Nvidia, Amd)}


@dataclass(frozen=True)
class GpuModule:
    """LLVM IR text, the functions of it to launch for a step, in order, and the sizes of their table."""

    llvm: str
    launches: tuple[Launch, ...]
    counts: Counts


def emit(kernel: Kernel, symbol: str, gpu: GpuTarget) -> GpuModule:
    """The module of a planned kernel, in which no sweep reduces both rows and columns."""
    planned = schedule(kernel, symbol, gpu)
    launches = tuple(launch for launch, _ in planned)
    m = GpuModuleBuilder(kernel, symbol, launches, gpu)
    for launch, tasks in planned:
        f = LaunchFunction(m, launch)
        match launch.unit:
            case "tensor":
                phases.per_tensor(f, tasks)
            case "step":
                phases.shared(f, tasks)
            case "rows" | "cols":
                phases.per_line(f, tasks)
            case "matrices":
                phases.per_matrix(f, tasks)
            case _:
                (task,) = tasks
                GpuSweep(f, task.phase, launch).emit()
    blocks = {launch.name: min_resident_blocks(kernel, task) for launch, (task, *_) in planned}
    return GpuModule(gpu.completed(str(m.module), THREADS, blocks), launches, m.table.counts)
