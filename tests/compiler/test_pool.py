"""The pool under what real programs do: forks, several Python threads, other thread counts, exit at any moment."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import optgen
from optgen.threads import cpus, pool
from tests.compiler.harness import SPECS, python, same_bits

SETUP = """
import os, sys, threading, time
import numpy as np, optgen, optgen.threads.pool
rule = optgen.load("adam")
def make(n=300_000):
    w, g = [np.ones(n, np.float32)], [np.full(n, 0.5, np.float32)]
    return w, rule.bind(w, g, rule.init(w))
"""


WAITS = {"": "", "on a condition": "optgen.threads.pool._has_futex = lambda: False  # as on a Mac\n"}
"""How threads sleep."""


@pytest.mark.parametrize("waits", WAITS)
def test_fork(waits: str) -> None:
    """A child of a process whose workers run goes on alone, and can have workers of its own."""
    done = python(
        SETUP
        + WAITS[waits]
        + """
w, step = make()
step()
before = w[0].copy()
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        step()
        assert threading.active_count() == 1
        v, other = make()
        other()
        assert optgen.num_threads() == 1 or threading.active_count() > 1
        assert np.array_equal(v[0], before) and not np.array_equal(w[0], before)
        os._exit(7)
    step()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    before, w, step = None, *make()
    step()
    before = w[0].copy()
print("done")
""",
        OPTGEN_NUM_THREADS="4",
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("waits", WAITS)
def test_fork_while_another_thread_steps(waits: str) -> None:
    done = python(
        SETUP
        + WAITS[waits]
        + """
w, step = make(1_500_000)
stop = False
def work():
    while not stop:
        step()
thread = threading.Thread(target=work)
thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        v, other = make()
        other()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
stop = True
thread.join()
print("done")
""",
        OPTGEN_NUM_THREADS="3",
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_python_threads_and_changing_counts() -> None:
    """Several threads step at once while another changes the number of workers: nothing is done twice or left out."""
    rule = optgen.load(SPECS["adam"])
    n, steps = 300_000, 100
    grad = np.random.default_rng(0).standard_normal(n).astype(np.float32)

    def train(results: list[np.ndarray]) -> None:
        w = [np.ones(n, np.float32)]
        step = rule.bind(w, [grad], rule.init(w))
        for _ in range(steps):
            step()
        results.append(w[0])

    before = optgen.num_threads()
    try:
        optgen.set_num_threads(1)
        expected: list[np.ndarray] = []
        train(expected)
        results: list[np.ndarray] = []
        threads = [threading.Thread(target=train, args=(results,)) for _ in range(3)]
        optgen.set_num_threads(2)
        for thread in threads:
            thread.start()
        count = 0
        while any(t.is_alive() for t in threads):
            count += 1
            optgen.set_num_threads(count % 5 + 1)
        for thread in threads:
            thread.join()
    finally:
        optgen.set_num_threads(before)
    assert len(results) == 3 and all(same_bits(r, expected[0]) for r in results)


def test_more_threads_than_cores() -> None:
    """Many small jobs for eight threads: slow on few cores, but never stuck."""
    rule = optgen.load(SPECS["sgd"])
    w, g = [np.zeros(40_000, np.float32)], [np.ones(40_000, np.float32)]
    before = optgen.num_threads()
    try:
        optgen.set_num_threads(8)
        step = rule.bind(w, g, rule.init(w))
        start = time.perf_counter()
        for k in range(2000):
            step(lr=1.0)
            if k % 200 == 0:
                time.sleep(0.001)  # long enough for the workers to fall asleep
        assert time.perf_counter() - start < 20
    finally:
        optgen.set_num_threads(before)
    assert np.all(w[0] == -2000)


EXITS = {
    "falls off its end": "step()",
    "sys.exit": "step(); sys.exit(0)",
    "while a thread steps": "threading.Thread(target=lambda: [step() for _ in range(10**6)], daemon=True).start()",
    "with a stopped pool": "step(); optgen.set_num_threads(1); step()",
}


@pytest.mark.parametrize("ending", EXITS.values(), ids=EXITS)
def test_exit(ending: str) -> None:
    for _ in range(4):
        done = python(SETUP + "w, step = make()\n" + ending, OPTGEN_NUM_THREADS="3")
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", ["0", "-1", "two", " ", "1.5", "257", "99999999999999999999"])
def test_bad_thread_count(value: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPTGEN_NUM_THREADS", value)
        from optgen.threads.pool import default_threads

        with pytest.raises(ValueError, match="OPTGEN_NUM_THREADS must be a number from 1 to 256"):
            default_threads()


def test_thread_count_from_the_environment() -> None:
    code = "import optgen; print(optgen.num_threads()); optgen.set_num_threads(3); print(optgen.num_threads())"
    assert python(code, OPTGEN_NUM_THREADS="2").stdout == "2\n3\n"
    assert python(code, OPTGEN_NUM_THREADS="").stdout == f"{min(cpus.available(), pool.MAX_THREADS)}\n3\n"
    wrong = python(SETUP + "make()", OPTGEN_NUM_THREADS="many")
    assert wrong.returncode == 1 and "OPTGEN_NUM_THREADS must be a number" in wrong.stderr


@pytest.mark.parametrize("count", [0, -1, 257, 1.5, 2.0, True, False, "2", None, np.bool_(True), np.float32(2)])
def test_what_is_no_thread_count(count: Any) -> None:
    before = optgen.num_threads()
    with pytest.raises(ValueError, match=re.escape(f"a whole number from 1 to 256, not {count!r}")):
        optgen.set_num_threads(count)
    assert optgen.num_threads() == before
    optgen.set_num_threads(np.int64(before))
    assert optgen.num_threads() == before and type(optgen.num_threads()) is int


def test_a_bad_count_is_noticed_by_small_work() -> None:
    code = "import numpy as np, optgen; w = np.ones(3, np.float32); optgen.load('sgd').bind([w], [w.copy()])"
    wrong = python(code, OPTGEN_NUM_THREADS="many")
    assert wrong.stderr.endswith("OPTGEN_NUM_THREADS must be a number from 1 to 256, not 'many'\n")
