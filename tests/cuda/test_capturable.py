"""Steps that a graph holds as a whole: counts, rates, skipping and scaling on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import RowSparse
from tests.compiler.harness import same_bits
from tests.cuda.emulation import Gpu, GpuArray, emulated

RNG = np.random.default_rng(5)
SHAPES = ((300,), (4, 5), (7,))


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with emulated() as (gpu,):
        yield gpu


def arrays(dtype: str = "float32") -> list[np.ndarray]:
    return [RNG.standard_normal(shape).astype(dtype) for shape in SHAPES]


class Pair:
    """The same step on the GPU, capturable, and on the CPU."""

    def __init__(self, gpu: Gpu, name: Any, dtype: str = "float32", **how: Any) -> None:
        self.host, self.grads = arrays(dtype), arrays(dtype)
        self.there, self.grads_there = ([GpuArray(x, gpu) for x in xs] for xs in (self.host, self.grads))
        self.cpu = optgen.load(name, dtype, **how).bind(self.host, self.grads)
        rule = optgen.load(name, dtype, target="cuda", **how)
        self.step = rule.bind(self.there, self.grads_there, capturable=True)

    def assert_equal(self) -> None:
        assert all(same_bits(a.get(), b) for a, b in zip(self.there, self.host, strict=True))
        assert self.step.state.t.get().tolist() == self.cpu.state.t.tolist()
        for name, own in self.cpu.state.arrays.items():
            for ours, theirs in zip(own, self.step.state.arrays[name], strict=True):
                assert (ours is None and theirs is None) or same_bits(ours, theirs.get())


def scalar(gpu: Gpu, value: float, dtype: str = "float32") -> GpuArray:
    return GpuArray(np.array(value, dtype), gpu)


def put(gpu: Gpu, array: GpuArray, value: float) -> None:
    gpu.upload(array._address, np.array(value, array.dtype))


@pytest.mark.parametrize("name", ["nadam", "prodigy", "lamb", "sgld", "schedulefree_adamw"])
def test_a_replay_is_a_step(gpu: Gpu, name: str) -> None:
    """What is captured is not done; the rate is read anew, other numbers are as they were."""
    pair, rate = Pair(gpu, name), scalar(gpu, 0.5)
    wd = {"wd": 0.01}
    for both in (pair.step, pair.cpu):
        both(lr=0.1, **wd)
    replay = gpu.captured(lambda: pair.step(lr=rate))
    pair.assert_equal()
    for value in (0.25, 0.125, 0.5):
        put(gpu, rate, value)
        replay()
        pair.cpu(lr=value)
    pair.assert_equal()
    for both in (pair.step, pair.cpu):  # between replays, with other numbers
        both(lr=0.75, wd=0.5)
    put(gpu, rate, 0.3)
    replay()
    pair.cpu(lr=float(np.float32(0.3)), **wd)
    pair.assert_equal()
    expected, found = pair.cpu.evaluate() if name == "schedulefree_adamw" else [], []
    if expected:
        found = [x.get() for x in pair.step.evaluate()]
    assert all(same_bits(a, b) for a, b in zip(found, expected, strict=True))


def test_gradients_that_begin_with_the_capture(gpu: Gpu) -> None:
    """The table that a graph sends has their addresses; two graphs of one step have a table each."""
    pair = Pair(gpu, "adam")
    replays = []
    others = [arrays() for _ in range(2)]
    for grads in others:
        pair.step.rebind([GpuArray(x, gpu) for x in grads])
        replays.append(gpu.captured(pair.step))
    for k in (0, 1, 1, 0):
        replays[k]()
        pair.cpu.rebind(others[k])
        pair.cpu()
    pair.assert_equal()


def test_the_first_call_may_be_captured(gpu: Gpu) -> None:
    """Gradients that exist since then, of some parameters, too: their tables are made in the capture."""

    class Parameter(GpuArray):
        grad: Any = None

    for name in ("adam", "lamb"):
        host, grads = arrays(), arrays()
        params = [Parameter(x, gpu) for x in host]
        step = optgen.load(name, target="cuda").bind(params, capturable=True)
        for p, g in list(zip(params, grads, strict=True))[::2]:
            p.grad = GpuArray(g, gpu)
        replay = gpu.captured(step)
        reference = optgen.load(name).bind(host[::2], grads[::2])
        for p in params:
            p.grad = None
        step()  # of none of them, with tables of its own
        for _ in range(2):
            replay()
            reference()
        assert all(same_bits(a.get(), b) for a, b in zip(params, host, strict=True))
        assert step.state.t.get().tolist() == [2, 0, 2]


def test_numbers_are_sent_only_when_they_change(gpu: Gpu) -> None:
    pair = Pair(gpu, "adam")
    pair.step(lr=0.5)
    gpu.sent = 0
    gpu.launches.clear()
    pair.step(lr=0.5)
    assert (gpu.sent, [name.rpartition("_")[2] for name, _ in gpu.launches]) == (0, ["prologue", "sweep"])
    pair.step(lr=0.25)
    pair.step.seed = 3
    pair.step()
    assert gpu.sent == 2


@pytest.mark.parametrize("name", ["adam", "prodigy", "novograd", "adafactor", "sgld"])
def test_what_is_not_finite_changes_nothing(gpu: Gpu, name: str) -> None:
    """No weight, state, count or draw: the next step is the one that would have been."""
    pair, found_inf = Pair(gpu, name), scalar(gpu, 0.0)
    pair.step.found_inf = found_inf
    assert pair.step.found_inf is found_inf
    replay = gpu.captured(lambda: pair.step(lr=0.1))
    for value in (0.0, 1.0, float("inf"), float("nan"), 0.0):
        put(gpu, found_inf, value)
        replay()
        if not value:
            pair.cpu(lr=0.1)
        pair.assert_equal()
    pair.step.found_inf = None
    put(gpu, found_inf, 1.0)
    for both in (pair.step, pair.cpu):
        both()
    pair.assert_equal()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_gradients_are_divided_by_the_scale(gpu: Gpu, dtype: str) -> None:
    pair, scale = Pair(gpu, "adam", dtype, scales_gradient=True), scalar(gpu, 3.0)
    pair.step.grad_scale = scale
    replay = gpu.captured(pair.step)
    for value in (3.0, 65536.0):
        put(gpu, scale, value)
        pair.cpu.gradient_factor = 1 / value
        replay()
        pair.cpu()
    pair.step.gradient_factor = -0.3
    pair.cpu.gradient_factor = -0.3 / 65536.0
    for both in (pair.step, pair.cpu):
        both()
    pair.assert_equal()


def test_parameters_of_several_kernels_count_together(gpu: Gpu) -> None:
    """`step` is the largest count of all parameters, those of other kernels and those left out among them."""
    text = "optimizer Steps\nflag matrix = rank >= 2\nupdate:\n"
    text += "  w' = w - lr/step  if matrix\n  w' = w - lr*g/step^2  otherwise\n"
    pair, counts = Pair(gpu, optgen.parse(text)), np.array([3, 1, 9])
    pair.cpu.state.t[...] = counts
    pair.step.state.t.set(counts)
    for _ in range(2):
        pair.step(lr=0.1)
        pair.cpu(lr=0.1)
        pair.assert_equal()


def test_a_rate_that_is_a_tensor(gpu: Gpu) -> None:
    pair = Pair(gpu, "lamb")
    for value, dtype in ((0.3, "float32"), (0.3, "float64")):
        pair.step(lr=scalar(gpu, value, dtype))
        pair.cpu(lr=float(np.array(value, dtype)))
        pair.assert_equal()
    assert np.isfinite(pair.there[0].get()).all()
    for both in (pair.step, pair.cpu):
        both(lr=0.125)
    pair.assert_equal()


def test_errors(gpu: Gpu) -> None:
    pair = Pair(gpu, "sgd")
    step, two = pair.step, GpuArray(np.zeros(2, "float32"), gpu)

    def fails(match: str, call: Any, error: type[Exception] = ValueError) -> None:
        with pytest.raises(error, match=match):
            call()

    fails("a capturable one, is one call: call the step itself", step.advance, RuntimeError)
    fails("a capturable one, is one call: call the step itself", step.launch, RuntimeError)
    fails(r"'lr' is float32 of shape \(2,\); one float32 or float64 can be read", lambda: step(lr=two))
    fails("'momentum' decides which code runs, so it must be a number", lambda: step(momentum=scalar(gpu, 0.5)))
    fails("found_inf: expected one float32, got float64", lambda: setattr(step, "found_inf", scalar(gpu, 0, "float64")))
    fails("does not scale gradients", lambda: setattr(step, "grad_scale", scalar(gpu, 1)))
    fails("found_inf: in the memory of the CPU", lambda: setattr(step, "found_inf", np.zeros((), "float32")))
    rule = optgen.load("sgd", target="cuda")
    there, grads = pair.there, pair.grads_there
    plain = rule.bind(there, grads)
    fails("found_inf: capturable steps read it; bind with capturable=True", lambda: setattr(plain, "found_inf", None))
    fails("state.t: in the memory of the CPU", lambda: rule.bind(there, grads, plain.state, capturable=True))
    fails("state.t: on a CUDA device", lambda: rule.bind(there, grads, step.state))
    fails("not capturable", lambda: rule.bind(there, grads, exchange=lambda *_: None, capturable=True))
    sparse = RowSparse(GpuArray(np.array([1]), gpu), GpuArray(np.zeros((1, 5), "float32"), gpu))
    fails(r"grads\[0\]: row-sparse; .* cannot be capturable", lambda: rule.bind([there[1]], [sparse], capturable=True))
    fails("capturable: .* for target='cuda'", lambda: optgen.load("sgd").bind(pair.host, pair.grads, capturable=True))
    assert "counts on the GPU" in repr(step) and "counts on the GPU" in repr(step.state)
