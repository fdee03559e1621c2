"""What is written for others: a manifest (JSON) for loading kernels, a C header for linking them, documentation."""

from optgen.emit.doc import Entry, document
from optgen.emit.header import header
from optgen.emit.manifest import Build, Variant, manifest

__all__ = ["Build", "Entry", "Variant", "document", "header", "manifest"]
