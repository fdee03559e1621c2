"""Figures: colours that can be read on white and on black, and SVG that stands alone or within a page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from optgen import figures

pytest.importorskip("matplotlib")


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2.2, of a colour as #rrggbb."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("color", figures.COLORS)
def test_lines_have_a_contrast_of_3_on_white_and_on_black(color: str) -> None:
    assert 1.05 / (luminance(color) + 0.05) >= 3
    assert (luminance(color) + 0.05) / 0.05 >= 3


def picture(title: str) -> str:
    with figures.figure(3, 2) as (fig, axes):
        (drawn,) = axes.plot([1, 2], [0.00123, 4], label="rate 0.00123", **figures.line(1))
        drawn.set_gid("first")
        fig.legend()
        return figures.svg(fig, title)


def test_an_svg_is_one_element_with_text_as_text_in_the_colour_of_the_page() -> None:
    text = picture("Loss <of> A & B")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root[0].text == "Loss <of> A & B"
    assert "rate 0.00123" in "".join(root.itertext())  # digits are left out of attributes alone
    assert len(root.findall(".//*[@class='first']")) == 1
    assert "currentColor" in text and figures.INK not in text and "#000000" not in text
    assert not re.search(r'="[^"]*\.\d{3}', text)
    assert "20" not in re.sub(r"<[^>]*>", "", text) and "matplotlib" not in text  # neither a date nor a program
    assert picture("Loss <of> A & B") == text


def test_figures_of_one_page_share_no_id_and_no_style() -> None:
    first, second = (set(re.findall(r' id="([^"]+)"', picture(title))) for title in "AB")
    assert first and not first & second
    assert re.findall(r"<style[^>]*>(.*?)</style>", picture("A"), re.DOTALL) == [figures._ALONE]


def test_a_figure_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"figures are drawn by matplotlib: pip install .*race"), figures.figure(1, 1):
        pass
