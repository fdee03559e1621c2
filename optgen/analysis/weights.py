"""Question `weight-scale`: what becomes of the steps where the weights are multiplied by c > 0, and gradients are as
they were.

Claims: `invariant`, `equivariant` (steps are multiplied by c, as of LARS and LAMB), `degree K`, each also with `limit-`
before it (as epsilons go to 0); `none`.
"""

from __future__ import annotations

from optgen.analysis.characters import NEUTRAL, ONE, Multiplied, Scaling
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.symmetry import FACTOR, Symmetry, symmetry
from optgen.analysis.words import power

QUESTION = "weight-scale"
DECAY = 0.01
"""The weight decay that the second statement is about, where it is 0 unless given."""


def weight_scale(subject: Subject) -> list[Statement]:
    """What multiplying the first weights by c > 0 does: without weight decay where it is 0, and with it."""
    found = [_answer(subject, "")]
    if subject.values["wd"] == 0 and "wd" in subject.reads and "wd" in found[0].text:
        found.append(_answer(subject.with_values(wd=DECAY), f"with wd = {DECAY:g}, "))
    return found


def _answer(subject: Subject, start: str) -> Statement:
    law = symmetry(subject, Multiplied(Scaling(), weight=ONE))
    if law is None:
        text = f"{start}weights times {FACTOR:g} in a random run give steps that are times no power of {FACTOR:g}."
        return Statement(QUESTION, "none", text[0].upper() + text[1:], Verdict.RUN)
    return _statement(subject, law, start)


def _statement(subject: Subject, law: Symmetry, start: str) -> Statement:
    if law.k == NEUTRAL:
        text = f"{start}steps do not depend on the scale of the weights"
    else:
        text = f"{start}weights times c > 0, with gradients as they were, give steps times {power('c', str(law.k))}"
    claim = {NEUTRAL: "invariant", ONE: "equivariant"}.get(law.k, f"degree {law.k}")
    return Statement(QUESTION, ("limit-" if law.zeros else "") + claim, law.sentence(subject, text), law.verdict)
