"""The kernels of a library as object code, for each of its CPUs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from optgen import compiled, pipeline
from optgen.backends import target
from optgen.compiled import NativeKernel
from optgen.ir import Variant
from optgen.library.cpus import LibraryCpu
from optgen.model import Optimizer
from optgen.objectcode import cache

_SYMBOL = "optgen_library_kernel"
"""What stands for the symbol of a kernel, until it follows from the kernel's text."""


@dataclass(frozen=True)
class LibraryKernel:
    """A kernel for each CPU of a library, in their order. Kernels of the same text have the same symbols."""

    natives: tuple[NativeKernel, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(native.symbol for native in self.natives)


def made(library: str, cpus: Sequence[LibraryCpu], optimizer: Optimizer, variant: Variant) -> LibraryKernel:
    """A variant for all CPUs, from the cache where it was made before. `library` begins the symbols of kernels, so that
    a program can have several libraries."""
    return LibraryKernel(tuple(_native(library, cpu, optimizer, variant) for cpu in cpus))


def _native(library: str, cpu: LibraryCpu, optimizer: Optimizer, variant: Variant) -> NativeKernel:
    own, chosen = cpu.target, json.dumps(asdict(variant), sort_keys=True)
    key = cache.key(
        "library",
        library,
        optimizer.source.text,
        chosen,
        target.llvm_version(),
        own.triple,
        own.cpu,
        own.features,
        own.tune,
    )

    def make() -> bytes:
        planned = pipeline.plan(pipeline.build(optimizer, variant))
        text = pipeline.lower(planned, _SYMBOL, own)
        symbol = f"{library}_{hashlib.sha256(text.encode()).hexdigest()[:12]}_{cpu.suffix}"
        code = target.compile_ir(_hidden(text).replace(_SYMBOL, symbol), own).object
        return symbol.encode() + b"\n" + compiled.pack_native(planned, code)

    symbol, _, entry = cache.get(key, make).partition(b"\n")
    return compiled.unpack_native(symbol.decode(), variant.dtype, entry)


def _hidden(text: str) -> str:
    """LLVM IR whose functions are seen within a library alone."""
    if "define external " not in text:
        raise ValueError("a kernel without functions for others")
    return text.replace("define external ", "define hidden ")
