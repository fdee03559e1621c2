"""accumulate=k: k calls of step make one update, of the sum of their gradients."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import optgen.torch
from optgen import pipeline
from optgen.ir.cost import cost
from optgen.torch.base import SpecOptimizer
from tests.torch.params import numbers, params_of

SHAPES = (6, 5), (40,), (), (2, 3, 4, 5)
CASES: dict[str, tuple[str, torch.dtype, dict[str, Any]]] = {
    "elementwise": ("adam", torch.float32, {}),
    "of PyTorch": ("torch/sgd", torch.float64, {"momentum": 0.9}),
    "two sweeps": ("lamb", torch.float32, {}),
    "matrices": ("muon_adamw", torch.float32, {}),
    "shared values": ("prodigy", torch.float32, {}),
    "complex": ("adamw", torch.complex64, {}),
    "finite": ("lion", torch.float32, {"skip_nonfinite": True}),
}


def make(case: str, **options: Any) -> SpecOptimizer:
    name, dtype, more = CASES[case]
    params = [torch.nn.Parameter(numbers(shape, k).to(dtype)) for k, shape in enumerate(SHAPES)]
    params[3].data = params[3].data.to(memory_format=torch.channels_last)
    return optgen.torch.optimizer(name)([{"params": params[:2]}, {"params": params[2:]}], **more, **options)


def gradient(p: torch.Tensor, seed: int) -> torch.Tensor:
    return torch.empty_like(p).copy_(numbers(p.shape, seed).to(p.dtype)).detach()


def contents(opt: SpecOptimizer) -> str:
    return repr([(p.tolist(), {key: x.tolist() for key, x in opt.state[p].items()}) for p in params_of(opt)])


ACTIONS = "", "flush", "pickle", "copy", "save"


FEW = ("elementwise", "two sweeps", "shared values", "finite")
"""The cases that each run has; the others are of `make stress`."""


@pytest.mark.parametrize("case", [pytest.param(x, marks=[] if x in FEW else [pytest.mark.stress]) for x in CASES])
@settings(max_examples=6, deadline=None)
@given(
    st.integers(2, 4),
    st.lists(st.tuples(st.sets(st.integers(0, 3)), st.sampled_from(ACTIONS), st.booleans()), max_size=9),
)
def test_rounds_are_the_sums_that_pytorch_makes(case: str, k: int, plan: list[tuple[set[int], str, bool]]) -> None:
    """Beside an optimizer that steps once for k gradients, which PyTorch adds up in p.grad. Some are missing."""
    opt, twin = make(case, accumulate=k), make(case)
    calls = 0
    for seed, (absent, action, is_bad) in enumerate(plan):
        for i, (p, q) in enumerate(zip(params_of(opt), params_of(twin), strict=True)):
            if i not in absent:
                g = gradient(p, 10 * seed + i)
                if is_bad and case == "finite":
                    g[(0,) * g.dim()] = math.inf
                p.grad, q.grad = g, g.clone() if q.grad is None else q.grad + g
        opt.step()
        calls += 1
        assert all(p.grad is None for p in params_of(opt))
        if action == "flush":
            opt.flush()
        elif action == "pickle":
            opt = pickle.loads(pickle.dumps(opt))
        elif action == "copy":
            opt = copy.deepcopy(opt)
        if calls == k or action == "flush":
            calls = 0
            twin.step() if any(q.grad is not None for q in params_of(twin)) else None
            twin.zero_grad()
        assert opt.accumulated == calls
        if action == "save":
            if calls:
                with pytest.raises(RuntimeError, match=rf"{calls} of {k} calls of step\(\) wait for an update"):
                    opt.state_dict()
            else:
                opt.load_state_dict(opt.state_dict())
                twin.load_state_dict(twin.state_dict())
        assert contents(opt) == contents(twin)
    assert opt.skipped == twin.skipped


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_summed_in_float32(dtype: torch.dtype) -> None:
    """Gradients of which PyTorch's sum in 16 bits loses all but one."""
    p = torch.nn.Parameter(torch.zeros(3, dtype=dtype))
    opt = optgen.torch.SGD([p], lr=1.0, accumulate=3, master=True)
    large = 2.0 ** (11 if dtype == torch.float16 else 8)
    for x in (large, 1.0, -large):
        p.grad = torch.full((3,), x, dtype=dtype)
        opt.step()
    assert p.tolist() == [-1.0] * 3


def test_the_norm_is_that_of_the_sum() -> None:
    opt, twin = make("elementwise", accumulate=2, clip_norm=0.5), make("elementwise", clip_norm=0.5)
    for seed in range(2):
        for i, (p, q) in enumerate(zip(params_of(opt), params_of(twin), strict=True)):
            p.grad = gradient(p, 10 * seed + i)
            q.grad = p.grad.clone() if q.grad is None else q.grad + p.grad
        opt.step()
    twin.step()
    assert opt.grad_norm == twin.grad_norm
    torch.testing.assert_close(params_of(opt), params_of(twin), rtol=1e-6, atol=0)


def test_sparse_gradients_and_parts_of_other_memory() -> None:
    rows = torch.nn.Parameter(torch.ones(4, 2))
    opt = optgen.torch.SparseAdam([rows], accumulate=2)
    twin_rows = torch.nn.Parameter(torch.ones(4, 2))
    twin = optgen.torch.SparseAdam([twin_rows])
    for row in (1, 3):
        rows.grad = torch.sparse_coo_tensor([[row]], torch.ones(1, 2), (4, 2), check_invariants=True)
        opt.step()
    twin_rows.grad = torch.sparse_coo_tensor([[1, 3]], torch.ones(2, 2), (4, 2), check_invariants=True)
    twin.step()
    assert rows.equal(twin_rows)
    # A bucket that is filled anew, as DistributedDataParallel's with gradient_as_bucket_view.
    bucket, p = torch.zeros(6), torch.nn.Parameter(torch.zeros(3))
    sgd = optgen.torch.SGD([p], lr=1.0, accumulate=2)
    for x in (1.0, 2.0):
        bucket.fill_(x)
        p.grad = bucket[:3]
        sgd.step()
    assert p.tolist() == [-3.0] * 3


def test_a_gradient_is_a_reference_and_memory_is_let_go() -> None:
    p = torch.nn.Parameter(torch.zeros(3))
    opt = optgen.torch.SGD([p], lr=1.0, accumulate=2)
    first = torch.ones(3)
    p.grad = first
    opt.step()
    first += 1  # it is the one that is used
    p.grad = torch.ones(3)
    opt.step()
    assert p.tolist() == [-3.0] * 3
    opt.monitor("norm(grad)")
    for _ in range(2):
        p.grad = torch.ones(3)
        opt.step()
    assert opt.monitored["0.0"]["norm(grad)"] == pytest.approx(2 * math.sqrt(3))


def test_a_refused_update_can_be_repeated() -> None:
    opt, twin = make("elementwise", accumulate=2), make("elementwise", accumulate=2)
    for k in range(2):
        for a in (opt, twin):
            for i, p in enumerate(params_of(a)):
                p.grad = gradient(p, 10 * k + i)
        if k:
            opt.param_groups[0]["lr"] = "fast"
            with pytest.raises(TypeError, match="lr"):
                opt.step()
            opt.param_groups[0]["lr"] = twin.param_groups[0]["lr"]
        opt.step()
        twin.step()
    assert contents(opt) == contents(twin)


@pytest.mark.parametrize("name", ["adam", "torch/adamw", "lamb", "adafactor"])
def test_there_are_no_more_sweeps_and_each_gradient_is_read_where_one_was(name: str) -> None:
    rule = optgen.load(name)
    plans = [pipeline.plan(pipeline.build(rule.spec, rule.variant((64, 80), gradients=n))) for n in (1, 3)]
    one, three = map(cost, plans)
    assert one.sweeps == three.sweeps
    assert (three.reads - one.reads) % 2 == 0
    assert three.bytes - one.bytes == 4 * (three.reads - one.reads)
    assert name == "adafactor" or three.reads == one.reads + 2


def test_what_is_refused() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    for make_one, message in (
        (lambda: optgen.torch.Lion([p], accumulate=0), "accumulate: a whole number from 1 to 32, not 0"),
        (lambda: optgen.torch.Lion([p], accumulate=2, in_backward=True), "in_backward=True, with which every backward"),
        (lambda: optgen.torch.LAMB([p], accumulate=2, donate_grads=True), "donate_grads=True, with which steps write"),
        (lambda: optgen.torch.optimizer("adam with sam")([p], accumulate=2), "phases, ascend and descend, each"),
        (lambda: optgen.torch.ALIG([p], accumulate=2), "loss, given to each step"),
    ):
        with pytest.raises(ValueError, match=message):
            make_one()
    opt = optgen.torch.AdamW([p], accumulate=2, fused=True)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(p.sum()).backward()
    with pytest.raises(RuntimeError, match="fused=True with a GradScaler"):
        scaler.step(opt)
    opt = optgen.torch.AdamW([p], accumulate=2)
    p.grad = torch.ones(2)
    opt.step()
    with pytest.raises(RuntimeError, match=r"1 of 2 calls of step\(\) wait.*flush"):
        opt.accumulate = 3
    opt.flush()
    opt.accumulate = 3
    assert opt.state[p]["step"] == 1


def test_gradients_that_are_views_of_memory_that_is_filled_anew() -> None:
    """As a bucket of DistributedDataParallel that has one parameter."""
    p, bucket = torch.nn.Parameter(torch.zeros(3)), torch.zeros(3)
    opt = optgen.torch.SGD([p], lr=1.0, accumulate=2)
    for k in (1.0, 10.0):
        bucket.fill_(k)
        p.grad = bucket.view(3)
        opt.step()
    assert p.tolist() == [-11.0] * 3
