"""Products of the compiler: a manifest (JSON) for loading kernels, C headers for linking or launching them,
documentation."""

from optgen.emit.doc import DocEntry, document, sections
from optgen.emit.manifest_json import Build, manifest
from optgen.emit.products import CpuProducts, CudaProducts, Product, TargetProducts, made

__all__ = [
    "Build",
    "CpuProducts",
    "CudaProducts",
    "DocEntry",
    "Product",
    "TargetProducts",
    "document",
    "made",
    "manifest",
    "sections",
]
