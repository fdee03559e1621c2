"""GradScaler: its scale is taken out of gradients, within the step if that is fused, and a step with infinite gradients
is none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.amp.grad_scaler import GradScaler
from torch.nn import Parameter

import optgen.torch
from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer
from tests.torch.params import params_of

SCALE = 1024.0


def weights(dtype: torch.dtype = torch.float32) -> list[Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in ((4, 3), (5,))]


def backward(opt: torch.optim.Optimizer, scaler: GradScaler | None, k: int, bad: float = 0.0) -> None:
    opt.zero_grad()
    loss = sum((torch.cos(p * (k + 1)) + bad * p).sum() for p in params_of(opt))
    (scaler.scale(loss) if scaler else loss).backward()  # type: ignore[union-attr, no-untyped-call]


def assert_same(a: torch.optim.Optimizer, b: torch.optim.Optimizer) -> None:
    for p, q in zip(params_of(a), params_of(b), strict=True):
        assert torch.equal(p, q)
        assert all(torch.equal(x, b.state[q][key]) for key, x in a.state[p].items())


def scaler(scale: float = SCALE) -> GradScaler:
    return GradScaler("cpu", init_scale=scale, growth_interval=1000)


@pytest.mark.parametrize("fused", [None, True])
@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("name", ["lion", "adamw", "adafactor", "prodigy", "sgld"])
def test_steps_are_those_without_a_scaler(name: str, unscales: bool, fused: bool | None) -> None:
    scaled, plain, own = optimizer(name)(weights(), fused=fused), optimizer(name)(weights()), scaler()
    for k in range(3):
        backward(scaled, own, k)
        backward(plain, None, k)
        if unscales:
            own.unscale_(scaled)
        own.step(scaled)
        own.update()
        plain.step()
        assert_same(scaled, plain)
    assert not hasattr(scaled, "grad_scale") and not hasattr(scaled, "found_inf")


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("fused", [None, True])
def test_a_step_with_infinite_gradients_changes_nothing(unscales: bool, bad: float, fused: bool | None) -> None:
    """No weight, state, draw or count: the next step is as if there had been none."""
    make = optimizer("sgld")
    scaled, plain, own = make(weights(), lr=0.1, seed=5, fused=fused), make(weights(), lr=0.1, seed=5), scaler()
    for k in range(4):
        backward(scaled, own, k, bad if k == 1 else 0.0)
        if unscales:
            own.unscale_(scaled)
        own.step(scaled)
        own.update()
        if k != 1:
            backward(plain, None, k)
            plain.step()
        assert_same(scaled, plain)
    assert own.get_scale() == SCALE / 2


def test_two_optimizers_of_which_one_skips() -> None:
    own = scaler()
    first, second = (optgen.torch.Lion(weights(), lr=0.1, fused=True) for _ in range(2))
    backward(first, own, 0)
    backward(second, own, 0, float("inf"))
    before = [p.detach().clone() for p in weights()]
    own.step(first)
    own.step(second)
    own.update()
    assert not any(map(torch.equal, before, params_of(first)))
    assert all(map(torch.equal, before, params_of(second)))
    assert [int(opt.state[params_of(opt)[0]]["step"]) for opt in (first, second)] == [1, 0]


def test_a_scale_that_is_no_power_of_two_rounds_as_unscale_does() -> None:
    scaled, before = optimizer("adamw")(weights(), fused=True), optimizer("adamw")(weights())
    own, other = scaler(3.0), scaler(3.0)
    for k in range(3):
        for opt, each in ((scaled, own), (before, other)):
            backward(opt, each, k)
        other.unscale_(before)
        for opt, each in ((scaled, own), (before, other)):
            each.step(opt)
            each.update()
        assert_same(scaled, before)


def test_gradients_of_16_bits_are_unscaled_in_float32() -> None:
    """With masters; `unscale_` refuses such gradients."""
    params = weights(torch.float16)
    opt, own = optgen.torch.Lion(params, lr=1e-3, fused=True, master=True, betas=(0.9, 0.5)), scaler()
    backward(opt, own, 0)
    grads = [p.grad.float() / SCALE for p in params]  # type: ignore[union-attr]
    own.step(opt)
    for p, g in zip(params, grads, strict=True):
        assert torch.equal(opt.state[p]["m"], 0.5 * g)


def test_a_scaler_that_is_off_and_one_that_works_on_masters() -> None:
    opt, off = optgen.torch.Lion(weights(), lr=0.1), GradScaler("cpu", enabled=False)
    backward(opt, off, 0)
    off.step(opt)
    off.update()
    assert opt.state[params_of(opt)[0]]["step"] == 1


def test_maximize_with_a_scaler() -> None:
    def made(**kwargs: Any) -> SpecOptimizer:
        return optgen.torch.Lion(weights(), lr=0.1, **kwargs)  # type: ignore[no-any-return]

    scaled, plain, own = made(maximize=True, fused=True), made(maximize=True), scaler()
    for k in range(2):
        backward(scaled, own, k)
        backward(plain, None, k)
        own.step(scaled)
        own.update()
        plain.step()
    assert_same(scaled, plain)


@pytest.mark.parametrize("name", ["Lion", "AdamW", "Adamax"])
def test_a_step_takes_part_in_scaling_if_it_is_fused(name: str) -> None:
    """As with PyTorch's: libraries that find the attribute leave schedules and clipping to others. Copies keep it."""
    for fused in (None, False, True):
        made = getattr(optgen.torch, name)(weights(), fused=fused)
        saved = getattr(optgen.torch, name)(weights())
        saved.load_state_dict(made.state_dict())
        found = [x._step_supports_amp_scaling for x in (made, copy.deepcopy(made), saved)]
        assert found == [bool(fused), bool(fused), False]
    theirs = torch.optim.AdamW(weights(), fused=True)
    assert optgen.torch.replace(theirs)._step_supports_amp_scaling


@pytest.mark.parametrize("name", ["Lion", "Adam"])
def test_a_schedule_waits_for_a_step_that_is_skipped(name: str) -> None:
    """accelerate, Lightning and training loops look whether `step` was called."""
    opt, own, calls = getattr(optgen.torch, name)(weights()), scaler(), []
    opt.register_step_pre_hook(lambda *_: calls.append(1))
    for bad in (0.0, float("inf"), 0.0):
        backward(opt, own, 0, bad)
        own.step(opt)
        own.update()
    assert len(calls) == 2
