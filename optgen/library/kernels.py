"""The kernels of a library as object code, for each of its CPUs, and as code of GPUs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from optgen import compiled, pipeline
from optgen.backends import target
from optgen.compiled import NativeKernel
from optgen.ir import Buffer, Kernel, Variant
from optgen.ir.buffers import buffers
from optgen.library.cpus import LibraryCpu
from optgen.library.gpus import GpuCode, LibraryGpu, gpu_code
from optgen.library.stages import StageProgram, is_staged, program
from optgen.model import Optimizer
from optgen.objectcode import cache
from optgen.stages.plan import KernelStage

_SYMBOL = "optgen_library_kernel"
"""What stands for the symbol of a kernel, until it follows from the kernel's text."""


@dataclass(frozen=True)
class LibraryKernel:
    """A kernel for each CPU of a library, in their order, and their LLVM IR. Kernels of the same text have the same
    symbols. With `gpu`, these are the parts of the host."""

    natives: tuple[NativeKernel, ...]
    texts: tuple[str, ...]
    gpu: GpuCode | None = None

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(native.symbol for native in self.natives)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return self.natives[0].buffers

    @property
    def dtype(self) -> str:
        return self.natives[0].dtype

    @property
    def kernels(self) -> tuple[LibraryKernel, ...]:
        return (self,)


@dataclass(frozen=True)
class LibraryProgram:
    """An update in stages: its steps, their kernels, and the buffers that are no work arrays."""

    dtype: str
    program: StageProgram
    kernels: tuple[LibraryKernel, ...]
    buffers: tuple[Buffer, ...]


Made = LibraryKernel | LibraryProgram


@dataclass(frozen=True)
class Maker:
    """What makes the kernels of a library, for all its CPUs; for GPUs if there is `gpu`. `library` begins the symbols
    of kernels, so that a program can have several libraries."""

    library: str
    cpus: Sequence[LibraryCpu]
    gpu: LibraryGpu | None


def made(maker: Maker, optimizer: Optimizer, variant: Variant, values: Mapping[str, float | None]) -> Made:
    """A variant, from the cache where it was made before. `values` are those of params."""

    def kernel(section: KernelStage | None) -> LibraryKernel:
        natives, texts = zip(*(_native(maker, cpu, optimizer, variant, section) for cpu in maker.cpus), strict=True)
        if maker.gpu is None:
            return LibraryKernel(natives, texts)
        return LibraryKernel(natives, texts, gpu_code(maker.library, maker.gpu, _planned(optimizer, variant, section)))

    if not is_staged(optimizer, variant):
        return kernel(None)
    found = program(optimizer, variant, values)
    own = buffers(optimizer, variant, optimizer.program(variant.flags))
    return LibraryProgram(variant.dtype, found, tuple(map(kernel, found.kernels)), tuple(own))


def _planned(optimizer: Optimizer, variant: Variant, section: KernelStage | None) -> Kernel:
    whole = section.kernel if section else pipeline.build(optimizer, variant)
    return pipeline.plan(whole)


def _native(
    maker: Maker, cpu: LibraryCpu, optimizer: Optimizer, variant: Variant, section: KernelStage | None
) -> tuple[NativeKernel, str]:
    """The kernel of a variant, or of a stage of it, or the part of the host; and its LLVM IR."""
    own, chosen = cpu.target, json.dumps(asdict(variant), sort_keys=True)
    of = ("host" if maker.gpu else "", maker.library, optimizer.computing, chosen, repr(section))
    key = cache.key("library", *of, target.llvm_version(), own.triple, own.cpu, own.features, own.tune)

    def make() -> bytes:
        planned = _planned(optimizer, variant, section)
        text = (pipeline.lower_host if maker.gpu else pipeline.lower)(planned, _SYMBOL, own)
        symbol = f"{maker.library}_{hashlib.sha256(text.encode()).hexdigest()[:12]}_{cpu.suffix}"
        how = ("registers",) if maker.gpu else ()
        named = _hidden(text).replace(_SYMBOL, symbol)
        code = compiled.pack_native(planned, target.compile_ir(named, own, *how).object)
        return f"{symbol} {len(code)}\n".encode() + code + named.encode()

    head, _, entry = cache.get(key, make).partition(b"\n")
    symbol, size = head.decode().split()
    code, text = entry[: int(size)], entry[int(size) :].decode()
    return compiled.unpack_native(symbol, variant.dtype, code), text


def _hidden(text: str) -> str:
    """LLVM IR whose functions are seen within a library alone."""
    if "define external " not in text:
        raise ValueError("a kernel without functions for others")
    return text.replace("define external ", "define hidden ")
