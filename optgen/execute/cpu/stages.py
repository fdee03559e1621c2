"""Stages on the CPU: its kernels, and calls of `optgen.linalg`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from optgen.execute import buffers, calls
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cpu.kernel import CpuKernel
from optgen.execute.cpu.table import CpuTable
from optgen.threads import pool


class CpuStages:
    """See `optgen.execute.stage_run.StageDevice`. Kernels of a step of so many `elements` are shared by the threads if
    there are enough of them."""

    call = staticmethod(calls.call)
    factorize = staticmethod(calls.factorize)

    def __init__(self, elements: int) -> None:
        self.at_once = pool.num_threads()
        self._threads = pool.pool() if self.at_once > 1 and elements >= pool.MIN_SHARED_ELEMENTS else None

    def block(self, nbytes: int) -> tuple[Array, int]:
        memory = buffers.aligned((-(-nbytes // 8),), "float64")
        return memory, memory.ctypes.data

    def table(
        self, kernel: CpuKernel, domains: Sequence[Tensor], held: Mapping[str, Sequence[Tensor]], ids: Sequence[int]
    ) -> CpuTable:
        table = CpuTable(kernel, range(len(domains)), domains, held, ids, [None] * len(domains))
        if self._threads is not None:
            table.use_threads(self._threads)
        return table

    def view(self, tensor: Tensor) -> Array:
        return tensor.view()

    def keep(self, tensor: Tensor) -> Callable[[], None]:
        array, copy = tensor.view(), tensor.view().copy()

        def put_back() -> None:
            array[...] = copy

        return put_back

    def is_finite(self, tensor: Tensor) -> bool:
        return bool(np.isfinite(tensor.view()).all())
