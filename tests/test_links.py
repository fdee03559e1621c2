"""Links of all documents: the files are there, and so are the headings that anchors name."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(path for folder in ("benchmarks", "docs", "examples") for path in (ROOT / folder).rglob("*.md")),
    ROOT / "generated" / "README.md",
]


def prose(path: Path) -> str:
    """The text without what is code."""
    text = re.sub(r"^(```+|~~~+).*?^\1", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("[", "").replace("]", ""), text)


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors that GitHub gives the headings of a document, and those that it sets itself."""
    seen = Counter[str]()
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', path.read_text("utf-8")))
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", prose(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return frozenset(found)


def dead(path: Path) -> list[str]:
    """The links of a document that lead nowhere."""
    text = prose(path)
    links = re.findall(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", text)
    links += re.findall(r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE)
    found = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / unquote(file) if file else path
        if not target.exists() or (anchor and target.suffix == ".md" and unquote(anchor) not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    assert not dead(path)


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# The `load` function, twice\n## Twice\n## Twice\n```\n# no heading\n```\n")
    (tmp_path / "a.md").write_text(
        "[1](b.md#the-load-function-twice) [2](b.md#twice-1) [3](b.md#no-heading) [4](c.md) [5](#a) [6](https://x.y/#z)\n"
        "`[7](c.md)` [`8`](d.md)\n"
    )
    assert dead(tmp_path / "a.md") == ["b.md#no-heading", "c.md", "#a", "d.md"]
