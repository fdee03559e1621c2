"""Question `limit-cycle`: where weights end on the loss h*w^2/2 if steps do not shrink with the gradient.

Such steps have no largest stable rate: weights end in a cycle around 0, whose size the rate tells. Claims: `cycle X`
(the largest element in a run was X times lr), `arrives` (weights tend to 0), `undecided`. The question is for steps
that are invariant to the scale of gradients and have no states that measure this.
"""

from __future__ import annotations

import math

import numpy as np

from optgen.analysis.run import Run
from optgen.analysis.scale import shrinks_not
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.trial import RandomRun
from optgen.analysis.words import number
from optgen.linalg import FactorizationError

QUESTION = "limit-cycle"
UPDATES, STAGED_UPDATES = 6000, 1500
START = 30.0
"""The weights begin below so many rates."""
SAME = 0.1
"""The amplitudes in the last two sixths of a run differ by no larger share where weights have arrived."""
GONE = 1e-3


def limit_cycle(subject: Subject) -> list[Statement]:
    """How far from 0 weights stay; no answer where the question does not arise."""
    rate = subject.values["lr"]
    if not rate or "lr" not in subject.reads or subject.spec.given or not shrinks_not(subject):
        return []
    if subject.is_large:
        text = f"Where weights end is not decided: a run with a matrix of {subject.shape[0]} rows takes too long."
        return [Statement(QUESTION, "undecided", text, Verdict.UNDECIDED)]
    updates = STAGED_UPDATES if subject.spec.has_stages else UPDATES
    sizes = amplitudes(subject, rate, updates)
    where = f"on hw²/2, for any h, with lr = {number(rate)}"
    if sizes is None or _differ(sizes[1], sizes[2]) or not _differ(sizes[0], sizes[2]):
        text = f"Where weights end {where}, is not decided: {updates} updates are not enough."
        return [Statement(QUESTION, "undecided", text, Verdict.UNDECIDED)]
    found = f"found in a run of {updates} updates that begins below {START:g}·lr"
    if sizes[2] < GONE * rate:
        return [Statement(QUESTION, "arrives", f"Weights tend to 0 {where}: {found}.", Verdict.RUN)]
    size = f"{sizes[2] / rate:.3g}"
    elements = f"{math.prod(subject.shape)} elements"
    text = f"Weights end in a cycle around 0 {where}: the largest of {elements} was {size}·lr. This was {found}."
    return [Statement(QUESTION, f"cycle {size}", text, Verdict.RUN)]


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > SAME * b


def amplitudes(subject: Subject, rate: float, updates: int) -> tuple[float, float, float] | None:
    """The largest element at the start, and in the last but one and the last sixth of a run with curvature 1; None if
    it fails."""
    random = RandomRun(subject, 0)
    inputs = {name: [x] if isinstance(x, np.ndarray) else x for name, x in random.inputs().items()}
    first = np.random.default_rng(0).uniform(-START, START, size=subject.shape) * rate
    run, found = Run(subject, [first], inputs), []
    for _ in range(updates):
        try:
            run.step(lambda _, weights: weights)
        except FactorizationError:
            return None
        found.append(float(np.abs(run.weights[0]).max()))
    sixth = updates // 6
    sizes = float(np.abs(first).max()), max(found[-2 * sixth : -sixth]), max(found[-sixth:])
    return sizes if np.isfinite(sizes).all() else None
