"""The command line of the launcher."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_EXAMPLES = """\
examples:
  python -m runtime.launch -n 4 -s 2 train.py --epochs 10
      four workers and two servers on this machine; --epochs 10 is for train.py
  RAY_AUTH_MODE=token python -m runtime.launch -n 16 -s 4 --address 10.0.0.1:6379 train.py
      on the Ray cluster whose head is 10.0.0.1, started from one of its nodes; the token is Ray's, which asks for one
      unless it is told otherwise

In the script, mx.kv.create('dist_async') finds the servers; its rank and num_workers tell the workers apart. The
environment variable RUNTIME_ATTEMPT is 0, and one more after each restart of the worker. On one machine the script runs
in the current folder; on a cluster in a copy of its own folder, which also holds what it imports, so that what it
writes belongs into folders that are given in full.

Of the environment it has PATH, LD_LIBRARY_PATH, HOME, TMPDIR, LANG, PYTHON*, CUDA_*, OMP_*, OPTGEN_*, RUNTIME_*, RAY_*
but Ray's tokens and passwords, which each machine has for itself, and what --env names: that travels unencrypted.

The exit status is 0 if every worker ended with 0; that of the worker that failed, or 128 + the number of the signal
that ended it; 1 if a worker's machine was lost or nothing could be started; 2 for a wrong command line; 130 after
Ctrl-C; 143 after SIGTERM.
"""


@dataclass(frozen=True)
class Arguments:
    """A run that was asked for: `script` exists, and the numbers make sense."""

    workers: int
    servers: int
    address: str | None
    """Of the head of a Ray cluster, 'host:port'; None: a Ray of the run's own, on this machine alone."""
    max_restarts: int
    """How often each worker is started again after it died."""
    env: tuple[str, ...]
    """The names of environment variables that the script has beside those that all programs need."""
    modules: tuple[str, ...]
    """Those with optimizers written by hand, which servers may import; empty: those that the script imports."""
    script: Path
    args: tuple[str, ...]
    """What the script finds in `sys.argv` after its own name."""


def parse(argv: Sequence[str] | None = None) -> Arguments:
    """Read the command line, by default this process's. One that is wrong ends the process with status 2."""
    parser = _parser()
    given = parser.parse_args(argv)
    if not given.script.is_file():
        parser.error(f"there is no file {given.script} (in {Path.cwd()}) to run")
    return Arguments(
        workers=given.num_workers,
        servers=given.num_servers,
        address=given.address,
        max_restarts=given.max_restarts,
        env=tuple(given.env),
        modules=tuple(given.module),
        script=given.script,
        args=tuple(given.args),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runtime.launch",
        description="Train with the kvstore 'dist_async': start servers, and a script once for each worker.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for names, settings in _OPTIONS:
        parser.add_argument(*names, **settings)
    parser.add_argument("script", type=Path, help="a Python file")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script").required = False
    return parser


class _AtLeast:
    """A whole number that is not below the least; argparse shows the error."""

    def __init__(self, least: int) -> None:
        self._least = least

    def __call__(self, text: str) -> int:
        if not text.strip().isdecimal() or int(text) < self._least:
            raise argparse.ArgumentTypeError(f"a number from {self._least} on is needed, not {text!r}")
        return int(text)


def _variable(text: str) -> str:
    if text not in os.environ:
        raise argparse.ArgumentTypeError(f"the name of an environment variable that is set is needed, not {text!r}")
    return text


def _module(text: str) -> str:
    if not all(part.isidentifier() for part in text.split(".")):
        raise argparse.ArgumentTypeError(f"the name of a module, like package.optimizers, is needed, not {text!r}")
    return text


def _address(text: str) -> str:
    if not re.fullmatch(r"[^:/\s]+:\d{1,5}", text) or not 0 < int(text.rpartition(":")[2]) < 1 << 16:
        raise argparse.ArgumentTypeError(f"host:port of the head of a Ray cluster is needed, not {text!r}")
    return text


_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("-n", "--num-workers"), {"type": _AtLeast(1), "required": True, "metavar": "N", "help": "how many workers"}),
    (
        ("-s", "--num-servers"),
        {
            "type": _AtLeast(1),
            "default": 1,
            "metavar": "S",
            "help": "into how many servers the values are cut (default 1); each is two processes, one of which may die",
        },
    ),
    (
        ("--address",),
        {"type": _address, "metavar": "HOST:PORT", "help": "the head of a Ray cluster (default: this machine alone)"},
    ),
    (
        ("--max-restarts",),
        {
            "type": _AtLeast(0),
            "default": 3,
            "metavar": "K",
            "help": "how often each worker that a signal kills, or that is lost, is started again, the others running "
            "on (default 3); an error of the script ends the run at once",
        },
    ),
    (
        ("--env",),
        {
            "type": _variable,
            "action": "append",
            "default": [],
            "metavar": "NAME",
            "help": "an environment variable that the script needs, beside those named below; may be given several "
            "times",
        },
    ),
    (
        ("--module",),
        {
            "type": _module,
            "action": "append",
            "default": [],
            "metavar": "NAME",
            "help": "a module with optimizers written by hand, which servers may import; may be given several times "
            "(default: those that the script imports from its own folder or PYTHONPATH)",
        },
    ),
)
"""The options of the launcher: names, and what argparse is told of each."""
