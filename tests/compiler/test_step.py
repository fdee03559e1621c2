"""A bound step: one caller at a time, and what it takes to make many of them, or one of many tensors."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import BoundStep, Piece
from tests.compiler.arrays import random, same

CALLS: dict[str, Callable[[BoundStep], Any]] = {
    "step": lambda step: step(),
    "rebind": lambda step: step.rebind([np.ones(4096, np.float32)]),
    "evaluate": lambda step: step.evaluate(),
    "seed": lambda step: setattr(step, "seed", 3),
}


def stepping(inside: Callable[[BoundStep], None]) -> tuple[BoundStep, np.ndarray]:
    """A step that calls this with itself while it is under way, and its parameter."""
    w = np.ones(4096, np.float32)
    pieces = [Piece(0, (4096,))]
    step = optgen.load("lamb").bind([w], [np.ones_like(w)], pieces=pieces, exchange=lambda *_: inside(step))
    return step, w


def test_a_step_of_the_cpu_has_no_launches() -> None:
    w = np.ones(3, np.float32)
    step = optgen.load("sgd").bind([w], [np.ones_like(w)])
    for half in (lambda: step.advance(lr=0.5), step.launch):
        with pytest.raises(RuntimeError, match=r"^<optgen SGD, float32.*>: advance\(\) and launch\(\) .* the CPU"):
            half()
    assert step.state.t.tolist() == [0] and same([w], [np.ones_like(w)])


# ---------------------------------------------------------------- one caller at a time


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_another_thread_is_refused(call: Callable[[BoundStep], Any]) -> None:
    """While a step is under way, and not before or after it."""
    entered, leave = threading.Event(), threading.Event()

    def wait(step: BoundStep) -> None:
        entered.set()
        assert leave.wait(60)

    step, w = stepping(wait)
    thread = threading.Thread(target=step)
    thread.start()
    try:
        assert entered.wait(60)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"^<optgen LAMB, .*>: this step is in use by another thread$"):
                call(step)
    finally:
        leave.set()
        thread.join()
    expected, other = stepping(lambda step: None)
    expected()
    assert same([w], [other]) and step.state.t.tolist() == [1]
    step()
    assert step.state.t.tolist() == [2]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_exchange_that_calls_its_own_step_is_refused(call: Callable[[BoundStep], Any]) -> None:
    step, w = stepping(call)
    before = w.copy()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="this step is in use by its own exchange"):
            step()
    assert same([w], [before])


def test_threads_that_insist() -> None:
    """Steps are made whole, one after the other, or refused; whatever came of them is counted."""
    w, g = random((50_000,)), random((50_000,), seed=1)
    expected = [w[0].copy()]
    step, reference = (optgen.load("adam").bind(x, g) for x in (w, expected))
    made: list[int] = []

    def insist() -> None:
        for _ in range(200):
            try:
                step(lr=0.01)
            except RuntimeError:
                continue
            made.append(1)

    threads = [threading.Thread(target=insist) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in made:
        reference(lr=0.01)
    assert made and step.state.t.tolist() == [len(made)] and same(w, expected)


# ---------------------------------------------------------------- code that is there


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts mappings in /proc")
def test_identical_code_is_linked_once() -> None:
    """However often a spec is loaded: a process may have 65,530 mappings."""

    def use() -> None:
        w = [np.ones(5, np.float32)]
        optgen.load("adam").bind(w, [np.ones(5, np.float32)])()

    use()
    before = mappings()
    for _ in range(100):
        use()
    assert mappings() - before < 20


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count("\n")


# ---------------------------------------------------------------- many tensors


def test_the_time_to_bind_is_linear() -> None:
    """Eight times the tensors take eight times the time, of the CPU, and not 20 times."""

    def seconds(n: int) -> float:
        arrays = [[np.ones(1, np.float32) for _ in range(n)] for _ in range(2)]
        begin = time.process_time()
        step = optgen.load("adam").bind(*arrays)
        step.rebind(arrays[1])
        return time.process_time() - begin

    seconds(10)
    assert any(seconds(32_000) < 14 * seconds(4_000) for _ in range(3))


def test_prepare_refuses_before_anything_is_written_and_run_is_the_rest_of_a_call() -> None:
    rule = optgen.load("adam")
    weights, twins = [np.ones(4, np.float32)], [np.ones(4, np.float32)]
    step, twin = (rule.bind(w, [np.full(4, 0.5, np.float32)]) for w in (weights, twins))
    with pytest.raises(RuntimeError, match=r"call prepare\(\) before run\(\)"):
        step.run()
    step.prepare(lr=0.1)
    assert (weights[0] == 1).all() and step.state.t[0] == 0
    step.run()
    twin(lr=0.1)
    assert same(weights, twins) and step.state.t[0] == 1
    with pytest.raises(TypeError, match="lr"):
        step.prepare(lr="fast")
    with pytest.raises(RuntimeError, match="each time"):
        step.run()
    assert same(weights, twins) and step.state.t[0] == 1
    step.prepare(lr=0.2)
    with pytest.raises(TypeError, match="lr"):
        step.prepare(lr="fast")  # after which there is nothing to run
    with pytest.raises(RuntimeError, match="each time"):
        step.run()
    assert same(weights, twins) and step.state.t[0] == 1
