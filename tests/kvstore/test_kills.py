"""Servers and workers killed at random while they train: no acknowledged push is lost, and none is applied twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.process import run

JOB = Path(__file__).parent / "jobs" / "kills.py"


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.stress)])
def test_every_push_counts_once(kills: int, tmp_path: Path) -> None:
    done = run([sys.executable, JOB, tmp_path, str(kills), "7"], timeout=180 + 6 * kills, grace=10, sweep=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
