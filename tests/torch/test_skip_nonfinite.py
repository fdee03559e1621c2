"""skip_nonfinite: a step with a gradient that is infinite or NaN has not been, and every other step is as without."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import optgen.torch
from optgen.torch.base import SpecOptimizer
from tests.torch.params import numbers

SHAPES = (6, 5), (40,), (), (0, 3), (3, 4)
CASES: dict[str, tuple[str, torch.dtype, dict[str, Any]]] = {
    "groups of two kinds": ("adam", torch.float32, {"amsgrad": True}),
    "of PyTorch": ("torch/sgd", torch.float64, {"momentum": 0.9}),
    "a limit": ("lamb", torch.float32, {"clip_norm": 0.5}),
    "draws": ("sgld", torch.float32, {"seed": 3}),
    "shared values": ("prodigy", torch.float32, {}),
    "16 bits": ("adamw", torch.bfloat16, {"master": True, "storage": "bfloat16_stochastic"}),
    "float16": ("lion", torch.float16, {}),
    "complex": ("rmsprop", torch.complex64, {}),
    "phases": ("adamw with sam", torch.float32, {"clip_norm": 1.0}),
}
BAD = (math.nan, math.inf, -math.inf)


def make(case: str, *, skip: bool) -> SpecOptimizer:
    name, dtype, options = CASES[case]
    params = [torch.nn.Parameter(numbers(shape, k).to(dtype)) for k, shape in enumerate(SHAPES)]
    groups: list[dict[str, Any]] = [{"params": params[:2]}, {"params": params[2:]}]
    if case == "groups of two kinds":
        groups[1]["amsgrad"] = False
    return optgen.torch.optimizer(name)(groups, skip_nonfinite=skip, **options)


def params_of(opt: SpecOptimizer) -> list[torch.Tensor]:
    return [p for group in opt.param_groups for p in group["params"]]


def give(opt: SpecOptimizer, seed: int, size: float = 1.0) -> None:
    for k, p in enumerate(params_of(opt)):
        p.grad = size * numbers(p.shape, 100 * seed + k).to(p.dtype)


def spoil(opt: SpecOptimizer, place: int, value: float) -> None:
    """Write a value into an element of some gradient."""
    grads = [p.grad for p in params_of(opt) if p.grad is not None and p.grad.numel()]
    flat = torch.view_as_real(grads[place % len(grads)]) if grads[0].is_complex() else grads[place % len(grads)]
    flat.view(-1)[place % flat.numel()] = value


def contents(opt: SpecOptimizer) -> str:
    """All weights and states, to the bit."""
    states = [{key: x.tolist() for key, x in opt.state[p].items()} for p in params_of(opt)]
    return repr(([p.tolist() for p in params_of(opt)], states))


steps = st.lists(
    st.one_of(st.none(), st.tuples(st.integers(0, 10**6), st.sampled_from(BAD), st.integers(0, 1)), st.just("large")),
    max_size=5,
)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=8, deadline=None)
@given(steps)
def test_bad_steps_have_not_been(case: str, plan: list[Any]) -> None:
    """Beside an optimizer without the argument, which is not given the bad steps. Large gradients are finite."""
    opt, twin = make(case, skip=True), make(case, skip=False)
    skipped = 0
    for seed, bad in enumerate(plan):
        size = torch.finfo(params_of(opt)[0].dtype).max / 8 if bad == "large" else 1.0
        if opt.spec.phases:
            calls = 0

            def closure(seed: int = seed, bad: Any = bad, size: float = size) -> float:
                nonlocal calls
                give(opt, 2 * seed + calls, size)
                if isinstance(bad, tuple) and bad[2] == calls:
                    spoil(opt, *bad[:2])
                calls += 1
                return 0.5

            assert opt.step(closure) == 0.5
        else:
            give(opt, seed, size)
            if isinstance(bad, tuple):
                spoil(opt, *bad[:2])
            opt.step()
        if isinstance(bad, tuple):
            skipped += 1
            continue
        if opt.spec.phases:
            for k, phase in enumerate(opt.spec.phases):
                give(twin, 2 * seed + k, size)
                getattr(twin, phase)()
        else:
            give(twin, seed, size)
            twin.step()
    assert opt.skipped == skipped
    assert contents(opt) == contents(twin)


def test_phases_that_are_called_by_themselves() -> None:
    opt = make("phases", skip=True)
    before = contents(opt)
    for bad in opt.spec.phases:
        for k, phase in enumerate(opt.spec.phases):
            opt = pickle.loads(pickle.dumps(opt))
            give(opt, k)
            if phase == bad:
                spoil(opt, 3, math.nan)
            getattr(opt, phase)()
    assert contents(opt) == before and opt.skipped == 2
    give(opt, 5)
    opt.ascend()
    opt.descend()
    assert contents(opt) != before


def test_sparse_gradients_and_sums_of_their_entries() -> None:
    p = torch.nn.Parameter(torch.ones(4, 2))
    opt = optgen.torch.SparseAdam([p], skip_nonfinite=True)
    largest = torch.finfo(torch.float32).max
    for values, skipped in (([1.0, 2.0], 0), ([math.inf, 1.0], 1), ([largest, largest], 2)):
        p.grad = torch.sparse_coo_tensor(
            [[1, 1]], torch.tensor(values)[:, None].expand(2, 2), (4, 2), check_invariants=True
        )
        opt.step()
        assert opt.skipped == skipped
    assert opt.state[p]["step"] == 1


@pytest.mark.parametrize("fused", [False, True])
def test_with_a_grad_scaler(fused: bool) -> None:
    p = torch.nn.Parameter(torch.ones(3))
    opt = optgen.torch.AdamW([p], fused=fused, skip_nonfinite=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for factor in (1.0, math.inf, 1.0):
        opt.zero_grad()
        scaler.scale((factor * p).sum()).backward()
        scaler.step(opt)
        scaler.update()
    assert opt.state[p]["step"] == 2
    assert opt.skipped == fused  # else the scaler calls no step


class Reads(TorchDispatchMode):
    """How often PyTorch reads some tensors; views of them read nothing."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.count, self._places = 0, {x.data_ptr() for x in tensors}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not func.is_view and func is not torch.ops.aten.detach.default:
            leaves = tree_leaves((args, kwargs))
            self.count += sum(isinstance(x, torch.Tensor) and x.data_ptr() in self._places for x in leaves)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("options", "size", "reads"),
    [
        ({}, 1.0, 0),
        ({"skip_nonfinite": True}, 1.0, 1),
        ({"clip_norm": 1.0}, 1.0, 1),
        ({"clip_norm": 1.0, "skip_nonfinite": True}, 1.0, 1),
        ({"clip_norm": 1.0, "skip_nonfinite": True}, 1e30, 2),
    ],
)
def test_gradients_are_read_once_beside_the_step(options: dict[str, Any], size: float, reads: int) -> None:
    params = [torch.nn.Parameter(numbers((6, 5), k)) for k in range(3)]
    opt = optgen.torch.optimizer("adam")(params, **options)
    for k in range(2):
        give(opt, k, size)
        grads = [p.grad for p in params if p.grad is not None]
        with Reads(grads) as found:
            opt.step()
        assert found.count == reads * len(params)


def test_the_count_is_kept_and_arguments_are_checked() -> None:
    opt = make("a limit", skip=True)
    give(opt, 1)
    spoil(opt, 2, math.inf)
    opt.step()
    assert opt.grad_norm.isinf()
    assert [copy.deepcopy(opt).skipped, pickle.loads(pickle.dumps(opt)).skipped] == [1, 1]
    assert "skipped" not in str(opt.state_dict())
    with pytest.raises(ValueError, match="skip_nonfinite=True with in_backward=True: backward updates"):
        optgen.torch.Lion([torch.nn.Parameter(torch.ones(2))], skip_nonfinite=True, in_backward=True)
