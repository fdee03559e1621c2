"""Stored baselines: small, read back as written but for digits, and not used once they are stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optgen import specfiles
from optgen.races import baselines, protocol, task
from optgen.races.contender import read
from optgen.races.results import Entry, Race, TaskInfo, Trial
from optgen.races.task import TrainingTask

PLAN = protocol.full((2, 0, 1))
TASKS = [
    TrainingTask(TaskInfo(name, name, "loss", 0.5), print, name, f"{k}" * 64)
    for k, name in enumerate(("digits_mlp", "digits_cnn", "char_gpt", "quadratic", "rosenbrock"))
]


def trial(rate: float, seed: int) -> Trial:
    loss = None if rate > 3 else 1.2345678901 + abs(rate - 0.1) + seed / 7
    curve = tuple((k * 20, 3.4567891 / k + seed) for k in range(1, 11))
    return Trial(rate, seed, loss, curve, 6.28318530718, 120, 3.1415926)


def race() -> Race:
    """Full: all trials of five tasks, with long curves."""
    seeds = {rate: (2,) for rate in (0.000316, 0.001, 0.00316, 0.0178, 0.316, 1.0, 3.16)}
    seeds |= {rate: PLAN.seeds for rate in (0.0316, 0.1, 0.178)}
    trials = tuple(trial(rate, seed) for rate, own in seeds.items() for seed in own)
    entries = tuple(Entry("adamw", x.name, trials, 832_000, 104_000) for x in TASKS)
    return Race(tuple(x.info for x in TASKS), entries, "how")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(specfiles, "races", lambda: tmp_path)
    return tmp_path


def test_a_full_baseline_has_at_most_4_kb_and_comes_back(folder: Path) -> None:
    own, full = read("adamw"), race()
    data = baselines.encoded(full, own, TASKS, PLAN)
    assert len(data) <= 4096
    (folder / baselines.file_name("adamw")).write_bytes(data)
    baseline = baselines.read("adamw")
    assert baseline is not None and baselines.names() == ("adamw",)
    for before, after in zip(full.entries, baseline.entries, strict=True):
        assert (after.best_rate, after.diverged, after.stored) == (before.best_rate, 1, True)
        assert after.loss_of_seed == pytest.approx(before.loss_of_seed, rel=1e-5)
        assert [(x.rate, x.seed) for x in after.trials] == [
            (x.rate, x.seed) for y in before.by_rate.values() for x in y
        ]
        assert [x for x, _ in after.best[0].curve] == [x for x, _ in before.best[0].curve]
        assert after.best[0].steps_to_target == 120 and after.best[0].seconds == 6.28


def test_what_has_changed_since_makes_it_stale(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = read("adamw")
    (folder / "adamw.json").write_bytes(baselines.encoded(race(), own, TASKS, PLAN))
    baseline = baselines.read("adamw")
    assert baseline is not None
    first = TASKS[0]
    changed = TrainingTask(first.info, print, first.name, "f" * 64)
    assert baseline.entry(own, first, PLAN) is not None
    assert baseline.entry(own, changed, PLAN) is None
    assert baseline.entry(own, first, protocol.full((0, 1, 2))) is None
    assert baseline.entry(read("adam"), first, PLAN) is None
    sources = {x.name: x.source for x in TASKS}
    monkeypatch.setattr(task, "source_of", sources.get)
    assert not baseline.is_stale
    sources["char_gpt"] = "f" * 64
    assert _read_again().is_stale
    sources["char_gpt"] = TASKS[2].source
    monkeypatch.setattr(protocol, "VERSION", 99)
    assert _read_again().is_stale


def _read_again() -> baselines.Baseline:
    found = baselines.read("adamw")
    assert found is not None
    return found


def test_files_that_are_none_are_errors_that_name_them(folder: Path) -> None:
    good = json.loads(baselines.encoded(race(), read("adamw"), TASKS, PLAN))
    for broken in ("", "[]", json.dumps({**good, "format": "x"}), json.dumps({**good, "tasks": {"a": {}}})):
        (folder / "adamw.json").write_text(broken)
        with pytest.raises(ValueError, match=r"adamw.json is no baseline: .*; remove it, or write it again"):
            baselines.read("adamw")
    assert baselines.read("lion") is None and baselines.read("./adamw.opt") is None


@pytest.mark.parametrize("name", baselines.names() or ["adamw"])
def test_stored_baselines_are_small_and_of_specs_and_tasks_that_come_along(name: str) -> None:
    if name not in baselines.names():
        pytest.skip("no baseline is stored")
    baseline = baselines.read(name)
    assert baseline is not None and {x.task for x in baseline.entries} <= set(task.available())
    assert (specfiles.races() / baselines.file_name(name)).stat().st_size <= baselines.LIMIT
    assert not baseline.is_stale, f"race it again: optgen race {name} --baseline"
