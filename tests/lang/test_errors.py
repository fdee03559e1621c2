"""What a user reads when a spec is wrong: one golden file per malformed spec."""

from __future__ import annotations

import itertools
import re
import string
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import optgen
import optgen.lang
from optgen.diagnostics import Diagnostic, Source, Span, SpecErrors
from optgen.ir import ROUNDING_DRAW
from optgen.lang import parse
from optgen.lang.syntax import KEYWORDS, MAX_CHARACTERS
from optgen.model import MAX_DRAWS

HERE = Path(__file__).parent
BAD = sorted((HERE / "bad").glob("*.opt"))


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_error_text(path: Path, golden: Callable[[Path, str], None]) -> None:
    source = Source(path.name, path.read_bytes().decode("utf-8", "surrogatepass"))
    with pytest.raises(SpecErrors) as caught:
        parse(source)
    golden(path.with_suffix(".err"), f"{caught.value}\n")


def test_every_code_has_an_example() -> None:
    sources = (p.read_text(encoding="utf-8") for p in Path(optgen.lang.__file__).parent.glob("*.py"))
    codes = {code for text in sources for code in re.findall(r'"([EW][0-9]{3})"', text)}
    examples = [p.read_text(encoding="utf-8") for p in (*HERE.glob("bad/*.err"), *HERE.glob("good/*.txt"))]
    shown = {code for text in examples for code in re.findall(r"\[([EW][0-9]{3})\]", text)}
    assert shown == codes - {"E111"}  # see below


def test_what_is_wrong_everywhere_is_not_reported_to_the_end() -> None:
    with pytest.raises(SpecErrors) as caught:
        parse(Source("f.opt", "no spec at all\n" * 500))
    diagnostics = caught.value.diagnostics
    assert len(diagnostics) == 101
    assert [d.code for d in diagnostics if d.code != "E112"] == ["E111"]


def test_every_error_says_what_to_do() -> None:
    for path in BAD:
        blocks = path.with_suffix(".err").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
        assert all(" = help: " in block for block in blocks), path


@pytest.mark.parametrize("read", [optgen.parse, lambda text: optgen.load("adam with lookahead(k=")])
def test_a_traceback_has_no_frames_of_the_compiler(read: Callable[[str], object]) -> None:
    with pytest.raises(SpecErrors) as caught:
        read("no spec")
    package = Path(optgen.__file__).parent
    frames = [f.filename for f in traceback.extract_tb(caught.value.__traceback__)]
    assert [f for f in frames if Path(f).is_relative_to(package)] == [str(package / "api.py")]
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_no_golden_file_is_left_over() -> None:
    assert {p.stem for p in HERE.glob("bad/*.err")} == {p.stem for p in BAD}
    assert len(BAD) >= 50


def _draws(n: int) -> str:
    """A spec of n draws, in the fewest characters."""
    letters = string.ascii_uppercase + string.ascii_lowercase
    pairs = ("".join(pair) for pair in itertools.product(letters, letters + string.digits))
    names = (name for name in pairs if name not in KEYWORDS)
    return "update:\n" + "".join(f"{name}=normal()\n" for name in itertools.islice(names, n))


def test_more_draws_than_there_are_ids() -> None:
    """Draw 2048 would be that of stochastic rounding, and another one of the first that of another parameter."""
    assert _draws(2048).count("normal") == 2048 == ROUNDING_DRAW == MAX_DRAWS
    parse(Source("f.opt", f'optimizer X "x"\n{_draws(MAX_DRAWS)}w\'=w-lr*g*AA'))
    with pytest.raises(SpecErrors) as caught:
        parse(Source("f.opt", f'optimizer X "x"\n{_draws(MAX_DRAWS + 2)}w\'=w-lr*g*AA'))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "a spec of 2050 draws; the limit is 2048, and this is the first one beyond it"
    assert (diagnostic.code, diagnostic.span) == ("E108", Span(2051, 4, 12))


def test_no_spec_has_more_states_than_ids_of_rounding() -> None:
    """Two states share a draw, of which there are 2^11; a state is declared and updated."""
    shortest = len("state a=0\n") + len("a'=a\n")
    assert MAX_CHARACTERS // shortest < 2 * (2**12 - ROUNDING_DRAW)


def test_a_message_shows_a_window_of_a_long_line() -> None:
    line = "x" * 1000 + "!" + "y" * 1000
    shown = Diagnostic("E101", "no", Span(1, 1001, 1002), "help").render(Source("f.opt", line)).split("\n")
    assert max(map(len, shown)) < 200
    assert shown[2][shown[3].index("^")] == "!"


def test_tabs_and_what_cannot_be_printed_take_one_column() -> None:
    shown = Diagnostic("E101", "no", Span(1, 4, 5)).render(Source("f.opt", "\t\x1b\u2028!\r")).split("\n")
    assert shown[2] == "1 |    !"
    assert shown[2][shown[3].index("^")] == "!"


def test_errors_come_in_the_order_of_the_text() -> None:
    text = "param b = 2 in [0, 1)\nstate m = q\nupdate:\n  w' = w - lr*(m\n"
    with pytest.raises(SpecErrors) as caught:
        parse(Source("f.opt", text))
    assert [d.code for d in caught.value.diagnostics] == ["E110", "E402", "E209", "E206", "E102"]
