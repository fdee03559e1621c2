"""Question `gradient-sign`: what becomes of the steps where the sign of all gradients is flipped.

Claims: `odd` (steps flip their signs), `even` (they do not change), `odd-with-weights` (they flip theirs if the weights
do, too), `none`.
"""

from __future__ import annotations

from optgen.analysis.characters import ONE, Multiplied, SignFlip
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.symmetry import Symmetry, symmetry

QUESTION = "gradient-sign"


def gradient_sign(subject: Subject) -> list[Statement]:
    """What flipping the sign of all gradients does; with that of the weights, where it does nothing simple else."""
    law = symmetry(subject, Multiplied(SignFlip(), gradient=ONE))
    if law is not None:
        claim, text = ("odd", "flips every step") if law.k == ONE else ("even", "leaves every step as it is")
        return [_statement(subject, law, claim, f"flipping the sign of all gradients {text}")]
    law = symmetry(subject, Multiplied(SignFlip(), gradient=ONE, weight=ONE))
    if law is not None and law.k == ONE:
        text = "flipping the signs of all gradients and weights flips every step; those of the gradients alone do not"
        return [_statement(subject, law, "odd-with-weights", text)]
    text = "Flipping the sign of all gradients neither flips the steps nor leaves them as they are: so in a random run."
    return [Statement(QUESTION, "none", text, Verdict.RUN)]


def _statement(subject: Subject, law: Symmetry, claim: str, text: str) -> Statement:
    return Statement(QUESTION, claim, law.sentence(subject, text), law.verdict)
