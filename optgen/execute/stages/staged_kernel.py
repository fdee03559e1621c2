"""A staged variant in memory: the kernels of its plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from optgen import pipeline
from optgen.axes import length_of, param_of, shown
from optgen.compiled import NativeKernel
from optgen.execute.kernel import LoadedKernel
from optgen.ir import Variant
from optgen.ir.buffers import buffers
from optgen.model import Optimizer, Timing
from optgen.stages.cost import caller_axes, tall_matrices
from optgen.stages.plan import KernelStage, Plan

LoadSection = Callable[[KernelStage, int], LoadedKernel]


@dataclass(frozen=True)
class LoadedPlan:
    """A plan, and the kernels of its sections."""

    plan: Plan
    kernels: Mapping[KernelStage, LoadedKernel]


class StagedKernel(LoadedKernel):
    """One variant whose update is several kernels with calls between them. Which ones depends on the timings that are
    due, and on whether the update is the first one, which starts states. `load` loads the kernel of a section, by its
    number in the variant. `folds`: products take in sweeps that only add to them. `apart`: parameters of other variants
    share values with those of this one."""

    def __init__(self, optimizer: Optimizer, variant: Variant, load: LoadSection, *, folds: bool, apart: bool) -> None:
        program = optimizer.program(variant.flags)
        self.is_joint = is_joint = optimizer.joins_params
        native = NativeKernel(
            pipeline.symbol(optimizer, variant),
            variant.dtype,
            tuple(buffers(optimizer, variant, program)),
            (),
            lazy=False,
            shared=False,  # parameters of several variants can share values
            sweeps=1,
            cut="never" if is_joint else "tensors",
            last_two=optimizer.last_two,
            levels=(),
            object=b"",
        )
        super().__init__(variant, native, address=0)
        self.optimizer = optimizer
        self.timings, self.groups = optimizer.timings, program.groups
        self.starts = bool(optimizer.late_starts(program))
        self._load, self._folds, self._apart = load, folds, apart
        self._kernels: dict[KernelStage, LoadedKernel] = {}
        self._plans: dict[tuple[frozenset[Timing], bool], LoadedPlan] = {}
        for due in {frozenset(), frozenset(self.timings)}:
            for first in {False, self.starts}:
                self.plan(due, first=first)

    def plan(self, due: Collection[Timing], *, first: bool) -> LoadedPlan:
        """The plan of an update with these timings."""
        key = frozenset(due), first and self.starts
        if key not in self._plans:
            spec, folds, apart = self.optimizer, self._folds, self._apart
            plan = pipeline.stages(spec, self.variant, key[0], first=key[1], folds=folds, apart=apart)
            sections = [stage for stage in plan.walk() if isinstance(stage, KernelStage)]
            loaded = LoadedPlan(plan, {section: self._kernel(section) for section in sections})
            return self._plans.setdefault(key, loaded)  # another thread may have been faster
        return self._plans[key]

    def check(self, values: Mapping[str, float | None]) -> None:
        """ValueError where a param is too large for a parameter, whose size gives a matrix more columns than rows that
        a function does not take."""
        plans = [self.plan(due, first=first).plan for due in ((), self.timings) for first in (False, True)]
        for function, axes in (x for plan in plans for x in tall_matrices(plan, caller_axes(self.optimizer))):
            rows, cols = (length_of(axis, values) for axis in axes)
            if cols > rows and (name := param_of(axes[1])) is not None:
                what = f"{function} takes no more columns than rows, and its {shown(axes)} matrix is {rows} x {cols}"
                raise ValueError(f"{what}; {name} is at most {rows} here")

    def _kernel(self, section: KernelStage) -> LoadedKernel:
        if section not in self._kernels:
            return self._kernels.setdefault(section, self._load(section, len(self._kernels)))
        return self._kernels[section]
