"""What an emitter has to know of a kind of GPU: for another kind, another object of this form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from llvmlite import ir as ll


class GpuTarget(Protocol):
    """A GPU whose warps have WARP threads (`table.py`); numbers of threads and blocks are i32."""

    @property
    def triple(self) -> str: ...

    @property
    def data_layout(self) -> str: ...

    @property
    def calling_convention(self) -> str:
        """That of functions that the host launches."""

    @property
    def global_pointer(self) -> ll.PointerType:
        """An address in the memory of the device."""

    def thread_id(self, b: ll.IRBuilder) -> Any:
        """The number of this thread in its block."""

    def block_id(self, b: ll.IRBuilder) -> Any:
        """The number of this block in its launch."""

    def block_count(self, b: ll.IRBuilder) -> Any:
        """How many blocks the launch has."""

    def block_barrier(self, b: ll.IRBuilder) -> None:
        """Wait for all threads of the block; what they wrote is seen afterwards."""

    def warp_barrier(self, b: ll.IRBuilder) -> None:
        """Wait for all threads of the warp; what they wrote is seen afterwards."""

    def shuffle_down(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        """The i32 of the thread `lanes` further up the warp; at its end, the thread's own."""

    def shuffle_xor(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        """The i32 of the thread whose number in the warp differs in the bit `lanes`."""

    def with_launch_bounds(self, text: str, threads: int, blocks: Mapping[str, int]) -> str:
        """The text of a module that says how many threads a block has, and how many blocks of each launched function a
        multiprocessor holds at least."""
