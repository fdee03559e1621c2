"""What a fingerprint says of a variant: hashes of the texts that the compiler makes of it, and counts of its plan."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from optgen import arguments, groups, pipeline
from optgen.backends import target
from optgen.backends.ptx import GpuModule
from optgen.execute.stage_run import array_places
from optgen.ir import Kernel
from optgen.ir.cost import cost
from optgen.model import Optimizer
from optgen.shapes import sizes
from optgen.stages.cost import caller_axes, flops, moved
from optgen.stages.plan import CallStage, KernelStage, Plan
from tests.compiler.fingerprints.cases import MACHINES, MATRIX, Case, read

TENSOR = (64, 3, 4, 5, 6, 7, 8)
"""The parameter that is counted for where values are of a third axis or a later one, which MATRIX has not."""
HASHES = (*MACHINES, "gpu", "ptx", "host", "prologue")
DIGITS = 16
"""Of hashes: half as many bytes."""

Numbers = dict[str, float]
Line = dict[str, str | float]


def lines(case: Case, *, brief: bool = False) -> dict[str, Line]:
    """The line of a variant by its name; of one in stages, that of each kind of update. `brief`: with no other hash
    than that of the text for GPUs, and that of the default variant only."""
    hashes = brief_hashes if brief else all_hashes
    if not case.is_staged:
        kernel = planned(case)
        return {str(case): {**hashes(case, [kernel], [kernel]), **counts_of_kernel(kernel)}}
    found: dict[str, Line] = {}
    for_gpu = plans(case, folds=False)
    for name, plan in plans(case).items():
        kernels, others = sections(case, plan), [*sections(case, for_gpu[name]).values()]
        found[name] = {**hashes(case, [*kernels.values()], others), **counts_of_plan(case, plan, kernels)}
    return found


# ---------------------------------------------------------------- plans


def planned(case: Case) -> Kernel:
    """The planned kernel of a variant that is one."""
    return pipeline.plan(pipeline.build(read(case.spec), case.variant))


def plans(case: Case, *, folds: bool = True) -> dict[str, Plan]:
    """The plans of a variant in stages: of the usual update, of one with all that is computed in some only, and of the
    first one, if it starts states."""
    optimizer, flags = read(case.spec), case.variant.flags
    due = optimizer.timings()
    kinds = {str(case): ((), False)} | ({f"{case} timed": (due, False)} if due else {})
    states = optimizer.program(flags).states
    if any(optimizer.start(s) is not None and optimizer.starts_in(s, flags) for s in states):
        kinds[f"{case} first"] = (due, True)
    return {
        name: pipeline.stages(optimizer, case.variant, due, first=first, folds=folds)
        for name, (due, first) in kinds.items()
    }


def sections(case: Case, plan: Plan) -> dict[KernelStage, Kernel]:
    """The planned kernels of a plan."""
    stages = dict.fromkeys(x for x in plan.walk() if isinstance(x, KernelStage))
    return {x: pipeline.plan(pipeline.build_section(read(case.spec), case.variant, x)) for x in stages}


# ---------------------------------------------------------------- counts


def counts_of_kernel(kernel: Kernel) -> Numbers:
    """Sweeps, operations, and the bytes that are moved for an element."""
    own = cost(kernel)
    return {"sweeps": own.sweeps, "operations": sum(1 for _ in kernel.instrs()), "bytes": own.bytes}


def counts_of_plan(case: Case, plan: Plan, kernels: Mapping[KernelStage, Kernel]) -> Numbers:
    """Those of all kernels, where bytes, as the operations of products and the bytes of the workspace, are those of an
    update of a parameter."""
    optimizer = read(case.spec)
    values = known(optimizer, plan)
    return {
        "kernels": len(kernels),
        "calls": sum(isinstance(x, CallStage) for x in plan.walk()),
        "sweeps": sum(cost(kernel).sweeps for kernel in kernels.values()),
        "operations": sum(1 for kernel in kernels.values() for _ in kernel.instrs()),
        "bytes": moved(plan, kernels.__getitem__, values),
        "flops": flops(plan, caller_axes(optimizer), values),
        "workspace": array_places(plan, case.variant.dtype, values)[1],
    }


def known(optimizer: Optimizer, plan: Plan) -> dict[str, float | None]:
    """The params by their defaults, and the sizes of a parameter that has the groups of a plan."""
    values = arguments.resolve(optimizer, {}).values
    axes = [int(group.removeprefix("axis ")) for group in plan.groups if group.startswith("axis ")]
    shape = TENSOR if any(not -2 <= axis < 2 for axis in axes) else MATRIX
    own = groups.sizes(plan.groups, shape, values)
    return {**values, **sizes(shape, optimizer.last_two), **own}


# ---------------------------------------------------------------- hashes


def all_hashes(case: Case, for_cpu: Sequence[Kernel], for_gpu: Sequence[Kernel]) -> Line:
    """The hashes of the texts of a variant, which has these kernels, and the launches of a step on a GPU."""
    found: Line = {
        name: digest(pipeline.lower(kernel, f"kernel{k}", MACHINES[name]) for k, kernel in enumerate(for_cpu))
        for name in case.machines
    }
    if case.variant.boxes or case.variant.donated:  # on the CPU only
        return found
    modules = [pipeline.lower_ptx(kernel, f"kernel{k}") for k, kernel in enumerate(for_gpu)]
    found |= of_modules(modules)
    if case.is_default:
        found["ptx"] = digest(target.compile_ptx(x.llvm, target.OLDEST) for x in modules)
        found["host"] = digest(pipeline.lower_host(kernel, "host", MACHINES["avx2"]) for kernel in for_gpu)
        if not case.is_staged:
            found["prologue"] = digest(pipeline.lower_prologue(kernel, "prologue") for kernel in for_gpu)
    return found


def brief_hashes(case: Case, _: Sequence[Kernel], for_gpu: Sequence[Kernel]) -> Line:
    if not case.is_default:
        return {}
    return of_modules([pipeline.lower_ptx(kernel, f"kernel{k}") for k, kernel in enumerate(for_gpu)])


def of_modules(modules: Sequence[GpuModule]) -> Line:
    return {
        "gpu": digest(f"{x.llvm}{x.launches}{x.counts}" for x in modules),
        "launches": sum(len(x.launches) for x in modules),
    }


def digest(texts: Iterable[str]) -> str:
    """A hash of texts, without what LLVM says of the sizes and alignments of types."""
    whole = "\0".join(re.sub(r"^target datalayout = .*\n", "", text, flags=re.M) for text in texts)
    return hashlib.sha256(whole.encode()).hexdigest()[:DIGITS]
