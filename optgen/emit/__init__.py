"""What is written for others: a manifest (JSON) for loading kernels, C headers for linking or launching them,
documentation."""

from optgen.emit.doc import Entry, document, sections
from optgen.emit.manifest import Build, manifest
from optgen.emit.products import Cpu, Cuda, Product, Target

__all__ = ["Build", "Cpu", "Cuda", "Entry", "Product", "Target", "document", "manifest", "sections"]
