"""What a fingerprint says of a variant: hashes of the texts that the compiler makes of it, and counts of its plan."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from optgen import arguments, groups, pipeline
from optgen.backends.gpu.nvidia import OLDEST
from optgen.execute.stages.stage_run import places_of
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
"""Of a hash: 64 bits."""

Line = dict[str, str | float]
Lines = dict[str, Line]
"""By the name of the variant; one in stages has a line for each kind of update."""


def lines(case: Case) -> Lines:
    """All about a variant."""
    return joined(for_cpus(case), for_gpus(case), counts(case))


def brief_lines(case: Case) -> Lines:
    """What the golden file has: the counts, and for the default variant the hash of the text for GPUs."""
    return joined(for_gpus(case, text_only=True) if case.is_default else {}, counts(case))


def joined(*parts: Lines) -> Lines:
    return {name: {key: x for part in parts for key, x in part.get(name, {}).items()} for name in parts[-1]}


# ---------------------------------------------------------------- plans


def plans(case: Case, *, folds: bool = True) -> dict[str, Plan]:
    """The plans of a variant in stages: of the usual update, of one with all that is computed in some only, and of the
    first one, if it starts states."""
    optimizer, flags = read(case.spec), case.variant.flags
    due = optimizer.timings
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
    return {x: pipeline.plan(x.kernel) for x in stages}


def kernels(case: Case, *, folds: bool = True) -> dict[str, list[Kernel]]:
    """The planned kernels of a variant, by the names of its lines."""
    if case.is_staged:
        return {name: list(sections(case, plan).values()) for name, plan in plans(case, folds=folds).items()}
    return {str(case): [case.planned]}


# ---------------------------------------------------------------- counts


def counts(case: Case) -> Lines:
    """What `counts_of_kernel` and `counts_of_plan` count."""
    if case.is_staged:
        return {name: counts_of_plan(case, plan, sections(case, plan)) for name, plan in plans(case).items()}
    return {name: counts_of_kernel(kernel) for name, (kernel,) in kernels(case).items()}


def counts_of_kernel(kernel: Kernel) -> Line:
    """Sweeps, operations, and the bytes that are moved for an element."""
    own = cost(kernel)
    return {"sweeps": own.sweeps, "operations": sum(1 for _ in kernel.instrs()), "bytes": own.bytes}


def counts_of_plan(case: Case, plan: Plan, kernels: Mapping[KernelStage, Kernel]) -> Line:
    """Kernels, calls, and the sums over kernels; bytes, the operations of products and the workspace are those of an
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
        "workspace": places_of(plan, case.variant.dtype, values)[1],
    }


def known(optimizer: Optimizer, plan: Plan) -> dict[str, float | None]:
    """The params by their defaults, and the sizes of a parameter that has the groups of a plan."""
    values = arguments.resolve(optimizer, {}).values
    axes = [int(group.of) for group in plan.groups if group.word == "axis"]
    shape = TENSOR if any(not -2 <= axis < 2 for axis in axes) else MATRIX
    own = groups.sizes(plan.groups, shape, values)
    return {**values, **sizes(shape, optimizer.last_two), **own}


# ---------------------------------------------------------------- hashes


def for_cpus(case: Case) -> Lines:
    """The hashes of the LLVM IR for each CPU of the case."""
    return {
        name: {
            cpu: digest(pipeline.lower(kernel, f"kernel{k}", MACHINES[cpu]) for k, kernel in enumerate(own))
            for cpu in case.machines
        }
        for name, own in kernels(case).items()
    }


def for_gpus(case: Case, *, text_only: bool = False) -> Lines:
    """The hash of the LLVM IR for GPUs, and the launches of a step; of the default variant also those of PTX, and of
    what computes the host's part. Nothing for variants that only CPUs have."""
    if case.variant.boxes or case.variant.donated:
        return {}
    found: Lines = {}
    for name, own in kernels(case, folds=False).items():
        modules = [pipeline.lower_gpu(kernel, f"kernel{k}", OLDEST) for k, kernel in enumerate(own)]
        found[name] = line = {
            "gpu": digest(f"{x.llvm}{x.launches}{x.counts}" for x in modules),
            "launches": sum(len(x.launches) for x in modules),
        }
        if case.is_default and not text_only:
            line["ptx"] = digest(OLDEST.compile(x.llvm).decode() for x in modules)
            line["host"] = digest(pipeline.lower_host(kernel, "host", MACHINES["avx2"]) for kernel in own)
            if not case.is_staged:
                line["prologue"] = digest(pipeline.lower_prologue(kernel, "prologue", OLDEST) for kernel in own)
    return found


def digest(texts: Iterable[str]) -> str:
    """A hash of texts, without what LLVM says of the sizes and alignments of types."""
    whole = "\0".join(re.sub(r"^target datalayout = .*\n", "", text, flags=re.M) for text in texts)
    return hashlib.sha256(whole.encode()).hexdigest()[:DIGITS]
