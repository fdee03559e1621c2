"""Question `gradient-scale`: what becomes of the steps where all gradients are multiplied by c > 0.

Claims: `invariant`, `linear`, `degree K`, each also with `limit-` before it (as epsilons go to 0); `none`.
"""

from __future__ import annotations

from fractions import Fraction

from optgen.analysis.characters import NEUTRAL, ONE, Multiplied, Scaling
from optgen.analysis.frozen import measures_of_size
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.symmetry import FACTOR, Symmetry, symmetry
from optgen.analysis.words import listed, power

QUESTION = "gradient-scale"


def gradient_scale(subject: Subject) -> list[Statement]:
    """What multiplying all gradients by c > 0 does; with the inputs beside them, where it does nothing simple else."""
    law = symmetry(subject, Multiplied(Scaling(), gradient=ONE))
    if law is not None:
        return [_statement(subject, law, "the gradients")]
    inputs = [*(x.name for x in subject.spec.inputs), *subject.spec.given]
    if inputs and (law := symmetry(subject, Multiplied(Scaling(), gradient=ONE, inputs=ONE))) is not None:
        return [_statement(subject, law, f"the gradients and {listed(inputs)}")]
    text = (
        f"No law of scale: gradients times {FACTOR:g} in a random run give steps that are times no power of {FACTOR:g}."
    )
    return [Statement(QUESTION, "none", text, Verdict.RUN)]


def shrinks_not(subject: Subject) -> bool:
    """Whether steps are as large for small gradients as for large ones, and no state measures their size: signs, and
    normalized steps. They have a limit cycle, and no largest stable rate."""
    return gradient_scale(subject)[0].claim in ("invariant", "limit-invariant") and not measures_of_size(subject)


def _claim(k: Fraction) -> str:
    return {NEUTRAL: "invariant", ONE: "linear"}.get(k, f"degree {k}")


def _statement(subject: Subject, law: Symmetry, what: str) -> Statement:
    if law.k == 0:
        text = f"steps are invariant to the scale of {what}"
    else:
        times = power("c", str(law.k))
        text = f"steps are homogeneous of degree {law.k} in {what}: times c > 0, they give steps times {times}"
    claim = ("limit-" if law.zeros else "") + _claim(law.k)
    return Statement(QUESTION, claim, law.sentence(subject, text), law.verdict)
