"""What `optgen tune` compares: with a stand-in for the processes and the clock, and once with processes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from optgen.backends import machine
from optgen.backends.machine import CONSTANTS, Constant
from optgen.tune import SUBJECTS, compare
from optgen.tune.case import Case, timed
from optgen.tune.compare import Measurement, candidates, gain_of
from tests.machine import measured_by, of_subject

NAME = "threads.min_shared_elements"
DEFAULT = CONSTANTS[NAME].default


def stand_in(
    monkeypatch: pytest.MonkeyPatch, seconds: Callable[[int | None, int, int], float]
) -> list[Sequence[int | None]]:
    """Processes whose two cases take `seconds(value, case, turn)`; notes the values of those that were started."""
    started: list[Sequence[int | None]] = []

    @contextmanager
    def processes(name: str, values: Sequence[int | None]) -> Iterator[list[compare.Times]]:
        started.append(values)
        turns = [itertools.count() for _ in values]

        def of(k: int) -> compare.Times:
            def times() -> list[float]:
                turn = next(turns[k])
                return [seconds(values[k], case, turn) for case in range(2)]

            return times

        yield [of(k) for k in range(len(values))]

    monkeypatch.setattr(compare, "processes", processes)
    monkeypatch.setattr(compare, "SECONDS", 0.0)
    return started


def test_candidates_are_within_the_range() -> None:
    assert candidates(Constant(100, "", "", 1, 1000)) == [25, 50, 200, 400]
    assert candidates(Constant(96, "", "", 96, 288, 96)) == [192, 288]
    assert candidates(Constant(2, "", "", 1, 2)) == [1]


@pytest.mark.parametrize("subject", [x for x, module in SUBJECTS.items() if module.startswith("optgen.")])
def test_each_constant_is_measured(subject: str) -> None:
    """Those of `runtime` are tested with it."""
    assert measured_by(SUBJECTS[subject]) == of_subject(subject)


def test_each_constant_has_a_subject() -> None:
    assert {x.partition(".")[0] for x in CONSTANTS} == set(SUBJECTS)


@pytest.mark.parametrize("name", CONSTANTS)
def test_each_constant_has_candidates(name: str) -> None:
    found = candidates(CONSTANTS[name])
    assert found and all(map(CONSTANTS[name].allows, found)) and CONSTANTS[name].default not in found


def test_a_clear_gain_is_measured_twice_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    started = stand_in(monkeypatch, lambda value, case, turn: 0.8 if value == DEFAULT // 2 else 1.0)
    found = compare.tuned(NAME)
    assert started == [[None, None, *candidates(CONSTANTS[NAME])], [None, None, DEFAULT // 2]]
    assert found.best == DEFAULT // 2 and found.gain == pytest.approx(0.2) and found.noise == 0 and found.is_clear


def test_a_gain_that_is_not_there_the_second_time_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    started = stand_in(monkeypatch, lambda value, case, turn: 0.8 if value and len(started) == 1 else 1.0)
    found = compare.tuned(NAME)
    assert len(started) == 2 and found.gain == pytest.approx(0) and not found.is_clear


def test_a_small_gain_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    started = stand_in(monkeypatch, lambda value, case, turn: 0.96 if value else 1.0)
    assert not compare.tuned(NAME).is_clear and len(started) == 1


def test_a_gain_within_the_noise_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes with one value differ by a tenth."""
    stand_in(monkeypatch, lambda value, case, turn: 1.0)
    real = compare.processes

    @contextmanager
    def unequal(name: str, values: Sequence[int | None]) -> Iterator[list[compare.Times]]:
        with real(name, values) as found:
            slower = [1.1 if k == 0 else 1.0 for k, _ in enumerate(found)]
            yield [lambda f=f, by=by: [by * x for x in f()] for f, by in zip(found, slower, strict=True)]

    monkeypatch.setattr(compare, "processes", unequal)
    found = compare.tuned(NAME)
    assert found.gain > 0.05 and found.noise == pytest.approx(found.gain) and not found.is_clear


def test_a_gain_is_the_geometric_mean_of_the_medians_of_cases() -> None:
    turns = [((1.0, 4.0), (0.5, 4.0)), ((1.0, 1.0), (0.5, 1.0)), ((9.0, 1.0), (1.0, 7.0))]
    assert gain_of(turns) == pytest.approx(1 - 0.5**0.5)


def test_turns_end_with_the_time_and_change_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls = [0.0], []

    def process(k: int) -> compare.Times:
        def times() -> list[float]:
            now[0] += 0.25
            calls.append(k)
            return [k]

        return times

    monkeypatch.setattr(compare.time, "perf_counter", lambda: now[0])
    found = list(compare.in_turns([process(0), process(1)]))
    assert found == [[[0], [1]]] * 9  # of 0.5 s each
    assert calls[:6] == [0, 1, 1, 0, 0, 1]


def test_a_pause_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [0.0], []

    def later(seconds: float) -> None:
        now[0] += seconds

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        later(seconds)

    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr("time.sleep", sleep)
    assert timed(Case(lambda: later(0.5)), 3) == pytest.approx(0.5) and not slept
    assert timed(Case(lambda: later(0.5), 4.0), 3) == pytest.approx(0.5) and slept == [4.0] * 3


# ---------------------------------------------------------------- processes


def test_processes_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "SECONDS", 0.0)
    found = compare.measured(NAME, [DEFAULT * 2])
    assert found.name == NAME and found.best == DEFAULT * 2 and -50 < found.gain < 1 and found.noise >= 0


@pytest.mark.parametrize(("value", "told"), [(5000, 5000), (None, DEFAULT)])
def test_a_process_has_the_value(value: int | None, told: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And the default where there is none, whatever the file of the machine says. What fails says why."""
    (tmp_path / "named.json").write_text(machine.text({NAME: 6000}))
    monkeypatch.setenv("OPTGEN_MACHINE", str(tmp_path / "named.json"))
    monkeypatch.setitem(SUBJECTS, "threads", "tests.tune.telling")
    with (
        pytest.raises(ChildProcessError, match=f"the measurement of {NAME} failed: ValueError: {told}$"),
        compare.processes(NAME, [value]),
    ):
        raise AssertionError("it is not ready")


def test_what_is_found_is_a_value() -> None:
    assert Measurement(NAME, 1, 0.2, 0.1).is_clear and not Measurement(NAME, 1, 0.14, 0.1).is_clear
