"""No text, however wrong, makes the front end do anything but parse or raise SpecErrors."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optgen.diagnostics import Source, SpecErrors
from optgen.lang import format_text, parse
from optgen.lang.syntax import HEADS, KEYWORDS
from optgen.model import Optimizer

HERE = Path(__file__).parent
TEXTS = [p.read_text(encoding="utf-8") for p in (*HERE.parents[1].glob("specs/*.opt"), *HERE.glob("good/*.opt"))]
PIECES = sorted({*KEYWORDS, *HEADS, *"m m' w w' g lr x 1 0.5 1e9 sqrt( mean( where( clip(".split()})
PIECES += list("+-*/^=<>()[],:|'\"#.!\\ \t") + ["\n", "\n  ", "\n\n", "\r\n", "**", "==", "<=", "'a'", '"doc"', "\x00", "\u03b2", "\ufeff"]

fast = settings(max_examples=150, deadline=None)


def check(text: str) -> Optimizer | None:
    """Parse and format a text; all that is promised of both."""
    source = Source("<text>", text)
    try:
        optimizer = parse(source)
    except SpecErrors as error:
        assert error.diagnostics
        assert str(error)
        assert list(error.diagnostics) == sorted(error.diagnostics, key=lambda d: d.span)
        optimizer = None
    try:
        once = format_text(source)
    except SpecErrors:
        assert optimizer is None
        return None
    again = Source("<text>", once)
    assert format_text(again) == once
    if optimizer is not None:
        assert parse(again) == optimizer
    return optimizer


@fast
@given(st.text(max_size=200))
def test_random_text(text: str) -> None:
    check(text)


@fast
@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_random_pieces(pieces: list[str]) -> None:
    check(" ".join(pieces))


@fast
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_random_equations(pieces: list[str]) -> None:
    check("optimizer X\nparam b = 0.9\nflag f = false\nstate m = 0\nupdate:\n  m' = " + " ".join(pieces) + "\n  w' = w - m'\n")


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_random_mutations(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 1, 2, 5, 20]))
        insert = data.draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=3)))
        text = text[:at] + insert + text[at + length :]
    check(text)


@fast
@given(st.data())
def test_random_lines(data: st.DataObject) -> None:
    """Lines of good specs, shuffled, dropped and repeated: what parses here is often nearly right."""
    lines = data.draw(st.sampled_from(TEXTS)).splitlines()
    order = data.draw(st.lists(st.sampled_from(range(len(lines))), max_size=len(lines) + 5))
    check("\n".join(lines[i] for i in order))


HUGE = {
    "brackets": "optimizer X\nupdate:\n  w' = " + "(" * 20000,
    "closed brackets": "optimizer X\nupdate:\n  w' = " + "(" * 20000 + "g" + ")" * 20000,
    "signs": "optimizer X\nupdate:\n  w' = " + "-" * 30000 + "g",
    "nots": "optimizer X\nupdate:\n  w' = where(" + "not " * 10000 + "g > 0, g, w)",
    "powers": "optimizer X\nupdate:\n  w' = g" + "^g" * 20000,
    "sum": "optimizer X\nupdate:\n  w' = g" + "+g" * 20000,
    "guard": "optimizer X\nflag f = false\nupdate:\n  w' = g if f" + " and f" * 8000,
    "condition": "optimizer X\nparam p = 1\nflag f = p > 0" + " or p > 1" * 5000 + "\nupdate:\n  w' = g if f\n  w' = w otherwise",
    "require": "optimizer X\nparam p = 1\nrequire " + "not " * 10000 + 'p > 0 "x"\nupdate:\n  w\' = w',
    "lines": "optimizer X\nupdate:\n" + "a=b\n" * 15000,
    "names": "optimizer X\nupdate:\n" + "".join(f"a{i}=b{i}\n" for i in range(5000)),
    "chain": "optimizer X\nupdate:\n  x0 = g\n" + "".join(f"x{i+1}=x{i}\n" for i in range(3000)) + "w'=x3000",
    "open lines": "optimizer X\nupdate:\n  w' = (\n" + "g +\n" * 12000,
    "flags": "optimizer X\n" + "".join(f"flag f{i} = true\n" for i in range(3000)) + "update:\n  w' = g if f1\n  w' = w otherwise",
    "number": "optimizer X\nparam n: int = " + "9" * 50000 + "\nupdate:\n  w' = w",
    "line of a megabyte": "x" * 1_000_000,
    "zero bytes": "\x00" * 60000,
    "quotes": "'" * 60000,
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_text(name: str) -> None:
    started = time.perf_counter()
    check(HUGE[name])
    assert time.perf_counter() - started < 10
