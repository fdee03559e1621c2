"""clip_norm: a step with it is `clip_grad_norm_` and a step without it, to the bit."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Sequence

import pytest
import torch
from torch.nn.utils import clip_grad_norm_

import optgen.torch
from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer

SHAPES = (7, 5), (130, 40), (), (0,), (9,)
Make = Callable[..., SpecOptimizer]


def parameters(
    dtype: torch.dtype = torch.float32, shapes: Sequence[tuple[int, ...]] = SHAPES
) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]


def give_gradients(params: Sequence[torch.Tensor], step: int, size: float = 1.0) -> None:
    generator = torch.Generator().manual_seed(step + 1)
    for p in params:
        p.grad = (size * torch.randn(p.shape, generator=generator)).to(p.dtype)


def assert_as_clipped_before(
    make: Make, params: Sequence[torch.nn.Parameter], limit: float, sizes: Sequence[float] = (0.01, 1.0, 30.0)
) -> None:
    """Three steps with `clip_norm`, beside three with gradients that were clipped before."""
    ours, theirs = params, copy.deepcopy(params)
    clipping, plain = make(ours, clip_norm=limit), make(theirs)
    for k, size in enumerate(sizes):
        give_gradients(ours, k, size)
        give_gradients(theirs, k, size)
        before = [p.grad.clone() for p in ours]
        norm = clip_grad_norm_([p for group in plain.param_groups for p in group["params"]], limit)
        clipping.step()
        plain.step()
        torch.testing.assert_close(clipping.grad_norm, norm, rtol=0, atol=0)
        for p, grad in zip(ours, before, strict=True):
            assert p.grad.equal(grad)  # it is not written
    for a, b in zip(ours, theirs, strict=True):
        assert a.equal(b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["sgd", "adabelief", "lamb", "prodigy", "torch/adam", "torch/rmsprop"])
def test_same_bits_as_clip_grad_norm(name: str, dtype: torch.dtype) -> None:
    make = optgen.torch.optimizer(name)
    assert_as_clipped_before(make, parameters(dtype, SHAPES[:2]), 1.0)
    assert make(parameters()).grad_norm is None


def test_beside_pytorchs_own_adam() -> None:
    ours, theirs = parameters(torch.float64), parameters(torch.float64)
    opt, plain = optgen.torch.Adam(ours, clip_norm=1.0), torch.optim.Adam(theirs)
    for k, size in enumerate([0.01, 1.0, 30.0]):
        for params in (ours, theirs):
            give_gradients(params, k, size)
        clip_grad_norm_(theirs, 1.0)
        opt.step()
        plain.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)
    assert opt.state_dict()["param_groups"][0].keys() == plain.state_dict()["param_groups"][0].keys()


def test_one_norm_of_all_groups_and_dtypes() -> None:
    def make(params: Sequence[torch.Tensor], **options: float) -> SpecOptimizer:
        return optimizer("sgd")([{"params": params[::2]}, {"params": params[1::2], "lr": 0.3}], **options)

    assert_as_clipped_before(make, [*parameters(), *parameters(torch.float64)], 2.5)
    assert_as_clipped_before(make, [*parameters(), *parameters(torch.complex64)], 2.5)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_norms_that_are_not_finite(bad: float) -> None:
    """As PyTorch's: an infinite norm makes finite gradients 0, one that is NaN makes all gradients NaN."""
    ours, theirs = parameters(), parameters()
    opt, plain = optimizer("sgd")(ours, clip_norm=1.0), optimizer("sgd")(theirs)
    for params in (ours, theirs):
        give_gradients(params, 0)
        params[1].grad[2, 3] = bad
    norm = clip_grad_norm_(theirs, 1.0)
    opt.step()
    plain.step()
    torch.testing.assert_close([opt.grad_norm, *ours], [norm, *theirs], rtol=0, atol=0, equal_nan=True)
    assert ours[0].isnan().all() == math.isnan(bad)


def test_16_bit_gradients() -> None:
    """The norm is that of `clip_grad_norm_`; products are not rounded to 16 bits before the step."""
    p, clipped = parameters(torch.bfloat16, [(300,)]) + parameters(torch.float32, [(300,)])
    with torch.no_grad():
        clipped.copy_(p)
    ours = optimizer("sgd")([p], lr=0.5, clip_norm=1.0)
    give_gradients([p], 0)
    clipped.grad = p.grad.float()
    ours.step()
    norm = clip_grad_norm_([p], 1.0)
    assert ours.grad_norm.dtype == torch.bfloat16 and ours.grad_norm.equal(norm)
    clipped.grad *= (1.0 / (norm + 1e-6)).float()
    optimizer("sgd")([clipped], lr=0.5).step()
    assert p.equal(clipped.bfloat16())


def test_with_gradients_missing_and_none_at_all() -> None:
    p, q = parameters(shapes=[(4,), (5,)])
    opt = optimizer("sgd")([p, q], lr=1.0, clip_norm=1.0)
    before = p.detach().clone()
    opt.step()
    assert opt.grad_norm.item() == 0 and p.equal(before)
    p.grad = torch.tensor([3.0, 0, 4, 0])
    opt.step()
    assert opt.grad_norm.item() == 5
    torch.testing.assert_close(before - p, p.grad / 5)


def test_the_limit_can_be_changed_and_taken_away() -> None:
    ours, theirs = parameters(), parameters()
    opt, plain = optimizer("sgd")(ours, clip_norm=1.0), optimizer("sgd")(theirs)
    for k, limit in enumerate([1.0, 0.25, None, 2.0]):
        opt.clip_norm = limit
        give_gradients(ours, k)
        give_gradients(theirs, k)
        if limit is not None:
            clip_grad_norm_(theirs, limit)
        opt.step()
        plain.step()
    assert all(a.equal(b) for a, b in zip(ours, theirs, strict=True))


def test_copies_keep_the_limit() -> None:
    opt = optgen.torch.Lion(parameters(), clip_norm=0.5)
    give_gradients(opt.param_groups[0]["params"], 0)
    opt.step()
    for same in (copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))):
        assert same.clip_norm == 0.5


@pytest.mark.parametrize("unscaled", [False, True])
def test_grad_scaler(unscaled: bool) -> None:
    """The norm is of unscaled gradients, whoever unscales them; a step that is skipped has a norm and moves nothing."""
    ours, theirs = parameters(), parameters()
    opt, plain = optimizer("adabelief")(ours, clip_norm=1.0, fused=True), optimizer("adabelief")(theirs)
    scalers = [torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2) for _ in range(2)]
    for k, size in enumerate([0.01, 1.0, 30.0, math.inf, 1.0]):
        for params, scaler in zip((ours, theirs), scalers, strict=True):
            give_gradients(params, k, size)
            scaler.scale(torch.ones(()))
            for p in params:
                p.grad *= scaler.get_scale()
        if unscaled:
            scalers[0].unscale_(opt)
        scalers[0].step(opt)
        scalers[1].unscale_(plain)
        norm = clip_grad_norm_(theirs, 1.0)
        scalers[1].step(plain)
        torch.testing.assert_close(opt.grad_norm, norm, rtol=0, atol=0, equal_nan=True)
        for scaler in scalers:
            scaler.update()
        assert all(a.equal(b) for a, b in zip(ours, theirs, strict=True)), k


def test_scaled_float16_gradients_whose_norm_is_beyond_float16() -> None:
    p = torch.nn.Parameter(torch.zeros(100, dtype=torch.float16))
    opt = optimizer("sgd")([p], lr=1.0, clip_norm=1.0)
    p.grad = torch.full_like(p, 2.0**15)
    opt.grad_scale, opt.found_inf = torch.tensor(2.0**15), torch.tensor(0.0)
    opt.step()
    assert opt.grad_norm.item() == 10
    torch.testing.assert_close(p, torch.full_like(p, -0.1))


def test_sparse_gradients() -> None:
    """Duplicate rows are summed before the norm is taken, as in the dense gradient."""
    index = torch.tensor([[1, 3, 1]])
    values = torch.tensor([[3.0, 1.0], [2.0, 2.0], [3.0, -5.0]])
    sparse, dense = parameters(shapes=[(5, 2)] * 2)
    with torch.no_grad():
        dense.copy_(sparse)
    opts = [optimizer("sgd")([p], clip_norm=1.5) for p in (sparse, dense)]
    for _ in range(3):
        sparse.grad = torch.sparse_coo_tensor(index, values, (5, 2), check_invariants=True)
        dense.grad = sparse.grad.to_dense()
        for opt in opts:
            opt.step()
        torch.testing.assert_close(opts[0].grad_norm, opts[1].grad_norm)
    assert opts[0].grad_norm.item() == pytest.approx(math.sqrt(36 + 16 + 4 + 4))
    torch.testing.assert_close(sparse, dense)


@pytest.mark.parametrize("limit", [0, -1.0, math.nan])
def test_limits_that_are_none(limit: float) -> None:
    with pytest.raises(ValueError, match="clip_norm: a positive number or None, not"):
        optgen.torch.Lion(parameters(), clip_norm=limit)


def test_a_limit_is_checked_when_it_is_set_and_is_copied() -> None:
    opt = optgen.torch.Lion(parameters(), clip_norm=0.5)
    for wrong in (-1, 0, True, math.nan, "x", [1.0], torch.ones(2)):
        with pytest.raises(ValueError, match="clip_norm: a positive number or None, not"):
            opt.clip_norm = wrong
        with pytest.raises(ValueError, match="clip_norm: a positive number or None, not"):
            optgen.torch.Adam(parameters(), clip_norm=wrong)
    opt.load_state_dict(optgen.torch.Lion(parameters()).state_dict())
    assert opt.clip_norm == copy.deepcopy(opt).clip_norm == pickle.loads(pickle.dumps(opt)).clip_norm == 0.5
    assert "clip_norm" not in vars(opt)
    opt.clip_norm = None
    assert copy.deepcopy(opt).clip_norm is None
