"""The section of what follows from the equations: the statements of `optgen.analysis`, each with how it is known."""

from __future__ import annotations

from optgen.analysis import Statement, Verdict
from optgen.analysis.answers import QUESTIONS
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


def section(topic: Topic) -> PageSection:
    subject, is_report = subject_of(topic.optimizer, {}), topic.machine is not None
    found = {name: answer(subject) for name, answer in QUESTIONS if is_report or name != SLOW}
    same = found.pop(SLOW, [])
    others = [] if is_report else [" Which other optimizers it is: ", code(f"optgen analyze {topic.name}")]
    note = ["Each statement is about the default hyper-parameters, and says how it is known.", *others]
    body = [
        items((_statement(x) for statements in found.values() for x in statements), "laws"),
        *([tag("h3", "Which other optimizers it is"), items(map(_statement, same), "laws")] if same else []),
        tag("p", *note, class_="note"),
    ]
    return PageSection("analysis", "What the equations say", joined(body))


def _statement(statement: Statement) -> Markup:
    verdict = tag("span", KNOWN[statement.verdict], class_=f"verdict {statement.verdict.value}")
    return joined([statement.text, " ", verdict])
