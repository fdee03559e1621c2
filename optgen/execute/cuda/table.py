"""The tensors of one kernel as its launches read them: the table in the GPU's memory (`backends/ptx/table.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen.backends.ptx.table import AREAS, COLUMNS, GROUP, SEED, THREADS, N, TableLayout
from optgen.execute import table
from optgen.execute.buffers import Array, Tensor, words
from optgen.execute.cuda import driver
from optgen.execute.cuda.driver import Gpu
from optgen.execute.cuda.kernel import Function, Kernel
from optgen.execute.cuda.memory import DeviceArray
from optgen.execute.gradients import WHOLE, Rows
from optgen.execute.piece import Exchange
from optgen.execute.storage import matrix_view
from optgen.ir import BLOCK
from optgen.model import Kind

RING = 8
"""So many steps can be on their way to the GPU before one has to wait until an earlier one's table is read."""


class Table(table.Table):
    """Those of some parameters that share a kernel.

    It is made with what `optgen.execute.table.Table` is made with; `stream` tells the caller's current stream. `image`
    is the table as the next step will see it. The host's part of a step writes its values there, too.
    """

    kernel: Kernel

    def __init__(
        self,
        gpu: Gpu,
        stream: Callable[[], int],
        kernel: Kernel,
        members: Sequence[int],
        *more: Any,
    ) -> None:
        n, counts = len(members), kernel.native.counts
        self.gpu, self._stream, self._places = gpu, stream, TableLayout(counts, len(kernel.native.launches))
        self.image = np.zeros(self._places.end.of(n), np.int64)
        self._columns = {name: self._part(name, n) for name in COLUMNS}
        self._areas = {name: self._part(name, n) for name in AREAS}
        self._work = DeviceArray((0,), "float64", gpu)
        self._taken: Array | None = None  # the addresses that the image was made for, if it has no rows
        self._exchange: Exchange | None = None
        super().__init__(kernel, members, *more)
        self._ring = _Ring(gpu, self.image.nbytes)
        self._plan: list[tuple[Function, int]] = []
        self._set_fixed()

    def _part(self, name: str, n: int) -> Array:
        begin = self._places.column(name).of(n)
        return self.image[begin : begin + n]

    def _set_fixed(self) -> None:
        """What stays as it is from step to step."""
        n, column = len(self.members), self._columns
        self.image[N] = n
        column["size"][:] = self.size
        column["cols"][:] = [matrix_view(shape)[1] for shape in self.shapes]
        column["id"][:] = self._ids
        column["first"][:] = self._first
        column["blocks"][:] = -(-self._whole // BLOCK)
        self._elements = [k for name, k in self.kernel.columns.items() if self._is_streamed(name)]
        self._itemsizes = np.array([b.format.bytes for b in self.kernel.native.buffers if self._is_streamed(b.name)])
        values = self._places.values.of(n)
        self.step.workspace = self.image[values:].ctypes.data

    def _is_streamed(self, name: str) -> bool:
        buffer = next(b for b in self.kernel.native.buffers if b.name == name)
        return buffer.kind is Kind.ELEM and not buffer.is_scale

    # ------------------------------------------------------------ what may change between steps

    def _reserve(self) -> None:
        """Nothing of the host's memory: what phases leave for later ones is on the GPU."""

    def _index_address(self, index: Array) -> int:
        found = DeviceArray(index.shape, "int64", self.gpu)
        found.set(index, self._stream())
        self._indices.append(found)
        return found.address

    def take(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        self._indices: list[DeviceArray] = []  # keeps them alive
        super().take(reads)
        by_rows = self._present != WHOLE
        if self._taken is not None and not by_rows.any() and np.array_equal(self._taken, self._pointers):
            return
        self._taken = None
        column = self._columns
        column["by_rows"][:] = by_rows
        column["index"][:] = self._index
        column["rows"][:] = np.where(by_rows, self._present, self.size // np.maximum(column["cols"], 1))
        self._align(by_rows)
        begin = self._places.pointers.of(len(self.members))
        self.image[begin : begin + self._pointers.size] = self._pointers.ravel().view(np.int64)
        self._place_areas()
        self._share_out()
        if not by_rows.any():
            self._taken = self._pointers.copy()

    def _align(self, by_rows: Array) -> None:
        """Where groups of elements begin that all buffers have at multiples of their size. (Elements are aligned.)"""
        column = self._columns
        pointers = self._pointers[:, self._elements].astype(np.int64)
        offsets = pointers // self._itemsizes % GROUP
        same = (offsets == offsets[:, :1]).all(axis=1)
        lead = offsets[:, 0]
        rows_fit = ~by_rows | (column["cols"] % GROUP == 0)
        can_lead = self.kernel.native.counts.leads & ~by_rows
        column["vectors"][:] = same & rows_fit & ((lead == 0) | can_lead)
        column["lead"][:] = np.where(column["vectors"] != 0, lead, 0)

    def _place_areas(self) -> None:
        sizes = self.kernel.native.counts.areas(self._columns)
        total = int(sizes.sum())
        if total > self._work.size:
            self._work = DeviceArray((total,), "float64", self.gpu)
        starts = np.cumsum(sizes.ravel()) - sizes.ravel()
        addresses = (self._work.address + 8 * starts).reshape(sizes.shape)
        for name, row in zip(AREAS, addresses, strict=True):
            self._areas[name][:] = row

    def _share_out(self) -> None:
        """How many blocks each launch has, and where the units of each tensor begin."""
        n = len(self.members)
        self._plan = []
        for k, function in enumerate(self.kernel.functions(self.gpu)):
            ends = np.cumsum(function.launch.units(self._columns))
            begin = self._places.units(k).of(n)
            self.image[begin + 1 : begin + n + 1] = ends
            total = int(ends[-1]) if n else 0
            if total:
                self._plan.append((function, min(-(-total // function.launch.per_block), max(function.blocks, 1))))

    def use_counts(self, counts: Tensor) -> None:
        super().use_counts(counts)
        self.counts = counts.view()

    def use_threads(self) -> None:
        """The host's part is small."""

    # ------------------------------------------------------------ a step

    def run(self) -> None:
        super().run()
        stream = self._stream()
        self.send(stream)
        self.launch(stream)
        self.gpu.synchronize(stream)

    def send(self, stream: int) -> None:
        """Have the table on the GPU when what follows in the stream is run."""
        self._columns["t"][:] = self.counts
        self.image[SEED] = np.uint64(self.step.seed).view(np.int64)
        self._ring.send(self.image, stream)

    def launch(self, stream: int) -> None:
        for function, blocks in self._plan:
            if function.launch.folds and self._exchange is not None:
                self._have_partials(self._exchange, stream)
            self.gpu.launch(function.handle, blocks, THREADS, self._ring.address, stream)

    def exchange_by(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def _have_partials(self, exchange: Exchange, stream: int) -> None:
        """The partial results of pieces that are elsewhere, by way of the host."""
        rows = int(self._columns["blocks"].sum())
        partials = np.empty((rows, self.kernel.native.counts.stride))
        start = int(self._areas["partials"][0])
        self.gpu.download(partials, start, stream)
        exchange(list(self.members), partials)
        self.gpu.upload(start, partials, stream)


class _Ring:
    """The table's place on the GPU, and pinned memory from which it is filled, step by step."""

    def __init__(self, gpu: Gpu, nbytes: int) -> None:
        self._gpu, self._next = gpu, 0
        self._device = DeviceArray((nbytes,), "uint8", gpu)
        self.address = self._device.address
        pinned = gpu.pinned(RING * nbytes)
        driver.give_back_with(self, gpu.free_pinned, pinned)
        self._slots = words(pinned, (RING, nbytes // 8))
        self._events: list[int] = []

    def send(self, image: Array, stream: int) -> None:
        k = self._next % RING
        if self._next >= RING:
            self._gpu.wait(self._events[k])
        else:
            event = self._gpu.event()
            driver.give_back_with(self, self._gpu.drop, event)
            self._events.append(event)
        self._slots[k] = image
        self._gpu.send(self.address, self._slots[k], stream)
        self._gpu.record(self._events[k], stream)
        self._next += 1
