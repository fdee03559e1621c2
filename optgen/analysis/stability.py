"""Question `stability`: at which curvature h, or rate, updates on the quadratic h*w^2/2 are stable.

Claims: `closed-form` (the formula is the largest curvature, apart from what depends on frozen states), `found`
(by running: the curve has pairs of a rate and the largest curvature), `none-found` (no curvature was found at which
weights grow), `undecided`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optgen.analysis.cut import is_elementwise
from optgen.analysis.frozen import measures_of_size
from optgen.analysis.run import Array, Run
from optgen.analysis.scale import shrinks_not
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.words import listed, number, shown
from optgen.expressions import Expr, Name, walk
from optgen.symbolic.recurrence import LargestCurvature

QUESTION = "stability"
UPDATES, POINTS, GROWN = 400, 600, 10.0
"""A run tries so many curvatures in so many updates; weights that end so many times as large as the first are lost."""
SPAN = (0.05, 20.0)
"""The least and the largest curvature that is tried, times the rate."""


def stability(subject: Subject) -> list[Statement]:
    """The largest stable curvature: in closed form, else found by running; no answer where steps do not shrink, which
    `limit-cycle` is about."""
    from optgen.symbolic.algebra import NoClosedForm
    from optgen.symbolic.recurrence import largest_curvature

    frozen = measures_of_size(subject)
    try:
        if not subject.is_straight:
            raise NoClosedForm("no closed form: loops, or equations of some updates only")
        return [_closed(subject, largest_curvature(subject.spec, subject.phases, frozen, subject.values), frozen)]
    except NoClosedForm as error:
        if shrinks_not(subject):
            return []
        return [_found(subject) or _undecided(str(error).removeprefix("no closed form").lstrip(":, "))]


def _closed(subject: Subject, found: LargestCurvature, frozen: tuple[str, ...]) -> Statement:
    h = "λ" if "h" in subject.reads else "h"
    value = number(found.value)
    if found.has_scale:
        used = [x for x in frozen if x in {e.id for e in _names_in(found.scale)}]
        scale = shown(subject, found.scale, timeless=True)
        over = f"{h}/({scale})" if not scale.isalnum() else f"{h}/{scale}"
        text = f"with {listed(shown(subject, x, timeless=True) for x in used)} frozen, steps on {h}w²/2 are stable for "
        text += f"{over} < {shown(subject, found.bound)} = {value}"
    elif found.times_rate is not None:
        lr = shown(subject, "lr")
        text = f"steps on {h}w²/2 are stable for {lr}·{h} < {shown(subject, found.times_rate)}: {h} < {value}"
    else:
        text = f"steps on {h}w²/2 are stable for {h} < {shown(subject, found.bound)} = {value}"
    return Statement(QUESTION, "closed-form", f"{text[0].upper()}{text[1:]}.", Verdict.PROVED, formula=found.bound)


def _names_in(expr: Expr) -> list[Name]:
    """The names in an expression."""
    return [x for x in walk(expr) if isinstance(x, Name)]


def _undecided(why: str) -> Statement:
    return Statement(QUESTION, "undecided", f"The largest stable rate is not decided: {why}.", Verdict.UNDECIDED)


def _found(subject: Subject) -> Statement | None:
    """The largest curvatures for three rates; None for a spec whose elements are not updated apart."""
    rate = subject.values["lr"]
    given = [*subject.spec.inputs, *subject.spec.given]
    if not is_elementwise(subject) or given or "lr" not in subject.reads or not rate:
        return None
    points = []
    for factor in (0.1, 1.0, 10.0):
        own = subject.with_values(lr=factor * rate)
        points.append((factor * rate, largest_found(own, factor * rate)))
    if any(h is None for _, h in points):
        text = f"No curvature up to {SPAN[1]:g}/lr was found at which weights on hw²/2 grow {GROWN:g} times"
        text = f"{text} in {UPDATES} updates."
        return Statement(QUESTION, "none-found", text, Verdict.RUN)
    curve = tuple((r, h) for r, h in points if h is not None)
    products = [r * h for r, h in curve]
    if max(products) < 1.03 * min(products):
        text = f"Steps on hw²/2 are stable for lr·h < {products[1]:.3g}"
    else:
        text = "Steps on hw²/2 are stable for h < " + ", ".join(f"{number(h)} at lr = {number(r)}" for r, h in curve)
    text += f": found to 1 % in runs of {UPDATES} updates at the rates {listed(number(r) for r, _ in curve)}."
    return Statement(QUESTION, "found", text, Verdict.RUN, curve=curve)


def largest_found(subject: Subject, rate: float) -> float | None:
    """The largest curvature below which all of a grid are stable in a run; None if all of the grid are."""
    h = np.geomspace(SPAN[0], SPAN[1], POINTS) / rate
    rng = np.random.default_rng(0)
    first = rng.choice([-1.0, 1.0], size=POINTS) * rng.uniform(0.5, 1, size=POINTS)

    def gradient(_: int, weights: Sequence[Array]) -> list[Array]:
        return [h * weights[0]]

    run = Run(subject, [first])
    with np.errstate(all="ignore"):
        for _ in range(UPDATES):
            run.step(gradient)
        is_lost = ~(np.abs(run.weights[0]) < GROWN * np.abs(first))
    return float(h[max(int(np.argmax(is_lost)) - 1, 0)]) if is_lost.any() else None
