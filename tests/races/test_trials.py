"""Trials: the schedule, what is recorded, and that the same seed is the same to the bit."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from optgen.linalg.factorizations import singular_values
from optgen.races import Diverged, task, trials
from optgen.races.contender import read
from optgen.races.protocol import Attempt
from optgen.races.task import of_function

TINY = str(Path(__file__).with_name("tiny.py"))
ATTEMPT = Attempt(0.1, 3)


def test_the_same_seed_gives_the_same_losses_to_the_bit() -> None:
    tiny, adam = task.load(TINY), read("adam")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        first, again, other = (trials.run(tiny, adam, x) for x in (ATTEMPT, ATTEMPT, Attempt(0.1, 4)))
    finally:
        torch.set_num_threads(threads)
    assert first.trial.curve == again.trial.curve != other.trial.curve
    assert [step for step, _ in first.trial.curve] == [4, 8, 12, 16, 20]
    assert (first.trial.loss, first.trial.steps_to_target) == (first.trial.curve[-1][1], again.trial.steps_to_target)
    assert first.parameters == 10 and first.state_bytes >= 80


def descend(losses: Callable[[int], float], steps: int = 10, made: int = 10) -> Callable[[Any, int, Any], None]:
    """A task that reports what a test says, and steps on a weight."""

    def train(make_optimizer: Any, seed: int, report: Any) -> None:
        w = torch.nn.Parameter(torch.ones(1))
        optimizer = make_optimizer([w], steps)
        for step in range(1, made + 1):
            w.grad = torch.ones(1)
            optimizer.step()
            rates.append(optimizer.param_groups[0]["lr"])
            report(step, losses(step))

    rates: list[float] = []
    train.rates = rates  # type: ignore[attr-defined]
    return train


def reporting(*steps: int) -> Callable[[Any, int, Any], None]:
    """A task that reports after these steps."""

    def train(make_optimizer: Any, seed: int, report: Any) -> None:
        make_optimizer([torch.nn.Parameter(torch.ones(1))], 5)
        for step in steps:
            report(step, 1.0)

    return train


def test_rates_rise_and_then_fall_in_a_line_to_zero() -> None:
    train: Any = descend(lambda step: 1.0, steps=100, made=100)
    trials.run(of_function(train), read("sgd"), Attempt(0.5, 0))
    assert train.rates[:6] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5 * 95 / 96])
    assert train.rates[4:] == pytest.approx([0.5 * (1 - k / 96) for k in range(96)])
    assert all(trials.schedule(k, n) > 0 for n in range(1, 60) for k in range(n))


def test_what_a_trial_records() -> None:
    seconds: Iterator[float] = itertools.count(10.0, 1.0)
    found = of_function(descend(lambda step: 1 / step))
    found = task.TrainingTask(task.results.TaskInfo("t", "t", "loss", 0.25), found.train)
    outcome = trials.run(found, read("sgd"), ATTEMPT, clock=lambda: next(seconds))
    assert (outcome.trial.loss, outcome.trial.steps_to_target, outcome.trial.seconds_to_target) == (0.1, 4, 1.0)
    assert (outcome.trial.seconds, outcome.state_bytes, outcome.parameters) == (2.0, 4, 1)
    short = trials.run(found, read("sgd"), Attempt(0.1, 3, is_short=True))
    assert short.trial.curve == ((1, 1.0), (2, 0.5))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_ends_the_trial(bad: float) -> None:
    trial = trials.run(of_function(descend(lambda step: bad if step == 3 else 1.0)), read("sgd"), ATTEMPT).trial
    assert (trial.loss, trial.curve) == (None, ((1, 1.0), (2, 1.0)))


def test_a_failed_factorization_is_divergence_even_where_the_task_goes_on() -> None:
    def train(make_optimizer: Any, seed: int, report: Any) -> None:
        make_optimizer([torch.nn.Parameter(torch.ones(1))], 1)
        try:
            report(1, math.nan)
        except Diverged:
            report(1, 1.0)
        singular_values([np.full((2, 2), np.nan)])

    assert trials.run(of_function(train), read("sgd"), ATTEMPT).trial.loss is None


@pytest.mark.parametrize("in_closure", [False, True])
def test_a_bug_of_a_task_is_no_divergence(in_closure: bool) -> None:
    def train(make_optimizer: Any, seed: int, report: Any) -> None:
        def closure() -> float:
            return 1 / 0

        optimizer = make_optimizer([torch.nn.Parameter(torch.ones(1))], 1)
        report(0, 1.0)
        optimizer.step(closure) if in_closure else closure()

    with pytest.raises(ZeroDivisionError):
        trials.run(of_function(train), read("sgd"), ATTEMPT)


def test_a_short_run_of_a_task_that_reports_only_at_its_end_is_an_error() -> None:
    train = descend(lambda step: 1.0)
    at_end = of_function(lambda make, seed, report: train(make, seed, lambda *x: report(*x) if x[0] == 10 else None))
    assert trials.run(at_end, read("sgd"), ATTEMPT).trial.curve == ((10, 1.0),)
    with pytest.raises(RuntimeError, match=r"no loss in 4 of 10 steps.*call report\(step, loss\) each tenth"):
        trials.run(at_end, read("sgd"), Attempt(0.1, 3, is_short=True))


def test_a_task_that_ends_the_program_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"train\(\) ends the program: sys.exit\(3\)"):
        trials.run(of_function(lambda make, seed, report: sys.exit(3)), read("sgd"), ATTEMPT)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (lambda make, seed, report: report(1, 1.0), "did not call make_optimizer"),
        (lambda make, seed, report: make([torch.nn.Parameter(torch.ones(1))], 1), "did not call report"),
        (lambda make, seed, report: make([torch.nn.Parameter(torch.ones(1))], 0), "steps is a whole number from 1"),
        (descend(lambda step: 1.0, steps=3), "makes more steps than the 3"),
        (descend(lambda step: 1.0, made=9), "made 9 of the 10 steps"),
        (lambda make, seed, report: (make([torch.nn.Parameter(torch.ones(1))], 5), report(5, 1.0)), "made 0 of the 5"),
        (reporting(-1), "step is a whole number from 0 to 5, not -1"),
        (reporting(2, 1), "step is a whole number from 3 to 5, not 1"),
        (reporting(6), "step is a whole number from 0 to 5, not 6"),
    ],
)
def test_a_task_that_does_not_do_what_tasks_do_is_an_error(train: Any, message: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=message):
        trials.run(of_function(train), read("sgd"), ATTEMPT)


def test_what_is_no_task_is_refused(tmp_path: Any) -> None:
    file = tmp_path / "model.py"
    file.write_text("def train(net): ...\n")
    with pytest.raises(TypeError, match=r"model.py: the function is train\(make_optimizer, seed, report\)"):
        task.load(str(file))
    file.write_text("")
    with pytest.raises(ValueError, match="it has no function train"):
        task.load(str(file))
    file.write_text("def train(make_optimizer, seed, report): ...\nTARGET = 'low'\n")
    with pytest.raises(ValueError, match="TARGET is a held-out loss, or None, not 'low'"):
        task.load(str(file))
    with pytest.raises(FileNotFoundError, match="no task named 'mnist'"):
        task.load("mnist")


def test_the_hash_of_a_task_is_of_what_it_imports_beside_it(tmp_path: Any) -> None:
    file, beside = tmp_path / "model.py", tmp_path / "shapes_of_mine.py"
    file.write_text("def train(make_optimizer, seed, report):\n    import shapes_of_mine\n")
    beside.write_text("N = 1\n")
    before = task.load(str(file)).source
    beside.write_text("N = 2\n")
    assert task.load(str(file)).source != before


def test_helpers_of_one_name_are_those_beside_each_task(tmp_path: Path) -> None:
    loaded = []
    for k, folder in enumerate(("one", "two")):
        place = tmp_path / folder
        (place / "parts").mkdir(parents=True)
        (place / f"{folder}.py").write_text(
            "from parts import model\nimport torch\n\ndef train(make_optimizer, seed, report):\n"
            "    import late_of_mine\n    optimizer = make_optimizer([torch.nn.Parameter(torch.ones(1))], 1)\n"
            "    optimizer.step(lambda: 0.0)\n    report(1, model.N + late_of_mine.N)\n"
        )
        (place / "parts" / "__init__.py").write_text("")
        (place / "parts" / "model.py").write_text("from .numbers_of_mine import N\n")
        (place / "parts" / "numbers_of_mine.py").write_text(f"N = {k}\n")
        (place / "late_of_mine.py").write_text(f"N = {10 * k}\n")
        loaded.append(task.load(str(place / f"{folder}.py")))
    before = [*sys.path]
    found = [trials.run(x, read("sgd"), ATTEMPT).trial.loss for x in (*loaded, *loaded)]
    assert found == [0, 11, 0, 11]
    assert sys.path == before and not {"parts", "parts.model", "late_of_mine"} & {*sys.modules}
    (tmp_path / "two" / "parts" / "numbers_of_mine.py").write_text("N = 7\n")
    assert task.load(loaded[1].place).source != loaded[1].source
    (tmp_path / "two" / "parts" / "__init__.py").write_text("M = 1\n")
    assert len({task.load(loaded[1].place).source, loaded[1].source}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import random\n", "random beside mine.py has the name of another module"),
        (
            "x = 1\ny = nothing\n",
            r"mine.py cannot be imported: NameError: name 'nothing' is not defined \(mine.py, line 2",
        ),
        ("import sys\nsys.exit(3)\n", r"cannot be imported: SystemExit: 3 \(mine.py, line 2\)"),
        ("NAME = '../esc'\n", "mine.py: the name of a task is at most 50 letters.*not '../esc'"),
        ("NAME = 'a\\0b'\n", "the name of a task"),
        (f"NAME = {'a' * 300!r}\n", "the name of a task"),
        ("TITLE = 'two\\nlines'\n", "the title and the loss of a task are lines"),
    ],
)
def test_files_that_cannot_be_tasks(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("N = 1\n")
    file = tmp_path / "mine.py"
    file.write_text(f"{text}def train(make_optimizer, seed, report): ...\n")
    with pytest.raises((ValueError, ImportError), match=message):
        task.load(str(file))
