"""An LLVM module for the CPU, and the kinds of functions it has."""

from __future__ import annotations

from llvmlite import ir as ll

from optgen.backends.cpu.float_mode import FloatMode
from optgen.backends.llvm import allow_flushing, inline
from optgen.backends.llvm_types import F64, I64, PTR
from optgen.backends.lookup import LookupStyle
from optgen.backends.module_builder import ModuleBuilder
from optgen.backends.target import CpuTarget, data_layout
from optgen.functions.table import EXPANSIONS
from optgen.ir import Kernel

VOID = ll.VoidType()
TASK = ll.FunctionType(VOID, [PTR, I64, I64])
"""optgen_task: a step, which part of how many."""


class CpuModuleBuilder(ModuleBuilder):
    """The module of a kernel for a CPU."""

    def __init__(self, kernel: Kernel, symbol: str, machine: CpuTarget) -> None:
        super().__init__(kernel, symbol, lookup_style(machine))
        self.module.triple = machine.triple
        self.is_wasm = machine.is_wasm
        if self.is_wasm:
            self.module.data_layout = data_layout(machine)
        self.tune = machine.tune
        self.float_mode = FloatMode(self.module, machine.triple)
        self.has_fma = "fma" in machine.required() or machine.triple.startswith(("aarch64", "arm64"))
        self.permutes_bytes = "avx512vbmi" in machine.required() and machine.triple.startswith("x86_64")
        self.machine_flushes = self.float_mode.can_flush and kernel.compute == "f32"
        self.masks_vectors = {"avx512bw", "avx512vl"} <= set(machine.required())

    @property
    def can_be_cut(self) -> bool:
        """Whether tensors can be updated in one-dimensional pieces, which have no rows and columns."""
        return not (self.layout.matrix or self.kernel.boxes)

    # ------------------------------------------------------------ functions

    def function(self, name: str, type: ll.FunctionType) -> tuple[ll.Function, ll.IRBuilder]:
        """A function; it is exported if its name is the symbol's, without a dot."""
        f = ll.Function(self.module, type, name)
        f.linkage = "internal" if "." in name else "external"
        f.attributes.add("nounwind")
        if self.machine_flushes:
            allow_flushing(f)
        if self.tune:
            set.add(f.attributes, f'"tune-cpu"="{self.tune}"')
        return f, self.begin(f)

    def cold_function(self, name: str, type: ll.FunctionType) -> tuple[ll.Function, ll.IRBuilder]:
        """A function that runs once or twice per sweep and part: optimising it would only cost compile time."""
        f, b = self.function(name, type)
        f.attributes.add("noinline")
        f.attributes.add("optnone")
        return f, b

    def math(self, name: str) -> ll.Function:
        """An elementary function of doubles that a kernel calls where it computes single numbers, once for all tensors.
        A pow is hundreds of instructions, and most kernels need it twice."""
        symbol = f"{self.symbol}.{name}"
        if found := self.module.globals.get(symbol):
            return found
        arity, function = EXPANSIONS[name]
        f, b = self.cold_function(symbol, ll.FunctionType(F64, [F64] * arity))
        b.ret(inline(b, function, list(f.args)))
        return f


def lookup_style(machine: CpuTarget) -> LookupStyle:
    """How a CPU finds entries of tables."""
    features = machine.required() if machine.triple.startswith("x86_64") else ()
    if "avx512f" in features:
        return "permute16"
    return "permute8" if "avx2" in features else "memory"
