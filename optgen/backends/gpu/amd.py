"""GPUs of AMD: the intrinsics, attributes and address spaces of the AMDGPU backend, which stand nowhere else.

Source: LLVM, User Guide for AMDGPU Backend; of the packet that launches a kernel, HSA Platform System Architecture
Specification 1.2, 2.9.6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from llvmlite import ir as ll

from optgen.backends import target
from optgen.backends.gpu.gpu_target import GpuTarget, call
from optgen.backends.llvm import at
from optgen.backends.llvm_types import I8, I16, I32

_WIDTHS = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32}
"""The threads of a wavefront, by architecture: Instinct MI200 and MI300, Radeon RX 7900."""
_PACKET_POINTER = ll.PointerType(addrspace=4)
"""An address in memory that nobody writes while a kernel runs."""
_BLOCK_SIZE, _GRID_SIZE = 4, 12
"""The bytes of a packet at which the threads of a block (u16) and of the launch (u32) are."""
_WORD_BYTES = 4


class Amd(GpuTarget):
    """The GPUs of AMD that are `arch`, and no others: code is a relocatable object, which a linker makes a code object
    of. A warp is a wavefront, a block a work-group."""

    name = "amdgpu"
    architectures = tuple(_WIDTHS)
    oldest = None
    files: ClassVar = {
        "object": "_amdgpu.o",
        "llvm": "_amdgpu.ll",
        "header": "_amdgpu.h",
        "host_llvm": "_amdgpu_host.ll",
        "host_object": "_amdgpu_host.o",
    }
    triple = "amdgcn-amd-amdhsa"
    flags: ClassVar = {"amdhsa_code_object_version": 400}  # the oldest that LLVM 22 writes
    emission = "LineTablesOnly"
    calling_convention = "amdgpu_kernel"
    global_pointer = ll.PointerType(addrspace=1)
    stack = 5

    @property
    def made(self) -> str:
        return f"an object for {self.arch} alone, which no GPU has run"

    @property
    def width(self) -> int:
        return _WIDTHS[self.arch]

    def compile(self, text: str) -> bytes:
        return target.compile_gpu(text, self.triple, self.arch).object

    def thread_id(self, b: ll.IRBuilder) -> Any:
        return call(b, "llvm.amdgcn.workitem.id.x", I32)

    def block_id(self, b: ll.IRBuilder) -> Any:
        return call(b, "llvm.amdgcn.workgroup.id.x", I32)

    def block_count(self, b: ll.IRBuilder) -> Any:
        packet = call(b, "llvm.amdgcn.dispatch.ptr", _PACKET_POINTER)
        threads = b.load(at(b, packet, I32(_GRID_SIZE), I8), typ=I32, align=4)
        block = b.load(at(b, packet, I32(_BLOCK_SIZE), I8), typ=I16, align=2)
        return b.udiv(threads, b.zext(block, I32))

    def block_barrier(self, b: ll.IRBuilder) -> None:
        self._barrier(b, "workgroup", "llvm.amdgcn.s.barrier")

    def warp_barrier(self, b: ll.IRBuilder) -> None:
        self._barrier(b, "wavefront", "llvm.amdgcn.wave.barrier")

    def _barrier(self, b: ll.IRBuilder, scope: str, wait: str) -> None:
        """The waiting itself orders no memory."""
        b.fence("release", scope)
        call(b, wait, ll.VoidType())
        b.fence("acquire", scope)

    def shuffle_down(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        own = self._lane(b)
        other = b.add(own, I32(lanes))
        return self._word_of(b, word, b.select(b.icmp_signed("<", other, I32(self.width)), other, own))

    def shuffle_xor(self, b: ll.IRBuilder, word: Any, lanes: int) -> Any:
        return self._word_of(b, word, b.xor(self._lane(b), I32(lanes)))

    def _lane(self, b: ll.IRBuilder) -> Any:
        return b.and_(self.thread_id(b), I32(self.width - 1))

    def _word_of(self, b: ll.IRBuilder, word: Any, lane: Any) -> Any:
        """What a word is in another thread of the warp, which is numbered by bytes."""
        return call(b, "llvm.amdgcn.ds.bpermute", I32, b.mul(lane, I32(_WORD_BYTES)), word)

    def completed(self, text: str, threads: int, blocks: Mapping[str, int]) -> str:
        """How many blocks are resident is left to LLVM: nobody has measured which number is best."""
        bounds = f' "amdgpu-flat-work-group-size"="{threads},{threads}"'
        head = rf"^(define {self.calling_convention} void .*\))((?: !dbg !\d+)?)$"
        text = re.sub(head, rf"\g<1>{bounds}\g<2>", text, flags=re.M)
        variable = r"^( +%\S+ = alloca .*?)((?:, !dbg !\d+)?)$"
        return re.sub(variable, rf"\g<1>, addrspace({self.stack})\g<2>", text, flags=re.M)
