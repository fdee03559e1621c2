"""A kernel of GPUs in memory: the part of a step that the CPU computes, and the functions to launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optgen.backends.gpu.table import THREADS, Launch
from optgen.compiled import PtxKernel
from optgen.execute.cuda.interface import GpuInterface
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Variant
from optgen.objectcode import link


@dataclass(frozen=True)
class LoadedLaunch:
    """A launch whose function is loaded on a GPU, which holds `blocks` of its blocks at a time."""

    launch: Launch
    handle: Any
    blocks: int


class GpuKernel(LoadedKernel):
    """One variant, whose entry point is the host's part of a step; `make_prologue` compiles PTX of the same part, for
    capturable steps."""

    native: PtxKernel

    def __init__(self, variant: Variant, native: PtxKernel, make_prologue: Callable[[], bytes] | None = None) -> None:
        symbol = f"{native.symbol}_host"
        super().__init__(variant, native, link.link(native.object, symbol)[symbol])
        self._launches: dict[int, list[LoadedLaunch]] = {}
        self._make_prologue = make_prologue
        self._prologues: dict[int, Any] = {}

    def launches(self, gpu: GpuInterface) -> list[LoadedLaunch]:
        """The launches of a step, in order."""
        if gpu.ordinal not in self._launches:
            handles = gpu.load(self.native.ptx, [x.name for x in self.native.launches])
            self._launches[gpu.ordinal] = [
                LoadedLaunch(x, handles[x.name], gpu.multiprocessors * gpu.resident(handles[x.name], THREADS))
                for x in self.native.launches
            ]
        return self._launches[gpu.ordinal]

    def prologue(self, gpu: GpuInterface) -> Any:
        """The handle of the prologue of a capturable step."""
        if gpu.ordinal not in self._prologues:
            assert self._make_prologue is not None, "it is for capturable steps"
            name = f"{self.native.symbol}_prologue"
            self._prologues[gpu.ordinal] = gpu.load(self._make_prologue(), [name])[name]
        return self._prologues[gpu.ordinal]
