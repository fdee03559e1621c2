"""An interpreter of LLVM IR text in NumPy: what the compiler emits, judged instruction by instruction.

It knows the subset that we emit, and is strict where a compiler would take undefined behaviour for a promise: bounds,
alignment, memory without values, poison, `noalias`. Everything else is an LlvmError that names the instruction. It
shares nothing with what emits the text.

    machine = Machine(text)
    address = machine.memory.register(array)     # array.ctypes.data
    machine.call("kernel", address, 3)

    types, parse, values     text to lines, types and constants
    memory, exclusive        allocations and what may be done with them; `noalias`
    control                  the floating-point mode
    instruction, instructions/, intrinsics    a line as a step
    code, run                functions as blocks of steps; calls
"""

from tests.llvm.errors import LlvmError
from tests.llvm.run import Machine
from tests.llvm.values import Pointer

__all__ = ["LlvmError", "Machine", "Pointer"]
