"""Work shared by processes: nothing of it is lost, and no process outlives what started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from optgen.cli import workers

WORK = [(k, 3) for k in range(2 * workers.KERNELS_PER_PROCESS)]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


def test_results_come_in_order() -> None:
    with workers.each(divmod, WORK) as results:
        first = next(results)
        assert len(multiprocessing.active_children()) == 2
        assert [first, *results] == [divmod(*pair) for pair in WORK]
    assert not multiprocessing.active_children()


def test_errors_come_through() -> None:
    with pytest.raises(ZeroDivisionError), workers.each(divmod, [*WORK, (1, 0)]) as results:
        list(results)
    assert not multiprocessing.active_children()


def test_little_work_stays_here() -> None:
    with workers.each(divmod, WORK[:-1]) as results:
        assert list(results) == [divmod(*pair) for pair in WORK[:-1]]
        assert not multiprocessing.active_children()


KILLED = """\
import multiprocessing, os, signal, time
from optgen.cli import workers

os.sched_getaffinity = lambda pid: {0, 1}
with workers.each(time.sleep, [(0.1 if k == 0 else 60,) for k in range(2 * workers.KERNELS_PER_PROCESS)]) as results:
    next(results)
    print(*(p.pid for p in multiprocessing.active_children()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_with_a_process_that_is_killed() -> None:
    run = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert run.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in run.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 20
    while any(_is_running(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
