"""Random runs that test a claim: with the same gradients, weights and inputs, once as they are and once changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.analysis.run import Array, Run
from optgen.analysis.subject import Shape, Subject

RUNS, UPDATES, TOLERANCE = 5, 20, 1e-9
"""What a claim that no rule proves is tested with: so many runs of so many updates, to this share of the largest
change."""
SAID = f"in {RUNS} random runs of {UPDATES} updates, to {TOLERANCE:g}"
Change = Callable[[Array], Array]


def _same(x: Array) -> Array:
    return x


@dataclass(frozen=True)
class RandomRun:
    """Random weights, and random gradients of each update, of tensors. Gradients differ in size from update to
    update."""

    subject: Subject
    seed: int
    shapes: tuple[Shape, ...]

    def weights(self) -> list[Array]:
        rng = np.random.default_rng((self.seed, 1))
        return [rng.normal(size=shape) for shape in self.shapes]

    def gradients(self, number: int) -> list[Array]:
        rng = np.random.default_rng((self.seed, 2, number))
        return [rng.normal(size=shape) * 10 ** rng.uniform(-1, 1) for shape in self.shapes]

    def inputs(self, factor: float = 1.0) -> dict[str, Any]:
        """What steps are given beside gradients, times a factor."""
        rng, spec = np.random.default_rng((self.seed, 3)), self.subject.spec
        found: dict[str, Any] = {}
        for x in spec.inputs:
            found[x.name] = [factor * rng.uniform(0.5, 2, size=shape) for shape in self.shapes]
        return found | {name: factor * float(rng.uniform(0.5, 2)) for name in spec.given}

    def follow(
        self, updates: int = UPDATES, *, gradient: Change = _same, weight: Change = _same, inputs: float = 1.0
    ) -> list[list[Array]]:
        """The weights before and after each update, of a run with these changes."""
        run = Run(self.subject, [weight(w) for w in self.weights()], self.inputs(inputs), seed=self.seed)
        found = [[w.copy() for w in run.weights]]
        for _ in range(updates):
            run.step(lambda number, _: [gradient(g) for g in self.gradients(number)])
            found.append([w.copy() for w in run.weights])
        return found


def random_run(subject: Subject, seed: int) -> RandomRun:
    """A random run of one tensor."""
    return RandomRun(subject, seed, (subject.shape,))


def changes(weights: Sequence[Sequence[Array]]) -> Array:
    """What each update changed of the first tensor: the first axis is that of updates."""
    return np.diff(np.array([own[0] for own in weights]), axis=0)


def agree(a: Array, b: Array, tolerance: float = TOLERANCE) -> bool:
    """Whether numbers are equal, up to a share of the largest one; not if one of them is not finite."""
    largest = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return bool(np.isfinite(largest) and np.abs(a - b).max(initial=0.0) <= tolerance * largest)


def holds(subject: Subject, claim: Callable[[RandomRun, int], bool]) -> bool:
    """Whether a claim about a run of so many updates holds in all random runs. A short one is tried first."""
    if not claim(random_run(subject, 0), 3):
        return False
    return all(claim(random_run(subject, seed), UPDATES) for seed in range(RUNS))
