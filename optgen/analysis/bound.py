"""Question `bound`: how large a step can be.

Claims: `bounded X` (no element is above X times lr), `unbounded`, `norm X` (every step has this norm, in rates),
`relative X` (this norm, in rates and norms of the weight), `singular-values A B`, `undecided`.
"""

from __future__ import annotations

import math

import numpy as np

from optgen.analysis.averages import largest_step
from optgen.analysis.characters import NEUTRAL, ONE, Multiplied, Scaling
from optgen.analysis.run import Array
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.symmetry import symmetry
from optgen.analysis.trial import RUNS, UPDATES, RandomRun, changes, rounding
from optgen.analysis.words import number

QUESTION = "bound"
CONSTANT = 1e-6
"""Norms that differ by such a share are one."""
SPREAD = 3.0
"""Singular values that differ by no larger factor are worth a statement."""


def bound(subject: Subject) -> list[Statement]:
    """A bound of the elements or of the norm of steps, without weight decay."""
    rate = subject.values["lr"]
    if subject.values["wd"] and "wd" in subject.reads:
        subject = subject.with_values(wd=0.0)
    decay = " (wd = 0)" if "wd" in subject.reads else ""
    if (text := _grows(subject)) is not None:
        return [Statement(QUESTION, "unbounded", text, Verdict.PROVED)]
    if not rate:
        return []
    found = largest_step(subject)
    if math.isfinite(found.size):
        size = f"{found.size / rate:.4g}"
        start = f"no element of a step is above {size}·lr{decay}"
        reasons = ["by Cauchy and Schwarz's inequality"] * found.of_averages + [found.counts] * bool(found.counts)
        text = ", ".join([f"{start[0].upper()}{start[1:]}", *reasons])
        text = f"{text}." if found.is_proved else f"{text}: other counts were not tried."
        return [Statement(QUESTION, f"bounded {size}", text, Verdict.PROVED if found.is_proved else Verdict.RUN)]
    return _seen(subject, rate, decay)


def _grows(subject: Subject) -> str | None:
    """A sentence on steps that have no bound, as they are multiplied by a power of c with the gradients; None for other
    steps, and for those that are 0."""
    law = symmetry(subject, Multiplied(Scaling(), gradient=ONE))
    if law is None or law.verdict is not Verdict.PROVED or law.zeros or law.k == NEUTRAL:
        return None
    weights = RandomRun(subject, 0).follow(3)
    largest = float(np.abs(changes(weights)).max())
    if not rounding(weights) < largest < math.inf:
        return None
    return (
        f"Steps have no bound: they grow {'with' if law.k > 0 else 'as'} the gradients{'' if law.k > 0 else ' shrink'}."
    )


def _seen(subject: Subject, rate: float, decay: str) -> list[Statement]:
    """What random runs show of norms and singular values."""
    runs = [RandomRun(subject, seed).follow(UPDATES) for seed in range(RUNS)]
    weights, steps = np.concatenate([w[:-1] for w in runs]), np.concatenate([changes(w) for w in runs])
    found = f"found in {RUNS} random runs of {UPDATES} updates"
    if np.isfinite(steps).all():
        norms, own = (np.sqrt((x**2).reshape(len(x), -1).sum(axis=1)) for x in (steps, weights))
        for sizes, claim, of in ((norms / rate, "norm", ""), (norms / (rate * own), "relative", "·‖w‖")):
            if sizes.min() > (1 - CONSTANT) * sizes.max() > 0:
                size = f"{sizes.max():.4g}"
                text = f"Every step has the norm {size}·lr{of}{decay}, to {CONSTANT:g}: {found}."
                return [Statement(QUESTION, f"{claim} {size}", text, Verdict.RUN)]
        if len(subject.shape) == 2 and (lengths := _singular_values(steps / rate)) is not None:
            low, high = (f"{x:.3g}" for x in lengths)
            text = f"The singular values of steps are from {low}·lr to {high}·lr{decay}: {found}."
            return [Statement(QUESTION, f"singular-values {low} {high}", text, Verdict.RUN)]
    largest = number(float(np.abs(steps).max()) / rate)
    text = f"A bound of steps is not decided: the largest element was {largest}·lr{decay} in {RUNS} random runs"
    return [Statement(QUESTION, "undecided", f"{text} of {UPDATES} updates.", Verdict.UNDECIDED)]


def _singular_values(steps: Array) -> tuple[float, float] | None:
    """The least and the largest singular value of matrices, if they are near each other."""
    values = np.linalg.svd(steps, compute_uv=False)
    low, high = float(values.min()), float(values.max())
    return (low, high) if 0 < high <= SPREAD * low else None
