"""The section of a spec as it is written, which makes the page again."""

from __future__ import annotations

from optgen.pages.html import code, joined, tag
from optgen.pages.topic import PageSection, Topic


def section(topic: Topic) -> PageSection:
    own = tag("pre", code(topic.optimizer.source.text.rstrip()))
    note = tag(
        "p",
        "All of this page follows from this text: equations, kernels and what is said of them. Save it as a file that "
        "ends in .opt to change it.",
        class_="note",
    )
    return PageSection("spec", "The spec", joined([own, note]))
