"""Processes that measure, one for each library: PyTorch and MXNet may be in environments of their own."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import machine

HERE = Path(__file__).resolve().parent
PACKAGES = {"pytorch": "torch", "mxnet": "mxnet"}


class Process:
    """A script of this folder that answers each line with a number of seconds."""

    def __init__(self, python: str, script: str, *arguments: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [python, str(HERE / script), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment,
        )  # fmt: skip

    def ask(self, line: str) -> float:
        with contextlib.suppress(BrokenPipeError):  # it has ended: `read` says so
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        return self.read()

    def read(self) -> float:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._process.args)} ended with {self._process.wait()}")
        return float(line)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def add_arguments(parser: argparse.ArgumentParser, reps: int) -> None:
    """What programs that start such processes are told: the interpreters, the rounds and the threads."""
    parser.add_argument("--pytorch", default=sys.executable, metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--mxnet", metavar="PYTHON", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("--reps", type=int, default=reps, help="rounds (default %(default)s)")
    parser.add_argument("--threads", type=int, default=min(2, _available()), help="CPUs for each (default %(default)s)")


def check_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.reps < 1 or not 1 <= args.threads <= _available():
        parser.error(f"--reps must be at least 1, and --threads from 1 to {_available()}, the CPUs of this process")


def environment(threads: int) -> dict[str, str]:
    """What has each library use so many threads."""
    return {name: str(threads) for name in ("OPTGEN_NUM_THREADS", "OMP_NUM_THREADS")}


def describe(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """The machine and the versions, and the interpreter of each peer that is there. This process and those that it
    starts stay on as many CPUs as there are threads."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    description = machine.describe(args.threads)
    interpreters = {"pytorch": args.pytorch, "mxnet": args.mxnet}
    versions = {peer: _version(peer, python) for peer, python in interpreters.items() if python is not None}
    description["packages"] |= {PACKAGES[peer]: found or "absent" for peer, found in versions.items()}
    return description, {peer: interpreters[peer] for peer, found in versions.items() if found is not None}


def _available() -> int:
    return len(os.sched_getaffinity(0))


def _version(peer: str, python: str) -> str | None:
    """Of a peer, for that interpreter; None where it has none."""
    code = f"import {PACKAGES[peer]} as package; print(package.__version__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
