"""Workers of a DataLoader: what they leave, how they end, and what becomes of errors."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from runtime import MXNetError
from runtime.gluon.data import ArrayDataset, DataLoader, SimpleDataset
from tests.process import alive, run, started

WORKERS = [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 3, "thread_pool": True}]
PROCESSES = WORKERS[1]
LARGE = ArrayDataset(np.arange(12)[:, None] * np.ones((1, 20000)))
"""Each sample is larger than what goes through a socket."""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def held() -> list[str]:
    """The memory of batches that this process maps or has open."""
    files = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [place for place in (*files, *Path("/proc/self/maps").read_text().splitlines()) if "memfd:batch" in place]


def test_nothing_is_left_of_loops_that_are_left() -> None:
    """Neither while the loader lives, nor of batches that were being made."""
    loader = DataLoader(LARGE, 1, num_workers=2)
    for _ in range(30):
        for batch in loader:
            assert batch.shape == (1, 20000)
            break
    del batch
    until(lambda: not held())
    batches = iter(loader)
    kept = [next(batches), next(batches)]
    until(lambda: len(held()) == 2 + 4)  # those made ahead
    batches.close()
    until(lambda: len(held()) == 2)
    assert [b.asnumpy().mean() for b in kept] == [0, 1]


def test_batches_that_are_kept_have_no_open_files() -> None:
    """Programs keep whole sets of batches, and may often have 1024 files."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    loader = DataLoader(ArrayDataset(np.zeros((200, 10000))), 1, **PROCESSES)
    next(iter(loader))
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 50, limits[1]))
    try:
        assert len(list(loader)) == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_what_a_batch_may_be() -> None:
    """More large arrays than a message has files, arrays that are not contiguous, empty or without axes, bfloat16."""
    samples = [np.full((300, 40), float(i)) for i in range(40)]
    samples += [np.arange(40000.0).reshape(200, 200)[::2, ::-1], np.zeros((0, 3)), np.array(3)]
    samples += [np.ones((200, 400), "float32").astype(ml_dtypes.bfloat16) for _ in range(2)]
    (batch,) = DataLoader(samples, len(samples), batchify_fn=lambda data: {"samples": (tuple(data), 5)}, **PROCESSES)
    found, five = batch["samples"]
    assert five == 5
    for a, b in zip(found, samples, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) and (a == b).all() and a.flags.writeable
    with pytest.raises(MXNetError, match=r"cannot send its batch: cannot pickle '_thread\.lock' object.*thread_pool"):
        list(DataLoader([1], 1, batchify_fn=lambda data: threading.Lock(), **PROCESSES))


# ---------------------------------------------------------------- errors


class TwoArguments(Exception):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path


class KeepsNothing(KeyError):
    def __init__(self, path: str, *, why: str) -> None:
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


def local() -> BaseException:
    class Local(ValueError):
        pass

    return Local("a.png: broken")


def mute() -> BaseException:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    return Mute()


ERRORS: list[tuple[Callable[[], BaseException], type[BaseException], str]] = [
    (lambda: TwoArguments("a.png", "broken"), TwoArguments, r"^a\.png: broken$"),
    (lambda: KeepsNothing("a.png", why="broken"), KeepsNothing, r"^a\.png: broken$"),
    (lambda: OSError(2, "no such thing", "a.png"), FileNotFoundError, r"no such thing: 'a\.png'"),
    (lambda: ValueError("a.png", threading.Lock()), ValueError, r"^\('a\.png', <unlocked"),
    (local, MXNetError, r"raised .*local\.<locals>\.Local: a\.png: broken"),
    (mute, MXNetError, r"raised .*Mute: <exception str\(\) failed>"),
    (lambda: KeyboardInterrupt("stopped"), KeyboardInterrupt, "stopped"),
    (lambda: SystemExit("stopped"), SystemExit, "stopped"),
    (lambda: StopIteration("a.png"), RuntimeError, "StopIteration"),
    (lambda: ExceptionGroup("both", [KeyError(1), ValueError(2)]), ExceptionGroup, "both"),
]


@pytest.mark.parametrize(("make", "kind", "words"), ERRORS)
def test_errors_arrive_whatever_their_class(
    make: Callable[[], BaseException], kind: type[BaseException], words: str
) -> None:
    def raise_it(sample: int) -> int:
        if sample:
            raise make()
        return sample

    batches = iter(DataLoader(SimpleDataset([0, 1, 0]).transform(raise_it), 1, **PROCESSES))
    next(batches)
    with pytest.raises(kind, match=words) as caught:
        next(batches)
    assert "in raise_it" in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("workers", WORKERS[1:])
def test_an_error_keeps_no_workers(workers: dict[str, Any]) -> None:
    """They end with their loader, and need not wait for the garbage collector to find a cycle."""

    def fail(samples: list[int]) -> None:
        raise LookupError

    def asking() -> int:
        return [thread.name for thread in threading.enumerate()].count("DataLoader")

    gc.collect()
    until(lambda: not asking())
    gc.disable()
    try:
        with contextlib.suppress(LookupError):
            list(DataLoader([1, 2], 1, batchify_fn=fail, **workers))
        until(lambda: not asking())
    finally:
        gc.enable()


@pytest.mark.parametrize("workers", WORKERS)
def test_an_error_of_the_sampler_comes_after_the_batches_before_it(workers: dict[str, Any]) -> None:
    def numbers() -> Iterator[list[int]]:
        yield from ([0], [1], [2])
        raise LookupError("no fourth batch")

    found: list[float] = []
    with pytest.raises(LookupError, match="no fourth batch"):
        found.extend(batch.asscalar() for batch in DataLoader([0, 1, 2], batch_sampler=numbers(), **workers))
    assert found == [0, 1, 2]


def test_what_cannot_be_pickled_for_spawned_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda: "spawn")
    monkeypatch.setattr(multiprocessing, "Process", multiprocessing.get_context("spawn").Process)
    for what, words in ((lambda data: data, "lambda"), (threading.Lock(), "lock")):
        with pytest.raises(MXNetError, match=rf"pickled for .* started by 'spawn', and cannot be: .*{words}.*top of a"):
            list(DataLoader([1], 1, batchify_fn=what, **PROCESSES))


# ---------------------------------------------------------------- processes


def test_loaders_within_workers() -> None:
    def total(sample: int) -> float:
        return sample + sum(batch.asscalar() for batch in DataLoader([1, 2, 3], 1, num_workers=1))

    assert [batch.asscalar() for batch in DataLoader(SimpleDataset([0, 10]).transform(total), 1, **PROCESSES)] == [
        6,
        16,
    ]


def test_a_fork_while_a_loader_is_alive() -> None:
    """The child's loader starts workers of its own, and says of an iterator that it is not its own; nothing changes for
    the parent."""
    loader = DataLoader(LARGE, 1, num_workers=2)
    batches = iter(loader)
    next(batches)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with pytest.raises(MXNetError, match="made for the process that this one was forked from"):
                next(batches)
            del batches
            if [b.asnumpy().mean() for b in loader] == list(range(12)):
                code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert [b.asnumpy().mean() for b in batches] == list(range(1, 12))


FORKED = """
import os, sys
from runtime.gluon.data import DataLoader

batches = iter(DataLoader(list(range(20)), 1, num_workers=2))
next(batches)
child = os.fork()
if child == 0:
    sys.exit(3)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "left", len(list(batches)), flush=True)
"""


def test_a_forked_process_that_exits_ends_no_worker_of_its_parent() -> None:
    done = run([sys.executable, "-c", FORKED], timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "child 3 left 19\n", "")


KILLED = """
import os, signal, threading
from runtime.gluon.data import DataLoader, SimpleDataset

idle, busy = (DataLoader(SimpleDataset([0, 1, 1]).transform(f), 1, num_workers=2)
              for f in (lambda i: i, lambda i: signal.pause() if i else i))
def first(loader):
    next(iter(loader))
for loader in (idle, busy):
    thread = threading.Thread(target=first, args=[loader])  # which ends before its loader's workers
    thread.start()
    thread.join()
assert len(list(idle)) == 3
other = os.fork()
if other == 0:
    signal.pause()
print("others", other, flush=True)
signal.pause()
"""


def test_workers_end_with_a_process_that_is_killed() -> None:
    """Those that wait for a job and those that make a batch; not with the thread that started them, and though another
    process that was forked has all that was open."""
    with started([sys.executable, "-c", KILLED], timeout=60) as program:
        other = int(program.line(r"others (\d+)")[1])
        assert len(program.pids()) == 2 + 4
        program.signal(signal.SIGKILL)
        until(lambda: program.pids() == [other])
        os.kill(other, signal.SIGKILL)
    assert not alive(other)


INTERRUPTED = """
import os, signal
from runtime.gluon.data import DataLoader, SimpleDataset

signal.signal(signal.SIGTERM, lambda *_: print("saved", flush=True))
loader = DataLoader(SimpleDataset([0, 0, 1]).transform(lambda i: signal.pause() if i else i), 1, num_workers=2)
batches = iter(loader)
next(batches)
print("begun", flush=True)
try:
    list(batches)
except KeyboardInterrupt:
    print("interrupted", flush=True)
del batches
print(len(next(iter(loader))), "more", flush=True)
list(loader)
"""


def test_an_interrupt_is_for_the_training_process() -> None:
    """Ctrl-C goes to all processes of a terminal: the workers go on for those who catch it, and are silent. A program
    that ends waits for no batch."""
    with started([sys.executable, "-c", INTERRUPTED], timeout=60) as program:
        for words in ("begun", "1 more"):
            program.line(words)
            os.killpg(program.pid, signal.SIGINT)
    assert "interrupted" in program.output and "saved" not in program.output
    assert program.errors.count("Traceback") == 1, program.errors
