"""`optgen fmt`: one layout, comments kept, the same meaning, and nothing left to do the second time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from optgen import pipeline
from optgen.diagnostics import Source, SpecErrors
from optgen.lang import format_text, parse
from optgen.model import Optimizer

HERE = Path(__file__).parent
SHIPPED = sorted((HERE.parents[1] / "specs").rglob("*.opt"))
GOOD = sorted((HERE / "good").glob("*.opt"))
CASES = sorted(p for p in (HERE / "fmt").glob("*.opt") if not p.stem.endswith("_formatted"))


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def fmt(text: str) -> str:
    return format_text(Source("<text>", text))


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_layout(path: Path, golden: Callable[[Path, str], None]) -> None:
    once = fmt(read(path))
    golden(path.with_name(f"{path.stem}_formatted.opt"), once)
    assert fmt(once) == once


def meaning(text: str) -> Optimizer:
    """The model of a spec, or of what a transform makes of sgd."""
    source = Source("mine.opt", text)
    return parse(pipeline.with_base("sgd", source) if pipeline.is_transform(source) else source)


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_meaning_and_comments_are_kept(path: Path) -> None:
    text = read(path)
    once = fmt(text)
    assert fmt(once) == once
    assert meaning(once) == meaning(text)
    assert text.count("#") == once.count("#")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_specs_are_formatted(path: Path) -> None:
    """So formatting changes neither their meaning nor their comments."""
    assert fmt(read(path)) == read(path)


def test_what_does_not_parse_is_not_formatted() -> None:
    with pytest.raises(SpecErrors, match="E102"):
        fmt("optimizer X\nupdate:\n  w' = (w - g\n")


def test_what_parses_but_is_wrong_is_formatted() -> None:
    assert fmt("update:\nw'=w-lr*unknown\n") == "update:\n  w' = w - lr*unknown\n"
