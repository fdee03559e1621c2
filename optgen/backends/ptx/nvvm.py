"""GPUs of NVIDIA: the intrinsics, attributes and address spaces of NVVM, which stand nowhere else.

Source: LLVM, User Guide for NVPTX Back-end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm_types import I32
from optgen.backends.target import GPU_TRIPLE, gpu_layout

_ALL_LANES = I32(-1)
"""The mask of a warp's threads that take part."""
_LAST_LANE = I32(31)


@dataclass(frozen=True)
class Nvvm:
    """The `GpuTarget` of NVIDIA."""

    triple = GPU_TRIPLE
    calling_convention = "ptx_kernel"
    global_pointer = ll.PointerType(addrspace=1)

    @property
    def data_layout(self) -> str:
        return gpu_layout()

    def thread_id(self, b: ll.IRBuilder) -> Any:
        return self._call(b, "read.ptx.sreg.tid.x", I32)

    def block_id(self, b: ll.IRBuilder) -> Any:
        return self._call(b, "read.ptx.sreg.ctaid.x", I32)

    def block_count(self, b: ll.IRBuilder) -> Any:
        return self._call(b, "read.ptx.sreg.nctaid.x", I32)

    def block_barrier(self, b: ll.IRBuilder) -> None:
        self._call(b, "barrier.cta.sync.aligned.all", ll.VoidType(), I32(0))

    def warp_barrier(self, b: ll.IRBuilder) -> None:
        self._call(b, "bar.warp.sync", ll.VoidType(), _ALL_LANES)

    def shuffle_down(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        return self._call(b, "shfl.sync.down.i32", I32, _ALL_LANES, word, I32(lanes), _LAST_LANE)

    def shuffle_xor(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        return self._call(b, "shfl.sync.bfly.i32", I32, _ALL_LANES, word, I32(lanes), _LAST_LANE)

    def with_launch_bounds(self, text: str, threads: int, blocks: Mapping[str, int]) -> str:
        """llvmlite has no word for these attributes. A thread gets the registers that they leave; without the second
        one ptxas spills some registers to have more blocks."""

        def bounds(match: re.Match[str]) -> str:
            return f'{match[0]} "nvvm.maxntid"="{threads}" "nvvm.minctasm"="{blocks[match[1]]}"'

        return re.sub(rf'^define {self.calling_convention} void @"(.*?)"\(.*\)$', bounds, text, flags=re.M)

    def _call(self, b: ll.IRBuilder, name: str, result: ll.Type, *args: Any) -> Any:
        type = ll.FunctionType(result, [x.type for x in args])
        return b.call(b.module.declare_intrinsic(f"llvm.nvvm.{name}", (), type), args)


NVVM = Nvvm()
