"""The table of a step on a GPU (`backends/gpu/table.py`): its image on the host, and its place in the GPU's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen.axes import Kind
from optgen.backends.gpu.nvidia import WIDTH
from optgen.backends.gpu.table import AREAS, COLUMNS, MAX_ACCESS_BYTES, MAX_GROUP, SEED, THREADS, N, TableLayout
from optgen.execute.buffers import Array, Tensor, int64_view
from optgen.execute.cuda import driver
from optgen.execute.cuda.interface import GpuInterface
from optgen.execute.cuda.kernel import GpuKernel, LoadedLaunch
from optgen.execute.cuda.memory import DeviceArray
from optgen.execute.kernel import NOT_BY_ROW, Rows
from optgen.execute.piece import Exchange
from optgen.execute.table import StepTable
from optgen.ir import BLOCK, Buffer

STEPS_IN_FLIGHT = 8
"""The steps whose tables can be on their way to the GPU; the next one waits until the GPU has read the oldest."""


class GpuTable(StepTable):
    """A table whose kernel is the host's part of a step; launches do the rest.

    `stream` returns the caller's current stream. `image` is the table that the next launches read. The host's part of
    a step writes its values into it. `exchange` brings the partial results of the pieces that are elsewhere.
    """

    kernel: GpuKernel

    def __init__(
        self,
        gpu: GpuInterface,
        stream: Callable[[], Any],
        kernel: GpuKernel,
        members: Sequence[int],
        *more: Any,
    ) -> None:
        super().__init__(kernel, members, *more)
        n, counts = len(members), kernel.native.counts
        self.gpu, self._stream, self._places = gpu, stream, TableLayout(counts, len(kernel.native.launches))
        self.exchange: Exchange | None = None
        self.image = np.zeros(self._image_words(n), np.int64)
        self._columns = {name: self._column(name) for name in COLUMNS}
        matrices = self._places.matrices.of(n)
        self._columns["matrices"] = self.image[matrices : matrices + n] if counts.last_two else np.ones(n, np.int64)
        self._areas = {name: self._column(name) for name in AREAS}
        self._workspace = DeviceArray((0,), "float64", gpu)
        self._planned_for: Array | None = None  # the addresses that launches were planned for, unless it is by row
        self._ring = _Ring(gpu, self.image.nbytes)
        self._plan: list[tuple[LoadedLaunch, int]] = []
        self._set_fixed()

    def _image_words(self, n: int) -> int:
        return self._places.end.of(n)

    def _column(self, name: str) -> Array:
        n = len(self.members)
        begin = self._places.column(name).of(n)
        return self.image[begin : begin + n]

    def _set_fixed(self) -> None:
        """Write what stays as it is from step to step."""
        n, column = len(self.members), self._columns
        self.image[N] = n
        column["size"][:] = self.sizes
        column["cols"][:] = [cols if matrices else 0 for matrices, _, cols in self._own_views]
        column["matrices"][:] = [max(matrices, 1) for matrices, _, _ in self._own_views]
        column["id"][:] = self._ids
        column["first"][:] = self._offsets
        column["blocks"][:] = -(-self.whole_sizes // BLOCK)
        streamed = [(k, b) for k, b in enumerate(self.kernel.native.buffers) if _is_streamed(b)]
        self._streamed = [k for k, _ in streamed]
        self._bits = np.array([b.format.bits for _, b in streamed])
        values = self._places.values.of(n)
        self.step.workspace = self.image[values:].ctypes.data

    # ------------------------------------------------------------ what may change between steps

    def use_counts(self, counts: Tensor) -> None:
        super().use_counts(counts)
        self.counts = counts.view()

    def bind_gradients(self, reads: Sequence[tuple[Sequence[Tensor], Rows]]) -> None:
        self._row_arrays: list[DeviceArray] = []  # keeps them alive
        super().bind_gradients(reads)
        self._plan_for_gradients()

    def move_gradients(self, addresses: Array) -> None:
        super().move_gradients(addresses)
        self._plan_for_gradients()

    def _plan_for_gradients(self) -> None:
        """Write into the image where gradients are and which rows they have, and plan launches for them."""
        by_rows = self._row_counts != NOT_BY_ROW
        planned = self._planned_for
        if planned is not None and not by_rows.any() and np.array_equal(planned, self._pointers):
            return
        self._planned_for = None
        column = self._columns
        column["by_rows"][:] = by_rows
        column["index"][:] = self._row_numbers
        column["rows"][:] = np.where(by_rows, self._row_counts, self.sizes // np.maximum(column["cols"], 1))
        self._find_vectors(by_rows)
        begin = self._places.pointers.of(len(self.members))
        self.image[begin : begin + self._pointers.size] = self._pointers.ravel().view(np.int64)
        self._place_areas()
        self._plan_launches()
        if not by_rows.any():
            self._planned_for = self._pointers.copy()

    def _address_of_rows(self, index: Array) -> int:
        array = DeviceArray(index.shape, "int64", self.gpu)
        array.set(index, self._stream())
        self._row_arrays.append(array)
        return array.address

    def _find_vectors(self, by_rows: Array) -> None:
        """Find the first access that is aligned in all buffers. (Single elements always are.)"""
        column = self._columns
        if not self._streamed:  # a section of numbers, rows and columns
            return
        offsets = self._pointers[:, self._streamed].astype(np.int64) * 8 // self._bits
        apart = np.maximum(
            MAX_ACCESS_BYTES * 8 // self._bits, MAX_GROUP
        )  # elements from one aligned access to the next
        widest = int(apart.argmax())
        lead = offsets[:, widest] % apart[widest]
        same = ((offsets - lead[:, None]) % apart == 0).all(axis=1)
        rows_fit = ~by_rows | (column["cols"] % apart[widest] == 0)
        if any(b.entries and _is_streamed(b) for b in self.kernel.native.buffers):
            rows_fit &= column["size"] % apart[widest] == 0  # entries lie one after another
        can_lead = self.kernel.native.counts.leads & ~by_rows
        draws_fit = (column["first"] % MAX_GROUP == 0) | self.kernel.native.counts.leads
        column["vectors"][:] = same & rows_fit & draws_fit & ((lead == 0) | can_lead)
        column["lead"][:] = np.where(column["vectors"] != 0, lead, 0)

    def _place_areas(self) -> None:
        """Give each tensor its areas of the workspace, which grows where that is too small."""
        sizes = self.kernel.native.counts.areas(self._columns)
        total = int(sizes.sum())
        if total > self._workspace.size:
            self._workspace = DeviceArray((total,), "float64", self.gpu)
        starts = np.cumsum(sizes.ravel()) - sizes.ravel()
        addresses = (self._workspace.address + 8 * starts).reshape(sizes.shape)
        for name, row in zip(AREAS, addresses, strict=True):
            self._areas[name][:] = row

    def _plan_launches(self) -> None:
        """Choose how many blocks each launch has, and where the units of each tensor begin."""
        n = len(self.members)
        self._plan = []
        for k, loaded in enumerate(self.kernel.launches(self.gpu)):
            ends = np.cumsum(loaded.launch.units(self._columns))
            begin = self._places.units(k).of(n)
            self.image[begin + 1 : begin + n + 1] = ends
            total = int(ends[-1]) if n else 0
            if total:
                self._plan.append((loaded, min(-(-total // loaded.launch.per_block(WIDTH)), max(loaded.blocks, 1))))

    # ------------------------------------------------------------ a step

    def run(self) -> None:
        super().run()
        stream = self._stream()
        self.send(stream)
        self.launch(stream)
        self.gpu.synchronize(stream)

    def send(self, stream: Any) -> None:
        """Copy the image to the GPU, before what follows in the stream."""
        self._columns["t"][:] = self.counts
        self.image[SEED] = np.uint64(self.step.seed).view(np.int64)
        self._ring.send(self.image, stream)

    def launch(self, stream: Any) -> None:
        """Run the kernel's functions with the table that was sent last."""
        for loaded, blocks in self._plan:
            if loaded.launch.folds and self.exchange is not None:
                self._exchange_partials(self.exchange, stream)
            self.gpu.launch(loaded.handle, blocks, THREADS, self._ring.address, stream)

    def _exchange_partials(self, exchange: Exchange, stream: Any) -> None:
        """Fetch the partial results of pieces that are elsewhere, by way of the host."""
        rows = int(self._columns["blocks"].sum())
        partials = np.empty((rows, self.kernel.native.counts.stride))
        start = int(self._areas["partials"][0])
        self.gpu.download(partials, start, stream)
        exchange(list(self.members), partials)
        self.gpu.upload(start, partials, stream)


def _is_streamed(buffer: Buffer) -> bool:
    """Whether launches read or write an element of it for each element of the parameter."""
    return buffer.kind is Kind.ELEM and not buffer.is_scale


class _Ring:
    """The table's place on the GPU, and a ring of slots in pinned memory from which it is filled, step by step."""

    def __init__(self, gpu: GpuInterface, nbytes: int) -> None:
        self._gpu, self._next, self.is_captured = gpu, 0, False
        self._device = DeviceArray((nbytes,), "uint8", gpu)
        self.address = self._device.address
        self._slots = self._pinned(STEPS_IN_FLIGHT, nbytes)
        self._events: list[Any] = []

    def _pinned(self, n: int, nbytes: int) -> Array:
        address = self._gpu.pinned(n * nbytes)
        driver.release_with(self, self._gpu.free_pinned, address)
        return int64_view(address, (n, nbytes // 8))

    def send(self, image: Array, stream: Any) -> None:
        k = self._next % STEPS_IN_FLIGHT
        if self._next >= STEPS_IN_FLIGHT:
            self._gpu.wait(self._events[k])
        else:
            event = self._gpu.event()
            driver.release_with(self, self._gpu.drop, event)
            self._events.append(event)
        self._slots[k] = image
        self._gpu.send(self.address, self._slots[k], stream)
        self._gpu.record(self._events[k], stream)
        self._next += 1

    def send_captured(self, image: Array, stream: Any) -> None:
        """Have a graph that is captured send this image whenever it is replayed, from a slot of its own."""
        (slot,) = self._pinned(1, image.nbytes)
        slot[:] = image
        self._gpu.send(self.address, slot, stream)
        self.is_captured = True
