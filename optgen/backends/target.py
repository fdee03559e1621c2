"""The machine to compile for, and LLVM's way from IR text to object code."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

import llvmlite.binding as llvm

from optgen import forks
from optgen.backends import headroom


@dataclass(frozen=True)
class CpuTarget:
    """A triple, a CPU name as LLVM knows it, and its features as `+avx2,-avx512f,...`. `tune` is the name of the CPU
    for which instructions are ordered; empty for `cpu`."""

    triple: str
    cpu: str
    features: str
    tune: str = ""

    def required(self) -> tuple[str, ...]:
        """The CPU features that object code for this target may use."""
        return tuple(sorted(f[1:] for f in self.features.split(",") if f.startswith("+")))

    @property
    def is_wasm(self) -> bool:
        """Whether it is WebAssembly with pointers of 32 bits. Those of all other targets have 64."""
        return self.triple.startswith("wasm32")


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def _initialize_all() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@functools.cache
@forks.calls_llvm
def host() -> CpuTarget:
    """This machine, with all features of its CPU."""
    _initialize()
    return CpuTarget(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@dataclass(frozen=True)
class ControlRegister:
    """The register of a CPU's floating-point mode, and the modes that kernels set whatever the calling thread has:
    round to nearest, subnormals kept, NaN as in IEEE 754, exceptions masked."""

    read: str
    """The LLVM intrinsic that reads it; `write`: the one that sets it."""
    write: str
    bits: int
    value: int
    by_address: bool
    """Whether the intrinsics take the address of a value; else one returns it, and the other takes it."""
    flushing: int | None
    """The same mode, but with zeros instead of subnormals, in operands and in results that are below 2^-126 once they
    are rounded to 24 bits; None where the machine has no such mode."""


MXCSR = ControlRegister("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr", 32, 0x1F80, by_address=True, flushing=0x9FC0)
FPCR = ControlRegister("llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr", 64, 0, by_address=False, flushing=None)
"""Its FZ flushes what is below 2^-126 before it is rounded."""


def control_register(triple: str) -> ControlRegister | None:
    """That of x86 or of 64-bit Arm; None for other machines, whose mode is left as it is."""
    if triple.startswith(("x86_64", "i386", "i686")):
        return MXCSR
    return FPCR if triple.startswith(("aarch64", "arm64")) else None


@forks.calls_llvm
def llvm_version() -> str:
    return ".".join(map(str, llvm.llvm_version_info))


@dataclass(frozen=True)
class Compiled:
    """An optimised module, as LLVM IR text, as assembly, and as position-independent object code."""

    _module: llvm.ModuleRef
    _machine: llvm.TargetMachine

    @property
    @forks.calls_llvm
    def llvm(self) -> str:
        return str(self._module)

    @property
    @forks.calls_llvm
    def instructions(self) -> int:
        """How many instructions the functions of the module have."""
        return sum(1 for f in self._module.functions for block in f.blocks for _ in block.instructions)

    @property
    @forks.calls_llvm
    def assembly(self) -> str:
        return str(self._machine.emit_assembly(self._module))

    @property
    @forks.calls_llvm
    def object(self) -> bytes:
        return bytes(self._machine.emit_object(self._module))

    @forks.calls_llvm
    def __del__(self) -> None:
        self._module.close()


@forks.calls_llvm
def code_bytes(code: bytes) -> int:
    """How many bytes of object code are instructions, and not constants or tables of symbols."""
    return sum(section.size() for section in llvm.ObjectFileRef.from_data(code).sections() if section.is_text())


@forks.calls_llvm
def data_layout(target: CpuTarget) -> str:
    """Of a target, which the text of a module must state if its pointers do not have 64 bits."""
    return str(_machine(target).target_data)


Passes = Literal["all", "registers", "none"]
"""What LLVM does before it generates code. "registers": variables in memory become registers, and no more, for what
gains nothing from the rest, such as functions in C that are called once a step, or the host's part of a step on a GPU.
"none": for text that is written as it shall be. The time of "all" is a half of that of compiling."""


@forks.calls_llvm
def compile_ir(text: str, target: CpuTarget, passes: Passes = "all") -> Compiled:
    """Parse, verify and optimise LLVM IR text for a target; RuntimeError if it is not well-formed, MemoryError if there
    is no room."""
    return Compiled(*_optimize(text, target, passes))


@forks.calls_llvm
def compile_gpu(text: str, triple: str, arch: str) -> Compiled:
    """LLVM IR text for GPUs of an architecture, parsed, verified and optimised; errors as of `compile_ir`.

    Ask for `assembly` or for `object`, once: LLVM changes the module when it generates code, and for GPUs of AMD it
    ends the process the second time.
    """
    headroom.check(text)
    machine = _gpu(triple, arch)
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return Compiled(module, machine)


@forks.calls_llvm
def gpu_layout(triple: str, arch: str) -> str:
    """The data layout of GPUs, which the text of a module must state."""
    return str(_gpu(triple, arch).target_data)


@functools.cache
def _gpu(triple: str, arch: str) -> llvm.TargetMachine:
    _initialize_all()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=arch, opt=2)


@functools.cache
def _machine(target: CpuTarget) -> llvm.TargetMachine:
    """One for all modules: LLVM's description of the CPU, which it makes for the first one, takes a millisecond."""
    _initialize()
    if target.triple != host().triple:
        _initialize_all()
    reloc = "static" if target.is_wasm else "pic"  # what is linked into a module is at fixed places
    # LLVM halves the vectors of some AVX-512 machines to save clock speed; these loops wait for memory anyway.
    features = f"{target.features},-prefer-256-bit" if "+avx512f" in target.features else target.features
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=features, opt=2, reloc=reloc, codemodel="small"
    )


def _optimize(text: str, target: CpuTarget, passes: Passes) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    headroom.check(text)
    machine = _machine(target)
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    if passes == "all":
        builder.getModulePassManager().run(module, builder)
    elif passes == "registers":
        manager = llvm.create_new_module_pass_manager()
        manager.add_sroa_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.run(module, builder)
    return module, machine
