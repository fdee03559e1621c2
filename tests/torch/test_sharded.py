"""Sharded parameters have the bits and norms of whole ones; checkpoints go from one number of processes to another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.process import run

JOB = Path(__file__).parent / "jobs" / "sharded.py"


def test_shards_have_the_bits_of_whole_parameters_and_checkpoints_move_between_numbers_of_processes(
    tmp_path: Path,
) -> None:
    modes = "same:1", "same:2", "same:3", "norms:2", "save:2", "load:3", "load:1"
    result = run([sys.executable, JOB, tmp_path, *modes], timeout=600, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr


@pytest.mark.stress
def test_matrices_on_meshes_of_two_dimensions(tmp_path: Path) -> None:
    """Replicas of shards (HSDP), and shards in rows and in columns."""
    result = run([sys.executable, JOB, tmp_path, "matrices:4"], timeout=300, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
