"""Rotations: what is proved, beside runs, and what is known."""

from __future__ import annotations

import pytest

from optgen import specfiles
from optgen.analysis import Verdict
from optgen.analysis.rotation import rotation
from optgen.analysis.turning import COLS, ROWS, turns_with_weight
from tests.analysis.subjects import subject
from tests.sweeps import swept

KNOWN = [
    ("sgd", "any", Verdict.PROVED),
    ("lars", "any", Verdict.PROVED),
    ("matrix/muon", "both-sides", Verdict.PROVED),
    ("adammini", "right", Verdict.PROVED),
    ("adam", "none", Verdict.RUN),
    ("matrix/soap", "both-sides", Verdict.RUN),
]


@pytest.mark.parametrize(("name", "claim", "verdict"), KNOWN)
def test_known_rotations_are_found(name: str, claim: str, verdict: Verdict) -> None:
    (found,) = rotation(subject(name))
    assert (found.claim, found.verdict) == (claim, verdict)


@pytest.mark.parametrize("name", swept(specfiles.all_available(), ("adamw", "lion", "lamb")))
def test_what_runs_refute_is_not_proved(name: str) -> None:
    """`rotation` tries no proof of a claim that a run refutes."""
    one = subject(name)
    if len(one.shape) != 2:
        return
    (found,) = rotation(one)
    proved = {
        "any": turns_with_weight(one, (ROWS, COLS), as_vector=True),
        "both-sides": turns_with_weight(one, (ROWS, COLS)),
        "left": turns_with_weight(one, (ROWS,)),
        "right": turns_with_weight(one, (COLS,)),
    }
    allowed = {
        "any": {"any", "both-sides", "left", "right"},
        "both-sides": {"both-sides", "left", "right"},
        "left": {"left"},
        "right": {"right"},
        "none": set(),
    }[found.claim]
    assert {claim for claim, holds in proved.items() if holds} <= allowed
