"""What arrays, tables and steps ask of a GPU: `driver.Gpu` calls the driver for it, and `optgen.pycuda` PyCUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from optgen.execute.buffers import Array


class GpuInterface(Protocol):
    """One GPU. Handles of functions, events and streams are whatever it takes itself; `ordinal` is its number.

    Methods that take a stream return at once, unless they say otherwise; their work is done in the stream's order.
    """

    ordinal: int
    multiprocessors: int

    def allocate(self, nbytes: int) -> int:
        """The address of new memory, which `free` releases."""

    def free(self, address: int) -> None:
        """Release memory of `allocate`."""

    def pinned(self, nbytes: int) -> int:
        """The address of new page-locked memory of the host, from which the GPU copies by itself; for `free_pinned`."""

    def free_pinned(self, address: int) -> None:
        """Release memory of `pinned`."""

    def upload(self, address: int, array: Array, stream: Any) -> None:
        """Copy a C-contiguous array to an address, in the stream's order; returns when it is there."""

    def send(self, address: int, array: Array, stream: Any) -> None:
        """Copy a C-contiguous array to an address; its memory must stay as it is until that is done."""

    def download(self, array: Array, address: int, stream: Any) -> None:
        """Fill a C-contiguous array from an address, in the stream's order; returns when that is done."""

    def copy(self, to: int, address: int, nbytes: int, stream: Any) -> None:
        """Copy bytes from one address to another."""

    def fill(self, address: int, pattern: bytes, times: int, stream: Any) -> None:
        """Write a pattern of 1, 2 or 4 bytes `times` times."""

    def synchronize(self, stream: Any) -> None:
        """Wait until all that is in the stream is done."""

    def load(self, ptx: bytes, names: Sequence[str]) -> dict[str, Any]:
        """Compile PTX with the driver; returns the handles of its functions."""

    def resident(self, function: Any, threads: int) -> int:
        """The number of blocks of `threads` threads that a multiprocessor holds at a time."""

    def launch(self, function: Any, blocks: int, threads: int, argument: int, stream: Any) -> None:
        """Run a function whose only parameter is an address."""

    def event(self) -> Any:
        """A new event, which `drop` releases."""

    def record(self, event: Any, stream: Any) -> None:
        """Have an event happen when all is done that is in the stream now."""

    def wait(self, event: Any) -> None:
        """Wait until all is done that was in the stream when the event was recorded."""

    def drop(self, event: Any) -> None:
        """Release an event."""

    def order(self, stream: Any, after: int) -> None:
        """Have what will come into a stream wait for what is in another one now, whose number is that of
        `__cuda_array_interface__`: the driver's handle, 1 for the default stream."""

    def is_capturing(self, stream: Any) -> bool:
        """Whether the stream is being captured: its work becomes part of a graph, and is not done now."""
