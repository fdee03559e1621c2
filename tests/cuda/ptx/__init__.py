"""An interpreter of PTX text in NumPy: what the compiler emits runs here where there is no GPU.

It knows the subset that LLVM's NVPTX back end emits for our kernels and is strict where hardware would let a bug
pass; everything else is a PtxError that names the line.

    module = Module(text)
    memory = Memory()
    memory.register(array)                       # its "device" address is array.ctypes.data
    module.launch("kernel", grid=2, block=128, params=[array.ctypes.data], memory=memory)
"""

from tests.cuda.ptx.errors import PtxError
from tests.cuda.ptx.memory import Memory
from tests.cuda.ptx.module import Entry, Module

__all__ = ["Entry", "Memory", "Module", "PtxError"]
