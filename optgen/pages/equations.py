"""The section of equations, as set mathematics."""

from __future__ import annotations

from optgen.pages.html import joined, parsed, tag
from optgen.pages.topic import PageSection, Topic
from optgen.symbolic.mathml import mathml


def section(topic: Topic) -> PageSection:
    caption = tag(
        "p",
        "A value with index t − 1 is that before the step, and one with index t is that after it. w is the weight, "
        "g the gradient, and t counts updates from 1 on.",
        class_="note",
    )
    set_ = tag("div", parsed(mathml(topic.optimizer)), class_="wide")
    return PageSection("equations", "Equations", joined([set_, caption]))
