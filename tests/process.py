"""Programs started by tests: each in a process group of its own, with a time limit, and with nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

STARTED: list[int] = []
"""The ids of all processes that `run` started; each is also the id of its group."""


def run(
    args: Sequence[str | os.PathLike[str]],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return its exit status and output.

    `env` is added to this process's environment. AssertionError if the program runs for more than `timeout` seconds or
    leaves processes behind; they are ended first.
    """
    process = subprocess.Popen(
        [os.fspath(arg) for arg in args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | dict(env or {}),
        cwd=cwd,
        start_new_session=True,
    )
    STARTED.append(process.pid)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(process.pid)
        out, err = process.communicate()
        raise AssertionError(f"{args} took more than {timeout} s\n{out}\n{err}") from None
    except BaseException:
        _end(process.pid)
        process.wait()
        raise
    left = _left(process.pid)
    if left:
        _end(process.pid)
        raise AssertionError(f"{args} ended, but left processes behind: {left}\n{out}\n{err}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _end(group: int) -> None:
    """End a group that `run` started; it may be gone already."""
    assert group in STARTED
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _left(group: int) -> list[int]:
    """The processes of a group that still run after a second of grace (those that only wait to be reaped do not)."""
    deadline = time.monotonic() + 1
    while (left := _running(group)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _running(group: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" ", 1)
        except (OSError, ValueError):
            continue  # it ended meanwhile
        state, _parent, its_group = rest.rpartition(")")[2].split()[:3]  # a name in brackets may hold anything
        if int(its_group) == group and state not in "ZX":
            found.append(int(pid))
    return found
