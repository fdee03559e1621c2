"""The section of equations, as set mathematics."""

from __future__ import annotations

from optgen.pages.html import joined, tag
from optgen.pages.subject import Section, Subject
from optgen.symbolic.unicode import unicode


def section(subject: Subject) -> Section:
    caption = tag(
        "p",
        "A value with index t − 1 is that before the step, and one with index t is that after it. w is the weight, "
        "g the gradient, and t counts updates from 1 on.",
        class_="note",
    )
    return Section("equations", "Equations", joined([tag("pre", unicode(subject.optimizer)), caption]))
