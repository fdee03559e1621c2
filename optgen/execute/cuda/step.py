"""A rule bound to tensors of a GPU: a step is one launch for each sweep, whatever the number of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from optgen.execute import step, watch
from optgen.execute.cuda.table import Table

if TYPE_CHECKING:
    from optgen.execute.cuda.device import OneGpu


class BoundStep(step.BoundStep):
    """A step over fixed tensors of one GPU.

    Calling it is `advance`, then `launch`, on the caller's current stream: PyTorch's for PyTorch tensors, CuPy's for
    CuPy arrays, else the default one. Both return before the GPU is done.

    A captured graph holds launches: call `launch` alone while it is captured, and `advance` before each replay.
    """

    _tables: list[Table]
    _device: OneGpu

    @step.alone
    def __call__(self, /, **changes: Any) -> None:
        self._advance(changes)
        self._launch()

    @step.alone
    def advance(self, /, **changes: Any) -> None:
        """Count one update, and send the next launches their numbers; keyword arguments are hyper-parameters."""
        self._advance(changes)
        watch.written(self._of_pytorch)  # by a graph that is replayed now, of which nobody else tells autograd

    @step.alone
    def launch(self) -> None:
        """Update every tensor, once, with the numbers that were sent last."""
        if self._sources is not None and self._reads is None:
            raise RuntimeError("call advance() once before launch(): it looks for the gradients")
        self._check_memory()
        self._launch()

    def _advance(self, changes: Mapping[str, Any]) -> None:
        stream = self._stream()
        if self._tables and self._tables[0].gpu.is_capturing(stream):
            raise RuntimeError("a capture holds launches only: call launch() there, and advance() before each replay")
        self._prepare(changes)
        self._run(self._address)
        for table in self._tables:
            table.send(stream)

    def _launch(self) -> None:
        stream = self._stream()
        try:
            for table in self._tables:
                table.launch(stream)
        finally:
            watch.written(self._of_pytorch)

    def _stream(self) -> int:
        return self._device.stream()
