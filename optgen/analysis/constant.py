"""Question `constant-gradient`: what steps tend to where all gradients are the same.

Claims: `limit` (steps tend to the formula), `zero`, and as a run shows `settled` (they hardly change in its last half),
`falls`, `grows`; `undecided`. A second answer says how soon: `updates N`, after which steps stay within 1 % of the last
ones, or `power P`, the power of t by which they fall.
"""

from __future__ import annotations

import math

import numpy as np

from optgen.analysis.cut import is_elementwise
from optgen.analysis.run import Array, Run
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.trial import RandomRun
from optgen.analysis.words import number, power, shown
from optgen.expressions import Expr, Number
from optgen.linalg import FactorizationError
from optgen.polynomials import Polynomials, UnknownError, constant

QUESTION = "constant-gradient"
UPDATES, STAGED_UPDATES = 4096, 512
"""How long runs are; those of specs with products of matrices are shorter."""
WINDOW = 120
"""Steps are averaged over so many, a multiple of the periods that specs have."""
CLOSE, SETTLED, SAME_POWER, LEAST_POWER = 0.01, 1e-3, 0.02, 0.2
NEARER = 0.9
"""A run that has not come to a limit has gone at least so much of the way to it in its last half."""


def constant_gradient(subject: Subject) -> list[Statement]:
    """The limit of the steps, and how soon it is reached."""
    from optgen.symbolic.algebra import NoClosedForm
    from optgen.symbolic.steady import steady_step

    if subject.is_large:
        text = f"the limit of steps is not decided: a run with a matrix of {subject.shape[0]} rows takes too long"
        return [_statement("undecided", text, Verdict.UNDECIDED)]
    steps = followed(subject)
    try:
        if not (subject.is_straight and is_elementwise(subject)):
            raise NoClosedForm("no closed form: elements, or updates, differ")
        formula = steady_step(subject.spec, subject.phases, subject.values)
    except NoClosedForm:
        return _seen(subject, steps)
    limit = _value(subject, formula)
    if limit is None or not _comes_near(steps, limit):
        return _seen(subject, steps)
    if isinstance(formula, Number) and formula.value == 0:
        return [_statement("zero", "steps tend to 0", Verdict.PROVED, formula), *_falling(steps)]
    found = _statement("limit", f"steps tend to {shown(subject, formula, timeless=True)}", Verdict.PROVED, formula)
    return [found, *_soon(steps, limit, "this limit")]


def _value(subject: Subject, formula: Expr) -> Array | None:
    """The value of a formula for the gradient of runs; None if it is not known."""
    names = Polynomials(subject.programs[0], subject.values, frozenset(), 0.0, {"g": gradient_of(subject)})
    try:
        return np.broadcast_to(constant(names.value(formula)), subject.shape)
    except UnknownError:
        return None


def _comes_near(steps: Array, limit: Array) -> bool:
    """Whether the steps of a run end at a limit, or still come nearer to it."""
    if len(steps) < 2 * WINDOW or not np.isfinite(steps).all():
        return False
    last, half = (float(np.abs(_mean(steps, n) - limit).max()) for n in (len(steps), len(steps) // 2))
    return last <= CLOSE * float(np.abs(limit).max()) or last < NEARER * half


def gradient_of(subject: Subject) -> Array:
    """The gradient that stays the same in runs: elements of sizes from 0.5 to 2."""
    rng = np.random.default_rng(0)
    found: Array = rng.choice([-1.0, 1.0], size=subject.shape) * rng.uniform(0.5, 2, size=subject.shape)
    return found


def followed(subject: Subject) -> Array:
    """The steps of a run under a constant gradient, along the first axis; fewer where an update fails."""
    random, gradient = RandomRun(subject, 0), gradient_of(subject)
    inputs = {name: [x] if isinstance(x, np.ndarray) else x for name, x in random.inputs().items()}
    run, found = Run(subject, [random.weight()], inputs), []
    for _ in range(STAGED_UPDATES if subject.spec.has_stages else UPDATES):
        before = run.weights[0].copy()
        try:
            run.step(lambda *_: [gradient])
        except FactorizationError:
            break
        found.append(run.weights[0] - before)
    return np.array(found)


def _statement(claim: str, text: str, verdict: Verdict, formula: Expr | None = None) -> Statement:
    return Statement(QUESTION, claim, f"Under a constant gradient g ≠ 0, {text}.", verdict, formula)


def _mean(steps: Array, end: int) -> Array:
    found: Array = steps[end - WINDOW : end].mean(axis=0)
    return found


def _soon(steps: Array, limit: Array, what: str) -> list[Statement]:
    """After how many updates steps stay near a limit, if the run has come to it."""
    far = np.abs(steps - limit).reshape(len(steps), -1).max(axis=1) > CLOSE * np.abs(limit).max()
    count = int(np.flatnonzero(far)[-1]) + 2 if far.any() else 1
    if count > len(steps) // 2:
        return []
    after = "from the first update on" if count == 1 else f"from update {count} on"
    text = f"steps are within 1 % of {what} {after}: counted in a run of {len(steps)} updates with |g| from 0.5 to 2"
    return [_statement(f"updates {count}", text, Verdict.RUN)]


def _powers(steps: Array) -> tuple[float, float]:
    """The power of t by which steps grow in the last half of a run, and in the half before."""
    n = len(steps)
    sizes = [float(np.sqrt(np.mean(_mean(steps, k) ** 2))) for k in (n // 4, n // 2, n)]
    times = [k - WINDOW / 2 for k in (n // 4, n // 2, n)]
    if min(sizes) == 0:
        return -math.inf, -math.inf
    last, before = (math.log(sizes[k + 1] / sizes[k]) / math.log(times[k + 1] / times[k]) for k in (1, 0))
    return last, before


def _falling(steps: Array) -> list[Statement]:
    last, before = _powers(steps)
    if not math.isfinite(last) or abs(last - before) > SAME_POWER:
        return []
    text = f"steps fall like {power('t', number(round(last, 2)))}: found in a run of {len(steps)} updates"
    return [_statement(f"power {round(last, 2):g}", text, Verdict.RUN)]


def _seen(subject: Subject, steps: Array) -> list[Statement]:
    """What a run shows."""
    count, rate = STAGED_UPDATES if subject.spec.has_stages else UPDATES, subject.values["lr"]
    in_run = f"found in a run of {count} updates with |g| from 0.5 to 2"
    if len(steps) < count or not np.isfinite(steps).all():
        text = f"the limit of steps is not decided: a run does not get to {count} updates with finite weights"
        return [_statement("undecided", text, Verdict.UNDECIDED)]
    last, half = _mean(steps, count), _mean(steps, count // 2)
    size = float(np.sqrt(np.mean(last**2)))
    if size > 0 and np.abs(last - half).max() < SETTLED * np.abs(last).max():
        of = f", of RMS {number(size / rate)}·lr" if rate else ""
        text = f"steps hardly change after update {count // 2}, by less than 0.1 %{of}: {in_run}"
        return [_statement("settled", text, Verdict.RUN), *_soon(steps, last, "the last ones")]
    now, before = _powers(steps)
    if math.isfinite(now) and abs(now - before) < SAME_POWER and abs(now) > LEAST_POWER:
        claim, word = ("grows", "grow") if now > 0 else ("falls", "fall")
        return [_statement(claim, f"steps {word} like {power('t', number(round(now, 2)))}: {in_run}", Verdict.RUN)]
    text = f"the limit of steps is not decided: a run of {count} updates shows neither a limit nor a power of t"
    return [_statement("undecided", text, Verdict.UNDECIDED)]
