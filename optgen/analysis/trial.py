"""Random runs that test a claim: with the same gradients, weights and inputs, once as they are and once changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optgen.analysis.run import Array, Run
from optgen.analysis.subject import Subject
from optgen.linalg import FactorizationError

RUNS, UPDATES, TOLERANCE = 5, 20, 1e-9
"""What a claim that no rule proves is tested with: so many runs of so many updates, to this share of the largest
change."""
SAID = f"in {RUNS} random runs of {UPDATES} updates, to {TOLERANCE:g}"
Map = Callable[[Array], Array]


def _same(x: Array) -> Array:
    return x


@dataclass(frozen=True)
class RandomRun:
    """Random weights, and random gradients of each update, of a tensor. Gradients differ in size from update to
    update."""

    subject: Subject
    seed: int

    def weight(self) -> Array:
        return np.random.default_rng((self.seed, 1)).normal(size=self.subject.shape)

    def gradient(self, number: int) -> Array:
        rng = np.random.default_rng((self.seed, 2, number))
        found: Array = rng.normal(size=self.subject.shape) * 10 ** rng.uniform(-1, 1)
        return found

    def inputs(self, factor: float = 1.0) -> dict[str, Any]:
        """What steps are given beside gradients, times a factor: arrays and numbers."""
        rng, spec = np.random.default_rng((self.seed, 3)), self.subject.spec
        found: dict[str, Any] = {x.name: factor * rng.uniform(0.5, 2, size=self.subject.shape) for x in spec.inputs}
        return found | {name: factor * float(rng.uniform(0.5, 2)) for name in spec.given}

    def follow(
        self, updates: int = UPDATES, *, gradient: Map = _same, weight: Map = _same, inputs: float = 1.0,
        cut: tuple[int, int] | None = None,
    ) -> Array:  # fmt: skip
        """The weights before and after each update, along the first axis, of a run with these changes. `cut`: the
        tensor is two, cut along an axis before an index."""

        def parts(x: Array) -> list[Array]:
            return [x] if cut is None else np.split(x, [cut[1]], axis=cut[0])

        given = {name: parts(x) if isinstance(x, np.ndarray) else x for name, x in self.inputs(inputs).items()}
        run = Run(self.subject, parts(weight(self.weight())), given, seed=self.seed)
        found = [_joined(run.weights, cut)]
        for _ in range(updates):
            try:
                run.step(lambda number, _: parts(gradient(self.gradient(number))))
            except FactorizationError:  # of NaN, for example
                run.weights[0][...] = np.nan
            found.append(_joined(run.weights, cut))
        return np.array(found)


def _joined(parts: Sequence[Array], cut: tuple[int, int] | None) -> Array:
    return parts[0].copy() if cut is None else np.concatenate(parts, axis=cut[0])


def changes(weights: Array) -> Array:
    """What each update changed: the first axis is that of updates."""
    with np.errstate(invalid="ignore"):  # of weights that are not finite
        return np.diff(weights, axis=0)


def agree(a: Array, b: Array, tolerance: float = TOLERANCE, floor: float = 0.0) -> bool:
    """Whether numbers are equal, up to a share of the largest one and a `floor`; not if one of them is not finite."""
    largest = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return bool(np.isfinite(largest) and np.abs(a - b).max(initial=0.0) <= tolerance * largest + floor)


def rounding(weights: Array) -> float:
    """How much rounding the weights may change a difference of them."""
    return 1e-14 * float(np.abs(weights).max())


def holds(subject: Subject, claim: Callable[[RandomRun, int], bool]) -> bool:
    """Whether a claim about a run of so many updates holds in all random runs. A short one is tried first."""
    if not claim(RandomRun(subject, 0), 3):
        return False
    return all(claim(RandomRun(subject, seed), UPDATES) for seed in range(RUNS))
