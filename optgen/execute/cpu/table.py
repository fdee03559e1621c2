"""The table of a step on the CPU: with the workspace of its kernel, the threads, and the exchange of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.axes import Kind
from optgen.execute import buffers
from optgen.execute.buffers import Tensor
from optgen.execute.cpu.boxes import Areas, BoxExchange
from optgen.execute.cpu.exchange import ExchangeCallback, of_partials
from optgen.execute.cpu.groups import Groups, group_ends
from optgen.execute.cpu.kernel import CpuKernel
from optgen.execute.hyper import Values
from optgen.execute.kernel import Rows
from optgen.execute.piece import Exchange
from optgen.execute.table import StepTable
from optgen.threads.sharing import Threads


class CpuTable(StepTable):
    """A table whose kernel is the whole step. `callback` is its exchange, `groups` are those that it is cut into, each
    None where it has none."""

    kernel: CpuKernel

    def __init__(self, kernel: CpuKernel, members: Sequence[int], *more: Any) -> None:
        super().__init__(kernel, members, *more)
        self.callback: ExchangeCallback | None = None
        self.groups: Groups | None = None
        self._workspace = np.zeros(0)
        if kernel.variant.boxes:
            self._areas = Areas(self.boxes(), kernel.native.levels, kernel.native.last_two)
            self.step.boxes, self.step.area = self._areas.records.ctypes.data, self._areas.numbers.ctypes.data
        self._reserve_workspace()

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        had_rows = self.step.present is not None
        super().bind_gradients(reads)
        if had_rows or self.step.present is not None:
            self._reserve_workspace()

    def set_hyper(self, values: Values) -> None:
        super().set_hyper(values)
        if self.groups is not None:
            self.groups.set_hyper(self._hyper)

    def set_seed(self, seed: int) -> None:
        super().set_seed(seed)
        if self.groups is not None:
            self.groups.set_seed(seed)

    def cut_into_groups(self, threads: int) -> None:
        """Have groups of small tensors updated one after the other, if that pays and no result depends on others. The
        smallest tensors come first."""
        native, in_pieces = self.kernel.native, any(piece is not None for piece in self._pieces)
        if native.sweeps < 2 or native.shared or in_pieces or self.kernel.variant.boxes:
            return
        bits = sum(b.format.bits for b in native.buffers if b.kind is Kind.ELEM and not b.is_scale)
        ends = group_ends((self.sizes * bits // 8).tolist(), threads)
        if ends:
            self.groups = Groups(self, ends)
            self.groups.set_hyper(self._hyper)
            self._reserve_workspace()

    def use_threads(self, threads: Threads) -> None:
        """Have threads share the work."""
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
        elif exchange is not None and self.kernel.native.cut == "blocks":
            self.callback = ExchangeCallback(of_partials(exchange, self.members, self.whole_sizes.tolist()))
        if self.callback is not None:
            self.step.share = self.callback.address

    def _reserve_workspace(self) -> None:
        """Have as much workspace as the tensors, or the rows of them that are updated, need."""
        if self.groups is not None:
            self.groups.update(self.step, self.kernel.workspace)
            return
        needed = self.kernel.workspace(self.step)
        if needed > self._workspace.size:
            self._workspace = buffers.aligned((needed,), "float64")
            self.step.workspace = self._workspace.ctypes.data
