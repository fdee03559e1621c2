"""An LLVM module under construction: what one for a CPU and one for a GPU have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from llvmlite import ir as ll

from optgen.backends.debug_info import DebugInfo, Emission
from optgen.backends.layout import WorkspaceLayout
from optgen.backends.llvm import is_const, lower
from optgen.backends.lookup import KernelModule, LookupStyle
from optgen.ir import Instr, Kernel, Value

Env = dict[Value, Any]
"""The LLVM values of the kernel's values, as far as they are known in a function."""


class ModuleBuilder:
    """The module of a planned kernel; `symbol` is the name that its functions begin with.

    `machine_flushes`: inside a sweep, the machine's arithmetic gives zeros instead of float32 subnormals by itself.

    `debug_info` is that of a kernel that has a source, None of all others; `emission` says in which form.
    """

    machine_flushes = False
    emission: Emission = "LineTablesOnly"

    def __init__(self, kernel: Kernel, symbol: str, lookup: LookupStyle, stack: int = 0) -> None:
        self.kernel, self.symbol = kernel, symbol
        self.module = KernelModule(kernel.name, lookup, stack)
        self.debug_info = None if kernel.source is None else DebugInfo(self.module, kernel.source, self.emission)
        self.layout = WorkspaceLayout(kernel)
        self.consts = {i.result: i.op for i in kernel.instrs() if i.result is not None and is_const(i)}
        self.buffer_index = {buffer.name: k for k, buffer in enumerate(kernel.buffers)}

    def begin(self, f: ll.Function) -> ll.IRBuilder:
        """The builder of a function."""
        b = ll.IRBuilder(f.append_basic_block("entry"))
        if self.debug_info is not None:
            self.debug_info.begin(b)
        return b

    def line_of(self, b: ll.IRBuilder, instr: Instr) -> AbstractContextManager[None]:
        """Within it, what `b` emits has the line of an instruction, if the kernel is to have lines."""
        return nullcontext() if self.debug_info is None else self.debug_info.line_of(b, instr)

    def in_lines(self, b: ll.IRBuilder, instrs: Iterable[Instr]) -> Iterator[Instr]:
        """The instructions, one after the other; what `b` emits meanwhile has the line of each."""
        for instr in instrs:
            with self.line_of(b, instr):
                yield instr

    def operand(self, b: ll.IRBuilder, v: Value, env: Env, width: int = 1) -> Any:
        """A value as an operand, `width` of it side by side: one that is known, or a constant."""
        return env[v] if v in env else lower(b, self.consts[v], [], v, width)
