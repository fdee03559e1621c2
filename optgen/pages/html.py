"""Markup that is well-formed by construction: a tag has its end, and text is escaped.

What results is HTML and, at the same time, XML, as which tests read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeAlias
from xml.etree import ElementTree

VOID = {"br", "hr", "img", "input", "link", "meta"}
"""Tags without contents and without an end."""


class Markup(str):
    """Text that is markup; any other text is escaped where it becomes part of markup."""

    __slots__ = ()


Child: TypeAlias = "str | Markup | None"
Attribute: TypeAlias = "str | float | bool | None"


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """`<name attributes>children</name>`.

    An underscore in the name of an attribute is a hyphen, and one at its end is dropped (`class_`). One that is None or
    False is left out, and True is the attribute's own name. A child that is None is left out.
    """
    given = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    body = joined(children)
    if name in VOID:
        if body:
            raise ValueError(f"<{name}> has no contents")
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{body}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    text = name if value is True else f"{value:g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'


def joined(children: Iterable[Child]) -> Markup:
    """The children one after the other."""
    return Markup("".join(x if isinstance(x, Markup) else escape(x, quote=False) for x in children if x is not None))


def verbatim(name: str, text: str) -> Markup:
    """A `style` or a `script`, whose text browsers take as it is.

    ValueError where XML would read it otherwise: it has `<` or `&`.
    """
    if re.search("[<&]", text):
        raise ValueError(f"the text of <{name}> has '<' or '&'")
    return Markup(f"<{name}>{text}</{name}>")


def parsed(xml: str) -> Markup:
    """Markup that another part of optgen wrote: MathML, or the SVG of a figure, without what stands before its root.

    ValueError if it is not well-formed.
    """
    try:
        ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise ValueError(f"markup that is not well-formed: {error}") from error
    return Markup(re.sub(r"\A\s*(?:<\?.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|\s)*", "", xml, flags=re.DOTALL))


def link(text: Child, href: str) -> Markup:
    return tag("a", text, href=href)


def code(text: str) -> Markup:
    return tag("code", text)


def table(head: Sequence[Child], rows: Iterable[Sequence[Child]], class_: str | None = None) -> Markup | None:
    """A table, which scrolls where the page is narrower; None without rows. Its first column names the rows."""
    body = [tag("tr", tag("th", first, scope="row"), *(tag("td", x) for x in rest)) for first, *rest in rows]
    if not body:
        return None
    top = tag("thead", tag("tr", *(tag("th", x, scope="col") for x in head)))
    return tag("div", tag("table", top, tag("tbody", *body), class_=class_), class_="wide")


def items(children: Iterable[Child], class_: str | None = None) -> Markup:
    return tag("ul", *(tag("li", x) for x in children), class_=class_)
