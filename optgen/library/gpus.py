"""The GPUs that a library is for, the code that they run, and the tables of it in C."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optgen import pipeline
from optgen.axes import Kind
from optgen.backends import target
from optgen.backends.gpu.nvidia import OLDEST, Nvidia
from optgen.backends.gpu.table import Counts, Launch
from optgen.emit.gpu_header import launches
from optgen.ir import Buffer, Kernel
from optgen.objectcode import cache

_SYMBOL = "optgen_library_launch"
"""What stands for the symbol of a module, until it follows from the module's text."""


@dataclass(frozen=True)
class LibraryGpu:
    """GPUs of an architecture, as sm_80, and later ones. With `cubin`, those of this one need no compiler of the
    driver."""

    arch: str
    cubin: bool

    @property
    def target(self) -> Nvidia:
        return Nvidia(self.arch)

    @property
    def capability(self) -> int:
        """Ten times the compute capability of the oldest of them."""
        return int(self.arch.removeprefix("sm_"))


@dataclass(frozen=True)
class GpuCode:
    """The PTX of a kernel, whose functions begin with `symbol`, binary code, which may be empty, and what is
    launched."""

    symbol: str
    ptx: bytes
    cubin: bytes
    launches: tuple[Launch, ...]
    counts: Counts


def gpu_code(library: str, gpu: LibraryGpu, planned: Kernel) -> GpuCode:
    """The code of a planned kernel, from the cache where it was made before. `library` begins its symbol. OSError where
    there is no ptxas and binary code is wanted, ChildProcessError if it refuses the text."""
    module = pipeline.lower_gpu(planned, _SYMBOL, gpu.target)
    symbol = f"{library}_{hashlib.sha256(module.llvm.encode()).hexdigest()[:12]}"
    key = cache.key("library ptx", symbol, module.llvm, gpu.arch, target.llvm_version())
    ptx = cache.get(key, lambda: gpu.target.compile(module.llvm.replace(_SYMBOL, symbol)))
    own = tuple(Launch(**(asdict(x) | {"name": x.name.replace(_SYMBOL, symbol)})) for x in module.launches)
    return GpuCode(symbol, ptx, _assembled(ptx, gpu.arch) if gpu.cubin else b"", own, module.counts)


def assembler() -> str | None:
    """NVIDIA's assembler, `ptxas`, if it is on the PATH."""
    return shutil.which("ptxas")


def _assembled(ptx: bytes, arch: str) -> bytes:
    """Binary code for an architecture."""
    command = assembler()
    if command is None:
        raise FileNotFoundError("there is no ptxas on the PATH")
    with tempfile.TemporaryDirectory(prefix="optgen-build-") as folder:
        text, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_bytes(ptx)
        line = [command, f"-arch={arch}", str(text), "-o", str(made)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ChildProcessError(f"ptxas failed:\n{done.stderr.strip()}")
        return made.read_bytes()


# ---------------------------------------------------------------- in C


def code_table(code: GpuCode, buffers: Sequence[Buffer]) -> Iterator[str]:
    """The table `SYMBOL_code` of a kernel with these buffers."""
    symbol, bits = code.symbol, list(map(_bits, buffers))
    yield launches(symbol, code.launches, OLDEST)
    counts = ", ".join(str(int(x)) for x in astuple(code.counts))
    yield f"static const optgen_kernel {symbol}_table = {{{symbol}_launches, {len(code.launches)}, {counts}}};"
    yield f"static const int32_t {symbol}_bits[] = {{{', '.join(map(str, bits)) or '0'}}};"
    yield _words(f"{symbol}_ptx", code.ptx)
    fields: dict[str, Any] = {"table": f"&{symbol}_table", "ptx": f"{symbol}_ptx", "bits": f"{symbol}_bits"}
    if code.cubin:
        yield _words(f"{symbol}_cubin", code.cubin)
        fields["cubin"] = f"{symbol}_cubin"
    fields["has_entries"] = int(any(b.entries for b, x in zip(buffers, bits, strict=True) if x))
    yield f"static const device_code {symbol}_code = {{{', '.join(f'.{k} = {x}' for k, x in fields.items())}}};"


def _bits(b: Buffer) -> int:
    """The bits of an element, of which launches read or write one for each of the parameter; else 0."""
    return b.format.bits if b.kind is Kind.ELEM and not b.is_scale else 0


def _words(name: str, data: bytes) -> str:
    """An array of words of 64 bits, lowest byte first, with these bytes and at least one 0 behind them."""
    words = [f"{x:#x}u" for x in np.frombuffer(data + bytes(16 - len(data) % 8), "<u8")]
    lines = [f"    {', '.join(words[k : k + 8])}," for k in range(0, len(words), 8)]
    return "\n".join([f"static const uint64_t {name}[] = {{", *lines, "};"])
