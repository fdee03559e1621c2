"""Sharded parameters have the bits and norms of whole ones; checkpoints go from one number of processes to another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.process import run

JOB = Path(__file__).parent / "jobs" / "sharded.py"


MODES = "same:1", "same:2", "same:3", "norms:2", "observed:2", "save:2", "load:3", "load:1"


def test_shards_have_the_bits_of_whole_parameters_and_checkpoints_move_between_numbers_of_processes(
    tmp_path: Path,
) -> None:
    result = run([sys.executable, JOB, tmp_path, *MODES], timeout=600, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr


@pytest.mark.stress
def test_more_optimizers_and_meshes_of_two_dimensions(tmp_path: Path) -> None:
    """With the replicas of shards (HSDP), and shards in rows and in columns, of `matrices`."""
    modes = *MODES, "matrices:4"
    result = run([sys.executable, JOB, tmp_path, "--all", *modes], timeout=900, env={"OPTGEN_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr
