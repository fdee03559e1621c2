"""GPUs of NVIDIA: the intrinsics, attributes and address spaces of NVVM, which stand nowhere else.

Source: LLVM, User Guide for NVPTX Back-end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from llvmlite import ir as ll

from optgen.backends import target
from optgen.backends.gpu.gpu_target import GpuTarget, call
from optgen.backends.llvm_types import I32

WIDTH = 32
"""The threads of a warp."""
_ALL_LANES = I32(-1)
"""The mask of a warp's threads that take part."""
_LAST_LANE = I32(WIDTH - 1)


class Nvidia(GpuTarget):
    """The GPUs of NVIDIA that are `arch` or later: code is PTX, which drivers compile."""

    name = "cuda"
    architectures = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")
    oldest = architectures[0]
    files: ClassVar = {
        "ptx": ".ptx",
        "llvm": "_cuda.ll",
        "header": "_cuda.h",
        "host_llvm": "_host.ll",
        "host_object": "_host.o",
    }
    triple = "nvptx64-nvidia-cuda"
    flags: ClassVar = {}
    emission = "DebugDirectivesOnly"
    calling_convention = "ptx_kernel"
    global_pointer = ll.PointerType(addrspace=1)
    stack = 0
    width = WIDTH

    @property
    def made(self) -> str:
        return f"PTX for {self.arch} and later GPUs"

    def compile(self, text: str) -> bytes:
        return target.compile_gpu(text, self.triple, self.arch).assembly.encode()

    def thread_id(self, b: ll.IRBuilder) -> Any:
        return call(b, "llvm.nvvm.read.ptx.sreg.tid.x", I32)

    def block_id(self, b: ll.IRBuilder) -> Any:
        return call(b, "llvm.nvvm.read.ptx.sreg.ctaid.x", I32)

    def block_count(self, b: ll.IRBuilder) -> Any:
        return call(b, "llvm.nvvm.read.ptx.sreg.nctaid.x", I32)

    def block_barrier(self, b: ll.IRBuilder) -> None:
        call(b, "llvm.nvvm.barrier.cta.sync.aligned.all", ll.VoidType(), I32(0))

    def warp_barrier(self, b: ll.IRBuilder) -> None:
        call(b, "llvm.nvvm.bar.warp.sync", ll.VoidType(), _ALL_LANES)

    def shuffle_down(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        return call(b, "llvm.nvvm.shfl.sync.down.i32", I32, _ALL_LANES, word, I32(lanes), _LAST_LANE)

    def shuffle_xor(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        return call(b, "llvm.nvvm.shfl.sync.bfly.i32", I32, _ALL_LANES, word, I32(lanes), _LAST_LANE)

    def completed(self, text: str, threads: int, blocks: Mapping[str, int]) -> str:
        """A thread gets the registers that these attributes leave; without the second one ptxas spills some registers
        to have more blocks."""

        def bounds(match: re.Match[str]) -> str:
            return f'{match[1]} "nvvm.maxntid"="{threads}" "nvvm.minctasm"="{blocks[match[2]]}"{match[3]}'

        head = rf'^(define {self.calling_convention} void @"(.*?)"\(.*\))((?: !dbg !\d+)?)$'
        return re.sub(head, bounds, text, flags=re.M)


OLDEST = Nvidia(Nvidia.oldest)
"""Its PTX runs on all."""
