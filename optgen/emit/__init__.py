"""Products of the compiler: a manifest (JSON) for loading kernels, C headers for linking or launching them,
documentation. `reading` reads manifests back."""

from optgen.emit.doc import DocEntry, document, sections
from optgen.emit.manifest_json import Build, manifest
from optgen.emit.products import CpuProducts, GpuProducts, Product, TargetProducts, made

__all__ = [
    "Build",
    "CpuProducts",
    "DocEntry",
    "GpuProducts",
    "Product",
    "TargetProducts",
    "document",
    "made",
    "manifest",
    "sections",
]
