"""The frame of all pages: head, style, title, navigation and foot."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from optgen import __version__
from optgen.pages.html import Child, Markup, joined, tag, verbatim


@functools.cache
def _own(name: str) -> str:
    """The text of a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")


def page(title: str, body: Sequence[Child], *, command: str, script: str | None = None) -> str:
    """The text of a page. `command` makes it again; `script` is a file beside this one.

    It loads nothing: neither a style sheet nor a font, a picture or a program.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"optgen {__version__}"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        verbatim("style", _own("style.css")),
    )
    foot = tag("footer", tag("p", f"Made by optgen {__version__}: ", tag("code", command)))
    last = verbatim("script", _own(script)) if script else None
    html = tag("html", head, tag("body", tag("main", *body), foot, last), lang="en")
    return f"<!DOCTYPE html>\n{html}\n"


def contents(entries: Sequence[tuple[str, str]]) -> Markup:
    """The navigation of a page: links to anchors, with their titles."""
    return tag("nav", joined(tag("a", title, href=f"#{slug}") for slug, title in entries), aria_label="On this page")
