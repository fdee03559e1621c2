"""Markup is well-formed whatever text it is made of."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optgen.pages import contours, html

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@given(TEXT, TEXT)
def test_text_is_escaped(body: str, value: str) -> None:
    read = ElementTree.fromstring(html.tag("p", body, html.tag("br"), body, title=value))
    assert "".join(read.itertext()) == body * 2 and read.get("title") == value


def test_attributes() -> None:
    assert html.tag("a", class_="x", data_rate=1.5, checked=True, hidden=False, id=None) == (
        '<a class="x" data-rate="1.5" checked="checked"></a>'
    )


def test_what_cannot_be_markup_is_refused() -> None:
    with pytest.raises(ValueError, match="no contents"):
        html.tag("br", "text")
    with pytest.raises(ValueError, match="'<' or '&'"):
        html.verbatim("style", "a<b")
    with pytest.raises(ValueError, match="not well-formed: mismatched tag"):
        html.parsed("<svg><g></svg>")


def test_what_stands_before_a_root_is_left_out() -> None:
    svg = '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "a"\n "b">\n<!-- made -->\n<svg><g/></svg>'
    assert html.parsed(svg) == "<svg><g/></svg>"


def test_tables_without_rows_are_nothing() -> None:
    assert html.table(["a"], []) is None
    assert html.joined([None, "<", html.Markup("<br/>")]) == "&lt;<br/>"


def test_lines_of_equal_value_are_where_the_function_has_it() -> None:
    grid = np.linspace(-1, 1, 41)
    values = grid[:, None] ** 2 + grid[None, :] ** 2
    (circle,) = contours.lines(values, 0.5, 400, 400)
    x, y = np.array(circle).T / 200 - 1
    np.testing.assert_allclose(np.hypot(x, y), np.sqrt(0.5), atol=0.01)
    assert circle[0] == circle[-1] and len(circle) > 100
    assert contours.lines(values, 3.0, 400, 400) == []
