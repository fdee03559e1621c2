"""A kernel of GPUs in memory: the part of a step that the CPU computes, and the functions to launch."""

from __future__ import annotations

from dataclasses import dataclass

from optgen.backends.ptx.table import THREADS, Launch
from optgen.compiled import PtxKernel
from optgen.execute.cuda.driver import Gpu
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Variant
from optgen.objectcode import link


@dataclass(frozen=True)
class LoadedLaunch:
    """A launch whose function is loaded on a GPU, which holds `blocks` of its blocks at a time."""

    launch: Launch
    handle: int
    blocks: int


class GpuKernel(LoadedKernel):
    """One variant, whose entry point is the host's part of a step."""

    native: PtxKernel

    def __init__(self, variant: Variant, native: PtxKernel) -> None:
        symbol = f"{native.symbol}_host"
        super().__init__(variant, native, link.link(native.object, symbol)[symbol])
        self._launches: dict[int, list[LoadedLaunch]] = {}

    def launches(self, gpu: Gpu) -> list[LoadedLaunch]:
        """The launches of a step, in order."""
        if gpu.ordinal not in self._launches:
            handles = gpu.load(self.native.ptx, [x.name for x in self.native.launches])
            self._launches[gpu.ordinal] = [
                LoadedLaunch(x, handles[x.name], gpu.multiprocessors * gpu.resident(handles[x.name], THREADS))
                for x in self.native.launches
            ]
        return self._launches[gpu.ordinal]
