"""What a build leaves for others: a manifest (JSON) for programs that load kernels, a C header for those that link them."""

from optgen.emit.header import header
from optgen.emit.manifest import Build, Variant, manifest

__all__ = ["Build", "Variant", "header", "manifest"]
