"""Results of races: what is the best of trials, and JSON."""

from __future__ import annotations

import math

import pytest

from optgen.races.results import Entry, Race, TaskInfo, Trial
from optgen.races.shown import ShownRace


def trial(rate: float, seed: int, loss: float | None) -> Trial:
    return Trial(rate, seed, loss, ((1, 3.0), (2, 2.0)), 0.5, None if loss is None else 2, None)


def entry(contender: str, losses: dict[float, list[float | None]]) -> Entry:
    trials = tuple(trial(rate, seed, x) for rate, own in losses.items() for seed, x in enumerate(own))
    return Entry(contender, "quadratic", trials, 800, 100)


GOOD = entry("good", {0.1: [1.0], 0.01: [1.5, 1.3, 1.4], 0.03: [1.2, 1.3, 1.1]})
BAD = entry("bad", {0.1: [None], 0.03: [1.7, None, 1.6], 0.01: [1.8, 1.9, 1.7]})
HOPELESS = entry("hopeless", {0.1: [None], 0.03: [None, None, None]})
TASK = TaskInfo("quadratic", "A quadratic", "loss", None)
RACE = Race((TASK,), (HOPELESS, BAD, GOOD), "seven rates", {"optgen": "0.1.0"})


def test_the_best_rate_is_that_of_the_least_mean_among_those_with_all_seeds() -> None:
    assert (GOOD.best_rate, GOOD.losses) == (0.03, (1.2, 1.3, 1.1))
    assert (BAD.best_rate, BAD.diverged) == (0.01, 2)
    assert (HOPELESS.best_rate, HOPELESS.losses, HOPELESS.mean_loss) == (None, (), math.inf)


def test_sensitivity_has_the_spread_over_seeds_at_each_rate() -> None:
    assert BAD.sensitivity() == [
        (0.01, pytest.approx(1.8), 1.7, 1.9),
        (0.03, math.inf, 1.6, math.inf),
        (0.1, math.inf, math.inf, math.inf),
    ]


def test_ranks_are_of_paired_losses_and_the_best_comes_first() -> None:
    assert [(rank, x.contender) for rank, x in RACE.ranks("quadratic")] == [(1, "good"), (2, "bad"), (3, "hopeless")]
    with pytest.raises(KeyError, match="no 'mlp' in this race; there are quadratic"):
        RACE.ranks("mlp")
    with pytest.raises(KeyError, match="no 'better' in this race; there are hopeless, bad, good"):
        RACE.entry("better", "quadratic")


def test_json_keeps_every_bit() -> None:
    odd = Entry("odd", "quadratic", (trial(0.1, 0, 0.1 + 0.2), trial(1e-300, 1, -5e-324)), 0, 7, stored=True)
    race = Race((TASK,), (odd, HOPELESS), "how", {"python": "3"})
    assert Race.from_json(race.to_json()) == race


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        RACE.to_json().replace("race 1", "race 2"),
        RACE.to_json().replace('"loss": 1.0', '"loss": "1.0"'),
        RACE.to_json().replace('"loss": 1.0', '"loss": NaN'),
        RACE.to_json().replace('"seed": 0', '"seed": -1'),
        RACE.to_json().replace('"contender"', '"name"'),
        RACE.to_json().replace('"good"', "7"),
        RACE.to_json().replace('"name": "quadratic"', '"name": "../esc"'),
        RACE.to_json().replace('"loss_label"', '"label"'),
    ],
)
def test_what_is_no_race_is_said_to_be_none(broken: str) -> None:
    with pytest.raises(ValueError, match="these are no results of a race"):
        Race.from_json(broken)


def test_a_mark_is_explained_where_it_stands() -> None:
    """A single rate is no end, and an entry may have no trials."""
    alone, empty = entry("alone", {1.0: [1.0, 1.1]}), Entry("empty", "quadratic", (), 0, 0)
    race = ShownRace((TASK,), (alone, empty), "how")
    assert "!" not in str(race) and "empty" in str(race)
    ends = str(ShownRace((TASK,), (entry("ends", {1.0: [1.0], 2.0: [2.0]}),), "how"))
    assert "1!" in ends and "!: the best rate is" in ends
