"""What a build leaves for other programs: a manifest (JSON) for loading kernels, a C header for linking them."""

from optgen.emit.header import header
from optgen.emit.manifest import Build, Variant, manifest

__all__ = ["Build", "Variant", "header", "manifest"]
