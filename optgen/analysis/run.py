"""Runs of an optimizer in float64: what a claim is tested with, and what a curve is made of.

They are steps of the compiled kernels, which come to the bits of the interpreter, and are a thousand times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from optgen.analysis.subject import Subject

Array = np.ndarray[Any, Any]
Gradient = Callable[[int, Sequence[Array]], Sequence[Array]]
"""The gradients of tensors at their weights; the first argument is the number of the gradient, from 0."""


class Run:
    """Tensors that are updated together. `inputs` are what steps are given beside gradients: lists with an array for
    each tensor, and numbers. Draws follow from `seed`."""

    def __init__(
        self, subject: Subject, weights: Sequence[Array], inputs: Mapping[str, Any] | None = None, seed: int = 0
    ) -> None:
        spec, given = subject.spec, inputs or {}
        self.weights = [np.array(w, np.float64, order="C") for w in weights]
        self._grads = [np.zeros_like(w) for w in self.weights]
        arrays = {x.name: [np.array(a, np.float64, order="C") for a in given[x.name]] for x in spec.inputs}
        self._numbers = {name: given[name] for name in spec.given}
        step: Any = subject.rule.bind(self.weights, self._grads, inputs=arrays or None)
        step.seed = seed
        self._calls = [getattr(step, phase) for phase in spec.phases] or [step]
        self._count = 0

    def step(self, gradient: Gradient, **values: Any) -> None:
        """One update, in all of its phases, each with a gradient of its own. `values` are params from now on."""
        for call in self._calls:
            for own, new in zip(self._grads, gradient(self._count, self.weights), strict=True):
                own[...] = new
            self._count += 1
            call(**self._numbers, **values)
