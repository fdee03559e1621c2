"""A planned kernel as an LLVM module for the CPU; `lowering.py` says how it is called."""

from optgen.backends.cpu.host import CALLS_MATH
from optgen.backends.cpu.lowering import emit, emit_host

__all__ = ["CALLS_MATH", "emit", "emit_host"]
