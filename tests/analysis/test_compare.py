"""Two optimizers side by side: which names correspond, which equations differ, and what else is said of the two."""

from __future__ import annotations

import itertools
import json
from xml.etree import ElementTree

import pytest

import optgen
from optgen import specfiles
from optgen.cli import main
from optgen.comparing import compare
from optgen.comparing.comparison import Compared
from optgen.races import baselines
from optgen.races.baselines import Baseline
from optgen.races.contender import called
from optgen.races.results import Entry, Trial
from optgen.symbolic.difference import Difference, SpecVariant, difference
from optgen.symbolic.unicode import unicode
from tests.sweeps import swept

ADAM = """
optimizer Mine
param decay = 0.9 in [0, 1)
param slow = 0.999 in [0, 1)
param eps = 1e-8
state avg = 0
state square = 0
update:
  rate = lr*sqrt(1 - slow^t)/(1 - decay^t)
  whole = g + wd*w
  square' = slow*square + (1 - slow)*whole^2
  avg' = decay*avg + (1 - decay)*whole
  w' = w - rate*avg'/(sqrt(square') + eps)
"""
"""Adam with other names, and two equations in another order."""
SWAPPED = """
optimizer Swapped
param a = 0.9 in [0, 1)
param b = 0.999 in [0, 1)
state x = 0
state y = 0
update:
  x' = a*x + g
  y' = b*y + g
  w' = w - lr*(x' - 2*y')
"""
SAMPLE = (
    "adam", "sgd", "lion", "muon", "lbfgs", "soap otherwise adamw", "adafactor", "adam with lookahead",
    "schedulefree_adamw", "sophia", "adamw with sam", "sgd with mechanic",
)  # fmt: skip


def _variant(line: str) -> SpecVariant:
    own = Compared(line, *called(line)[1:])
    return SpecVariant(own.optimizer, own.flags, own.rule.values)


def _of_text(text: str) -> SpecVariant:
    own = Compared("mine", optgen.parse(text))
    return SpecVariant(own.optimizer, own.flags, own.rule.values)


def _signs(found: Difference, sign: str) -> list[str]:
    return [text for own, text in found.rows() if own == sign]


def test_a_mere_renaming_is_no_difference_and_is_said() -> None:
    found = difference(_variant("adam"), _of_text(ADAM))
    assert found.is_none
    assert found.names == {
        "decay": "beta1", "slow": "beta2", "eps": "epsilon", "avg": "m", "square": "v", "rate": "lr_t", "whole": "d",
    }  # fmt: skip


def test_names_that_are_swapped_are_seen() -> None:
    text = SWAPPED.translate(str.maketrans("abxy", "bayx")).replace("updbte", "update").replace("pbrbm", "param")
    text = text.replace("optimizer Swbpped", "optimizer Other").replace("stbte", "state")
    found = difference(_of_text(SWAPPED), _of_text(text))
    assert found.is_none and found.names == {"a": "b", "b": "a", "x": "y", "y": "x"}


def test_an_equation_that_differs_stands_below_the_other_one() -> None:
    text = ADAM.replace("(sqrt(square') + eps)", "sqrt(square' + eps)")
    assert difference(_variant("adam"), _of_text(text)).rows()[-2:] == [
        ("-", "wₜ  = wₜ₋₁ − lrₜ·mₜ/(√vₜ + ε)"),
        ("+", "wₜ  = wₜ₋₁ − lrₜ·mₜ/√(vₜ + ε)"),
    ]


def test_names_in_nearly_equal_equations_correspond() -> None:
    text = ADAM.replace("(1 - decay)*whole", "(1 - decay)*g").replace("rate*", "2*lr*")
    found = difference(_variant("adam"), _of_text(text))
    assert found.names.items() >= {"avg": "m", "square": "v", "slow": "beta2", "decay": "beta1"}.items()
    assert ("+", "mₜ  = β₁·mₜ₋₁ + (1 − β₁)·gₜ") in found.rows()


def test_a_name_for_something_else_gets_the_name_of_its_optimizer() -> None:
    """`m` is a state of Adam, and a value here."""
    text = "optimizer Other\nupdate:\n  m = 2*g\n  w' = w - lr*m\n"
    found = difference(_variant("adam"), _of_text(text))
    assert found.names == {"m": "m_B"}


@pytest.mark.parametrize(("a", "b"), swept(itertools.combinations(SAMPLE, 2), lambda pair: "adam" in pair))
def test_all_pairs_have_the_equations_of_both(a: str, b: str) -> None:
    """Those of the first one as `explain` shows them; as many as the second one has."""
    first, second = _variant(a), _variant(b)
    found = difference(first, second)
    shown = [unicode(x.optimizer, x.flags, x.values).splitlines() for x in (first, second)]
    assert [len([x for s, x in found.rows() if s != sign]) for sign in "+-"] == [len(x) for x in shown]
    back = difference(second, first)
    assert len(_signs(found, "+")) == len(_signs(back, "-")) and len(_signs(found, "-")) == len(_signs(back, "+"))


@pytest.mark.parametrize("name", swept(specfiles.all_available(), ("adam", "matrix/soap")))
def test_no_spec_differs_from_itself(name: str) -> None:
    found = difference(_variant(name), _variant(name))
    assert found.is_none and not found.names


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "sgd(momentum=0.9)", "sgd"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("- sgd(momentum=0.9)\n+ sgd\n\nEquations\n")
    assert "  + wₜ   = (1 − lr·wd)·wₜ₋₁ − lr·gₜ\n" in text
    assert "\n  momentum  0.9  0\n" in text
    assert "  - Steps on hw²/2 are stable for lr·h < 2·(1 + momentum): h < 380. [proved]\n" in text
    assert "this runs one: optgen race 'sgd(momentum=0.9)' sgd" in text
    assert max(map(len, text.splitlines())) <= 80


def test_json_and_html_have_the_same() -> None:
    found = compare("sgd(momentum=0.9)", "sgd")
    own = json.loads(json.dumps(found.to_json()))
    assert own["arguments"] == {"momentum": ["0.9", "0"]}
    assert own["costs"]["sgd(momentum=0.9)"]["state_bytes"] == 4
    assert [x["question"] for x in own["analysis"]] == ["constant-gradient", "stability"]
    html = ElementTree.fromstring(found._repr_html_())
    cells = {"".join(x.itertext()) for x in html.iter("td")}
    assert {"momentum", "wₜ   = (1 − lr·wd)·wₜ₋₁ − lr·gₜ"} <= cells


def test_their_race_is_that_of_stored_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tasks that both have; one of the two is out of date."""

    def read(name: str) -> Baseline:
        loss = 2.0 if name == "sgd" else 1.0
        trials = tuple(Trial(0.1, seed, loss + seed / 100, (), 1.0, 9, 0.1) for seed in (0, 1, 2))
        tasks = ("rosenbrock", "saddle") if name == "sgd" else ("rosenbrock",)
        entries = tuple(Entry(name, task, trials, 8, 2, stored=True) for task in tasks)
        return Baseline(name, "", {} if name == "sgd" else {"rosenbrock": "other"}, (0, 1, 2), {}, entries)

    monkeypatch.setattr(baselines, "read", read)
    found = compare("sgd", "sgdw")
    assert found.race is not None and found.stale == ("sgdw",)
    assert "contender" in str(found) and "Race(" not in str(found)  # its table
    own = [(x["contender"], x["rank"]) for x in found.to_json()["race"]]
    assert own == [("sgdw", 1), ("sgd", 2)]
    assert "Out of date" in str(found) and "saddle" not in str(found)
    assert compare("sgd(momentum=0.9)", "sgdw").race is None


def test_wrong_arguments_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "adam(bta1=0.9)", "lion"]) == 2
    assert "did you mean 'beta1'?" in capsys.readouterr().err
    assert main(["compare", "adam", "lionn"]) == 2
    assert "lionn" in capsys.readouterr().err


@pytest.mark.stress
@pytest.mark.parametrize(("a", "b"), list(itertools.combinations(SAMPLE, 2)))
def test_all_of_all_pairs_fits_the_page(a: str, b: str) -> None:
    found = compare(a, b)
    assert max(map(len, str(found).splitlines())) <= 80
    assert ElementTree.fromstring(found._repr_html_()) is not None and json.dumps(found.to_json())
