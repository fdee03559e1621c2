"""The compiler on one page: spec text -> checked model -> kernel IR -> passes -> LLVM IR -> object code | PTX.

Every arrow is one function; `optgen show NAME --stage model|ir|llvm|asm|ptx` prints what is between them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from optgen import serial
from optgen.diagnostics import Source
from optgen.ir import Buffer, Kernel, ShardGranularity, Variant
from optgen.model import Kind, Optimizer
from optgen.objectcode import cache

if TYPE_CHECKING:
    from optgen.backends.ptx import GpuModule
    from optgen.backends.ptx.table import Counts, Launch


def check(source: Source) -> Optimizer:
    """spec text -> checked model; SpecErrors."""
    from optgen.lang import parse

    return parse(source)


def build(optimizer: Optimizer, variant: Variant) -> Kernel:
    """checked model -> kernel IR of one variant."""
    from optgen.ir.build import build
    from optgen.ir.verify import verify

    return verify(build(optimizer, variant))


def plan(kernel: Kernel) -> Kernel:
    """kernel IR -> kernel IR cut into phases, the form that backends take."""
    from optgen.ir.verify import verify
    from optgen.passes import PASSES

    for run in PASSES:
        kernel = verify(run(kernel))
    return kernel


def lower(kernel: Kernel, symbol: str, triple: str) -> str:
    """planned kernel -> LLVM IR text for the CPU."""
    from optgen.backends import cpu
    from optgen.ir.verify import verify
    from optgen.passes.expand_math import expand_math

    return cpu.emit(verify(expand_math(kernel)), symbol, triple)


def lower_ptx(kernel: Kernel, symbol: str) -> GpuModule:
    """planned kernel -> LLVM IR text for GPUs of NVIDIA, and what is launched of it."""
    from optgen.backends import ptx

    return ptx.emit(_for_gpu(kernel), symbol)


def lower_host(kernel: Kernel, symbol: str, triple: str) -> str:
    """planned kernel -> LLVM IR text of what the CPU computes before a GPU's launches."""
    from optgen.backends import cpu

    return cpu.emit_host(_for_gpu(kernel), symbol, triple)


def _for_gpu(kernel: Kernel) -> Kernel:
    """The form that both parts are made from: they agree on what is handed over."""
    from optgen.ir.verify import verify
    from optgen.passes.expand_math import expand_math
    from optgen.passes.split_sweeps import split_sweeps

    return verify(expand_math(verify(split_sweeps(kernel))))


# ---------------------------------------------------------------- the same, with what was made before


@dataclass(frozen=True)
class NativeKernel:
    """Object code, and what a caller of it has to know."""

    symbol: str
    dtype: str
    buffers: tuple[Buffer, ...]
    hyper: tuple[str, ...]
    lazy: bool  # rows can be updated without the others
    shared: bool  # some value depends on all tensors of a step
    cut: ShardGranularity  # where tensors can be cut into pieces
    object: bytes


def checked(source: Source) -> Optimizer:
    """`check`, from the cache where this text was checked before."""
    entry = cache.key("model", source.name, source.text)
    return serial.loads(cache.get(entry, lambda: serial.dumps(check(source))))


def symbol(optimizer: Optimizer, variant: Variant) -> str:
    """What a variant is called in object code: `optgen_adam_amsgrad_f32`."""
    words = ["optgen", optimizer.name.lower()]
    for name, value in variant.flags.items():
        if value is True:
            words.append(name)
        elif isinstance(value, str):
            words.append(f"{name}_{value}")
    words += [f"{name}_{storage}" for name, storage in variant.storage.items() if storage != variant.weight]
    words += ["master"] * variant.master + ["eval"] * variant.evaluate
    words += [f"sum{variant.gradients}"] * (variant.gradients > 1)
    return "_".join("".join(c if c.isalnum() else "_" for c in w) for w in (*words, SHORT[variant.dtype]))


SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


def native(optimizer: Optimizer, variant: Variant) -> NativeKernel:
    """All the way to object code for this machine, from the cache where it was made before."""
    from optgen.backends import target

    host = target.host()
    name = symbol(optimizer, variant)

    def make() -> bytes:
        kernel = plan(build(optimizer, variant))
        code = target.compile_ir(lower(kernel, name, host.triple), host).object
        return json.dumps(_signature(kernel)).encode() + b"\n" + code

    entry = cache.key("cpu", *_key(optimizer, variant))
    head, _, code = cache.get(entry, make).partition(b"\n")
    return NativeKernel(name, variant.dtype, **_read(json.loads(head)), object=code)


def _key(optimizer: Optimizer, variant: Variant) -> tuple[str, ...]:
    """All that object code of this machine depends on."""
    from optgen.backends import target

    host, chosen = target.host(), json.dumps(asdict(variant), sort_keys=True)
    return optimizer.source.text, chosen, target.llvm_version(), host.triple, host.cpu, host.features


def _signature(kernel: Kernel) -> dict[str, Any]:
    """What a caller has to know, for JSON."""
    return {
        "buffers": [asdict(b) | {"kind": b.kind.value} for b in kernel.buffers],
        "hyper": kernel.hyper,
        "lazy": kernel.rows_independent,
        "shared": Kind.SHARED in kernel.kinds,
        "cut": kernel.shard_granularity,
    }


def _read(signature: dict[str, Any]) -> dict[str, Any]:
    buffers = tuple(Buffer(**{**b, "kind": Kind(b["kind"])}) for b in signature["buffers"])
    return signature | {"buffers": buffers, "hyper": tuple(signature["hyper"])}


@dataclass(frozen=True)
class PtxKernel(NativeKernel):
    """`object` is the host's part of a step; `launches`, in order, are functions of `ptx`."""

    ptx: bytes
    launches: tuple[Launch, ...]
    counts: Counts


def ptx(optimizer: Optimizer, variant: Variant, arch: str) -> PtxKernel:
    """All the way to PTX and the host's part of a step, from the cache where they were made before."""
    from optgen.backends import target
    from optgen.backends.ptx.table import Counts, Launch

    host = target.host()
    name = symbol(optimizer, variant)

    def make() -> bytes:
        kernel = plan(build(optimizer, variant))
        module = lower_ptx(kernel, name)
        text = target.compile_ptx(module.llvm, arch).encode()
        code = target.compile_ir(lower_host(kernel, f"{name}_host", host.triple), host).object
        more = {"launches": list(map(asdict, module.launches)), "counts": asdict(module.counts), "ptx": len(text)}
        return json.dumps(_signature(kernel) | more).encode() + b"\n" + text + code

    entry = cache.key("cuda", *_key(optimizer, variant), arch)
    head, _, rest = cache.get(entry, make).partition(b"\n")
    signature = _read(json.loads(head))
    size, counts = signature.pop("ptx"), Counts(**signature.pop("counts"))
    launches = tuple(Launch(**x) for x in signature.pop("launches"))
    more = {"ptx": rest[:size], "launches": launches, "counts": counts}
    return PtxKernel(name, variant.dtype, **signature, object=rest[size:], **more)  # type: ignore[arg-type]
