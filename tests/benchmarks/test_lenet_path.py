"""A training iteration of LeNet passes through no more files and Python calls than recorded here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks import lenet_path

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES, MOST_CALLS = 30, 220
"""Of optgen and runtime."""


def test_an_iteration_passes_through_no_more_than_it_did() -> None:
    own = lenet_path.count_iteration().own
    assert len(own) <= MOST_FILES, list(own)
    assert sum(own.values()) <= MOST_CALLS, own


def test_a_call_is_counted_where_its_function_is_defined() -> None:
    def inner() -> None:
        pass

    def outer() -> None:
        inner()
        inner()
        len("a function in C")

    counts = lenet_path.count(outer)
    assert counts.calls == {__file__: 2}
    assert counts.own == {}


def test_the_list_has_every_file() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "lenet_path.py"), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT)})
    *lines, files, calls = done.stdout.splitlines()
    own = [line.split() for line in lines if line.split()[1].startswith(("optgen/", "runtime/"))]
    assert files.startswith(f"files of optgen and runtime: {len(own)};")
    assert calls.startswith(f"Python calls in optgen and runtime: {sum(int(n) for n, _ in own)};")
