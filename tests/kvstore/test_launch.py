"""The launcher: what scripts find, what is shown, who is started again, how a run ends, and what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runtime.launch import environment as launch_environment
from runtime.launch.run import main
from runtime.launch.signals import Signals
from runtime.launch.workers import Workers
from tests import process

JOBS = Path(__file__).parent / "jobs"
ROOT = Path(__file__).parents[2]
TOKEN = "t" * 64


def command(*args: object) -> list[str]:
    """A run whose scripts have the mark by which `process` knows them."""
    return [sys.executable, "-m", "runtime.launch", "--env", process.MARK, *map(str, args)]


def environment(**more: str) -> dict[str, str]:
    """For runs in folders from which the package would not be found."""
    return {"PYTHONPATH": os.pathsep.join((str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")]))), **more}


def test_scripts_run_as_they_would_alone_and_are_started_again_until_one_fails(tmp_path: Path) -> None:
    job = JOBS / "launch_report.py"
    done = process.run(
        command("-n", 2, "-s", 1, "--env", "GIVEN", "--max-restarts", 1, job, -9, 3, "a b"),
        cwd=tmp_path,
        env=environment(GIVEN="é x", A_SECRET="of the user's", RAY_AUTH_TOKEN=TOKEN, OMP_PROC_BIND="false"),
        timeout=120,
    )
    assert done.returncode == 3, done.stderr
    for rank in range(2):
        lines = [line[4:] for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")]
        report = json.loads(lines[0].removeprefix("report "))
        variables = report.pop("environment")
        assert report == {
            "name": "__main__",
            "argv": [str(job), "-9", "3", "a b"],
            "folder": str(tmp_path),
            "rank": rank,
            "num_workers": 2,
            "value": [0.0, 0.0, 0.0],
        }
        assert (variables["RUNTIME_RANK"], variables["RUNTIME_ATTEMPT"]) == (str(rank), "0")
        assert (variables["RUNTIME_NUM_WORKERS"], variables["RUNTIME_NUM_SERVERS"]) == ("2", "1")
        assert (variables["GIVEN"], variables["OMP_PROC_BIND"]) == ("é x", "false")
        assert "A_SECRET" not in variables and variables["RAY_AUTH_TOKEN"] == TOKEN  # which Ray's own processes have
        end = "asked to end" if rank == 0 else "attempt 1"  # rank 0 ran on until rank 1 failed
        assert lines[1:302] == [*(f"row {i} {'x' * 50}" for i in range(300)), "no end of line"]
        assert lines[302:] == [end, "no end of line"]
    first, *rest = done.stderr.splitlines()
    assert re.fullmatch(r"runtime.launch: 2 workers and 1 server on this machine, Ray at 127.0.0.1:\d+", first)
    assert {*rest[:3]} == {
        *("[0] to stderr", "[1] to stderr"),
        "runtime.launch: worker 1: ended by SIGKILL; it is started again (1 of 1)",
    }  # and nothing of Ray's
    message = "\n".join(rest[3:])
    assert "runtime.launch: worker 1 failed after 1 restart: exit status 3; the others were stopped" in message
    assert "\n    to stderr\n" in message and "\n    no end of line\n" in message
    logs = re.search(r"the log files of Ray are in (.*)", message)
    assert logs and Path(logs[1]).is_dir()


LOST = "lost"
RESTARTED = "worker 0: {}; it is started again ({} of 2)"


@pytest.mark.parametrize(
    ("ends", "status", "said"),
    [
        ([0], 0, []),
        ([1], 1, ["worker 0 failed: exit status 1; the others were stopped"]),
        (
            [-11, LOST, 0],
            0,
            [
                RESTARTED.format("ended by SIGSEGV", 1),
                RESTARTED.format("its actor was lost (away)", 2),
                "all workers have ended; started again: worker 0 2 times",
            ],
        ),
        (
            [-9, -9, -9],
            137,
            [
                RESTARTED.format("ended by SIGKILL", 1),
                RESTARTED.format("ended by SIGKILL", 2),
                "worker 0 gave up after 2 restarts: ended by SIGKILL; the others were stopped",
            ],
        ),
    ],
)
def test_only_what_dies_is_started_again(
    ends: list[int | str], status: int, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ray = EndingWorkers(ends)
    assert Workers(ray, 1, 2, lambda rank, attempt: ray).run(Signals()) == status
    assert capsys.readouterr().err.splitlines() == [f"runtime.launch: {line}" for line in said]
    assert not ray.ends


class EndingWorkers:
    """Ray and each of its workers, which end at once: with a status, or lost."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self, ends: list[int | str]) -> None:
        self.ends = ends
        self.read = self
        self.exceptions = EndingWorkers.exceptions

    def remote(self) -> object:
        return object()

    def wait(self, references: list[object], timeout: float) -> tuple[list[object], list[object]]:
        return references[:1], references[1:]

    def get(self, reference: object) -> tuple[list[object], int | str]:
        end = self.ends.pop(0)
        if end == LOST:
            raise self.exceptions.RayError("away.")
        return [], end

    def kill(self, worker: object) -> None:
        pass


def test_ctrl_c_ends_all_and_only_this_machine_is_listened_to() -> None:
    with process.started(command("-n", 2, JOBS / "launch_failing.py"), timeout=120) as program:
        first = {rank: program.line(rf"^\[{rank}\] rank {rank} attempt 0 pids (\d+) (\d+)") for rank in range(2)}
        sockets = sorted(listening(program.pids()))
        assert sockets and all(address in LOOPBACK for address in sockets), sockets
        os.kill(program.pids("ray::Worker")[0], signal.SIGKILL)
        again = program.line(r"^\[(\d)\] rank \d attempt 1")
        # The script of the worker that was killed, and what that had started, ended with it.
        assert not any(process.alive(int(pid)) for pid in first[int(again[1])].groups())
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
        done = program.wait()
    assert done.returncode == 130
    assert done.stdout.count("asked to end") == 2
    assert "its actor was lost" in done.stderr and done.stderr.endswith("runtime.launch: SIGINT: stopping\n")


def test_a_launcher_that_is_killed_takes_all_with_it() -> None:
    # What remains are Ray's agents, which end after a minute; here, sooner.
    with process.started(command("-n", 1, JOBS / "launch_failing.py"), timeout=120, grace=0, sweep=True) as program:
        program.line("^rank 0 attempt 0")
        program.signal(signal.SIGKILL)
        program.wait()
        deadline = time.monotonic() + 20
        while left := {*program.pids()} - {*program.pids("ray::DashboardAgent"), *program.pids("ray::RuntimeEnvAgent")}:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, ::ffff:127.0.0.1 and ::1, as /proc writes them."""


def listening(pids: Sequence[int]) -> Iterator[str]:
    """The addresses of all sockets on which processes wait for others, as /proc writes them."""
    links = {os.readlink(fd) for pid in pids for fd in Path(f"/proc/{pid}/fd").glob("*") if fd.is_symlink()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in links:
                yield local.partition(":")[0]


# ---------------------------------------------------------------- what is sent


def test_no_secrets_are_sent() -> None:
    needed = {
        *("PATH", "PYTHONPATH", "PYTHONHASHSEED", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "LANG", "CUDA_VISIBLE_DEVICES"),
        *("OMP_NUM_THREADS", "OPTGEN_CACHE_DIR", "RUNTIME_KVSTORE_TIMEOUT", "RAY_AUTH_MODE", "RAY_worker_niceness"),
    }
    own = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_REDIS_PASSWORD"}
    others = {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "PATHS", "MY_PATH", "HOMES", "LANGUAGE", "RAYS_A", "XRAY_A", "OMP"}
    variables = {name: f"value of {name}" for name in needed | own | others}
    assert launch_environment.sent(variables, ()).keys() == needed
    named = launch_environment.sent(variables, ["HF_TOKEN", "RAY_AUTH_TOKEN", "PATH"])
    assert named == {name: variables[name] for name in needed | {"HF_TOKEN", "RAY_AUTH_TOKEN"}}
    assert launch_environment.secrets_here(variables).keys() == own


# ---------------------------------------------------------------- what cannot be run


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-n", "2"], "the following arguments are required: script"),
        (["-n", "2", "gone.py"], "there is no file gone.py (in "),
        (["train.py"], "the following arguments are required: -n/--num-workers"),
        (["-n", "0", "train.py"], "a number from 1 on is needed, not '0'"),
        (["-n", "2", "-s", "0", "train.py"], "a number from 1 on is needed, not '0'"),
        (["-n", "2", "--max-restarts", "-1", "train.py"], "a number from 0 on is needed, not '-1'"),
        (["-n", "2", "--env", "NOT_SET", "train.py"], "an environment variable that is set is needed, not 'NOT_SET'"),
        (["-n", "2", "--env", "HOME=/", "train.py"], "is needed, not 'HOME=/'"),
        (
            ["-n", "2", "--module", "a/b.py", "train.py"],
            "like package.optimizers, is needed, not 'a/b.py'",
        ),
        (["-n", "2", "--address", "head", "train.py"], "host:port of the head of a Ray cluster is needed, not 'head'"),
    ],
)
def test_wrong_command_lines(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(args)
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_nothing_is_run_without_a_cluster_at_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-n", "2", "--address", "127.0.0.1:1", str(JOBS / "launch_half.py")]) == 1
    assert "there is no Ray cluster at 127.0.0.1:1" in capsys.readouterr().err


def test_ray_must_be_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["-n", "2", str(JOBS / "launch_half.py")]) == 1
    assert "pip install 'ray" in capsys.readouterr().err
