"""Programs started by tests: each in a session of its own, with a time limit, and with nothing left behind.

A program's processes are those of its session, and those that left it (the ranks of mpiexec do), which a mark in their
environment tells. `started` watches over a running program, `run` over one to its end, `mpiexec` over the ranks of one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

Argument = str | os.PathLike[str]

STARTED: list[int] = []
"""The ids of all programs that were started; each is also the id of its session."""

MARK = "STARTED_BY_TEST"
"""The environment variable by which a program's processes are known."""


class Program:
    """A running program; see `started`."""

    def __init__(
        self, args: Sequence[Argument], timeout: float, env: Mapping[str, str] | None, cwd: Argument | None,
        out: IO[bytes], err: IO[bytes],
    ) -> None:  # fmt: skip
        self.args = [os.fspath(arg) for arg in args]
        self._timeout = timeout
        self._out: IO[bytes] | str = out
        self._err: IO[bytes] | str = err
        self._deadline = time.monotonic() + timeout
        self._mark = f"{MARK}={uuid.uuid4().hex}"
        self._process = subprocess.Popen(
            self.args,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=os.environ | dict(env or {}) | dict([self._mark.split("=")]),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_can_be_interrupted,
        )
        STARTED.append(self.pid)

    @property
    def pid(self) -> int:
        """The id of the process that was started, which is the first of the program's processes."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status (-9: ended by signal 9); None while it runs."""
        return self._process.poll()

    @property
    def output(self) -> str:
        """What was written to standard output until now."""
        return _text(self._out)

    @property
    def errors(self) -> str:
        """What was written to standard error until now."""
        return _text(self._err)

    def pids(self, command: str = "") -> list[int]:
        """The ids of the processes that run now, those whose command line has `command` in it."""
        return [pid for pid in _running(self.pid, self._mark) if command in _command(pid)]

    def line(self, pattern: str) -> re.Match[str]:
        """Wait for a line of output in which the pattern is found: its first match.

        AssertionError if the program ends without one, or its time is over.
        """
        found: list[re.Match[str]] = []

        def search() -> bool:
            ended = self.returncode is not None
            lines = self.output.split("\n")[:-1]
            found.extend(match for line in lines if (match := re.search(pattern, line)))
            assert found or not ended, f"{self.args} ended without a line {pattern!r}"
            return bool(found)

        self._until(search, f"a line {pattern!r}")
        return found[0]

    def signal(self, number: int) -> None:
        """Send a signal to the process that was started; that this has ended already is no error."""
        self._process.send_signal(number)

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Wait for the end: exit status and output. AssertionError if the time is over first."""
        self._until(lambda: self.returncode is not None, "its end")
        return subprocess.CompletedProcess(self.args, self.returncode, self.output, self.errors)

    def end(self) -> None:
        """End all of the program's processes, and wait until they are gone."""
        deadline = time.monotonic() + 10
        while left := self.pids():
            assert time.monotonic() < deadline, f"{self.args} has processes that cannot be ended: {_described(left)}"
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        self._process.wait()
        self._out, self._err = self.output, self.errors  # the files are closed after this

    def check_left(self, grace: float, sweep: bool) -> None:
        """Wait for the program's other processes, and end those that outstay their `grace`: an error, or a `sweep`."""
        deadline = time.monotonic() + grace
        while (left := self.pids()) and time.monotonic() < deadline:
            time.sleep(0.02)
        if left:
            which = _described(left)
            self.end()
            assert sweep, f"{self.args} ended, but left processes behind: {which}"

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        while not condition():
            if time.monotonic() > self._deadline:
                self.end()
                raise AssertionError(f"{self.args} took more than {self._timeout} s, waiting for {what}")
            time.sleep(0.01)


@contextlib.contextmanager
def started(
    args: Sequence[Argument],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Argument | None = None,
    grace: float = 1.0,
    sweep: bool = False,
) -> Iterator[Program]:
    """Start a program for the time of a `with` block, and wait for its end there.

    `env` is added to this process's environment. AssertionError if there is no end within `timeout` seconds from the
    start, or if any of its processes still run `grace` seconds after the end of the first one; with `sweep` this is no
    error (for what outlives a killed program by design, as Ray's agents do). All processes are ended in any case. The
    program's output is a note of whatever is raised.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _clean_shared_memory():
        program = Program(args, timeout, env, cwd, out, err)
        try:
            yield program
            program.wait()
            program.check_left(grace, sweep)
            program.end()
        except BaseException as error:
            program.end()
            error.add_note(f"{program.output}\n{program.errors}")
            raise


def run(
    args: Sequence[Argument],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Argument | None = None,
    grace: float = 1.0,
    sweep: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end: exit status and output. The rest is as `started` has it."""
    with started(args, timeout=timeout, env=env, cwd=cwd, grace=grace, sweep=sweep) as program:
        return program.wait()


def _can_be_interrupted() -> None:
    """Ctrl-C's signals are ignored by what a shell script starts with `&`, by its tests, too, and by what these start:
    it would never see the SIGINT that a test sends."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    return _session(pid) is not None


# ---------------------------------------------------------------- MPI


def mpiexec(
    ranks: int,
    args: Sequence[Argument],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Argument | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments on some ranks; the rest is as `run` has it."""
    return run(mpi_command(ranks, args), timeout=timeout, env=env, cwd=cwd)


def mpi_command(ranks: int, args: Sequence[Argument]) -> list[str]:
    """The command that runs Python with these arguments on some ranks of this machine, for `started`.

    The ranks speak through shared memory, and open no socket. But mpiexec itself listens on all interfaces, whatever it
    is told: so it gets a network that has none but the loopback one, where the system lets users make such. There it
    also gets a /dev/shm of its own, however small that of a container is.
    """
    hydra = [f"{sys.prefix}/bin/mpiexec", "-localhost", "127.0.0.1", "-genv", "UCX_TLS", "self,sm", "-n", str(ranks)]
    return [*(_ALONE if _can_be_alone() else []), *hydra, sys.executable, *map(os.fspath, args)]


_ALONE = [
    *("unshare", "--map-root-user", "--net", "--mount", "sh", "-c"),
    'mount -t tmpfs tmpfs /dev/shm && ip link set lo up && exec "$@"',
    "sh",
]
"""What runs a command with a network and a /dev/shm of its own; no process is added."""


@contextlib.contextmanager
def _clean_shared_memory() -> Iterator[None]:
    """Remove what MPI leaves in /dev/shm meanwhile: a megabyte for each rank of a job that is killed."""
    place, pattern = Path("/dev/shm"), "mpich_shm_*"
    before = set(place.glob(pattern))
    try:
        yield
    finally:
        for file in _unused(set(place.glob(pattern)) - before):
            with contextlib.suppress(OSError):
                file.unlink()


def _unused(files: set[Path]) -> set[Path]:
    """Those of these files that no process has open or in its memory."""
    for process in Path("/proc").glob("[0-9]*") if files else ():
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
            opened = set(_opened(process))  # before it is mapped
            mapped = (process / "maps").read_text()
            files = {file for file in files if str(file) not in mapped and str(file) not in opened}
    return files


def _opened(process: Path) -> Iterator[str]:
    for descriptor in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            yield os.readlink(descriptor)


@functools.cache
def _can_be_alone() -> bool:
    try:
        return subprocess.run([*_ALONE, "true"], capture_output=True, timeout=10, check=False).returncode == 0
    except OSError:
        return False  # there is no such program


# ---------------------------------------------------------------- /proc


def _running(session: int, mark: str) -> list[int]:
    """The processes of a session, or with a mark, that run (those that only wait to be reaped do not)."""
    pids = (int(place.name) for place in Path("/proc").glob("[0-9]*"))
    return sorted(pid for pid in pids if (its := _session(pid)) is not None and (its == session or _has(pid, mark)))


def _session(pid: int) -> int | None:
    """The session of a process, None if it does not run."""
    try:
        # A name in brackets may hold anything; after it: state, parent, group, session.
        state, _, _, session = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(session)


def _has(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False  # it ended meanwhile, or is another user's


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _described(pids: Sequence[int]) -> str:
    return "; ".join(f"{pid} {_command(pid)}".strip() for pid in pids)


def _text(file: IO[bytes] | str) -> str:
    """All of a file that processes write to, whose position is theirs; all ends of lines are newlines."""
    if isinstance(file, str):
        return file
    content = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")
    return content.replace("\r\n", "\n").replace("\r", "\n")
