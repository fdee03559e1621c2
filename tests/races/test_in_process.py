"""`optgen.race` on a function of a program: the budget, the table, and wrong arguments."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import optgen
from optgen.races import in_process, racing, task
from optgen.races.results import Trial
from optgen.races.shown import ShownRace
from optgen.races.trials import Outcome

TINY = str(Path(__file__).with_name("tiny.py"))


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Trials that take as many seconds as a test says, whose losses are best at a rate of 0.1."""
    seconds = {"sgd": 1.0, "adam": 3.0}

    def run(of: Any, contender: Any, attempt: Any) -> Outcome:
        loss = abs(attempt.rate - 0.1) + 0.01 * attempt.seed + 0.001 * len(contender.name)
        took = seconds[contender.name] / (5 if attempt.is_short else 1)
        return Outcome(Trial(attempt.rate, attempt.seed, loss, ((1, loss),), took, None, None), 8, 2)

    monkeypatch.setattr(racing.trials, "run", run)
    return seconds


def train(make_optimizer: Any, seed: int, report: Any) -> None:
    """My own model.

    Nothing is trained.
    """


def test_a_budget_that_is_enough_cuts_nothing(costs: Any) -> None:
    race = optgen.race(train, ["sgd", "adam"], budget=64.5)
    assert [len(x.trials) for x in race.entries] in ([16, 16], [15, 15], [15, 16], [16, 15])
    assert race.task("train").title == "My own model" and "Cut" not in race.how
    assert [(rank, x.contender) for rank, x in race.ranks("train")] == [(1, "sgd"), (2, "adam")]


def test_a_smaller_budget_is_the_same_plan_for_all_and_said(costs: Any) -> None:
    race = optgen.race(train, ["sgd", "adam"], budget="41s")
    made = {len(x.trials) + (x.contender not in _hinted()) for x in race.entries}
    assert made == {10}
    assert "Cut for a budget of 41s: all 16 trials would have taken about 64 s." in race.how
    assert "Each contender had in each task 4 rates, 3 seeds at the best 3: 10 trials" in race.how.replace("\n", " ")


def _hinted() -> list[str]:
    from optgen.races.contender import read

    return [name for name in ("sgd", "adam") if read(name).lr_hint is not None]


def test_a_budget_that_is_too_little_says_what_would_be_enough(costs: Any) -> None:
    with pytest.raises(RuntimeError, match="2 contenders with 4 trials each, the least there is, take about 16 s"):
        optgen.race(train, ["sgd", "adam"], budget=10)


def test_what_is_made_once_is_no_part_of_a_trial() -> None:
    """The first step of all takes as long as the compilation of kernels would."""
    import torch

    made: list[int] = []

    def slow_at_first(make_optimizer: Any, seed: int, report: Any) -> None:
        optimizer = make_optimizer([torch.nn.Parameter(torch.ones(1))], 5)
        for step in range(1, 6):
            if not made:
                time.sleep(1.5)
            made.append(step)
            optimizer.step(lambda: 0.0)
            report(step, 1.0)

    race = optgen.race(slow_at_first, ["sgd"], budget="4s", seeds=2)
    assert "Cut" not in race.how and len(made) == 2 + 5 * len(race.entries[0].trials)


def test_results_are_a_table_a_page_of_a_notebook_and_files(tmp_path: Path) -> None:
    race = optgen.race(task.load(TINY).train, ["adam", "sophia", "cocob"], seeds=2)
    text = str(race)
    assert max(map(len, text.splitlines())) <= 80
    assert "sophia is out: sophia needs 'h_hat'" in text and "No rate, so nothing was tuned: cocob." in text
    assert [x.contender for x in race.entries] == ["adam", "cocob"]
    assert text.splitlines()[2].split()[0] == "adam"
    assert "<pre>" in race._repr_html_() and "&#x27;h_hat&#x27;" in race._repr_html_()
    race.save(tmp_path / "new" / "folder")
    assert ShownRace.from_json((tmp_path / "new" / "folder" / "results.json").read_bytes()) == race
    assert (tmp_path / "new" / "folder" / "table.txt").read_text() == f"{text}\n"
    assert json.loads((tmp_path / "new" / "folder" / "results.json").read_bytes())["versions"]["protocol"] == "1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": "soon"}, "budget: a time as '90s', '10min' or '2h', or seconds, not 'soon'"),
        ({"budget": -1}, "budget: a time above 0"),
        ({"budget": True}, "budget: a time as"),
        ({"seeds": 0}, "seeds: how many, at least 1"),
        ({"seeds": [1, 1]}, "seeds: how many"),
        ({"specs": []}, "specs: there are none"),
        ({"specs": ["sophia"]}, "nobody to race: sophia needs"),
        ({"specs": ["adam", "adam"]}, "'adam' stands there twice"),
        ({"specs": ["adam", "adam()"]}, r"adam and adam\(\) are the same optimizer"),
        ({"budget": "\u0663h"}, "budget: a time as"),
        ({"specs": "adam"}, "specs: a list"),
    ],
)
def test_wrong_arguments(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        optgen.race(train, **{"specs": ["adam"], **given})
    with pytest.raises(TypeError, match=r"the function is train\(make_optimizer, seed, report\)"):
        optgen.race(lambda net: None, ["adam"])
    assert in_process._seconds("2h") == 7200 and in_process._seconds("1.5 min") == 90
