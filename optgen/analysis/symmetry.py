"""What multiplying gradients or weights by a factor does to steps: by the rules of `characters`, else by running."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optgen.analysis.characters import NEUTRAL, ONE, Multiplied, SignFlip, Values, change
from optgen.analysis.epsilons import epsilons
from optgen.analysis.run import Array
from optgen.analysis.statement import Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.trial import SAID, TOLERANCE, UPDATES, RandomRun, agree, changes, holds, rounding
from optgen.analysis.words import listed, shown
from optgen.expressions import Expr

FACTOR = 4.0
"""The factor of runs; a power of 2, which rounds nothing."""
NEARLY_ZERO = 1e-200
"""What epsilons are in runs for their limit."""
LARGE = 1e8
"""Gradients beside which numbers such as 1e-8 in equations are nothing."""
VANISHED = 1e-3
"""Steps that the limit makes so much smaller have no limit that is worth a statement."""


@dataclass(frozen=True)
class Symmetry:
    """A law: steps are multiplied by the factor to the power `k`, in the limit in which `zeros` go to 0, for params
    `off` that are 0, `unless` a value is exactly 0."""

    k: Fraction
    zeros: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    unless: tuple[Expr, ...] = ()
    tried: float | None = None  # the factor of the runs that show it; None if it is proved

    @property
    def verdict(self) -> Verdict:
        return Verdict.PROVED if self.tried is None else Verdict.RUN

    def sentence(self, subject: Subject, text: str) -> str:
        """A sentence with the conditions of the law, and how it was found."""
        limit = f"As {listed(shown(subject, z) for z in self.zeros)} → 0, " if self.zeros else ""
        off = f" ({', '.join(f'{name} = 0' for name in self.off)})" if self.off else ""
        unless = f", unless {' or '.join(shown(subject, x) for x in self.unless)}" if self.unless else ""
        factor = f"for c = {self.tried:g} " if self.tried is not None and self.tried > 0 else ""
        found = "" if self.tried is None else f": found {factor}{SAID}"
        return f"{limit}{text if limit else text[0].upper() + text[1:]}{off}{unless}{found}."


def symmetry(subject: Subject, what: Multiplied) -> Symmetry | None:
    """The law for what is multiplied; None if there is none, as a run shows."""
    law = _proved(subject, what)
    if law is not None and (not (law.zeros or law.unless) or is_seen(subject, what, law, RandomRun(subject, 0), 3)):
        return law
    return _run(subject, what, subject) or _run(subject, what, _near_limit(subject))


def is_seen(subject: Subject, what: Multiplied, law: Symmetry, one: RandomRun, updates: int) -> bool:
    """Whether a law holds in a run. A limit may not be one where the equations with 0 divide by what is 0 always."""
    params = [x for x in law.zeros if x in subject.values]
    if params:
        one = RandomRun(subject.with_values(**dict.fromkeys(params, NEARLY_ZERO)), one.seed)
    size, tolerance = (LARGE, 1e-5) if len(params) < len(law.zeros) else (1.0, TOLERANCE)
    factor = -1.0 if isinstance(what.factors, SignFlip) else 2 * FACTOR
    before = one.follow(updates, gradient=_times(size))
    after = one.follow(
        updates, gradient=_times(size * factor**what.gradient), weight=_times(factor**what.weight),
        inputs=float(factor**what.inputs),
    )  # fmt: skip
    return agree(float(factor**law.k) * changes(before), changes(after), tolerance, rounding(after))


def _proved(subject: Subject, what: Multiplied) -> Symmetry | None:
    for zeros in ((), epsilons(subject)):
        values = subject.values
        law, used, off = change(subject, what, values, zeros), list(zeros), []
        if law is None:
            continue
        for name in zeros:
            fewer = [x for x in used if x != name]
            used = fewer if change(subject, what, values, fewer) == law else used
        for name in [x for x, value in subject.values.items() if value == 0 and x in subject.reads]:
            more: Values = {**values, name: 1.0}
            if change(subject, what, more, used) == law:
                values = more
            else:
                off.append(name)
        return Symmetry(law.k, tuple(used), tuple(off), law.unless)
    return None


def _near_limit(subject: Subject) -> Subject | None:
    """The subject with epsilons that are nearly 0; None if it has none that are params."""
    names = [x for x in epsilons(subject) if x in subject.values]
    return subject.with_values(**dict.fromkeys(names, NEARLY_ZERO)) if names else None


def _run(subject: Subject, what: Multiplied, used: Subject | None) -> Symmetry | None:
    """What random runs say."""
    if used is None:
        return None
    factor = -1.0 if isinstance(what.factors, SignFlip) else FACTOR
    by_gradient, by_weight = _times(factor**what.gradient), _times(factor**what.weight)
    by_inputs = float(factor**what.inputs)

    def both(one: RandomRun, updates: int) -> tuple[Array, Array, float]:
        changed = one.follow(updates, gradient=by_gradient, weight=by_weight, inputs=by_inputs)
        return changes(one.follow(updates)), changes(changed), rounding(changed)

    before, after, _ = both(RandomRun(used, 0), 3)
    if not before.any():
        before, after, _ = both(RandomRun(used, 0), UPDATES)
    first = next((k for k, step in enumerate(before) if step.any()), 0)  # some only measure in their first update
    sizes = [float(np.abs(x[first]).max()) for x in (before, after)]
    if not all(0 < x < math.inf for x in sizes):
        return None
    if used is not subject:
        usual = changes(RandomRun(subject, 0).follow(3))
        if np.abs(before).max() < VANISHED * np.abs(usual).max():
            return None
    candidates = (NEUTRAL, ONE)
    if factor > 0:
        candidates = (Fraction(math.log(sizes[1] / sizes[0], factor)).limit_denominator(4),) * 2
    for k in dict.fromkeys(candidates):

        def is_law(one: RandomRun, updates: int, k: Fraction = k) -> bool:
            a, b, floor = both(one, updates)
            return agree(float(factor**k) * a, b, floor=floor)

        if holds(used, is_law):
            zeros = tuple(x for x in epsilons(subject) if used.values.get(x) != subject.values.get(x))
            return Symmetry(k, zeros, tried=factor)
    return None


def _times(factor: float | Fraction) -> Callable[[Array], Array]:
    return lambda x: float(factor) * x
