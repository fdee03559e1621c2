"""The picture of a profile of adam shows the lines of adam, as they are now."""

from __future__ import annotations

import html
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_shows_the_equations_of_adam() -> None:
    drawn = re.findall(r"<text.*?>(.*)</text>", (ROOT / "docs" / "annotate.svg").read_text())
    spec = (ROOT / "specs" / "adam.opt").read_text().split("\n")
    sources = {html.unescape(row).split(":", 1)[1].strip() for row in drawn if re.match(" +: ", row)}
    numbers = {int(x) for row in drawn for x in re.findall(r"^ +[\d.]+ adam\.opt:(\d+)$", row)} - {0}
    assert sources == {spec[number - 1].strip() for number in numbers} and len(numbers) == 4
