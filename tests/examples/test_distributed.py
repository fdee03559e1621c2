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
        time.sleep(0.001)
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


def test_dist_sync(tmp_path: Path) -> None:
    """Two ranks, one of which is killed, twice; then three ranks and one go on with what two had saved."""
    pytest.importorskip("mpi4py")

    def command(count: int, *args: Argument) -> list[str]:
        return mpi_command(count, [SCRIPT, "--kvstore", "dist_sync", "--epochs", "4", *args])

    loss, weights = end(finish(command(2)))
    saved = "--checkpoint", tmp_path / "folder"
    for _ in range(2):
        kill(command(2, *saved), saved[1])
    assert end(finish(command(2, *saved))) == (loss, weights)
    for count in (3, 1):
        found, _ = end(finish(command(count, *saved, "--epochs", "5")))
        assert found < 1.1 * loss


def test_dist_async_with_one_worker(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    command = [sys.executable, SCRIPT, "--kvstore", "dist_async", "--epochs", "4"]
    expected = end(finish(command, sweep=True))
    saved = "--checkpoint", tmp_path / "folder"
    kill([*command, *saved], saved[1], sweep=True)
    assert end(finish([*command, *saved], sweep=True)) == expected


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


def test_dist_async_with_several_workers(tmp_path: Path) -> None:
    """All processes are killed; the next run goes on, and one of its workers is killed and restarted."""
    pytest.importorskip("ray")
    alone, _ = end(finish([sys.executable, SCRIPT, "--epochs", "6"]))
    (tmp_path / "counting_train.py").write_text(COUNTING)
    saved = "--checkpoint", tmp_path / "folder"
    command = [
        *(sys.executable, "-m", "runtime.launch", "-n", "2", "-s", "2", "--max-restarts", "1"),
        *(tmp_path / "counting_train.py", "--kvstore", "dist_async", "--epochs", "6", *saved),
    ]
    with started(command, sweep=True, **OPTIONS) as program:
        victim(program, saved[1])
        program.end()
    begun = generation(saved[1])
    with started(command, sweep=True, **OPTIONS) as program:
        os.kill(victim(program, saved[1]), signal.SIGKILL)
        done = program.wait()
        assert done.returncode == 0, done.stderr
    assert 0 < begun < generation(saved[1])
    pushes, updates = json.loads(re.search(r"^\[0\] (\[\[\[.*)$", done.stdout, re.MULTILINE)[1])
    assert pushes == [[0, 6 * 23], [1, 6 * 23]]  # one for each batch, whoever died when
    assert {number for _, number in updates} == {2 * 6 * 23}  # applied to each key, once
    loss, _ = end(done.stdout.replace("[0] ", ""))
    assert loss < 1.5 * alone
