"""A run of an optimizer by the interpreter, in float64: what a claim is tested with, and what a curve is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optgen import pipeline
from optgen.analysis.subject import Subject
from optgen.execute import storage
from optgen.execute.stages import calls
from optgen.execute.stages.staged_table import is_due
from optgen.ir import Kernel, Variant
from optgen.ir.interp import TensorUpdate, interpret
from optgen.model import PHASE, Kind
from optgen.passes.expand_math import expand_math
from optgen.shapes import sizes
from optgen.stages.interp import interpret_plan
from optgen.stages.plan import KernelStage

Array = np.ndarray[Any, Any]
Gradient = Callable[[int, Sequence[Array]], Sequence[Array]]
"""The gradients of tensors at their weights; the first argument is the number of the gradient, from 0."""


@dataclass
class Run:
    """Tensors that are updated together, and their states. `inputs` are what steps are given beside gradients: arrays
    of each tensor, and numbers."""

    subject: Subject
    weights: list[Array]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    count: int = 0
    gradients: int = 0

    def __post_init__(self) -> None:
        self.weights = [np.array(w, np.float64) for w in self.weights]
        self.states: list[dict[str, Array]] = []
        for w in self.weights:
            self.states.append(self._made(w))
        shared = [s.name for s in self.subject.spec.states if s.kind is Kind.SHARED]
        for own in self.states:
            own |= {name: self.states[0][name] for name in shared if name in self.states[0]}

    def _made(self, w: Array) -> dict[str, Array]:
        """The states of a tensor before its first update, in float64."""
        rule, made = self.subject.rule, {}
        for buffer in rule.kept(w.shape):
            shape = storage.shape_of(buffer, w.shape, False, self.subject.spec.last_two)
            start = self.subject.values.get(buffer.init) if isinstance(buffer.init, str) else buffer.init
            made[buffer.name] = np.broadcast_to(w if buffer.init == "w" else np.float64(start or 0.0), shape).copy()
        return made

    def step(self, gradient: Gradient) -> None:
        """One update, in all of its phases."""
        self.count += 1
        for phase in self.subject.spec.phases or (None,):
            grads = [np.array(g, np.float64) for g in gradient(self.gradients, self.weights)]
            self.gradients += 1
            self._update(grads, phase)

    def _update(self, grads: Sequence[Array], phase: str | None) -> None:
        subject, spec = self.subject, self.subject.spec
        own = {} if phase is None else {PHASE: phase}
        variants = [subject.rule.variant(w.shape, own) for w in self.weights]
        updates = []
        for i, (w, g) in enumerate(zip(self.weights, grads, strict=True)):
            arrays = {**self.states[i], "w": w, "grad": g}
            arrays |= {x.name: self.inputs[x.name][i] for x in spec.inputs}
            given = {name: self.inputs[name] for name in spec.given}
            known = {name: math.nan if x is None else float(x) for name, x in {**subject.values, **given}.items()}
            known |= sizes(w.shape, spec.last_two) | {"step": float(self.count)}
            updates.append(TensorUpdate(arrays, known, self.count, i))
        for together in [updates] if spec.joins_params else [[x] for x in updates]:
            variant = variants[together[0].id]
            if spec.is_staged(variant.flags):
                self._staged(variant, together)
            else:
                interpret(self._kernel(variant), together, self.seed)

    def _kernel(self, variant: Variant) -> Kernel:
        return self.subject.kept(variant, lambda: _ready(pipeline.build(self.subject.spec, variant)))

    def _staged(self, variant: Variant, together: Sequence[TensorUpdate]) -> None:
        subject, spec, first = self.subject, self.subject.spec, self.count == 1
        due = tuple(timing for timing in spec.timings if is_due(timing, self.count, together[0].hyper))
        plan = subject.kept((variant, due, first), lambda: pipeline.stages(spec, variant, due, first=first))

        def build(stage: KernelStage) -> Kernel:
            return subject.kept((variant, stage), lambda: _ready(pipeline.build_section(spec, variant, stage)))

        with np.errstate(all="ignore"):
            interpret_plan(plan, build, together, calls.call, last_two=spec.last_two, seed=self.seed)


def _ready(kernel: Kernel) -> Kernel:
    """A kernel as it is interpreted fastest."""
    return expand_math(pipeline.plan(kernel))
