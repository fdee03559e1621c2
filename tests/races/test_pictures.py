"""Pictures of races and of paths: well-formed, with the names and numbers that they show, and the same each time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from optgen import api, figures, pipeline
from optgen.races import pictures
from optgen.races.results import Entry, Race, TaskInfo, Trial

SVG = "{http://www.w3.org/2000/svg}"


def trial(rate: float, seed: int, loss: float | None) -> Trial:
    curve = ((1, 2.0), (2, 1.0), (3, loss)) if loss is not None else ((1, 2.0),)
    return Trial(rate, seed, loss, curve, 0.1, None, None)


def entry(name: str, task: str, best: float) -> Entry:
    """Three rates, the best one with two seeds; the largest one diverges."""
    trials = (trial(0.01, 0, best + 0.5), trial(0.1, 0, best), trial(0.1, 1, best + 0.01), trial(1.0, 0, None))
    return Entry(name, task, trials, 8, 1)


TASKS = (
    TaskInfo("net", "A net & its text", "held-out loss (nats)", 0.9),
    TaskInfo("log", "A bowl", "log10 loss", None),
)
LOST = Entry("lost", "log", (trial(0.1, 0, None), trial(0.1, 1, None)), 8, 1)
RACE = Race(TASKS, (entry("adamw", "net", 0.5), entry("lion", "net", 0.75), entry("lion", "log", -4.0), LOST), "how")


def words(svg: str) -> list[str]:
    """The texts of a picture, whose first one is its title."""
    return [x.text or "" for x in ElementTree.fromstring(svg).iter() if x.tag in (f"{SVG}title", f"{SVG}text")]


def test_a_picture_of_rates_has_a_cross_for_what_diverged() -> None:
    svg = pictures.sensitivity(RACE, "net")
    assert {"adamw", "lion", "held-out loss (nats)", "A net & its text"} <= set(words(svg))
    assert svg == pictures.sensitivity(RACE, "net") and figures.INK not in svg
    assert len(words(pictures.sensitivity(RACE, "log"))) > 5  # where one contender has nothing else


def test_a_picture_of_curves_has_target_and_best_rates() -> None:
    assert {"adamw at 0.1", "lion at 0.1", "target", "step"} <= set(words(pictures.curves(RACE, "net")))
    assert {"lion at 0.1"} == {x for x in words(pictures.curves(RACE, "log")) if " at 0" in x}
    assert "target" not in words(pictures.curves(RACE, "log"))


def test_the_ranking_has_ranks_and_losses_the_best_first() -> None:
    found = words(pictures.ranking(RACE))
    assert [x for x in found if x in RACE.contenders] == ["adamw", "lion", "lost"]
    assert {"net", "log", "1", "2", "0.505", "0.755", "-4", "diverged"} <= set(found)
    with pytest.raises(KeyError, match="no 'nets' in this race"):
        pictures.curves(RACE, "nets")


def test_names_and_titles_are_drawn_as_they_are() -> None:
    info = TaskInfo("net", "It costs $5, or $x_", "loss ($\\frac$)", None)
    race = Race((info,), (entry("_a$b$", "net", 0.5), entry("lion", "net", 0.7)), "how")
    for svg in (pictures.sensitivity(race, "net"), pictures.curves(race, "net"), pictures.ranking(race)):
        found = [x.replace("\u200b", "") for x in words(svg)]
        assert any(x.startswith("_a$b$") for x in found)
    assert {info.title, info.loss_label} <= set(words(pictures.sensitivity(race, "net")))


def test_paths_can_be_shown_rate_by_rate() -> None:
    adamw = pipeline.checked(api.read("adamw"))
    svg = pictures.trajectories(adamw, "rosenbrock", (0.01, 0.1), steps=20)
    assert {"rate 0.01", "rate 0.1", "start", "AdamW on Rosenbrock's function, 20 steps"} <= set(words(svg))
    assert words(svg)[0] == "AdamW on Rosenbrock's function. Does the path follow a valley that bends?"
    assert [len(ElementTree.fromstring(svg).findall(f".//*[@class='rate-{k}']")) for k in range(3)] == [2, 2, 0]
    sgd = pipeline.checked(api.read("sgd"))
    assert "e+" not in pictures.trajectories(sgd, "rosenbrock", (1.0,), steps=20)  # no place for what is far away
