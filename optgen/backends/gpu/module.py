"""An LLVM module for a GPU: one function for each launch, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir as ll

from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.table import Counts, Launch, TableLayout
from optgen.backends.llvm_types import I32
from optgen.backends.module_builder import ModuleBuilder
from optgen.ir import Kernel

ERROR_IF_OTHER = 1
"""LLVM's number for flags that must be the same in all linked modules."""


class GpuModuleBuilder(ModuleBuilder):
    """A module of a kernel; `launches` are the functions to call, in order, one after the other."""

    def __init__(self, kernel: Kernel, symbol: str, launches: Sequence[Launch], gpu: GpuTarget) -> None:
        self.emission = gpu.emission
        super().__init__(kernel, symbol, "select", gpu.stack)
        self.launches, self.gpu = launches, gpu
        self.module.triple, self.module.data_layout = gpu.triple, gpu.data_layout
        self.table = TableLayout(Counts.of(kernel), len(launches))
        self.invariant = self.module.add_metadata([])
        for name, value in gpu.flags.items():
            flag = self.module.add_metadata([I32(ERROR_IF_OTHER), name, I32(value)])
            self.module.add_named_metadata("llvm.module.flags", flag)

    def function(self, launch: Launch) -> ll.IRBuilder:
        """The builder of a launch's function, whose one parameter is the address of the table."""
        f = ll.Function(self.module, ll.FunctionType(ll.VoidType(), [self.gpu.global_pointer]), launch.name)
        f.calling_convention = self.gpu.calling_convention
        return self.begin(f)
