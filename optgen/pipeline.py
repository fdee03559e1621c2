"""The compiler on one page: spec text -> checked model -> kernel IR -> passes -> LLVM IR -> object code.

Every arrow is one function; `optgen show NAME --stage model|ir|llvm|asm` prints what is between them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from optgen import serial
from optgen.diagnostics import Source
from optgen.execute import cache
from optgen.ir import nodes as ir
from optgen.ir.nodes import Buffer, Cut, Kernel, Variant
from optgen.model import Kind, Optimizer

DTYPES = tuple(ir.COMPUTE)


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
    cut: Cut  # where tensors can be cut into pieces
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
        kinds = {i.result.type.kind for i in kernel.instrs() if i.result is not None}
        signature = {
            "buffers": [_buffer(b) for b in kernel.buffers],
            "hyper": kernel.hyper,
            "lazy": kernel.lazy,
            "shared": Kind.SHARED in kinds,
            "cut": kernel.cut,
        }
        return json.dumps(signature).encode() + b"\n" + code

    key = json.dumps(asdict(variant), sort_keys=True)
    text = optimizer.source.text
    entry = cache.key("cpu", text, key, target.llvm_version(), host.triple, host.cpu, host.features)
    head, _, code = cache.get(entry, make).partition(b"\n")
    signature = json.loads(head)
    buffers = tuple(Buffer(**{**b, "kind": Kind(b["kind"])}) for b in signature.pop("buffers"))
    return NativeKernel(name, variant.dtype, buffers, tuple(signature.pop("hyper")), **signature, object=code)


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return asdict(buffer) | {"kind": buffer.kind.value}
