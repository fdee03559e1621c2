"""No text, however wrong, makes the front end do anything but parse or raise SpecErrors."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optgen.diagnostics import Source, SpecErrors
from optgen.lang import format_text, parse
from optgen.lang.syntax import KEYWORDS
from optgen.model import Optimizer
from tests.sweeps import swept

HERE = Path(__file__).parent
TEXTS = [p.read_text(encoding="utf-8") for p in (*HERE.parents[1].glob("specs/*.opt"), *HERE.glob("good/*.opt"))]
WORDS = ["m", "m'", "w", "w'", "g", "lr", "x", "1", "0.5", "1e9", "sqrt(", "mean(", "where(", "clip("]
MARKS = ["\n", "\n  ", "\n\n", "\r\n", "**", "==", "<=", "'a'", '"doc"', "\x00", "\u03b2", "\ufeff", " ", "\t"]
PIECES = [*sorted(KEYWORDS), *WORDS, *"+-*/^=<>()[],:|'\"#.!\\", *MARKS]

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
    check(
        "optimizer X\nparam b = 0.9\nflag f = false\nstate m = 0\nupdate:\n  m' = "
        + " ".join(pieces)
        + "\n  w' = w - m'\n"
    )


def mutated(data: st.DataObject) -> str:
    """A good spec of which pieces are cut out, replaced or added."""
    text = data.draw(st.sampled_from(TEXTS))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 1, 2, 5, 20]))
        insert = data.draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=3)))
        text = text[:at] + insert + text[at + length :]
    return text


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_mutations(data: st.DataObject) -> None:
    check(mutated(data))


@pytest.mark.stress
@settings(max_examples=2000, deadline=None)
@given(st.data())
def test_many_random_mutations(data: st.DataObject) -> None:
    check(mutated(data))


@fast
@given(st.data())
def test_random_lines(data: st.DataObject) -> None:
    """Lines of good specs, shuffled, dropped and repeated: what parses here is often nearly right."""
    lines = data.draw(st.sampled_from(TEXTS)).splitlines()
    order = data.draw(st.lists(st.sampled_from(range(len(lines))), max_size=len(lines) + 5))
    check("\n".join(lines[i] for i in order))


X = "optimizer X\n"
U = X + "update:\n  w' = "
HUGE = {
    "brackets": U + "(" * 30000,
    "closed brackets": U + "(" * 15000 + "g" + ")" * 15000,
    "signs": U + "-" * 30000 + "g",
    "nots": U + "where(" + "not " * 7000 + "g > 0, g, w)",
    "powers": U + "g" + "^g" * 15000,
    "sum": U + "g" + "+g" * 15000,
    "guard": X + "flag f = false\nupdate:\n  w' = g if f" + " and f" * 5000,
    "condition": X
    + "param p = 1\nflag f = p > 0"
    + " or p > 1" * 3000
    + "\nupdate:\n  w' = g if f\n  w' = w otherwise",
    "require": X + "param p = 1\nrequire " + "not " * 7000 + 'p > 0 "x"\nupdate:\n  w\' = w',
    "lines": X + "update:\n" + "a=b\n" * 8000,
    "fewer lines": X + "update:\n" + "a=b\n" * 2000,
    "names": X + "update:\n" + "".join(f"a{i}=b{i}\n" for i in range(2500)),
    "fewer names": X + "update:\n" + "".join(f"a{i}=b{i}\n" for i in range(800)),
    "chain": X + "update:\nx0 = g\n" + "".join(f"x{i + 1}=x{i}\n" for i in range(2000)) + "w'=x2000",
    "open lines": U + "(\n" + "g +\n" * 8000,
    "flags": X + "".join(f"flag f{i} = true\n" for i in range(1500)) + "update:\n w' = g if f1\n w' = w otherwise",
    "states": X
    + "".join(f"state s{i} = 0\n" for i in range(800))
    + "update:\n"
    + "".join(f"s{i}'=s{i}+g\n" for i in range(800)),
    "number": X + "param n: int = " + "9" * 30000 + "\nupdate:\n  w' = w",
    "line of a megabyte": "x" * 1_000_000,
    "zero bytes": "\x00" * 30000,
    "quotes": "'" * 30000,
    "long name": X + "update:\n" + "x" * 30000 + " = g",
}


@pytest.mark.parametrize("name", swept(HUGE, lambda name: name not in ("lines", "names")))
def test_huge_text(name: str) -> None:
    started = time.thread_time()
    check(HUGE[name])
    assert time.thread_time() - started < 10  # a second or less each
