"""Capturable steps: the counts, the hyper-parameters that are tensors, and the host phase are the GPU's own.

A captured graph of such a step is a whole step. It begins with a copy of the table from memory that nobody writes
again, so numbers that are no tensors, and addresses, are in it as they were at the capture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optgen.backends.gpu.prologue_layout import (
    COUNTED,
    COUNTS,
    FOUND_INF,
    GRAD_SCALE,
    PARAMETERS,
    TABLE,
    PrologueLayout,
)
from optgen.backends.gpu.table import SEED, THREADS
from optgen.execute.buffers import Array, Tensor
from optgen.execute.cuda.interface import GpuInterface
from optgen.execute.cuda.kernel import GpuKernel
from optgen.execute.cuda.table import GpuTable
from optgen.execute.hyper import Values
from optgen.execute.scaler import Scaler
from optgen.execute.transaction import Infallible


class CapturableTable(GpuTable):
    """A table whose host part is the kernel's prologue, which reads the words behind the table."""

    def __init__(
        self,
        gpu: GpuInterface,
        stream: Callable[[], Any],
        kernel: GpuKernel,
        members: Sequence[int],
        params: Sequence[Tensor],
        *more: Any,
    ) -> None:
        self._layout = PrologueLayout(len(kernel.native.hyper), len(kernel.native.launches))
        self._parameters = len(params)
        super().__init__(gpu, stream, kernel, members, params, *more)
        n = len(members)
        self._words = self.image[self._places.end.of(n) :]
        self._words[TABLE] = self._ring.address
        self._words[self._layout.order.of(n) :][:n] = self.order
        self._sent: Array | None = None
        # Now, because a capture is no time to load code.
        self._prologue = kernel.prologue(gpu)
        kernel.launches(gpu)

    def _image_words(self, n: int) -> int:
        return super()._image_words(n) + self._layout.counted.of(n) + self._parameters

    def count_for(self, counts: Tensor, members: Sequence[int]) -> None:
        """Advance the counts of these parameters among `counts`, those of all."""
        self._words[COUNTS], self._words[PARAMETERS] = counts.address, counts.size
        self._words[COUNTED] = len(members)
        self._words[self._layout.counted.of(len(self.members)) :][: len(members)] = members

    def set_hyper(self, values: Values) -> None:
        """Set hyper-parameters; one that is a tensor is read from its memory at each step."""
        super().set_hyper({name: x for name, x in values.items() if not isinstance(x, Tensor)})
        for name, x in values.items():
            k = self.kernel.hyper_index.get(name)
            if k is not None:
                source, is_double = (x.address, x.dtype == "float64") if isinstance(x, Tensor) else (0, False)
                self._words[self._layout.source(k).constant] = source
                self._words[self._layout.is_double(k).constant] = is_double

    def set_scaler(self, scaler: Scaler) -> None:
        super().set_scaler(scaler)
        for word, tensor in ((GRAD_SCALE, scaler.grad_scale), (FOUND_INF, scaler.found_inf)):
            self._words[word] = 0 if tensor is None else tensor.address

    def _plan_launches(self) -> None:
        super()._plan_launches()
        n = len(self.members)
        for k in range(len(self.kernel.native.launches)):
            self._words[self._layout.total(k).constant] = self.image[self._places.units(k).of(n) + n]

    def send(self, stream: Any, *, captured: bool = False) -> None:
        """Copy the image to the GPU if it is not there; where that is captured, at each replay."""
        n = len(self.members)
        self.image[SEED] = np.uint64(self.step.seed).view(np.int64)
        numbers = self._words[self._layout.numbers(0).of(n) : self._layout.counted.of(n)]
        numbers[:] = self._hyper[: self._layout.hyper].ravel().view(np.int64)
        if captured:
            self._ring.send_captured(self.image, stream)
        elif self._ring.is_captured or self._sent is None or not np.array_equal(self._sent, self.image):
            self._ring.send(self.image, stream)
            self._sent = self.image.copy()

    def launch(self, stream: Any) -> None:
        address = self._ring.address + 8 * self._places.end.of(len(self.members))
        self.gpu.launch(self._prologue, 1, THREADS, address, stream)
        super().launch(stream)


class CapturableRunner(Infallible):
    """A step as one call, captured or not. The tables that graphs use are added to `captured`."""

    launches = None

    def __init__(
        self,
        gpu: GpuInterface,
        stream: Callable[[], Any],
        tables: Sequence[CapturableTable],
        counts: Tensor,
        captured: list[CapturableTable],
    ) -> None:
        self._gpu, self._stream, self._tables, self._captured = gpu, stream, tables, captured
        members = [i for table in tables for i in table.members]
        for k, table in enumerate(tables):
            # All counts advance before the first host phase, which may read the largest of them.
            table.count_for(counts, [] if k else members)

    def run(self) -> None:
        stream = self._stream()
        captured = bool(self._tables) and self._gpu.is_capturing(stream)
        if captured:
            self._captured += [table for table in self._tables if table not in self._captured]
        for table in self._tables:
            table.send(stream, captured=captured)
        for table in self._tables:
            table.launch(stream)
