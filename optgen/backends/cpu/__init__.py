"""A planned kernel as an LLVM module for the CPU; `lowering.py` says how it is called."""

from optgen.backends.cpu.host import calls_math
from optgen.backends.cpu.lowering import emit, emit_host

__all__ = ["calls_math", "emit", "emit_host"]
