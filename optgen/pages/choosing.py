"""The table by use, in front of the gallery: which optimizer to begin with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from optgen import specfiles
from optgen.pages.html import Child, code, joined, link, table, tag
from optgen.pages.topic import PageSection
from optgen.uses import USES, UseCase

HEAD = ("to train", "begin with", "first rate", "bytes of states", "why, and who says so")


def section(names: Collection[str]) -> PageSection:
    """The table, with links to the pages of `names`."""
    rows = table(HEAD, (list(_row(use, names)) for use in USES))
    note = "Bytes are those of states, for each float32 parameter. What is recommended is what the source says or used."
    return PageSection("choose", "Which one to begin with", joined([rows, tag("p", note, class_="note")]))


def _row(use: UseCase, names: Collection[str]) -> Iterator[Child]:
    yield use.use
    yield _linked(use, names)
    yield f"{use.rate:g}"
    yield f"{use.state_bytes():.3g}"
    yield joined([use.why, tag("br"), tag("span", use.source, class_="cite")])


def _linked(use: UseCase, names: Collection[str]) -> Child:
    """The call that makes it, below the name, which leads to the page of the spec that a chain begins with."""
    first = re.split(specfiles.CHAIN, use.spec)[0]
    known = {name: name for name in names} | {name.removeprefix("matrix/"): name for name in names}
    shown = link(use.spec, f"{known[first]}.html") if first in known else use.spec
    return joined([shown, tag("br"), code(use.call)])
