"""The section of what follows from the equations: the statements of `optgen.analysis`, each with how it is known."""

from __future__ import annotations

from optgen.analysis import Statement, Verdict
from optgen.analysis.answers import answered
from optgen.analysis.equal import QUESTION
from optgen.analysis.subject import subject_of
from optgen.pages.html import Markup, code, items, joined, tag
from optgen.pages.topic import PageSection, Topic

KNOWN = {
    Verdict.PROVED: "proved by algebra on the equations",
    Verdict.RUN: "found by running the equations",
    Verdict.UNDECIDED: "not decided",
}
NOTE = (
    "At the default hyper-parameters, but for those that a statement names. What is proved follows from the equations. "
    "What is found by running them was seen in runs, and may fail elsewhere."
)
FREE = (
    "An argument that is not named is free: it has the same value in both, where both have one of that name. One that "
    "only the other optimizer has is at its default."
)


def section(topic: Topic) -> PageSection:
    is_report = topic.machine is not None
    # Equalities take seconds: a page of the gallery names the command.
    analysis = answered(subject_of(topic.optimizer, {}), equalities=is_report)
    leading, left = analysis.leading, len(analysis.statements) - len(analysis.leading)
    same = [s for s in leading if s.question == QUESTION]
    others = [] if is_report else [" Which other optimizers it is: ", code(f"optgen analyze {topic.name}")]
    more = [f" {left} more at special arguments: ", code(f"optgen analyze {topic.name} --json")] if left else []
    body = [
        items((_statement(s) for s in leading if s.question != QUESTION), "laws"),
        tag("p", NOTE, *others, class_="note"),
    ]
    if same:
        body += [
            tag("h3", "Which other optimizers it is"),
            items(map(_statement, same), "laws"),
            tag("p", FREE, *more, class_="note"),
        ]
    return PageSection("analysis", "What the equations say", joined(body))


def _statement(statement: Statement) -> Markup:
    verdict = tag("span", KNOWN[statement.verdict], class_=f"verdict {statement.verdict.value}")
    return joined([statement.text, " ", verdict])
