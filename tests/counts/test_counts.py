"""The work of a step, of a new process and of compiled code, which times do not hold: counts in tables.

A count that fell is written by `pytest tests/counts --update-golden`. No option lets one rise: whoever means it deletes
the row, whose counts are then written anew, and the commit says why. A table for other versions is deleted as a whole.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from pathlib import Path

import pytest

from tests.counts import table
from tests.process import run

HERE = Path(__file__).parent
SUBJECTS = {
    "steps": ("numpy", "torch"),
    "training": ("numpy",),
    "processes": ("llvmlite", "numpy", "torch"),
    "code": ("llvmlite",),
}
"""What is counted, each by the module of this name, and the libraries that counts depend on."""


THREADS = {"OPTGEN_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
"""The same everywhere, whatever the number of CPUs."""


def versions(libraries: tuple[str, ...]) -> str:
    """Python and these libraries, each to the second number of its version."""
    found = [("Python", platform.python_version()), *((x, importlib.metadata.version(x)) for x in libraries)]
    return ", ".join(f"{name} {'.'.join(version.split('.')[:2])}" for name, version in found)


UPDATE = ".venv/bin/python -m pytest tests/counts --update-golden"
ROSE = f"""\
Remove the work; docs/testing.md, "How to change a count", says how to find the calls. If it must stay, delete these
rows, say why in the commit, and run {UPDATE}"""
FELL = f"So that they stay there, run {UPDATE}"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_nothing_rises(subject: str, request: pytest.FixtureRequest) -> None:
    path, here = HERE / f"{subject}.txt", versions(SUBJECTS[subject])
    counted_with, held = table.read(path)
    if held and counted_with != here:
        pytest.skip(f"{path.name} has the counts of {counted_with}, and this is {here}")
    program = [sys.executable, "-m", f"tests.counts.{subject}"]
    counted = json.loads(run(program, timeout=300, env=THREADS, cwd=HERE.parents[1]).stdout)
    rose, other = table.changes(held, counted)
    if request.config.getoption("--update-golden"):
        path.write_text(table.text(here, table.lowered(held, counted)), encoding="utf-8")
        other = []
    if rose:
        pytest.fail("\n".join([f"{path}: counts rose", *rose, ROSE]), pytrace=False)
    if other:
        pytest.fail("\n".join([f"{path}: counts fell, or are new", *other, FELL]), pytrace=False)


# ---------------------------------------------------------------- tables

HELD = {"step": {"calls": 1200, "bytes": 640}, "load": {"calls": 7, "bytes": 8}}


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    assert table.read(path) == ("", {})
    path.write_text(table.text("Python 3.11, numpy 2.4", HELD), encoding="utf-8")
    assert table.read(path) == ("Python 3.11, numpy 2.4", HELD)


def test_only_what_fell_is_taken_over() -> None:
    counted = {"step": {"calls": 1300, "bytes": 600}, "other": {"calls": 1, "bytes": 2}}
    rose, other = table.changes(HELD, counted)
    assert rose == ["step: calls 1,200 -> 1,300"]
    assert other == ["step: bytes 640 -> 600", "load: not counted any more", "other: not in the table"]
    assert table.lowered(HELD, counted) == {"step": {"calls": 1200, "bytes": 600}, "other": {"calls": 1, "bytes": 2}}
    assert table.changes(HELD, HELD) == ([], [])


def test_other_columns_are_counted_anew() -> None:
    """A column is a count like any other: what replaces it is no rise."""
    counted = {name: {"calls": numbers["calls"], "blocks": 3} for name, numbers in HELD.items()}
    assert table.changes(HELD, counted) == ([], [f"{name}: other columns" for name in HELD])
    assert table.lowered(HELD, counted) == counted
