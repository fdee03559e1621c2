"""All questions about a spec, and their answers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optgen.analysis import equal
from optgen.analysis.bound import bound
from optgen.analysis.constant import constant_gradient
from optgen.analysis.cut import cut
from optgen.analysis.cycle import limit_cycle
from optgen.analysis.rotation import rotation
from optgen.analysis.scale import gradient_scale
from optgen.analysis.sign import gradient_sign
from optgen.analysis.stability import stability
from optgen.analysis.statement import Statement
from optgen.analysis.subject import Subject, subject_of
from optgen.analysis.weights import weight_scale
from optgen.model import DIMENSIONS, Optimizer

QUESTIONS: tuple[tuple[str, Callable[[Subject], list[Statement]]], ...] = (
    ("gradient-scale", gradient_scale),
    ("gradient-sign", gradient_sign),
    ("weight-scale", weight_scale),
    ("rotation", rotation),
    ("cut", cut),
    ("bound", bound),
    ("constant-gradient", constant_gradient),
    ("stability", stability),
    ("limit-cycle", limit_cycle),
    (equal.QUESTION, lambda subject: equal.equals(subject.spec)),
)
"""The questions in the order of the answers, each with the function that answers it."""
WIDTH = 80
MOST_EQUAL = 8
"""How many equalities are for people to read."""


@dataclass(frozen=True)
class Analysis:
    """What is known of a spec with arguments. `shape` is that of the parameter which the statements are about where
    they depend on one."""

    optimizer: Optimizer
    shape: tuple[int, ...]
    statements: tuple[Statement, ...]

    def of(self, question: str) -> list[Statement]:
        """The answers to one question."""
        return [s for s in self.statements if s.question == question]

    def __str__(self) -> str:
        """A paragraph for each statement of `leading`, of at most 80 columns: how it is known, then what it says. The
        shape that they are for stands above them, where the equations depend on it."""
        rows = [f"for a parameter of {' x '.join(map(str, self.shape))}:"] * self.depends_on_shape
        for s in self.leading:
            indent = " " * 11
            rows.append(textwrap.fill(s.text, WIDTH, initial_indent=f"{s.verdict.value:11}", subsequent_indent=indent))
        left = len(self.statements) - len(self.leading)
        return "\n".join(
            [*rows, *([f"and {left} more specs that it equals at special arguments: --json"] * bool(left))]
        )

    @property
    def depends_on_shape(self) -> bool:
        """Whether sizes of the parameter decide which equations are computed."""
        return any(not flag.names.isdisjoint(DIMENSIONS) for flag in self.optimizer.flags)

    @property
    def leading(self) -> tuple[Statement, ...]:
        """The statements for people to read: all but the equalities that need the most special arguments."""
        left = {id(s) for s in self.of(equal.QUESTION)[MOST_EQUAL:]}
        return tuple(s for s in self.statements if id(s) not in left)

    def to_json(self) -> dict[str, Any]:
        """The statements as JSON's types."""
        found = [s.to_json() for s in self.statements]
        return {"optimizer": self.optimizer.name, "shape": list(self.shape), "statements": found}


def analyze(optimizer: Optimizer, **values: Any) -> Analysis:
    """Answer all questions about a spec. `values` are arguments as of `optgen.load`.

    TypeError and ValueError for arguments that it does not have or that are out of range.
    """
    return answered(subject_of(optimizer, values))


def answered(subject: Subject, *, equalities: bool = True) -> Analysis:
    """The answers about a subject; without `equalities`, which take ten seconds where they are not in the cache."""
    asked = (answer for name, answer in QUESTIONS if equalities or name != equal.QUESTION)
    return Analysis(subject.spec, subject.shape, tuple(s for answer in asked for s in answer(subject)))
