"""A kernel for GPUs: the part that the CPU does before each step, and the functions to launch."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from optgen.backends.ptx.table import THREADS, Launch
from optgen.compiled import PtxKernel
from optgen.execute import kernel
from optgen.execute.cuda.driver import Gpu
from optgen.ir.nodes import Variant
from optgen.objectcode import link


@dataclass(frozen=True)
class Function:
    """A launch, loaded; `blocks` is how many the GPU holds at a time."""

    launch: Launch
    handle: int
    blocks: int


class Kernel(kernel.Kernel):
    """One variant; `address` and `run` are those of the host's part."""

    native: PtxKernel

    def __init__(self, variant: Variant, native: PtxKernel) -> None:
        self._describe(variant, native)
        symbol = f"{native.symbol}_host"
        self.address = link.link(native.object, symbol)[symbol]
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)
        self._loaded: dict[int, list[Function]] = {}

    def functions(self, gpu: Gpu) -> list[Function]:
        """What a step launches, in order."""
        if gpu.ordinal not in self._loaded:
            handles = gpu.load(self.native.ptx, [x.name for x in self.native.launches])
            self._loaded[gpu.ordinal] = [
                Function(x, handles[x.name], gpu.multiprocessors * gpu.resident(handles[x.name], THREADS))
                for x in self.native.launches
            ]
        return self._loaded[gpu.ordinal]
