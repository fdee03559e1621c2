"""Question `rotation`: whether steps turn with weights and gradients, where these are rotated.

Claims, the strongest that holds: `any` (all elements are one vector, and any rotation of it), `both-sides` (of a matrix
W, Q@W@R^T for any Q and R), `left` (Q@W), `right` (W@R^T), `none`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optgen.analysis.run import Array
from optgen.analysis.statement import Statement, Verdict
from optgen.analysis.subject import Subject
from optgen.analysis.trial import RUNS, UPDATES, RandomRun, agree, changes, holds, rounding
from optgen.analysis.turning import COLS, ROWS, turns_with_weight

QUESTION = "rotation"
REFLECTIONS = 16
"""How many reflections make a random rotation of all elements."""
KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("any", "any rotation of the vector of all elements", (ROWS, COLS)),
    ("both-sides", "rotations of the rows' and of the columns' space, W to Q·W·Rᵀ", (ROWS, COLS)),
    ("left", "rotations of the rows' space, W to Q·W, and not to those of the columns'", (ROWS,)),
    ("right", "rotations of the columns' space, W to W·Rᵀ, and not to those of the rows'", (COLS,)),
)
TOLERANCE = 1e-6
"""The share of the largest change to which runs agree; rotations round, and bases of eigenvectors more than other
values."""
Turn = Callable[[Array], Array]


def rotation(subject: Subject) -> list[Statement]:
    """The rotations to which steps are equivariant. Runs refute a claim before a proof is tried."""
    for claim, words, rotated in KINDS if len(subject.shape) == 2 else KINDS[:1]:
        turn = _turn(claim, subject.shape)

        def turns(run: RandomRun, updates: int, turn: Turn = turn) -> bool:
            weights = run.follow(updates)
            steps = changes(weights)
            turned = changes(run.follow(updates, gradient=turn, weight=turn))
            with np.errstate(invalid="ignore"):  # of steps that are not finite
                expected = np.array([turn(step) for step in steps])
            return agree(expected, turned, TOLERANCE, rounding(weights))

        if not turns(RandomRun(subject, 0), 3):
            continue
        if turns_with_weight(subject, rotated, as_vector=claim == "any"):
            return [_statement(claim, words, Verdict.PROVED)]
        if holds(subject, turns):
            return [_statement(claim, words, Verdict.RUN)]
    text = "Steps are equivariant to no rotations, of rows, of columns or of both, as random runs show."
    return [Statement(QUESTION, "none", text, Verdict.RUN)]


def _statement(claim: str, words: str, verdict: Verdict) -> Statement:
    seen = f": found in {RUNS} random runs of {UPDATES} updates, to {TOLERANCE:g}"
    found = "" if verdict is Verdict.PROVED else seen
    return Statement(QUESTION, claim, f"Steps are equivariant to {words}{found}.", verdict)


def _turn(claim: str, shape: tuple[int, ...]) -> Turn:
    """A random rotation."""
    rng = np.random.default_rng(7)

    def orthogonal(n: int) -> Array:
        found: Array = np.linalg.qr(rng.normal(size=(n, n)))[0]
        return found

    if claim == "any":  # by reflections: a matrix for all elements of a large parameter would take gigabytes
        normals = [v / np.linalg.norm(v) for v in rng.normal(size=(REFLECTIONS, *shape))]

        def whole(x: Array) -> Array:
            for v in normals:
                x = x - 2 * np.sum(v * x) * v
            return x

        return whole
    left = orthogonal(shape[0]) if claim != "right" else np.eye(shape[0])
    right = orthogonal(shape[1]) if claim != "left" else np.eye(shape[1])
    return lambda x: left @ x @ right.T
