"""A planned kernel as an LLVM module for the CPU; `emit.py` says how it is called."""

from optgen.backends.cpu.emit import emit, emit_host

__all__ = ["emit", "emit_host"]
