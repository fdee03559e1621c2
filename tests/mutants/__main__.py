"""`python -m tests.mutants`: puts small faults into optgen and runtime, and tells which of them no test notices."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tests.mutants.judge import Judges, Verdict, copies, failing, judged, read_verdicts, write_verdicts
from tests.mutants.mutate import Mutant, chosen
from tests.mutants.touched import ON_GPU, ROOT, read

FOLDER = ROOT / ".mutants"
"""Which tests run what, as of the last run of all tests that was noted."""

_EXAMPLES = """examples:
  python -m tests.mutants -n 20 optgen/passes      20 mutants of the passes
  python -m tests.mutants -n 60 --seed 7 -o new.jsonl
  python -m tests.mutants --again new.jsonl        the same mutants, by the tests as they are now
  python -m tests.mutants --note                   note anew which tests run what (as long as make test)
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__, epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("files", nargs="*", default=["optgen", "runtime"], help="files and folders to change")
    parser.add_argument("-n", "--number", type=int, default=60, help="how many mutants (60)")
    parser.add_argument("--seed", type=int, default=0, help="draws them (0)")
    parser.add_argument("-o", "--output", type=Path, help="a file for the verdicts")
    parser.add_argument("--again", type=Path, metavar="FILE", help="judge the mutants of a file of verdicts again")
    parser.add_argument("--note", action="store_true", help="only note which tests run what")
    parser.add_argument("-j", "--processes", type=int, default=os.cpu_count() or 1, help="runs at a time (one a CPU)")
    options = parser.parse_args(arguments)
    for option in ("number", "processes"):
        if getattr(options, option) < 1:
            parser.error(f"--{option}: at least 1, not {getattr(options, option)}")
    if options.note:
        note()
        return 0
    drawn: dict[str, Any] = {"files": options.files, "number": options.number, "seed": options.seed}
    try:
        if options.again:
            drawn, old = read_verdicts(options.again)
        else:
            old = [Verdict(mutant, "survived") for mutant in chosen(ROOT, **drawn)]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not any(FOLDER.glob("*.jsonl")):
        print(f"{FOLDER} does not say which tests run what: all of make test is run first", flush=True)
        note()
    print(f"{len(old)} mutants; the tests are collected, and the tree is copied", flush=True)
    new = show(old, tests_now(), options.processes)
    if options.output:
        write_verdicts(options.output, drawn, new)
    return int(any(verdict.verdict in ("survived", "untested") and not verdict.why for verdict in new))


def note() -> None:
    """Run all tests of `make test`, and note which blocks each of them runs. FOLDER has all of it or nothing."""
    started = time.time()
    shutil.rmtree(FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".mutants-") as part:
        for command in commands():
            status = _pytest(["-p", "tests.mutants.touched", *command], os.environ | {"TOUCHED": part})
            if status > 1:  # 1: some tests failed
                raise SystemExit(f"pytest {' '.join(command)}: exit status {status}, so nothing is noted")
        shutil.copytree(part, FOLDER, ignore=shutil.ignore_patterns("pycache"))
    print(f"noted in {FOLDER}, after {time.time() - started:.0f} s")


def _pytest(arguments: list[str], env: Mapping[str, str]) -> int:
    """The exit status of pytest, which writes to the terminal. It is interrupted as this process is, and waited for."""
    command = [sys.executable, "-m", "pytest", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True) as pytest:
        try:
            return pytest.wait()
        except BaseException:
            pytest.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pytest.pid, signal.SIGKILL)
            raise


def commands() -> list[list[str]]:
    """The arguments of pytest in `make test`, for each time that it is called."""
    lines = subprocess.run(["make", "-s", "-n", "test"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [line.split(" -m pytest", 1)[1].split() for line in lines.splitlines() if " -m pytest" in line]


def tests_now() -> set[str]:
    """The names of the tests in `make test`."""
    found = set()
    for command in commands():
        collect = [sys.executable, "-m", "pytest", "--collect-only", *command, "-n", "0"]
        lines = subprocess.run(collect, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        found |= {line + ON_GPU * ("--on-gpu" in command) for line in lines if "::" in line}
    return found


def show(old: list[Verdict], known: set[str], processes: int) -> list[Verdict]:
    """Judge mutants by known tests, telling those that none notices. A test that fails without any mutant does not
    count."""
    tests = Judges({name: noted for name, noted in read(FOLDER).items() if name in known})
    unsound: set[str] = set()

    def of(verdict: Verdict) -> list[str]:
        """Its tests, of which the one that killed it before goes first."""
        place = ROOT / verdict.mutant.path
        names = [verdict.by] if verdict.by else []
        names += tests.of(verdict.mutant, place.read_text(encoding="utf-8")) if place.exists() else []
        return [name for name in dict.fromkeys(names) if name in known - unsound]

    new: dict[Mutant, Verdict] = {}
    with copies(processes) as trees, tqdm(total=len(old), disable=None, unit="mutant") as progress:
        waiting = old
        while waiting:
            for verdict in judged(waiting, of, trees):
                new[verdict.mutant] = verdict
                progress.update()
                reason = f" ({verdict.why})" if verdict.why else ""
                by = f" by {verdict.by}" if verdict.by else ""
                progress.write(f"{verdict.verdict}: {verdict.mutant.described()}{reason}{by}")
            judges = {verdict.by for verdict in new.values()} - {"", *unsound}
            unsound |= (wrong := set(failing(trees[0], sorted(judges))))
            waiting = [verdict for verdict in new.values() if verdict.by in wrong]
    counts = Counter(verdict.verdict for verdict in new.values())
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    return list(new.values())


def end_at_signals() -> None:
    """SIGINT and SIGTERM raise KeyboardInterrupt once, so that what is left can be ended and removed after that."""

    def interrupt(number: int, frame: object) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        print("interrupted: ending the tests that run", file=sys.stderr, flush=True)
        raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, interrupt)


if __name__ == "__main__":
    end_at_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
