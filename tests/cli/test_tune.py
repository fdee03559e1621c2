"""`optgen tune`: what it prints and writes. What is measured is in `tests/tune`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from optgen.backends import machine
from optgen.cli import main
from optgen.tune import compare
from optgen.tune.compare import Measurement

Capture = pytest.CaptureFixture[str]
FOUND = {
    "threads.min_wake_elements": Measurement("threads.min_wake_elements", 1 << 17, 0.2, 0.01),
    "threads.spin_microseconds": Measurement("threads.spin_microseconds", 400, 0.03, 0.01),
}
"""What is measured of some constants; of others nothing."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the command writes to."""
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPTGEN_MACHINE")
    monkeypatch.setattr(compare, "tuned", tuned)
    machine.changed.cache_clear()
    yield tmp_path / "cache" / machine.FILE
    machine.changed.cache_clear()


def tuned(name: str) -> Measurement:
    return FOUND.get(name, Measurement(name, machine.CONSTANTS[name].default, 0.0, 0.0))


def test_what_gains_is_written(file: Path, capsys: Capture) -> None:
    assert main(["tune"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["constant", "default", "best", "found", "gain", "noise", "kept"]
    assert [x.split()[0] for x in lines[1:-1]] == list(machine.CONSTANTS)
    assert "threads.min_wake_elements" in lines[3]
    assert lines[3].split()[1:] == ["262,144", "131,072", "+20.0%", "1.0%", "yes"]
    assert lines[6].split()[1:] == ["200", "400", "+3.0%", "1.0%", "no"]
    assert lines[-1] == f"{file}: 1 constant of {len(machine.CONSTANTS)}"
    assert machine.read(file) == {"threads.min_wake_elements": 1 << 17}
    assert list(file.parent.iterdir()) == [file]


def test_a_dry_run_writes_nothing(file: Path, capsys: Capture) -> None:
    assert main(["tune", "--dry-run"]) == 0
    assert not file.exists() and len(capsys.readouterr().out.splitlines()) == 1 + len(machine.CONSTANTS)


@pytest.mark.parametrize(
    ("only", "names"),
    [
        ("products", ["products.task_edge", "products.panels", "products.flops"]),
        ("products.panels groups.group_bytes", ["groups.group_bytes", "products.panels"]),
    ],
)
def test_only_some_are_measured(only: str, names: list[str], file: Path, capsys: Capture) -> None:
    assert main(["tune", "--only", *only.split()]) == 0
    assert [x.split()[0] for x in capsys.readouterr().out.splitlines()[1:-1]] == names


def test_what_was_found_of_others_is_kept(file: Path) -> None:
    file.write_text(machine.text({"products.panels": 8, "threads.spin_microseconds": 50}))
    assert main(["tune", "--only", "threads"]) == 0
    assert machine.read(file) == {"products.panels": 8, "threads.min_wake_elements": 1 << 17}
    assert main(["tune"]) == 0
    assert machine.read(file) == {"threads.min_wake_elements": 1 << 17}


@pytest.mark.parametrize("content", ["{", '{"cpu": "another", "features": "", "constants": {"products.panels": 8}}'])
def test_a_file_that_is_damaged_or_of_another_machine_is_replaced(content: str, file: Path) -> None:
    file.write_text(content)
    assert main(["tune", "--only", "threads"]) == 0
    assert machine.read(file) == {"threads.min_wake_elements": 1 << 17}


def test_another_place(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTGEN_MACHINE", str(tmp_path / "new" / "mine.json"))
    assert main(["tune"]) == 0
    assert machine.read(tmp_path / "new" / "mine.json") and not file.exists()


def test_an_unknown_name_is_2(file: Path, capsys: Capture) -> None:
    assert main(["tune", "--only", "threds"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("optgen: --only threds: it is one of threads, sweeps, ") and not captured.out


def test_a_folder_open_to_others_is_2(file: Path, capsys: Capture) -> None:
    file.parent.chmod(0o755)
    assert main(["tune"]) == 2
    assert capsys.readouterr().err.startswith(f"optgen: the folder {file.parent} is not used: ")
    assert main(["tune", "--dry-run"]) == 0


def _raising(error: BaseException) -> Callable[[str], Measurement]:
    def fails(name: str) -> Measurement:
        if name == "products.panels":
            raise error
        return tuned(name)

    return fails


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (ChildProcessError("it ended"), 2)])
def test_what_ends_early_leaves_the_file(
    error: BaseException, code: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["tune", "--only", "threads"]) == 0
    before = file.read_text()
    monkeypatch.setattr(compare, "tuned", _raising(error))
    assert main(["tune"]) == code
    assert file.read_text() == before and list(file.parent.iterdir()) == [file]
    assert json.loads(before)["constants"] == {"threads.min_wake_elements": 1 << 17}


def test_no_file_that_would_not_be_read(file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTGEN_MACHINE", "")
    assert main(["tune"]) == 2
    assert capsys.readouterr().err.startswith("optgen: OPTGEN_MACHINE is empty") and not file.exists()
