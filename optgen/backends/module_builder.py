"""An LLVM module under construction: what one for a CPU and one for a GPU have in common."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as ll

from optgen.backends.layout import Layout
from optgen.backends.llvm import is_const, lower
from optgen.backends.lookup import KernelModule, LookupStyle
from optgen.ir import Kernel, Value

Env = dict[Value, Any]
"""The LLVM values of the kernel's values, as far as they are known in a function."""


class ModuleBuilder:
    """The module of a planned kernel; `symbol` is the name that its functions begin with.

    `machine_flushes`: inside a sweep, the machine's arithmetic gives zeros instead of float32 subnormals by itself.
    """

    machine_flushes = False

    def __init__(self, kernel: Kernel, symbol: str, lookup: LookupStyle) -> None:
        self.kernel, self.symbol = kernel, symbol
        self.module = KernelModule(kernel.name, lookup)
        self.layout = Layout(kernel)
        self.consts = {i.result: i.op for i in kernel.instrs() if i.result is not None and is_const(i)}
        self.buffer_index = {buffer.name: k for k, buffer in enumerate(kernel.buffers)}

    def operand(self, b: ll.IRBuilder, v: Value, env: Env, width: int = 1) -> Any:
        """A value as an operand, `width` of it side by side: one that is known, or a constant."""
        return env[v] if v in env else lower(b, self.consts[v], [], v, width)
