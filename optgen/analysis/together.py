"""Two specs side by side, at settings that may be equal: the same weights and gradients at random hyper-parameters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from optgen.analysis.equations import SHAPE, CannotTellError, Steps
from optgen.analysis.proof import Pair
from optgen.analysis.reals import Reals
from optgen.analysis.run import Gradient, Run
from optgen.analysis.settings import RATE, params_of, sampled, variant, whole
from optgen.analysis.subject import Subject, subject_of

RUNS, UPDATES, TOLERANCE = 2, 6, 1e-9
SHORT, LONG, LAST = 16, 150, 6
"""The updates by the equations alone, before a proof and without one, and how many of them have high counts."""
SAID = (
    f"in a random run of {LONG} updates, and in {RUNS} of {UPDATES} by kernels, of a {SHAPE[0]} x {SHAPE[1]} matrix, "
    f"to {TOLERANCE:g}"
)
LATE = 10**6


def _samples(pair: Pair, seed: int, *, changing: bool, updates: int) -> list[dict[str, float]]:
    """The free params of each update: all random, and `lr` in each update if it is `changing`."""
    source = random.Random(seed)
    first = sampled(params_of(pair.first), source)
    return [{**first, RATE: first[RATE] * source.uniform(0.5, 2)} if changing else first for _ in range(updates)]


def agree(pair: Pair, *, changing: bool) -> bool:
    """Whether kernels give both the same weights, in all runs. Not if a spec refuses the arguments."""
    try:
        first = _samples(pair, 0, changing=changing, updates=1)[0]
        subjects = _subject(pair, 0, first), _subject(pair, 1, first)
        return all(_run(pair, subjects, seed, changing=changing) for seed in range(RUNS))
    except ValueError:
        return False


def _run(pair: Pair, subjects: tuple[Subject, Subject], seed: int, *, changing: bool) -> bool:
    rng = np.random.default_rng(seed)
    samples = _samples(pair, seed, changing=changing, updates=UPDATES)
    w = rng.normal(size=SHAPE)
    inputs = [rng.uniform(0.5, 1.5, SHAPE) for _ in pair.first.inputs]
    runs = []
    for side, subject in enumerate(subjects):
        given = {x.name: [e] for x, e in zip(subject.spec.inputs, inputs, strict=True)}
        runs.append(Run(subject.with_values(**_values(pair, side, samples[0])), [w], given))
    for sample in samples:
        gradients = [rng.normal(size=SHAPE) * 10 ** rng.uniform(-1, 1) for _ in pair.first.phases or (None,)]
        for side, run in enumerate(runs):
            rate = {RATE: _values(pair, side, sample)[RATE]} if changing else {}
            run.step(_in_order(gradients), **rate)
        if not _close(runs[0].weights[0], runs[1].weights[0]):
            return False
    return True


def _in_order(gradients: Sequence[Any]) -> Gradient:
    """The gradients of the phases of one update, for one tensor."""
    left = iter(gradients)
    return lambda number, weights: [next(left)]


def _values(pair: Pair, side: int, sample: dict[str, float]) -> dict[str, Any]:
    spec, setting = pair.specs[side], pair.settings[side]
    found = whole(spec, setting.values, sample)
    return {p: int(x) if spec.all_params[p].is_int and x is not None else x for p, x in found.items()}


def _subject(pair: Pair, side: int, sample: dict[str, float]) -> Subject:
    return subject_of(pair.specs[side], {**_values(pair, side, sample), **pair.settings[side].chosen}, (SHAPE,))


def agree_in_reals(pair: Pair, *, changing: bool, updates: int = SHORT, zeros: bool = False) -> bool:
    """The same by the equations alone, in more updates: what kernels need not run. Gradients differ in size,
    or are alike, and the last updates have high counts, as what is slow to begin would else not be seen. `zeros`: the
    first gradients are 0, and later ones are; both may come to NaN."""
    try:
        seeds = (11, 12)
        return all(_steps_agree(pair, k, updates, alike=k == 12, changing=changing, zeros=zeros) for k in seeds)
    except (CannotTellError, ValueError, KeyError, IndexError):
        return False


def _steps_agree(pair: Pair, seed: int, updates: int, *, alike: bool, changing: bool, zeros: bool) -> bool:
    rng, shape = np.random.default_rng(seed), pair.shape
    samples = _samples(pair, seed, changing=changing, updates=updates)
    first, w = rng.normal(size=(1, *shape)), rng.normal(size=(1, *shape))
    both = [_steps(pair, side, samples[0], w) for side in (0, 1)]
    for k, sample in enumerate(samples):
        gradients = [rng.normal(size=(1, *shape)) * 10 ** rng.uniform(-2, 2) for _ in pair.first.phases or (None,)]
        gradients = [first + 0.1 * g for g in gradients] if alike else gradients
        gradients = [0 * g for g in gradients] if zeros and (k < 2 or k % 5 == 0) else gradients
        inputs = [rng.uniform(0.5, 1.5, (1, *shape)) for _ in pair.first.inputs]
        for side, steps in enumerate(both):
            steps.t = LATE + k if k == updates - LAST else steps.t
            steps.values = _arrays(whole(pair.specs[side], pair.settings[side].values, sample))
            steps.step(gradients, {x.name: e for x, e in zip(steps.optimizer.inputs, inputs, strict=True)})
        a, b = both
        if not (_close(a.w, b.w, nan=zeros) and _close(a.evaluated(), b.evaluated(), nan=zeros)):
            return False
    return True


def _steps(pair: Pair, side: int, sample: dict[str, float], w: Any) -> Steps:
    spec, setting = pair.specs[side], pair.settings[side]
    flags = variant(spec, setting, sample)
    if flags is None:
        raise CannotTellError("arguments that are refused")
    fixed = whole(spec, setting.values, sample)
    return Steps(spec, flags, Reals(), w.shape[1:], _arrays(fixed), fixed, w, programs=pair.programs[side])


def _arrays(values: dict[str, float | None]) -> dict[str, Any]:
    return {p: None if x is None else np.full((1, 1, 1), x) for p, x in values.items()}


def _close(a: Any, b: Any, *, nan: bool = False) -> bool:
    """Whether numbers are equal up to rounding; not if one is not finite, but for a `nan` of both."""
    is_finite = nan or bool(np.all(np.isfinite(a)))
    return is_finite and np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=nan)
