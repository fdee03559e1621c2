"""The page of one spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from optgen.pages import costs, declared, equations, laws, races, snippets, text, trajectories
from optgen.pages.html import Child, Markup, code, joined, tag
from optgen.pages.page import contents, page
from optgen.pages.topic import Machine, PageSection, Topic

Make = Callable[[Topic], PageSection | None]
SECTIONS: Sequence[Make] = (
    equations.section,
    declared.section,
    costs.section,
    laws.section,
    trajectories.section,
    races.section,
    snippets.section,
    text.section,
)
"""The sections of a page, in order; None is one that a spec has not. One more is a file, and its function here."""


def page_of(
    topic: Topic,
    *,
    command: str,
    above: Child = None,
    below: Child = None,
    shown: Callable[[Sequence[Make]], Iterable[Make]] = iter,
) -> str:
    """The text of the page of a spec.

    `above` stands over its title, and `below` under it. `shown` goes through the sections, and can show how far it is.
    """
    optimizer = topic.optimizer
    sections = [found for section in shown(SECTIONS) if (found := section(topic)) is not None]
    entries = [(x.slug, x.title) for x in sections]
    body = [above, _title(topic), below, contents(entries), *(x.markup() for x in sections)]
    return page(f"{optimizer.name}, an optimizer", body, command=command, script="slider.js")


def measured() -> Machine:
    """What limits steps on this machine; takes about a second."""
    from optgen import bandwidth, num_threads

    return Machine(bandwidth.bandwidth(), bandwidth.product_speed(), num_threads())


def _title(topic: Topic) -> Markup:
    optimizer = topic.optimizer
    also = f"also called {', '.join(optimizer.aliases)}" if optimizer.aliases else ""
    version = f"version {optimizer.version}" if optimizer.version > 1 else ""
    axes = "a parameter is a batch of matrices of its last two axes" if optimizer.last_two else ""
    small = [x for x in (also, version, axes) if x]
    return tag(
        "header",
        tag("h1", optimizer.name),
        tag("p", optimizer.title, class_="title") if optimizer.title else None,
        tag("p", optimizer.cite, class_="cite") if optimizer.cite else None,
        tag("p", joined([code(topic.name), *("; " + x for x in small)])),
    )
