"""The section of what follows from the equations: the statements of `optgen.analysis`, each with how it is known."""

from __future__ import annotations

from optgen.analysis import Statement, Verdict
from optgen.analysis.answers import QUESTIONS, Analysis
from optgen.analysis.subject import subject_of
from optgen.pages.html import Markup, code, items, joined, tag
from optgen.pages.topic import PageSection, Topic

KNOWN = {
    Verdict.PROVED: "proved by algebra on the equations",
    Verdict.RUN: "found by running the equations",
    Verdict.UNDECIDED: "not decided",
}
SLOW = "equals"
"""The question that takes ten seconds, as it compares a spec with all that come with optgen: reports alone ask it."""


NOTE = (
    "At the default hyper-parameters, but for those that a statement names. What is proved follows from the equations. "
    "What is found by running them was seen in runs, and may fail elsewhere."
)
FREE = (
    "An argument that is not named is free: it has the same value in both, where both have one of that name. One that "
    "only the other optimizer has is at its default."
)


def section(topic: Topic) -> PageSection:
    subject, is_report = subject_of(topic.optimizer, {}), topic.machine is not None
    found = [s for name, answer in QUESTIONS if is_report or name != SLOW for s in answer(subject)]
    analysis = Analysis(topic.optimizer, subject.shape, tuple(found))
    same, left = analysis.of(SLOW), len(found) - len(analysis.leading)
    others = [] if is_report else [" Which other optimizers it is: ", code(f"optgen analyze {topic.name}")]
    more = [f" {left} more at special arguments: ", code(f"optgen analyze {topic.name} --json")] if left else []
    body = [
        items((_statement(s) for s in analysis.leading if s.question != SLOW), "laws"),
        tag("p", NOTE, *others, class_="note"),
    ]
    if same:
        body += [
            tag("h3", "Which other optimizers it is"),
            items((_statement(s) for s in analysis.leading if s.question == SLOW), "laws"),
            tag("p", FREE, *more, class_="note"),
        ]
    return PageSection("analysis", "What the equations say", joined(body))


def _statement(statement: Statement) -> Markup:
    verdict = tag("span", KNOWN[statement.verdict], class_=f"verdict {statement.verdict.value}")
    return joined([statement.text, " ", verdict])
