"""Races as they run: what is kept when one is interrupted, who drops out, and real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optgen.races import pool, protocol, racing, store, task
from optgen.races.contender import read
from optgen.races.pool import TrialJob, TrialPool
from optgen.races.racing import Pairing, in_processes
from optgen.races.trials import Outcome

TINY = str(Path(__file__).with_name("tiny.py"))
PLAN = protocol.full((0, 1))


def pairs(*lines: str, file: str = TINY) -> list[Pairing]:
    loaded = task.load(file)
    return [Pairing(read(line), loaded, PLAN) for line in lines]


def test_a_race_that_was_interrupted_goes_on_where_it_was(here: Any, own_store: Path) -> None:
    here.limit = 9
    with pytest.raises(KeyboardInterrupt):
        in_processes(pairs("adam", "lion"), 1)
    assert len(list(own_store.glob("*.json"))) == 9
    kept = next(own_store.glob("*.json"))
    kept.write_text(kept.read_text().replace('"seed": ', '"seed": 1'))  # damaged: that trial is made again
    first, here.ran, here.limit = here.ran, [], 1000
    again = pairs("adam", "lion")
    in_processes(again, 1)
    assert len(here.ran) == 2 * PLAN.trials + 2 * 4 * (again[0].contender.lr_hint is None) - 8
    assert len({*first} & {*here.ran}) == 1
    here.ran = []
    once_more = pairs("lion", "adam")
    in_processes(once_more, 1)
    assert not here.ran
    assert [x.entry() for x in again] == [x.entry() for x in reversed(once_more)]


def test_a_race_goes_on_where_its_trials_cannot_be_kept(here: Any, own_store: Path) -> None:
    own_store.write_text("a file")
    found = pairs("sgd")
    with pytest.warns(UserWarning, match="trials are not kept"):
        in_processes(found, 1)
    assert racing.entries_of(found)[0][0].contender == "sgd"


def test_a_contender_that_fails_is_out_and_others_go_on(here: Any) -> None:
    found = pairs("adam(clip_norm=-1)", "adam")
    in_processes(found, 1)
    entries, out = racing.entries_of(found)
    assert [x.contender for x in entries] == ["adam"]
    assert [(x.contender, x.task) for x in out] == [("adam(clip_norm=-1)", "tiny")]
    assert out[0].reason.startswith("ValueError: ") and "(tiny.py, line 16)" in out[0].reason


def test_an_error_of_all_is_the_task_s(here: Any, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def train(make_optimizer, seed, report):\n    return 1 + None\n")
    found = pairs("adam", "lion", file=str(file))
    in_processes(found, 1)
    with pytest.raises(RuntimeError, match=r"broken: no contender .* adam: TypeError: .*\(broken.py, line 2\)"):
        racing.entries_of(found)


def test_processes_run_trials_and_one_that_dies_is_said_to_be_dead(tmp_path: Path) -> None:
    deadly = tmp_path / "deadly.py"
    deadly.write_text("import os\ndef train(make_optimizer, seed, report):\n    os._exit(9)\n")
    attempt = protocol.Attempt(0.1, 0)
    with TrialPool(1) as workers:
        workers.submit(TrialJob(TINY, "sgd", attempt))
        ((job, outcome),) = workers.finished()
        assert isinstance(outcome, Outcome)
        expected = pool._outcome(job)
        assert isinstance(expected, Outcome)
        assert outcome.trial.curve == expected.trial.curve
        workers.submit(TrialJob(str(deadly), "sgd", attempt))
        with pytest.raises(ChildProcessError, match=r"deadly.py by sgd was killed.*the same command goes on"):
            list(workers.finished())


def test_the_time_left_is_that_of_the_trials_that_are_left(here: Any) -> None:
    adam, lion = pairs("adam", "lion")
    assert racing.time_left([adam, lion], 2) == "time left not known yet"
    adam.outcomes[protocol.Attempt(0.1, 0)] = _lasting(10.0)
    assert racing.time_left([adam, lion], 2) == f"about {racing.length(10 * (2 * PLAN.trials - 1) / 2)} left"
    assert [racing.length(x) for x in (0.2, 99, 100, 7200)] == ["0 s", "99 s", "2 min", "2.0 h"]


def _lasting(seconds: float) -> Outcome:
    trial = store.trial_of(
        {"rate": 0.1, "seed": 0, "loss": 1.0, "curve": [], "seconds": seconds}
        | {"steps_to_target": None, "seconds_to_target": None}
    )
    return Outcome(trial, 0, 1)
