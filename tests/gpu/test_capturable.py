"""Capturable steps: a graph of PyTorch or CuPy that is replayed alone is a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optgen
from tests.compiler.arrays import random
from tests.compiler.harness import Array, Case, by_name, same_bits
from tests.gpu.comparison import compare
from tests.gpu.libraries import Library

SHAPES = ((300, 257), (70_001,), (9,))
RATES = [0.1, 0.03, 0.2, 0.01, 0.05]
SPECS = ["adamw", "lamb", "sgld", "came", "prodigy", "nadam"]
"""Powers of beta; sums; draws; rows and columns; sums over all tensors; a state of kind host."""


def bound(library: Library, name: str, **how: Any) -> tuple[list[Any], optgen.BoundStep]:
    """Parameters on the GPU, and a capturable step, of which nothing is under way."""
    there, grads = ([library.put(x) for x in random(*SHAPES, seed=k)] for k in (0, 1))
    step = optgen.load(name, target="cuda", **how).bind(there, grads, capturable=True)
    library.synchronize()
    return there, step


def on_cpu(name: str, rates: list[float], factor: float = 1.0) -> list[Array]:
    params = random(*SHAPES)
    step = optgen.load(name, scales_gradient=True).bind(params, random(*SHAPES, seed=1))
    step.gradient_factor = factor
    for rate in rates:
        step(lr=rate)
    return params


def assert_equal(library: Library, there: list[Any], expected: list[Array]) -> None:
    library.synchronize()
    assert all(same_bits(library.get(a), b) for a, b in zip(there, expected, strict=True))


def scalar(library: Library, value: float) -> Any:
    return library.put(np.array(value, np.float32))


@pytest.mark.parametrize("name", SPECS)
def test_a_replay_alone_is_a_step(library: Library, name: str) -> None:
    there, step = bound(library, name)
    rate = scalar(library, RATES[0])
    replay = library.captured(lambda: step(lr=rate))
    with library.stream():
        for value in RATES:
            library.fill(rate, value)
            replay()
    assert_equal(library, there, on_cpu(name, [float(np.float32(x)) for x in RATES]))
    assert step.state.t.get().tolist() == [len(RATES)] * len(there)


def test_what_is_not_finite_is_skipped(library: Library) -> None:
    there, step = bound(library, "lamb")
    step.found_inf = found_inf = scalar(library, 0)
    replay = library.captured(lambda: step(lr=0.1))
    with library.stream():
        for value in (0.0, 1.0, float("nan"), 0.0):
            library.fill(found_inf, value)
            replay()
    assert_equal(library, there, on_cpu("lamb", [0.1, 0.1]))
    assert step.state.t.get().tolist() == [2] * len(there)


def test_gradients_are_divided_by_the_scale(library: Library) -> None:
    there, step = bound(library, "adamw", scales_gradient=True)
    step.grad_scale = scalar(library, 3.0)
    with library.stream():
        for rate in RATES:
            step(lr=rate)
    assert_equal(library, there, on_cpu("adamw", RATES, 1 / 3))


def test_the_backward_pass_in_the_graph() -> None:
    """Gradients that PyTorch makes while it captures: the graph has their addresses, and needs no other call."""
    torch = pytest.importorskip("torch")
    start, x = random((33, 65))[0], random((8, 33), seed=1)[0]
    weights = [torch.nn.Parameter(torch.from_numpy(start.copy()).cuda()) for _ in range(2)]
    inputs = torch.from_numpy(x).cuda()
    graphed, eager = (optgen.load("adamw", target="cuda").bind([w], capturable=k == 0) for k, w in enumerate(weights))

    def forward_and_back(w: Any) -> None:
        w.grad = None
        (inputs @ w).tanh().sum().backward()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # PyTorch's libraries begin before a capture
        forward_and_back(weights[0])
        graphed(lr=0.01)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    weights[0].grad = None
    with torch.cuda.graph(graph):
        forward_and_back(weights[0])
        graphed(lr=0.01)
    for _ in range(4):
        graph.replay()
    for _ in range(5):
        forward_and_back(weights[1])
        eager(lr=0.01)
    torch.cuda.synchronize()
    assert torch.equal(weights[0], weights[1])


@pytest.mark.parametrize("name", ["adam", "adafactor", "schedulefreeadamw", "radam", "prodigy", "kinds"])
def test_the_prologue(library: Library, name: str) -> None:
    case: Case = by_name(name)
    compare(library, case, ((3, 4), (70_001,), (300, 257)), capturable=True)
