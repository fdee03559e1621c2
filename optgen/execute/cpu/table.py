"""The table of a step on the CPU: with the workspace of its kernel, the threads, and the exchange of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.execute import buffers
from optgen.execute.buffers import Tensor
from optgen.execute.cpu.boxes import Areas, BoxExchange
from optgen.execute.cpu.exchange import ExchangeCallback, of_partials
from optgen.execute.cpu.kernel import CpuKernel
from optgen.execute.cpu.pool import Pool
from optgen.execute.kernel import Rows
from optgen.execute.piece import Exchange
from optgen.execute.table import StepTable


class CpuTable(StepTable):
    """A table whose kernel is the whole step. `callback` is its exchange, None if it has none."""

    kernel: CpuKernel

    def __init__(self, kernel: CpuKernel, members: Sequence[int], *more: Any) -> None:
        super().__init__(kernel, members, *more)
        self.callback: ExchangeCallback | None = None
        self._workspace = np.zeros(0)
        if kernel.variant.boxes:
            self._areas = Areas(self.boxes(), kernel.native.levels, kernel.native.last_two)
            self.step.boxes, self.step.area = self._areas.records.ctypes.data, self._areas.numbers.ctypes.data
        self._reserve_workspace()

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        super().bind_gradients(reads)
        if self.step.present is not None:
            self._reserve_workspace()

    def use_threads(self, threads: Pool) -> None:
        """Have the threads of a pool share the work."""
        self.step.parallel, self.step.pool = threads.run, threads.address

    def use_exchange(self, exchange: Exchange | None) -> None:
        """Have `exchange` bring the partial results of the pieces that are elsewhere. ValueError if there is none, and
        boxes need one."""
        if self.kernel.variant.boxes:
            boxes = BoxExchange(self._areas, self.kernel.native.levels, self.members, exchange)
            if not boxes.is_needed:
                return
            if exchange is None:
                raise ValueError(
                    f"{self.kernel.native.symbol} reduces over tensors of which boxes are elsewhere: pass `exchange`"
                )
            self.callback = ExchangeCallback(lambda _, level: boxes.run(level))
        elif exchange is not None:
            self.callback = ExchangeCallback(of_partials(exchange, self.members, self.whole_sizes.tolist()))
        if self.callback is not None:
            self.step.share = self.callback.address

    def _reserve_workspace(self) -> None:
        """Have as much workspace as the tensors, or the rows of them that are updated, need."""
        needed = self.kernel.workspace(self.step)
        if needed > self._workspace.size:
            self._workspace = buffers.aligned((needed,), "float64")
            self.step.workspace = self._workspace.ctypes.data
