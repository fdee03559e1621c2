"""The section of what follows from the equations: the statements of `optgen.analysis`, each with how it is known."""

from __future__ import annotations

from optgen.analysis import Statement, Verdict, analyze
from optgen.pages.html import Markup, items, joined, tag
from optgen.pages.topic import PageSection, Topic

KNOWN = {
    Verdict.PROVED: "proved by algebra on the equations",
    Verdict.RUN: "found by running the equations",
    Verdict.UNDECIDED: "not decided",
}


def section(topic: Topic) -> PageSection:
    statements = analyze(topic.optimizer).statements
    note = tag(
        "p",
        "Each statement follows from the equations at the default hyper-parameters, and says how it is known.",
        class_="note",
    )
    return PageSection("analysis", "What the equations say", joined([items(map(_statement, statements), "laws"), note]))


def _statement(statement: Statement) -> Markup:
    verdict = tag("span", KNOWN[statement.verdict], class_=f"verdict {statement.verdict.value}")
    return joined([statement.text, " ", verdict])
