"""Calls of optimizers of other libraries, the specs and arguments that compute the same, and what both are run on.

Read by the programs that run the other libraries, too, so it imports nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

STEPS = 10
RECORDED = (0, 1, 4, 9)
"""The steps, counted from 0, after which the weights are compared."""
SHAPES = ((3,), (2, 4), (2, 3, 2))
BETAS = ("beta1", "beta2", "beta3")


@dataclass(frozen=True)
class Call:
    """An optimizer of a library, with arguments; the spec, and those of its arguments that have other names or values:
    None for one that the spec does not have. A tuple is an argument of the spec for each number."""

    name: str
    arguments: Mapping[str, Any]
    spec: str
    renamed: Mapping[str, Any]
    given: tuple[str, ...] = ()
    """What is given at each step: `value`, the loss; `h_hat`, an estimate of the Hessian's diagonal."""
    shapes: tuple[tuple[int, ...], ...] = SHAPES
    """Those of the tensors: other libraries may treat matrices otherwise, or tensors of more than two dimensions."""
    transform: tuple[str, str, Mapping[str, Any]] | None = None
    """What optax makes of it: where the transform stands (`before` or `behind` the optimizer in a chain, or `around`
    it), its name, and its arguments."""

    @property
    def id(self) -> str:
        own = [self.name, *(f"{k}={v}" for k, v in self.arguments.items())]
        if self.transform:
            own += ["with", self.transform[1], *(f"{k}={v}" for k, v in self.transform[2].items())]
        return "-".join(own).replace(" ", "")

    @property
    def is_lookahead(self) -> bool:
        return self.transform is not None and self.transform[1] == "lookahead"

    def values(self) -> dict[str, Any]:
        """The arguments of the spec."""
        values: dict[str, Any] = {}
        for name, x in self.arguments.items():
            if name in self.renamed:
                continue
            pair = {"betas": BETAS, "init_step": ("init_step_type", "init_step")}.get(name)
            values |= zip(pair, x, strict=False) if pair else [(name, x)]
        return values | {name: x for name, x in self.renamed.items() if x is not None}

    def numbers(self) -> tuple[list[Any], list[list[Any]], list[list[Any]], list[float]]:
        """The first weights; the gradients, the estimates of the curvature, and the losses of each step."""
        rng = np.random.default_rng(5)
        weights = [np.array(rng.normal(size=shape)) for shape in self.shapes]
        grads = [[np.array(rng.normal(size=shape)) for shape in self.shapes] for _ in range(STEPS)]
        curvature = [[np.array(rng.normal(size=shape) ** 2) for shape in self.shapes] for _ in range(STEPS)]
        for step in grads:
            step[0][0] = 0
        return weights, grads, curvature, [3.0 - 0.4 * k for k in range(STEPS)]
