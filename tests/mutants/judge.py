"""Judging mutants: the tests that run a mutant's block are run with it, in a copy of the tree, until one fails."""

from __future__ import annotations

import itertools
import json
import os
import queue
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from optgen.files import replacing
from tests.mutants.mutate import Mutant
from tests.mutants.touched import ON_GPU, ROOT, Noted, block_of
from tests.process import Program, started

TESTS = 40
SECONDS = 180.0
_OF_THE_LIMIT = 0.4
"""The tests of a mutant take at most this part of the limit without it: what takes longer does not end."""
_programs: set[Program] = set()
"""Those that run tests now."""
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".mutants*", ".torch-versions"
)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: "killed", "survived", "untested" if no test runs it, or "gone" if its lines changed.

    `by` is the test that fails with it, or does not end. `why` says why one that survived does no harm, or what became
    of the lines of one that is gone.
    """

    mutant: Mutant
    verdict: str
    by: str = ""
    why: str = ""


def write_verdicts(path: Path, drawn: dict[str, Any], verdicts: Iterable[Verdict]) -> None:
    """A file of lines of JSON: first how the mutants were `drawn`, then each with its verdict."""
    rows = [drawn, *({**asdict(x.mutant), "verdict": x.verdict, "by": x.by, "why": x.why} for x in verdicts)]
    with replacing(path) as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows).encode())


def read_verdicts(path: Path) -> tuple[dict[str, Any], list[Verdict]]:
    """What `write_verdicts` was given. OSError if the file is missing, ValueError if it is no file of verdicts."""
    try:
        drawn, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        found = [Verdict(Mutant(*list(row.values())[:5]), row["verdict"], row["by"], row["why"]) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no file of verdicts: {error!r}") from error
    return drawn, found


class Judges:
    """The tests that judge: those that run a block, the ones that run little else first, files in turn."""

    def __init__(self, tests: dict[str, Noted]) -> None:
        self._tests = tests
        self._of_block: dict[str, list[str]] = defaultdict(list)
        self._of_file: dict[str, list[str]] = defaultdict(list)
        for name in sorted(tests, key=lambda name: len(tests[name].blocks)):
            for block in tests[name].blocks:
                self._of_block[block].append(name)
            for file in {block.partition(":")[0] for block in tests[name].blocks}:
                self._of_file[file].append(name)

    def of(self, mutant: Mutant, text: str) -> list[str]:
        """At most TESTS that run the mutant's block, and after them, as code that runs once is kept by caches, others
        that run its file."""
        block = block_of(text, mutant.line)
        direct = self._of_block.get(f"{mutant.path}:{block}", []) if block else []
        near = [name for name in self._of_file.get(mutant.path, []) if name not in set(direct)]
        picked, seconds = [], 0.0
        for name in [*_in_turns(direct), *_in_turns(near)]:
            seconds += self._tests[name].seconds
            if seconds > SECONDS * _OF_THE_LIMIT:
                seconds -= self._tests[name].seconds
            elif len(picked) < TESTS:
                picked.append(name)
        return picked


def _in_turns(names: Sequence[str]) -> list[str]:
    """The names, of each file one at a time."""
    of_file: dict[str, list[str]] = defaultdict(list)
    for name in names:
        of_file[name.partition("::")[0]].append(name)
    rows = enumerate(of_file.values())
    turns = sorted((turn, file, name) for file, its in rows for turn, name in enumerate(its))
    return [name for _, _, name in turns]


@contextmanager
def copies(number: int) -> Iterator[list[Path]]:
    """Copies of the tree, in which files may be changed."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        places = [Path(folder) / f"{i}" / "tree" for i in range(number)]
        for place in places:
            shutil.copytree(ROOT, place, ignore=_LEFT_OUT)
        yield places


def failing(tree: Path, tests: Sequence[str], *flags: str) -> list[str]:
    """Those of the tests that fail in a tree, or do not end; with "-x" only the first."""
    found: list[str] = []
    for mode, names in (([], [x for x in tests if not x.endswith(ON_GPU)]),
                        (["--on-gpu"], [x.removesuffix(ON_GPU) for x in tests if x.endswith(ON_GPU)])):  # fmt: skip
        if names and not ("-x" in flags and found):
            found += [name + ON_GPU * bool(mode) for name in _failing(tree, [*flags, *mode], names)]
    return found


def _failing(tree: Path, flags: list[str], names: list[str]) -> list[str]:
    env = {
        "PYTHONPATH": str(tree),
        "OPTGEN_CACHE_DIR": str(tree.parent / "cache"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tree.parent / "hypothesis"),
        "COLUMNS": "1000",
    }
    command = [sys.executable, "-m", "pytest", "-v", "-rfE", "-p", "no:cacheprovider", *flags, *names]
    limit = SECONDS if "-x" in flags else SECONDS + 20 * len(names)
    try:
        done = run(command, timeout=limit, cwd=tree, env=env)
    except AssertionError as error:  # the time is over
        output = "\n".join(error.__notes__)
        found = _failed(output, names)
        if "-x" in flags and found:
            return found
        # Tests that compile all anew, on a busy machine, may take that long together: so the last one is asked alone.
        last = (_running(output, names) or names[:1])[0]
        if len(names) == 1:
            return names
        rest = names[names.index(last) + 1 :]
        found += _failing(tree, flags, [last])
        return found + (_failing(tree, flags, rest) if rest and not ("-x" in flags and found) else [])
    if done.returncode in (0, 5):  # 5: all of them are left to `make stress`
        return []
    missing = re.findall(rf"^ERROR: not found: {re.escape(str(tree))}/(.*)$", done.stderr, re.MULTILINE)
    found = _failed(done.stdout, names) + [name for name in missing if name in names]
    return found or _running(done.stdout, names) or names[:1]  # Python itself may have ended


def run(command: list[str], *, timeout: float, cwd: Path, env: Mapping[str, str]) -> CompletedProcess[str]:
    """A program's exit status and output; it is among `_programs` meanwhile."""
    with started(command, timeout=timeout, cwd=cwd, env=env, sweep=True) as program:
        _programs.add(program)
        try:
            return program.wait()
        finally:
            _programs.discard(program)


def _failed(output: str, names: Sequence[str]) -> list[str]:
    """The tests that failed, as pytest has written in its output; also those of a file that cannot be imported."""
    said = re.findall(r"^(?:FAILED|ERROR) (tests/.*)$", output, re.MULTILINE)
    said += re.findall(r"^(tests/.*::.*) (?:FAILED|ERROR) ", output, re.MULTILINE)

    def is_said(what: str) -> bool:
        return any(line == what or line.startswith(f"{what} - ") for line in said)

    return [name for name in names if is_said(name) or is_said(name.partition("::")[0])]


def _running(output: str, names: Sequence[str]) -> list[str]:
    """The test that had begun, and not ended, when the output ended."""
    return [name for name in re.findall(r"^(tests/.*::.*) $", output, re.MULTILINE)[-1:] if name in names]


def judged(
    mutants: Sequence[Verdict], tests: Callable[[Verdict], list[str]], trees: Sequence[Path]
) -> Iterator[Verdict]:
    """The verdict on each mutant by its tests, as they come. Each copy of the tree has one mutant at a time."""
    free: queue.Queue[Path] = queue.Queue()
    for tree in trees:
        free.put(tree)
    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            yield from pool.map(lambda one: _judge(one, tests(one), free), mutants)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for program in list(_programs):
                program.signal(signal.SIGKILL)
            raise


def _judge(old: Verdict, names: list[str], free: queue.Queue[Path]) -> Verdict:
    tree = free.get()
    try:
        file = tree / old.mutant.path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        changed = old.mutant.applied(text)
        if changed is None or not names:
            return replace(old, verdict="gone" if changed is None else "untested", by="")
        _write(file, changed)
        try:
            failed = failing(tree, names, "-x")
        finally:
            _write(file, text)
        return replace(old, verdict="killed" if failed else "survived", by=failed[0] if failed else "")
    finally:
        free.put(tree)


_times = itertools.count(int(time.time()))


def _write(file: Path, text: str) -> None:
    """A file that differs in its time by seconds, by which Python knows that what it compiled is old."""
    file.write_text(text, encoding="utf-8")
    now = next(_times)
    os.utime(file, (now, now))
