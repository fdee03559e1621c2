"""The compiler on one page: spec text -> checked model -> kernel IR -> passes -> LLVM IR -> object code | PTX.

Every arrow is one function; `optgen show NAME --stage spec|model|kernel|ir|llvm|asm|nvvm|ptx` prints what is between
them. A kernel with products or loops goes through `stages` first, which makes several of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from optgen import compiled, serial, specfiles, used
from optgen.cache_folder import debug_folder
from optgen.compiled import NativeKernel, PtxKernel
from optgen.diagnostics import Source, SpecErrors
from optgen.ir import Kernel, Phase, Variant
from optgen.model import Optimizer, Timing
from optgen.objectcode import cache
from optgen.observer import Observer, ignore

if TYPE_CHECKING:
    from optgen.backends.gpu import GpuModule
    from optgen.backends.gpu.gpu_target import GpuTarget
    from optgen.backends.target import CpuTarget
    from optgen.lang.monitored import Monitored
    from optgen.stages.plan import KernelStage, Plan

Code = TypeVar("Code", covariant=True)


def check(source: Source) -> Optimizer:
    """spec text -> checked model; SpecErrors."""
    from optgen.lang import parse

    return parse(source)


def monitored(source: Source, expressions: Sequence[str]) -> Monitored:
    """A spec's text without uses -> the model of it with a number of each parameter for each expression; SpecErrors."""
    from optgen.lang.monitored import monitored

    return monitored(source, expressions)


def is_chain(spec: str) -> bool:
    """Whether the name of a spec says what transforms it, as `adam with lookahead(k = 5)`, or what else updates what
    it does not, as `muon otherwise adamw`."""
    return specfiles.CHAIN.search(spec) is not None


def chain(spec: str) -> Source:
    """`adam with lookahead(k = 5), centralize` -> the text of that spec, from the cache where it was composed before;
    SpecErrors, FileNotFoundError, ValueError."""

    def make() -> bytes:
        from optgen.lang.compose import chain

        return serial.dumps(chain(spec))

    return serial.loads(cache.get(cache.key("chain", spec, *used.by_chain(spec)), make), Source)


def is_transform(source: Source) -> bool:
    """Whether a text is that of a transform."""
    from optgen.lang.compose import is_transform_source

    return is_transform_source(source)


def with_base(base: str, source: Source) -> Source:
    """The text of a transform -> the text of what it makes of a spec that comes with the package. Raises SpecErrors,
    whose places are those in the transform."""
    from optgen.lang import parse
    from optgen.lang.compose import with_base

    flattened = with_base(base, source)
    try:
        parse(flattened.source)
    except SpecErrors as errors:
        raise flattened.translate(errors) from None
    return flattened.source


def build(optimizer: Optimizer, variant: Variant) -> Kernel:
    """checked model -> kernel IR of one variant."""
    from optgen.ir.build import build
    from optgen.ir.verify import verify

    return replace(verify(build(optimizer, variant)), by_row=variant.by_row, boxes=variant.boxes)


def build_whole(optimizer: Optimizer, variant: Variant, due: Collection[Timing], *, first: bool) -> Kernel:
    """checked model -> kernel IR of one variant in stages, before it is cut: products and loops are operations."""
    from optgen.stages.lower import build_whole

    return build_whole(optimizer, variant, due, first=first)


def stages(
    optimizer: Optimizer,
    variant: Variant,
    due: Collection[Timing],
    *,
    first: bool,
    folds: bool = True,
    apart: bool = False,
    observe: Observer = ignore,
) -> Plan:
    """checked model -> the stages of an update of one variant: kernels, calls between them, and loops. `apart`: what
    all parameters share is computed in stages of its own in any case."""
    from optgen.stages.build import plan

    apart = apart or optimizer.joins_apart
    return plan(optimizer, variant, due, first=first, folds=folds, apart=apart, observe=observe)


def stage_lines(optimizer: Optimizer, variant: Variant, due: Collection[Timing], *, first: bool) -> list[str]:
    """checked model -> the stages of an update as text, for people."""
    from optgen.stages.cost import caller_axes
    from optgen.stages.text import lines

    found = stages(optimizer, variant, due, first=first)
    return lines(found, caller_axes(optimizer), lambda stage: plan(stage.kernel))


def stage_flops(optimizer: Optimizer, variant: Variant, values: Mapping[str, float | None]) -> float:
    """checked model -> the operations of products and factorizations in an update, the mean of many updates. `values`
    has params and sizes."""
    from optgen.stages.cost import caller_axes, flops

    axes = caller_axes(optimizer)
    return _mean(optimizer, variant, values, lambda plan: flops(plan, axes, values))


def stage_bytes(optimizer: Optimizer, variant: Variant, values: Mapping[str, float | None]) -> float:
    """checked model -> the bytes that the sweeps of an update move, as `stage_flops`."""
    from optgen.stages.cost import moved

    def kernel_of(stage: KernelStage) -> Kernel:
        return plan(stage.kernel)

    return _mean(optimizer, variant, values, lambda found: moved(found, kernel_of, values))


def _mean(
    optimizer: Optimizer, variant: Variant, values: Mapping[str, float | None], cost: Callable[[Plan], float]
) -> float:
    """The mean cost of many updates. That of each timing is what its equations add to an update without them."""
    from optgen import arguments

    def of(due: Collection[Timing]) -> float:
        return cost(stages(optimizer, variant, due, first=False))

    usual = of(())
    return usual + sum((of((t,)) - usual) / arguments.number(t.every, values) for t in optimizer.timings)


def plan(kernel: Kernel, observe: Observer = ignore) -> Kernel:
    """kernel IR -> kernel IR cut into phases, the form that backends take."""
    from optgen.ir.verify import verify
    from optgen.passes import PASSES

    for run in PASSES:
        kernel = verify(run(kernel))
        observe(run.__name__, kernel)
    return kernel


def lower(kernel: Kernel, symbol: str, machine: CpuTarget, observe: Observer = ignore) -> str:
    """planned kernel -> LLVM IR text for the CPU."""
    from optgen.backends import cpu
    from optgen.ir.verify import verify
    from optgen.passes.expand_math import expand_math

    kernel = verify(expand_math(kernel, cpu.calls_math))
    observe(expand_math.__name__, kernel)
    text = cpu.emit(kernel, symbol, machine)
    observe("lower", text)
    return text


def object_code(planned: Kernel, symbol: str, machine: CpuTarget, observe: Observer = ignore) -> bytes:
    """planned kernel -> its object code for the CPU."""
    from optgen.backends import target

    module = target.compile_ir(lower(planned, symbol, machine, observe), machine)
    observe("LLVM's passes", module)
    code = module.object
    observe("object code", code)
    return code


def lower_gpu(kernel: Kernel, symbol: str, gpu: GpuTarget) -> GpuModule:
    """planned kernel -> LLVM IR text for GPUs, and the launches of its functions."""
    from optgen.backends.gpu import emit

    return emit(_for_gpu(kernel), symbol, gpu)


def lower_prologue(kernel: Kernel, symbol: str, gpu: GpuTarget) -> str:
    """planned kernel -> LLVM IR text of the host's part for GPUs, where a capturable step computes it."""
    from optgen.backends.gpu import prologue

    return prologue.emit(_for_gpu(kernel), symbol, gpu)


def lower_host(kernel: Kernel, symbol: str, machine: CpuTarget) -> str:
    """planned kernel -> LLVM IR text of the part that the CPU computes before a GPU's launches."""
    from optgen.backends import cpu

    return cpu.emit_host(_for_gpu(kernel, cpu.calls_math), symbol, machine)


def _for_gpu(kernel: Kernel, calls_math: Callable[[Phase], bool] | None = None) -> Kernel:
    """The form that both parts are made from, so that they agree on the values that the CPU hands over."""
    from optgen.ir.verify import verify
    from optgen.passes.expand_math import expand_math
    from optgen.passes.split_sweeps import split_sweeps

    return verify(expand_math(verify(split_sweeps(kernel)), calls_math))


# ---------------------------------------------------------------- backends


class Backend(Protocol[Code]):
    """What makes one kind of code of planned kernels, for one machine."""

    @property
    def key(self) -> tuple[str, ...]:
        """The kind of code, and all of the machine that it depends on, for the cache."""

    def compile(self, kernel: Kernel, symbol: str) -> bytes:
        """planned kernel -> LLVM IR -> the entry that the cache keeps."""

    def load(self, symbol: str, dtype: str, entry: bytes) -> Code:
        """The code of an entry, and what its callers need."""


@dataclass(frozen=True)
class CpuBackend:
    """Object code for a CPU."""

    machine: CpuTarget

    @property
    def key(self) -> tuple[str, ...]:
        return "cpu", self.machine.triple, self.machine.cpu, self.machine.features

    def compile(self, kernel: Kernel, symbol: str) -> bytes:
        return compiled.pack_native(kernel, object_code(kernel, symbol, self.machine))

    def load(self, symbol: str, dtype: str, entry: bytes) -> NativeKernel:
        return compiled.unpack_native(symbol, dtype, entry)


@dataclass(frozen=True)
class GpuBackend:
    """Code for a GPU, and object code of the part of a step that its host computes."""

    gpu: GpuTarget
    host: CpuTarget

    @property
    def key(self) -> tuple[str, ...]:
        return "gpu", self.gpu.name, self.gpu.arch, *CpuBackend(self.host).key

    def compile(self, kernel: Kernel, symbol: str) -> bytes:
        from optgen.backends import target

        module = lower_gpu(kernel, symbol, self.gpu)
        text = self.gpu.compile(module.llvm)
        code = target.compile_ir(lower_host(kernel, f"{symbol}_host", self.host), self.host, "registers").object
        return compiled.pack_ptx(kernel, module, text, code)

    def load(self, symbol: str, dtype: str, entry: bytes) -> PtxKernel:
        return compiled.unpack_ptx(symbol, dtype, entry)


@dataclass(frozen=True)
class PrologueBackend:
    """Code for a GPU of the host's part, which a capturable step launches first."""

    gpu: GpuTarget

    @property
    def key(self) -> tuple[str, ...]:
        return "prologue", self.gpu.name, self.gpu.arch

    def compile(self, kernel: Kernel, symbol: str) -> bytes:
        return self.gpu.compile(lower_prologue(kernel, symbol, self.gpu))

    def load(self, symbol: str, dtype: str, entry: bytes) -> bytes:
        return entry


# ---------------------------------------------------------------- the whole way, through the cache


def checked(source: Source) -> Optimizer:
    """`check`, from the cache where this text was checked before."""
    key = cache.key("model", source.name, source.text, repr(source.written), *used.by_spec(source))
    return serial.loads(cache.get(key, lambda: serial.dumps(check(source))), Optimizer)


def symbol(optimizer: Optimizer, variant: Variant) -> str:
    """The symbol of a variant in object code: `optgen_adam_amsgrad_f32`."""
    words = ["optgen", optimizer.name.lower()]
    for name, value in variant.flags.items():
        if value is True:
            words.append(name)
        elif isinstance(value, str):
            words.append(f"{name}_{value}")
    words += [f"{name}_{storage}" for name, storage in variant.storage.items() if storage != variant.weight]
    words += [variant.weights] if variant.weights else []
    words += ["master"] * variant.master + ["eval"] * variant.evaluate
    words += [f"sum{variant.gradients}"] * (variant.gradients > 1) + ["scaled"] * variant.scaled
    words += ["by_row"] * variant.by_row + ["boxes"] * variant.boxes + ["donated"] * variant.donated
    return "_".join("".join(c if c.isalnum() else "_" for c in w) for w in (*words, SHORT[variant.dtype]))


SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


def code(
    backend: Backend[Code], optimizer: Optimizer, variant: Variant, section: KernelStage | None = None, number: int = 0
) -> Code:
    """All the way to code of a variant, or of a section of its stages, which has this number in the variant; from the
    cache where it was made before. If debuggers are to find lines, it has those of the spec's text."""
    from optgen.backends import target

    name = symbol(optimizer, variant) + (f"_stage{number}" if section else "")
    source = None if debug_folder() is None else optimizer.source

    def make() -> bytes:
        whole = section.kernel if section else build(optimizer, variant)
        return backend.compile(plan(replace(whole, source=source)), name)

    here = target.host()
    compiler = target.llvm_version(), here.triple, here.cpu, here.features
    lines = () if source is None else (repr(source), os.getcwd())
    chosen = json.dumps(asdict(variant), sort_keys=True)
    key = cache.key(*backend.key, *compiler, name, repr(section), optimizer.computing, chosen, *lines)
    return backend.load(name, variant.dtype, cache.get(key, make))
