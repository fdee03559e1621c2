"""The helper other tests start programs with."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.process import STARTED, alive, mpi_command, mpiexec, run, started

SLEEP = "import time; time.sleep(60)"


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def leaving_behind(**options: bool) -> str:
    """A program that starts another one, and ends before it."""
    return f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}], **{options}).pid)"


def test_output_status_and_environment() -> None:
    program = "import os, sys; print(os.environ['GREETING'], end='\\r\\n'); sys.exit(3)"
    done = run(python(program), timeout=20, env={"GREETING": "hello"})
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert STARTED


def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(AssertionError, match=r"took more than 0\.5 s"):
        run(python(SLEEP), timeout=0.5)


@pytest.mark.parametrize("start_new_session", [False, True])
def test_what_is_left_behind_is_found_and_ended(start_new_session: bool) -> None:
    with pytest.raises(AssertionError, match="left processes behind") as caught:
        run(python(leaving_behind(start_new_session=start_new_session)), timeout=20, grace=0.1)
    (output,) = caught.value.__notes__
    assert not alive(int(output))


def test_what_may_be_left_behind_is_ended() -> None:
    done = run(python(leaving_behind(start_new_session=True)), timeout=20, grace=0.1, sweep=True)
    assert done.returncode == 0 and not alive(int(done.stdout))


def test_a_program_can_be_interrupted_where_the_tests_cannot() -> None:
    program = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.1)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in what a shell script starts with &
    try:
        with started(python(program), timeout=60) as running:
            running.line("ready")
            running.signal(signal.SIGINT)
            assert running.wait().returncode == -signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_running_program() -> None:
    """None waits for the end of its sleep, which is longer than the limit."""
    program = "import time; print('rank 1 of 2', flush=True); time.sleep(600)"
    with started(python(program), timeout=60) as running:
        assert running.line(r"rank (\d)")[1] == "1"
        assert running.pids() == running.pids("sleep(600)") == [running.pid] and running.returncode is None
        running.signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL and running.output == "rank 1 of 2\n" and not running.pids()
    with pytest.raises(ZeroDivisionError), started(python(program), timeout=60) as running:
        raise ZeroDivisionError
    with pytest.raises(AssertionError, match="ended without a line"), started(python(""), timeout=60) as running:
        running.line("rank")
    assert not running.pids()


RANK = """
import os, sys, time
from mpi4py import MPI

rank = MPI.COMM_WORLD.allreduce(1) * MPI.COMM_WORLD.rank
os.write(1, f"{rank} {os.getpid()}\\n".encode())
time.sleep(float(sys.argv[1]))
"""


def test_ranks(tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    done = mpiexec(2, [script, "0"], timeout=30)
    assert done.returncode == 0, done.stderr
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == ["0", "2"]
    with started(mpi_command(2, [script, "600"]), timeout=60) as job:
        ranks = [int(job.line(rf"^{rank} (\d+)$")[1]) for rank in (0, 2)]
        assert set(ranks) < set(job.pids()) and all(os.getsid(rank) != job.pid for rank in ranks)
        os.kill(ranks[1], signal.SIGKILL)
    assert job.returncode == signal.SIGKILL and not job.pids()
