"""The words of the documents: each word of docs/glossary.md is one that they use, and none says what was found to be a
riddle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
DOCUMENTS = sorted(
    {ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")}
    - {GLOSSARY}
)
COMMANDS = sorted((ROOT / "optgen" / "cli").glob("*.py"))
INSTEAD = {
    "come along": "come with optgen",
    "comes along": "comes with optgen",
    "given away": "donated",
    "gives away": "donates",
    "give away": "donate",
    "be the data": "follow the data",
    "pass over memory": "sweep",
    "passes over memory": "sweeps",
    "without a rate": "with no learning rate to tune",
    "by the loss": "with a rate that follows from the loss",
    "kernels with products between": "steps of kernels and products of matrices",
    "variants of several kernels": "variants that multiply matrices",
}
"""Words that strangers did not understand, or second words for one thing, each with what is said instead."""


def words() -> list[str]:
    """The words of the glossary, in its order."""
    return re.findall(r"^\| ([a-z][\w -]*) \| [^|]+ \| [^|]*\|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)


def test_the_glossary_is_in_order() -> None:
    rows = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("|")]
    assert len(words()) == len(rows) - 1 > 30  # with the line below the heading, which is one of them
    assert words()[1:] == sorted(set(words()[1:]))


def test_the_documents_use_its_words() -> None:
    texts = [path.read_text("utf-8").lower() for path in DOCUMENTS]
    unused = [word for word in words()[1:] if not any(re.search(rf"\b{word}s?\b", text) for text in texts)]
    assert not unused


@pytest.mark.parametrize("path", [*DOCUMENTS, *COMMANDS], ids=lambda path: path.name)
def test_what_was_a_riddle_is_said_plainly(path: Path) -> None:
    text = " ".join(path.read_text("utf-8").lower().split())
    assert {riddle: plain for riddle, plain in INSTEAD.items() if re.search(rf"\b{riddle}\b", text)} == {}
