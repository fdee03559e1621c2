"""What an emitter has to know of a kind of GPU: for another kind, another class of this form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from llvmlite import ir as ll

from optgen.backends import target
from optgen.backends.debug_info import Emission
from optgen.ir import LANES


@dataclass(frozen=True)
class GpuTarget(ABC):
    """The GPUs of an architecture `arch`; numbers of threads and blocks are i32."""

    arch: str

    name: ClassVar[str]
    """That of `optgen build --target`."""
    architectures: ClassVar[tuple[str, ...]]
    """Those that code can be made for."""
    oldest: ClassVar[str | None]
    """The one whose code runs on all; None where code runs on its own architecture alone."""
    files: ClassVar[Mapping[str, str]]
    """How the files that `optgen build` makes of a kernel are named, behind its symbol, by their kind: first the code,
    then `llvm`, `header`, and of the host's part `host_llvm` and `host_object`."""
    triple: ClassVar[str]
    flags: ClassVar[Mapping[str, int]]
    """What modules say of themselves, by LLVM's names."""
    emission: ClassVar[Emission]
    """How lines of the spec are written, if they are."""
    calling_convention: ClassVar[str]
    """That of functions that the host launches."""
    global_pointer: ClassVar[ll.PointerType]
    """An address in the memory of the device."""
    stack: ClassVar[int]
    """The address space of the variables of a thread."""

    @property
    @abstractmethod
    def made(self) -> str:
        """What code is, and what it runs on, for people."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The threads of a warp: they go on together, and trade words without memory."""

    @property
    def group(self) -> int:
        """How many neighbours a thread computes at once: a warp has the lanes of the reduction tree."""
        return LANES // self.width

    @property
    def data_layout(self) -> str:
        return target.gpu_layout(self.triple, self.arch)

    @abstractmethod
    def compile(self, text: str) -> bytes:
        """What a driver or a linker takes, of the text of a module; errors as of `target.compile_ir`."""

    # ------------------------------------------------------------ intrinsics

    @abstractmethod
    def thread_id(self, b: ll.IRBuilder) -> Any:
        """The number of this thread in its block."""

    @abstractmethod
    def block_id(self, b: ll.IRBuilder) -> Any:
        """The number of this block in its launch."""

    @abstractmethod
    def block_count(self, b: ll.IRBuilder) -> Any:
        """How many blocks the launch has."""

    @abstractmethod
    def block_barrier(self, b: ll.IRBuilder) -> None:
        """Wait for all threads of the block; what they wrote is seen afterwards."""

    @abstractmethod
    def warp_barrier(self, b: ll.IRBuilder) -> None:
        """Wait for all threads of the warp; what they wrote is seen afterwards."""

    @abstractmethod
    def shuffle_down(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        """The i32 of the thread `lanes` further up the warp; at its end, the thread's own."""

    @abstractmethod
    def shuffle_xor(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        """The i32 of the thread whose number in the warp differs in the bit `lanes`."""

    @abstractmethod
    def completed(self, text: str, threads: int, blocks: Mapping[str, int]) -> str:
        """The text of a module with what llvmlite has no words for: that a block has so many threads, a multiprocessor
        at least so many blocks of each launched function, and where variables are, if not in the usual memory."""


def call(b: ll.IRBuilder, name: str, result: ll.Type, *args: Any) -> Any:
    """A call of an intrinsic."""
    type = ll.FunctionType(result, [x.type for x in args])
    return b.call(b.module.declare_intrinsic(name, (), type), args)
