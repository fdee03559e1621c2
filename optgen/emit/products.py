"""The files made of one kernel, for each target. Those of all targets can lie in one folder."""

from __future__ import annotations

import hashlib
import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from typing import TypeAlias

from optgen import ir, pipeline, serial
from optgen.backends import target
from optgen.backends.gpu import TARGETS
from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.table import description as table_description
from optgen.backends.step_struct import step_description
from optgen.emit.gpu_header import gpu_header
from optgen.emit.header import header
from optgen.emit.manifest_json import BuiltKernel, Json, entry
from optgen.model import Optimizer
from optgen.objectcode import cache


@dataclass(frozen=True)
class Product:
    """The products of one kernel: its `entry` in the manifest, and the contents of its `files` by name."""

    entry: Json
    files: dict[str, bytes]


@dataclass(frozen=True)
class CpuProducts:
    """Products for the CPU of this machine.

    MANIFEST is the file that names the others, `description` its entry about the target. `owns` tells whether a file
    named after a kernel belongs to this target.
    """

    MANIFEST = "manifest.json"
    ENDS = (".ll", ".o", ".h")

    def description(self) -> Json:
        host = target.host()
        features = list(host.required())
        return {"triple": host.triple, "cpu": host.cpu, "features": features, "step": step_description()}

    def owns(self, name: str) -> bool:
        return name.endswith(self.ENDS) and _gpu_of(name) is None

    def make(self, optimizer: Optimizer, variant: ir.Variant) -> Product:
        host, symbol = target.host(), pipeline.symbol(optimizer, variant)
        kernel = pipeline.plan(pipeline.build(optimizer, variant))
        code = target.compile_ir(pipeline.lower(kernel, symbol, host), host)
        built = BuiltKernel(symbol, variant, kernel)
        files = {
            "llvm": (f"{symbol}.ll", code.llvm.encode()),
            "object": (f"{symbol}.o", code.object),
            "header": (f"{symbol}.h", header(optimizer, built, host.cpu).encode()),
        }
        return _product(built, files)


@dataclass(frozen=True)
class GpuProducts:
    """Products for GPUs, with this machine as the host."""

    gpu: GpuTarget

    @property
    def MANIFEST(self) -> str:
        return f"{self.gpu.name}.json"

    def description(self) -> Json:
        return {"arch": self.gpu.arch, "host": CpuProducts().description(), "table": table_description()}

    def owns(self, name: str) -> bool:
        return _gpu_of(name) == self.gpu.name

    def make(self, optimizer: Optimizer, variant: ir.Variant) -> Product:
        host, symbol = target.host(), pipeline.symbol(optimizer, variant)
        kernel = pipeline.plan(pipeline.build(optimizer, variant))
        module = pipeline.lower_gpu(kernel, symbol, self.gpu)
        code = target.compile_ir(pipeline.lower_host(kernel, f"{symbol}_host", host), host, "registers")
        built = BuiltKernel(symbol, variant, kernel)
        contents = (
            self.gpu.compile(module.llvm),
            module.llvm.encode(),
            gpu_header(optimizer, built, module, self.gpu, host.cpu).encode(),
            code.llvm.encode(),
            code.object,
        )
        names = [(kind, f"{symbol}{end}") for kind, end in self.gpu.files.items()]
        files = {kind: (name, data) for (kind, name), data in zip(names, contents, strict=True)}
        launches = [asdict(x) | {"per_block": x.per_block(self.gpu.width)} for x in module.launches]
        return _product(built, files, launches=launches, counts=asdict(module.counts))


TargetProducts: TypeAlias = CpuProducts | GpuProducts


def _gpu_of(name: str) -> str | None:
    """The target whose file it is, by the longest of the ends of names that it has; None if it is none of a GPU."""
    ends = [(end, gpu) for gpu, kind in TARGETS.items() for end in kind.files.values() if name.endswith(end)]
    return max(ends, key=lambda x: len(x[0]), default=("", None))[1]


def made(products: TargetProducts, optimizer: Optimizer, variant: ir.Variant) -> Product:
    """`products.make`, from the cache where it was made before."""

    def packed() -> bytes:
        product = products.make(optimizer, variant)
        files = {name: b64encode(data).decode() for name, data in product.files.items()}
        return zlib.compress(json.dumps([product.entry, files]).encode(), 1)

    inputs = (products.MANIFEST, json.dumps(products.description()), target.llvm_version(), target.host().triple)
    key = cache.key("products", *inputs, serial.dumps(optimizer).decode(), json.dumps(asdict(variant), sort_keys=True))
    entry, files = json.loads(zlib.decompress(cache.get(key, packed)))
    return Product(entry, {name: b64decode(data) for name, data in files.items()})


def _product(built: BuiltKernel, files: dict[str, tuple[str, bytes]], **more: object) -> Product:
    names = {kind: name for kind, (name, _) in files.items()}
    hashes = {kind: hashlib.sha256(data).hexdigest() for kind, (_, data) in files.items()}
    return Product(entry(built, names) | {"sha256": hashes} | more, dict(files.values()))
