"""docs/choosing.md: its tables are those of the data, and what they say to write loads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

import optgen
from optgen import names_elsewhere
from optgen.uses import USES, UseCase
from tests.cli.test_doc import ROOT
from tests.conftest import Golden

PAGE = ROOT / "docs" / "choosing.md"


def table(*rows: Sequence[str]) -> str:
    head, *lines = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *lines])


def by_use() -> str:
    head = ("use", "optimizer", "why", "bytes of states", "first rate", "source")
    rows = [(u.use, f"`{u.call}`", u.why, f"{u.state_bytes():.2g}", f"{u.rate:g}", u.source) for u in USES]
    return table(head, *rows)


def of_names() -> str:
    rows = [
        (" ".join(f"`{n}`" for n in r.names), r.libraries, f"`{r.call}`", r.differs) for r in names_elsewhere.rows()
    ]
    return table(("name", "library", "here", "how it differs"), *rows)


def test_the_tables_are_those_of_the_data(golden: Golden) -> None:
    text = PAGE.read_text("utf-8")
    for mark, made in (("by use", by_use()), ("names", of_names())):
        before, _, rest = text.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        assert end
        text = f"{before}<!-- {mark} -->\n{made}\n{end}{after}"
    golden(PAGE, text)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.use)
def test_what_a_use_begins_with_loads_and_has_a_source(use: UseCase) -> None:
    rule = eval(use.call, {"optgen": optgen})
    assert rule.spec == optgen.load(use.spec).spec
    assert re.search(r"arXiv:\d{4}\.\d{5}", use.source)


def test_bytes_of_states() -> None:
    """Two moments, two of a byte with their scales, one number for each row of 64, four states and two numbers."""
    found = {use.use: use.state_bytes() for use in USES}
    assert found["a vision transformer"] == 8
    assert found["a few GB of memory"] == 2 + 2 * 4 / 256
    assert found["a recommender with large embeddings"] == 4 / 64
    assert found["no tuning of a rate"] == 16 + 2 * 8 / 4096**2
