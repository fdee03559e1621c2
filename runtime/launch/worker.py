"""A worker: the actor that runs the script in a child process and hands on what it writes and how it ends."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.launch.environment import secrets_here

GRACE_SECONDS = 10
"""How long a script that is asked to end, by SIGTERM, may take to do so."""

STDOUT, STDERR = 1, 2
_STATUS = 3
Written = tuple[int, bytes]
"""STDOUT or STDERR, and what was written to it."""


class Worker:
    """One attempt of one rank; the script starts when the actor is made.

    Parameters
    ----------
    script: path of the script, taken in `folder`.
    args: its arguments.
    folder: where it runs; None: where the actor is.
    environment: its environment, but for what proves to Ray who it is: that is this machine's.
    local_workers: among how many workers of this machine its CPUs are shared.
    """

    def __init__(
        self,
        script: str,
        args: Sequence[str],
        folder: str | None,
        environment: Mapping[str, str],
        local_workers: int,
    ) -> None:
        from optgen.threads import cpus

        threads = max(1, min(256, cpus.available() // local_workers))
        # Lines are to be seen as they are printed, but Python writes to pipes in blocks.
        defaults = {"PYTHONUNBUFFERED": "1", "OPTGEN_NUM_THREADS": str(threads)}
        guard = str(Path(__file__).with_name("guard.py"))
        status, theirs = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard, str(GRACE_SECONDS), str(theirs), sys.executable, script, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=defaults | secrets_here(os.environ) | dict(environment),
            pass_fds=[theirs],
        )
        process.wait()  # it has left the guard behind
        os.close(theirs)
        self._guard = process.stdin
        self._status: int | None = None
        self._pipes = selectors.DefaultSelector()
        for pipe, what in ((process.stdout, STDOUT), (process.stderr, STDERR), (status, _STATUS)):
            self._pipes.register(pipe, selectors.EVENT_READ, what)

    def read(self) -> tuple[list[Written], int | None]:
        """Wait for the script to write something or to end: what it wrote, and its exit status once all was read.

        The status is minus the number of the signal that ended the script, if one did.
        """
        while True:
            # The end of the output is not waited for: a process that left the script's group may hold it open for ever.
            ready = self._pipes.select(timeout=None if self._status is None else 0)
            if not ready:
                return [], self._status
            written = []
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if key.data == _STATUS:
                    self._status = int(data or -signal.SIGKILL)  # nothing: the guard was killed, and with it the script
                elif data:
                    written.append((key.data, data))
                if not data or key.data == _STATUS:
                    self._pipes.unregister(key.fileobj)
            if written:
                return written, None

    def stop(self) -> None:
        """Ask the script to end; within GRACE_SECONDS it has."""
        with contextlib.suppress(BrokenPipeError):  # it has ended
            self._guard.write(b"\0")
