"""The example of several processes: killed at random and run again, it ends as if it had not been."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.process import Argument, Program, mpi_command, started

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "distributed" / "train.py"
END = re.compile(r"^loss ([\d.]+), .* weights (\w+)$", re.MULTILINE)
draw = random.Random(os.urandom(8))


PYTHON = Path(sys.executable).resolve()
ASYNC = "--kvstore", "dist_async"
OPTIONS = {"timeout": 150, "env": {"PYTHONPATH": str(ROOT)}}


def finish(command: Sequence[Argument], sweep: bool = False) -> str:
    """What a run to its end prints."""
    with started(command, sweep=sweep, **OPTIONS) as program:
        done = program.wait()
        assert done.returncode == 0, done.stderr
        return done.stdout


def kill(command: Sequence[Argument], folder: Path, sweep: bool = False) -> None:
    """Run until another checkpoint is there and a little longer, and kill one of the processes that run the script."""
    with started(command, sweep=sweep, **OPTIONS) as program:
        os.kill(victim(program, folder), signal.SIGKILL)
        assert program.wait().returncode != 0


def victim(program: Program, folder: Path) -> int:
    """Any of the processes that run the script, a moment after the next checkpoint of theirs."""
    before = generation(folder)
    while generation(folder) == before:
        assert program.returncode is None, "it ended before it was killed"
        time.sleep(0.005)
    time.sleep(draw.uniform(0, 0.1))
    found = program.pids(SCRIPT.name)
    return draw.choice([pid for pid in found if Path(f"/proc/{pid}/exe").resolve() == PYTHON and is_rank(pid)])


def is_rank(pid: int) -> bool:
    """Whether it is not what started the ranks."""
    return b"runtime.launch" not in Path(f"/proc/{pid}/cmdline").read_bytes()


def generation(folder: Path) -> int:
    try:
        return json.loads((folder / "latest").read_text())["generation"]
    except FileNotFoundError:
        return 0


def end(printed: str) -> tuple[float, str]:
    """Final loss, and hash of the weights."""
    loss, weights = END.search(printed).groups()
    return float(loss), weights


def sync(ranks: int, *args: Argument) -> list[str]:
    return mpi_command(ranks, [SCRIPT, "--kvstore", "dist_sync", *args])


def test_dist_sync(tmp_path: Path) -> None:
    """Two ranks, one of which is killed."""
    pytest.importorskip("mpi4py")
    saved = "--epochs", "2", "--checkpoint", tmp_path / "folder"
    kill(sync(2, *saved), saved[-1])
    assert end(finish(sync(2, *saved))) == end(finish(sync(2, "--epochs", "2")))


@pytest.mark.stress
def test_dist_sync_with_other_numbers_of_ranks(tmp_path: Path) -> None:
    """Three ranks and one go on with what two have saved."""
    saved = "--checkpoint", tmp_path / "folder"
    loss, _ = end(finish(sync(2, *saved, "--epochs", "4")))
    for ranks in (3, 1):
        kill(sync(ranks, *saved, "--epochs", "5"), saved[-1])
        found, _ = end(finish(sync(ranks, *saved, "--epochs", "5")))
        assert found < 1.1 * loss


@pytest.mark.stress
def test_dist_async_with_one_worker(tmp_path: Path) -> None:
    """The only worker is killed and started again by the launcher, then all are; as one that was not."""
    launch = sys.executable, "-m", "runtime.launch", "-n", "1", "-s", "1"
    script = SCRIPT, *ASYNC, "--epochs", "6"
    expected = end(finish([sys.executable, *script], sweep=True))
    command = [*launch, *script, "--checkpoint", tmp_path / "folder"]
    with started(command, sweep=True, **OPTIONS) as program:
        os.kill(victim(program, command[-1]), signal.SIGKILL)
        victim(program, command[-1])
        program.end()
    assert end(finish(command, sweep=True).replace("[0] ", "")) == expected


COUNTING = f"""
import json, sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import train
train.main()
from runtime.kvstore.servers import create
(store,) = create._open
if store.rank == 0:
    header = store.snapshot()[1]
    print(json.dumps([header["pushes"], json.loads(header["optimizer"])["updates"]]), flush=True)
"""


def test_dist_async(tmp_path: Path) -> None:
    """All processes are killed; the next run has fewer servers, and one of its workers is killed and started again."""
    pytest.importorskip("ray")
    (tmp_path / "counting_train.py").write_text(COUNTING)
    saved = "--checkpoint", tmp_path / "folder"

    def command(servers: int) -> list[Argument]:
        launch = sys.executable, "-m", "runtime.launch", "-n", "2", "-s", str(servers)
        return [*launch, tmp_path / "counting_train.py", *ASYNC, "--epochs", "3", *saved]

    with started(command(2), sweep=True, **OPTIONS) as program:
        victim(program, saved[1])
        program.end()
    begun = generation(saved[1])
    with started(command(1), sweep=True, **OPTIONS) as program:
        os.kill(victim(program, saved[1]), signal.SIGKILL)
        done = program.wait()
        assert done.returncode == 0, done.stderr
    assert "it is started again (1 of 3)" in done.stderr
    assert 0 < begun < generation(saved[1])
    pushes, updates = json.loads(re.search(r"^\[0\] (\[\[\[.*)$", done.stdout, re.MULTILINE)[1])
    assert pushes == [[0, 3 * 23], [1, 3 * 23]]  # one for each batch, whoever died when
    assert {number for _, number in updates} == {2 * 3 * 23}  # applied to each key, once
    loss, _ = end(done.stdout.replace("[0] ", ""))
    assert loss < 0.72  # a single process ends with 0.48
