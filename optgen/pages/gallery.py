"""The gallery: a page for each of some specs that come with optgen, and an index with filters, which are CSS alone.

Nothing on its pages depends on the machine that makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import optgen
from optgen.pages import choosing, families, report, traits
from optgen.pages.html import Markup, link, tag, verbatim
from optgen.pages.page import page
from optgen.pages.topic import Topic
from optgen.pages.traits import NEEDS, Traits

COMMAND = "optgen gallery"
INDEX = "index.html"
MEMORY = {"m0": ("next to none", 0.01), "m4": ("up to 4 bytes", 4.1), "m8": ("up to 8 bytes", 8.1), "mx": ("more", 1e9)}
"""Bytes of states for each parameter, by class: words, and the most. Values for each row or column are next to
nothing."""
MOVED = {"b12": ("12 bytes", 12.5), "b20": ("up to 20", 20.5), "b28": ("up to 28", 28.5), "bx": ("more", 1e9)}
"""Bytes that a step moves for each parameter, by class; 12 are those of SGD, 28 those of Adam."""


def spec_page(name: str) -> str:
    """The page of a spec that comes with optgen."""
    up = "../" * name.count("/")
    above = tag("p", link("← all optimizers", up + INDEX), class_="up")
    note = tag("p", "With what a step costs on your machine: ", tag("code", f"optgen report {name}"), class_="note")
    return report.page_of(
        Topic(optgen.load(name).spec, name), command=f"{COMMAND} {name} -o FOLDER", above=above, below=note
    )


def index_page(names: Sequence[str]) -> str:
    """The page in front: the table by use, the filters, and all specs."""
    found = [traits.of(name) for name in names]
    groups = _groups(found)
    body = [
        tag(
            "header",
            tag("h1", "Optimizers"),
            tag("p", f"{len(found)} optimizers, each written as its equations and compiled to kernels by optgen."),
        ),
        choosing.section(names).markup(),
        tag(
            "section",
            tag("h2", "All of them"),
            tag("form", *(_filter(key, title, values) for key, title, values in groups)),
            tag("ul", *map(_entry, found), class_="specs"),
            id="all",
        ),
        verbatim("style", "\n".join(_rules(groups))),
    ]
    return page("Optimizers", body, command=f"{COMMAND} -o FOLDER")


def path_of(name: str) -> str:
    """The place of a spec's page in the folder."""
    return f"{name}.html"


# ---------------------------------------------------------------- filters

Group = tuple[str, str, Mapping[str, str]]
"""A filter: the key of its inputs, a title, and words for each class."""


def _groups(found: Iterable[Traits]) -> list[Group]:
    """The filters, with those classes that some spec has."""
    used = {name for x in found for name in _classes(x)}
    every: list[Group] = [
        ("family", "family", families.titles()),
        ("memory", "states", {key: words for key, (words, _) in MEMORY.items()}),
        ("moved", "moved", {key: words for key, (words, _) in MOVED.items()}),
        ("needs", "needs", NEEDS),
    ]
    return [
        (key, title, {x: words for x, words in values.items() if f"{key}-{x}" in used}) for key, title, values in every
    ]


def _classes(x: Traits) -> list[str]:
    """The classes of a spec in the list, one for each filter that it passes."""
    memory = next(key for key, (_, most) in MEMORY.items() if x.memory <= most)
    found = [f"family-{x.family}", f"memory-{memory}", *(f"needs-{need}" for need in x.needs)]
    if x.moved is not None:
        found.append("moved-" + next(key for key, (_, most) in MOVED.items() if x.moved <= most))
    return found


def _filter(key: str, title: str, values: Mapping[str, str]) -> Markup:
    """Radio buttons, of which the first one filters nothing."""

    def choice(value: str, words: str) -> Markup:
        box = tag("input", type="radio", name=key, id=f"{key}-{value}", checked=value == "any")
        return tag("label", box, words)

    return tag("fieldset", tag("legend", title), choice("any", "any"), *(choice(*item) for item in values.items()))


def _rules(groups: Sequence[Group]) -> Iterable[str]:
    """A rule of CSS for each button: what is not of its class is hidden."""
    for key, _, values in groups:
        for value in values:
            yield f"body:has(#{key}-{value}:checked) .specs li:not(.{key}-{value}) {{ display: none; }}"


def _entry(x: Traits) -> Markup:
    memory = "no states" if not x.memory else f"{x.memory:.3g} bytes of states"
    moved = [] if x.moved is None else [f"{x.moved:g} bytes moved"]
    needs = [NEEDS[need] for need in x.needs if need != "products"]
    facts = " · ".join((families.titles()[x.family], memory, *moved, *needs))
    return tag(
        "li", link(x.name, path_of(x.name)), x.title, tag("span", facts, class_="facts"), class_=" ".join(_classes(x))
    )
