"""Sharded parameters come to the bits of whole ones; checkpoints go from one number of processes to another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.process import run

JOB = Path(__file__).parent / "jobs" / "sharded.py"


def job(mode: str, ranks: int, folder: Path) -> None:
    result = run([sys.executable, JOB, mode, str(ranks), folder], timeout=300, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3, pytest.param(4, marks=pytest.mark.stress)])  # 4: meshes of two dimensions
def test_shards_have_the_bits_of_whole_parameters(ranks: int, tmp_path: Path) -> None:
    job("same", ranks, tmp_path)


def test_checkpoints_move_between_numbers_of_processes(tmp_path: Path) -> None:
    job("save", 2, tmp_path)
    job("load", 3, tmp_path)
    job("load", 1, tmp_path)
