"""Steps in the order of the caller's stream, in graphs, without waiting, and without memory that grows."""

from __future__ import annotations

import gc
import time
import tracemalloc
from typing import Any
from unittest import mock

import numpy as np
import pytest

import optgen
from optgen.execute.cuda import driver
from tests.compiler.arrays import random
from tests.compiler.harness import Array, same_bits
from tests.gpu.libraries import Library

SHAPES = ((300, 257), (70_001,), (9,))
RATES = [0.1, 0.03, 0.2, 0.01, 0.05]
SPECS = ["adamw", "lamb", "sgld", "came", "prodigy"]
"""One sweep; sums over a tensor; draws; rows and columns; sums over all tensors."""


def arrays() -> tuple[list[Array], list[Array]]:
    """Parameters and gradients."""
    return random(*SHAPES), random(*SHAPES, seed=1)


def on_cpu(name: str, rates: list[float]) -> list[Array]:
    """The parameters that these steps lead to."""
    params, grads = arrays()
    step = optgen.load(name).bind(params, grads)
    for rate in rates:
        step(lr=rate)
    return params


def bound(library: Library, name: str) -> tuple[list[Any], optgen.BoundStep]:
    """The same parameters on the GPU, and a step, of which nothing is under way."""
    params, grads = arrays()
    there = [library.put(p) for p in params]
    step = optgen.load(name, target="cuda").bind(there, [library.put(g) for g in grads])
    library.synchronize()
    return there, step


def assert_equal(library: Library, there: list[Any], expected: list[Array]) -> None:
    library.synchronize()
    assert all(same_bits(library.get(a), b) for a, b in zip(there, expected, strict=True))


# ---------------------------------------------------------------- order


def warm_up(library: Library, name: str) -> None:
    """Have everything compiled and loaded: what is done for the first time may wait for the whole GPU."""
    there, step = bound(library, name)
    step(lr=0.1)
    with library.stream():
        library.sleep()
        library.fill(there[0], 2)
    library.synchronize()


def test_a_step_is_in_the_current_stream(library: Library) -> None:
    """It sees what a slow kernel before it holds back, and returns before that is done."""
    warm_up(library, "adamw")
    there, step = bound(library, "adamw")
    params, grads = arrays()
    on_the_cpu = optgen.load("adamw").bind(params, grads)
    for both in (step, on_the_cpu):
        both(lr=0.1)
    with library.stream() as is_done:
        library.synchronize()
        library.sleep()
        for x in there:
            library.fill(x, 2)
        begin = time.perf_counter()
        step(lr=0.1)
        took = time.perf_counter() - begin
        waits = not is_done()
    for p in params:
        p[...] = 2
    on_the_cpu(lr=0.1)
    assert_equal(library, there, params)
    assert waits and took < 0.1


def test_a_new_state_is_there_for_a_step_in_any_stream(library: Library) -> None:
    """Though the default stream is busy while the state is made."""
    warm_up(library, "adamw")
    there, grads = ([library.put(x) for x in xs] for xs in arrays())
    rule = optgen.load("adamw", target="cuda")
    library.synchronize()
    library.sleep()
    with library.stream():
        rule.bind(there, grads)(lr=0.1)
    assert_equal(library, there, on_cpu("adamw", [0.1]))


def test_a_state_that_starts_as_the_weight_waits_for_it(library: Library) -> None:
    """A copy of the weight is made behind what the current stream does to the weight."""
    warm_up(library, "schedulefree_sgd")
    there, grads = ([library.put(x) for x in xs] for xs in arrays())
    rule = optgen.load("schedulefree_sgd", target="cuda")
    library.synchronize()
    with library.stream():
        library.sleep()
        for x in there:
            library.fill(x, 2)
        rule.bind(there, grads)(lr=0.1)
    params, grads = arrays()
    for p in params:
        p[...] = 2
    optgen.load("schedulefree_sgd").bind(params, grads)(lr=0.1)
    assert_equal(library, there, params)


def test_steps_that_overtake_the_gpu(library: Library) -> None:
    """Each step has its own numbers, though many are on their way."""
    rates = [0.001 * (1 + i % 7) for i in range(40)]
    there, step = bound(library, "adamw")
    with library.stream():
        library.sleep()
        for rate in rates:
            step(lr=rate)
    assert_equal(library, there, on_cpu("adamw", rates))


# ---------------------------------------------------------------- graphs


@pytest.mark.parametrize("name", SPECS)
def test_replays_of_a_captured_step(library: Library, name: str) -> None:
    """The same bits as without a graph, with other rates, counts and draws at each replay."""
    there, step = bound(library, name)
    replay = library.captured(step.launch)
    with library.stream():
        for rate in RATES:
            step.advance(lr=rate)
            replay()
    assert_equal(library, there, on_cpu(name, RATES))
    assert list(step.state.t) == [len(RATES)] * len(there)


def test_a_graph_holds_no_numbers(library: Library) -> None:
    """`step()` inside of a capture would keep the first ones for ever."""
    there, step = bound(library, "adamw")

    def launch() -> None:
        with pytest.raises(RuntimeError, match=r"launch\(\) there, and advance\(\) before each replay"):
            step(lr=0.1)
        step.launch()

    replay = library.captured(launch)
    step.advance(lr=0.1)
    replay()
    assert_equal(library, there, on_cpu("adamw", [0.1]))


# ---------------------------------------------------------------- memory


def in_use() -> int:
    """Bytes of Python's memory, without what only waits to be collected."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_thousand_steps_take_no_more_memory(torch_library: Library) -> None:
    """Neither of the GPU nor of Python, with other rates and gradients each time."""
    library = torch_library
    there, step = bound(library, "adamw")
    sparse_there, sparse = bound(library, "adam")
    dense = [[library.put(g) for g in arrays()[1]] for _ in range(2)]
    index, rows = np.array([0, 8, 255]), np.ones((3, 257), np.float32)
    by_row = [optgen.RowSparse(library.put(index), library.put(rows)), *dense[0][1:]]

    def steps(n: int) -> None:
        for i in range(n):
            step.rebind(dense[i % 2])
            step(lr=0.001 * (i + 1))
            sparse.rebind(by_row)
            sparse(lr=0.001)

    steps(20)
    library.synchronize()
    gpu, alive = driver.gpu(0), set[int]()
    allocate, free = gpu.allocate, gpu.free

    def counted(nbytes: int) -> int:
        alive.add(address := allocate(nbytes))
        return address

    def freed(address: int) -> None:
        alive.remove(address)
        free(address)

    tracemalloc.start()
    try:
        with mock.patch.object(gpu, "allocate", counted), mock.patch.object(gpu, "free", freed):
            steps(1000)  # fills what Python keeps for objects to come
            arrays_before, before = len(alive), in_use()
            steps(1000)
            arrays_after, after = len(alive), in_use()
    finally:
        tracemalloc.stop()
    library.synchronize()
    assert (arrays_before, arrays_after) == (1, 1)  # the row numbers of the gradient at hand
    assert after - before < 20_000
    del there, sparse_there
