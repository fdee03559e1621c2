"""A statement about an optimizer, and how it is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from optgen.expressions import Expr
from optgen.symbolic.written import expression


class Verdict(Enum):
    """How a statement is known."""

    PROVED = "proved"  # by algebra on the equations
    RUN = "run"  # by running the interpreter: the text says with which sizes, how often, and to what tolerance
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Statement:
    """An answer to a question about an optimizer.

    `question` is a slug such as `gradient-scale`. `claim` is a word that programs compare, such as `invariant`; each
    question's file lists its own. `text` is a sentence as a paper would print it. `formula` is what the statement is
    about as a tree, and `curve` what was measured as pairs of numbers; None where there is none.
    """

    question: str
    claim: str
    text: str
    verdict: Verdict
    formula: Expr | None = None
    curve: tuple[tuple[float, float], ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """The statement as JSON's types; a formula is text of the spec language."""
        return {
            "question": self.question,
            "claim": self.claim,
            "text": self.text,
            "verdict": self.verdict.value,
            "formula": None if self.formula is None else expression(self.formula),
            "curve": None if self.curve is None else [list(point) for point in self.curve],
        }
