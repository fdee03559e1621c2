"""What commands print fits a terminal of 80 columns, and has colour where the terminal has: list, explain, help."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import optgen
from optgen import specfiles
from optgen.cli import listing, main, terminal
from optgen.symbolic.breaking import LEAST, broken
from optgen.symbolic.symbols import width
from optgen.symbolic.unicode import unicode

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def terminal_of_80(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("optgen.bandwidth.bandwidth", lambda: 28e9)
    monkeypatch.setattr("optgen.bandwidth.product_speed", lambda: 200e9)


def too_wide(text: str, columns: int = 80) -> list[str]:
    return [line for line in text.splitlines() if width(line) > columns]


def help_of(line: str, capsys: Capture) -> str:
    with pytest.raises(SystemExit):
        main([*line.split(), "--help"])
    return capsys.readouterr().out


def test_help_of_every_command_fits(capsys: Capture) -> None:
    text = help_of("", capsys)
    commands = re.findall(r"^    ([a-z]+)(?: |$)", text, re.MULTILINE)
    assert {"list", "explain", "build", "race"} <= set(commands) and not too_wide(text)
    found = {name: help_of(name, capsys) for name in commands}
    assert {name: lines for name, text in found.items() if (lines := too_wide(text))} == {}
    assert all("examples:" in text for text in found.values())


def fits(spec: str, capsys: Capture) -> None:
    assert main(["explain", spec]) == 0
    text = capsys.readouterr().out
    assert "\nEquations\n" in text and not too_wide(text)


def test_explain_fits(capsys: Capture) -> None:
    """A spec with long equations, conditions and names of variants."""
    fits("sgdp", capsys)


@pytest.mark.stress
@pytest.mark.parametrize("spec", specfiles.all_available())
def test_explain_of_every_spec_fits(spec: str, capsys: Capture) -> None:
    fits(spec, capsys)


def test_equations_use_a_wider_terminal() -> None:
    sgdp = optgen.load("sgdp").spec
    case = "(1 − lr·wd·ratioₜ/(1 − momentum))·wₜ₋₁ − lr·(uₜ − radialₜ·wₜ₋₁)   if matrix"
    for columns in (80, 120):
        text = unicode(sgdp, columns=columns)
        assert not too_wide(text, columns) and (case in text) == (columns == 120)


def test_list_for_programs(capsys: Capture) -> None:
    assert main(["list", "--json", "--family", "torch", "--search", "muon"]) == 0
    (muon,) = json.loads(capsys.readouterr().out)
    assert (muon["name"], muon["family"], muon["states"]) == ("torch/muon", "torch", ["momentum_buffer"])
    assert "nesterov" in muon["flags"] and muon["derived_flags"] == ["tall"] and muon["params"]["lr"] == 0.001
    assert main(["list", "--json", "--family", "torch", "--search", "abacus"]) == 1
    assert json.loads(capsys.readouterr().out) == []


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.bold("Equations") == "Equations"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.bold("Equations") == "\x1b[1mEquations\x1b[0m"
    (row,) = listing._rows([("sgd", optgen.load("sgd").spec)])
    assert row.startswith("\x1b[36msgd\x1b[0m  ")
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as here:
            here.setenv(name, value)
            assert terminal.bold("Equations") == "Equations"
    monkeypatch.setenv("NO_COLOR", "")  # as if it were not set
    assert terminal.has_colour()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a + b·(c + d) − e·f·(g + h)", ["a + b·(c + d)", "  − e·f·(g + h)"]),
        ("f(first, second)·(other + one)", ["f(first, second)", "  ·(other + one)"]),
        ("maximum(alpha, beta, gamma)", ["maximum(alpha, beta,", "  gamma)"]),
        ("|a − b|·|c − d| + eeeeee", ["|a − b|·|c − d|", "  + eeeeee"]),
        ("x" * 25, ["x" * 20, "  " + "x" * 5]),
    ],
)
def test_equations_are_broken_where_the_fewest_brackets_are_open(text: str, lines: list[str]) -> None:
    assert broken(text, 20) == lines


@pytest.mark.parametrize("columns", range(1, 60, 7))
def test_breaking_loses_nothing_and_ends(columns: int) -> None:
    text = "(1 − β₁)·m̂ₜ₋₁/(√(vₜ + ε)·max(1, |gₜ − wₜ₋₁|)) − {0 if resetₜ; lr·(u_longₜ + u_longerₜ) otherwise}"
    lines = broken(text, columns)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert max(map(width, lines)) <= max(columns, LEAST)


def test_tables_give_way_where_they_are_widest() -> None:
    rows = [("name", "what it is"), ("beta", "decay of the first of the two moments"), ("eps", "added")]
    assert terminal.table(rows, 80) == [
        ["name  what it is"],
        ["beta  decay of the first of the two moments"],
        ["eps   added"],
    ]
    assert terminal.table(rows, 26)[1] == ["beta  decay of the first", "      of the two moments"]
    assert terminal.table(rows, 5)[1][0] == "beta  decay"  # no word is cut
