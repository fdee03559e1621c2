"""A kernel of the CPU in memory: its entry point is the whole step."""

from __future__ import annotations

import ctypes

from optgen.compiled import NativeKernel
from optgen.execute.kernel import LoadedKernel, StepStruct
from optgen.ir import Variant
from optgen.objectcode import link


class CpuKernel(LoadedKernel):
    """One variant, whose entry point updates the tensors of a step."""

    def __init__(self, variant: Variant, native: NativeKernel) -> None:
        sizing = f"{native.symbol}_workspace"
        symbols = link.link(native.object, native.symbol, sizing)
        super().__init__(variant, native, symbols[native.symbol])
        self._workspace = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(symbols[sizing])

    def workspace(self, step: StepStruct) -> int:
        """The number of doubles that a step needs as workspace."""
        return int(self._workspace(ctypes.addressof(step)))
