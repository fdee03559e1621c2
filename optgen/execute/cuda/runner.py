"""A step on a GPU: the host's part, the tables that it sends, and the launches that read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from optgen.execute.buffers import Tensor
from optgen.execute.cpu.runner import NativeCall
from optgen.execute.cuda.interface import GpuInterface
from optgen.execute.cuda.table import GpuTable
from optgen.execute.piece import Exchange
from optgen.execute.transaction import Infallible


class GpuRunner(Infallible):
    """One launch for each sweep of each table, in the caller's current stream, which `stream` returns."""

    def __init__(
        self,
        gpu: GpuInterface,
        stream: Callable[[], Any],
        tables: Sequence[GpuTable],
        counts: Tensor,
        exchange: Exchange | None,
    ) -> None:
        self._gpu, self._stream, self._tables = gpu, stream, tables
        self._host_part = NativeCall(tables, counts)
        for table in tables:
            table.exchange = exchange

    @property
    def launches(self) -> GpuRunner:
        return self

    def check_not_capturing(self) -> None:
        if self._tables and self._gpu.is_capturing(self._stream()):
            raise RuntimeError("a capture holds launches only: call launch() there, and advance() before each replay")

    def run(self) -> None:
        stream = self._stream()
        self._send(stream)
        self._launch(stream)

    def advance(self) -> None:
        self._send(self._stream())

    def launch(self) -> None:
        self._launch(self._stream())

    def _send(self, stream: Any) -> None:
        self._host_part.run()
        for table in self._tables:
            table.send(stream)

    def _launch(self, stream: Any) -> None:
        for table in self._tables:
            table.launch(stream)
