"""Where a parameter can be cut: what is proved, beside runs of the two parts."""

from __future__ import annotations

import pytest

from optgen import specfiles
from optgen.analysis import Verdict
from optgen.analysis.cut import cut
from optgen.analysis.trial import RandomRun, agree, changes
from tests.analysis.subjects import subject
from tests.sweeps import swept

CLAIMS = {
    "adamw": "exact",
    "lion": "exact",
    "adammini": "between-rows",
    "groupadagrad": "between-rows",
    "lamb": "no",
    "sgld": "no",
    "dog": "between-rows",
    "matrix/muon": "no",
}


@pytest.mark.parametrize("name", swept(specfiles.all_available(), tuple(CLAIMS)[:5]))
def test_parts_are_updated_as_the_whole_where_that_is_said(name: str) -> None:
    one = subject(name)
    (found,) = cut(one)
    assert found.claim == CLAIMS.get(name, found.claim)
    axes = {"exact": (0, 1), "between-rows": (0,), "between-columns": (1,), "no": ()}[found.claim]
    if found.verdict is Verdict.PROVED and one.shape == (4, 3):
        run = RandomRun(one, 3)
        for axis in axes:
            assert agree(changes(run.follow(4)), changes(run.follow(4, cut=(axis, 1))), 1e-12)
