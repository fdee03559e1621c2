"""Rates that follow `lr`: what a schedule does to one it does to all."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch

import optgen
import optgen.torch

SPEC = """\
optimizer TwoRates
param slow_lr per param = 0.01 follows lr
flag matrix = rank == 2
update:
  w' = w - lr*g       if matrix
  w' = w - slow_lr*g  otherwise
"""
TwoRates = optgen.torch.optimizer(optgen.parse(SPEC))
Optimizer = torch.optim.Optimizer
LRS = torch.optim.lr_scheduler


def params() -> list[torch.nn.Parameter]:
    found = [torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in ((2, 2), (3,))]
    for p in found:
        p.grad = torch.ones_like(p)
    return found


def moved(own: list[torch.nn.Parameter], opt: Optimizer) -> list[float]:
    """How far a step takes the first element of each parameter."""
    before = [p.detach().flatten()[0].item() for p in own]
    opt.step()
    return [round(x - p.detach().flatten()[0].item(), 12) for x, p in zip(before, own, strict=True)]


SCHEDULES = {
    "LambdaLR": lambda opt: LRS.LambdaLR(opt, lambda t: 0.5**t),
    "warm-up from 0": lambda opt: LRS.LambdaLR(opt, lambda t: min(1, t / 3)),
    "LinearLR, then cosine to 0": lambda opt: LRS.SequentialLR(
        opt, [LRS.LinearLR(opt, 0.25, total_iters=3), LRS.CosineAnnealingLR(opt, 3)], [3]
    ),
    "OneCycleLR": lambda opt: LRS.OneCycleLR(opt, 0.5, total_steps=10, cycle_momentum=False),
    "CosineAnnealingWarmRestarts": lambda opt: LRS.CosineAnnealingWarmRestarts(opt, 3),
    "CyclicLR": lambda opt: LRS.CyclicLR(opt, 0.0, 0.4, 2, 2, cycle_momentum=False),
    "ReduceLROnPlateau": lambda opt: LRS.ReduceLROnPlateau(opt, patience=1),
}


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("in_backward", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_moves_both(name: str, in_backward: bool) -> None:
    own = params()
    opt = TwoRates(own, lr=0.2, slow_lr=0.05, in_backward=in_backward)
    schedule = SCHEDULES[name](opt)
    for _ in range(8):
        lr = opt.param_groups[0]["lr"]
        for p in own:
            p.grad = torch.ones_like(p)
        assert moved(own, opt) == [round(lr, 12), round(lr / 4, 12)]
        assert opt.param_groups[0]["slow_lr"] == pytest.approx(lr / 4)
        schedule.step(*([1.0] if name == "ReduceLROnPlateau" else []))


def test_a_rate_that_is_set_is_used_and_followed_from_there() -> None:
    own = params()
    opt = TwoRates([{"params": own[:1]}, {"params": own[1:], "lr": 0.4, "slow_lr": 0.2}], lr=0.2)
    first, second = opt.param_groups
    assert moved(own, opt) == [0.2, 0.2]
    second["slow_lr"] = 0.3
    assert moved(own, opt) == [0.2, 0.3]
    second["lr"] = 0.2
    assert moved(own, opt) == [0.2, 0.15]
    second["lr"], second["slow_lr"] = 0.1, 0.7
    assert moved(own, opt) == [0.2, 0.7]
    second["lr"] = torch.tensor(0.05)
    assert moved(own, opt) == [0.2, pytest.approx(0.35, abs=1e-8)]
    assert first["slow_lr"] == 0.01
    second["lr"] = "much"
    with pytest.raises(TypeError, match="lr"):
        opt.step()


def test_a_rate_that_is_set_to_what_it_was_was_set() -> None:
    """A loop that sets both, as its own schedule."""
    own = params()
    opt = TwoRates(own, lr=0.2, slow_lr=0.1)
    (group,) = opt.param_groups
    for lr in (0.2, 0.1, 0.05, 0.0, 0.2):
        group["lr"], group["slow_lr"] = lr, 0.1
        assert moved(own, opt) == [lr, 0.1]
    group["lr"] = 0.1
    assert moved(own, opt) == [0.1, 0.05]


def test_a_tensor_is_written_in_place() -> None:
    own, rate = params(), torch.tensor(0.125, dtype=torch.float64)
    opt = TwoRates(own, lr=0.5, slow_lr=rate)
    assert moved(own, opt) == [0.5, 0.125]
    opt.param_groups[0]["lr"] = 0.25
    assert moved(own, opt) == [0.25, 0.0625]
    assert opt.param_groups[0]["slow_lr"] is rate and rate.item() == 0.0625
    rate.fill_(0.75)
    assert moved(own, opt) == [0.25, 0.75]


def test_a_rate_of_0_is_followed_by_none() -> None:
    own = params()
    with pytest.warns(UserWarning, match="TwoRates: lr is 0, which slow_lr cannot follow"):
        opt = TwoRates(own, lr=0.0, slow_lr=0.1)
    (group,) = opt.param_groups
    for lr in (0.2, 0.4):
        group["lr"] = lr
        assert moved(own, opt) == [lr, 0.1]
    group["slow_lr"] = 0.2
    assert moved(own, opt) == [0.4, 0.2]
    group["lr"] = 0.2
    assert moved(own, opt) == [0.2, 0.1]
    with pytest.raises(ValueError, match="'slow_lr' must not be negative"):
        TwoRates(own, slow_lr=-0.1)


@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy"])
def test_a_schedule_between_the_last_step_and_the_file(how: str) -> None:
    own = params()
    opt = TwoRates(own, lr=0.2, slow_lr=0.1)
    assert moved(own, opt) == [0.2, 0.1]
    opt.param_groups[0]["lr"] = 0.1
    if how == "state_dict":
        file = io.BytesIO()
        torch.save(opt.state_dict(), file)
        file.seek(0)
        other = TwoRates(own, lr=7.0, slow_lr=1.0)
        other.load_state_dict(torch.load(file))
    else:
        other = pickle.loads(pickle.dumps(opt)) if how == "pickle" else copy.deepcopy(opt)
        own = [p for group in other.param_groups for p in group["params"]]
        for p in own:
            p.grad = torch.ones_like(p)
    assert moved(own, other) == [0.1, 0.05]


@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy"])
def test_what_is_saved_at_a_rate_of_0_goes_on(how: str) -> None:
    own = params()
    opt = TwoRates(own, lr=0.2, slow_lr=0.1)
    opt.param_groups[0]["lr"] = 0.0
    assert moved(own, opt) == [0.0, 0.0]
    if how == "state_dict":
        other = TwoRates(own, lr=7.0, slow_lr=1.0)
        other.load_state_dict(opt.state_dict())
    else:
        other = pickle.loads(pickle.dumps(opt)) if how == "pickle" else copy.deepcopy(opt)
        own = [p for group in other.param_groups for p in group["params"]]
        for p in own:
            p.grad = torch.ones_like(p)
    other.param_groups[0]["lr"] = 0.4
    assert moved(own, other) == [0.4, 0.2]


def test_muon_adamw_warms_up_and_decays_as_a_whole() -> None:
    """Beside a second optimizer, of the same rates times the same factors."""
    torch.manual_seed(0)
    own = [torch.nn.Parameter(torch.randn(shape)) for shape in ((4, 3), (4,))]
    alone = [p.detach().clone() for p in own]
    opt = optgen.torch.MuonAdamW(own, lr=0.02, adam_lr=0.001)
    muon, adamw = (
        optgen.torch.optimizer("muon")(alone[:1], lr=0.02),
        optgen.torch.optimizer("adamw")(alone[1:], lr=1e-3),
    )
    adamw.param_groups[0]["weight_decay"] = opt.param_groups[0]["weight_decay"]
    all_schedules = [LRS.LambdaLR(x, lambda t: min(1, (t + 1) / 4)) for x in (opt, muon, adamw)]
    for k in range(6):
        for p, q in zip(own, alone, strict=True):
            p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(k))
            q.grad = p.grad.clone()
        for x in (opt, muon, adamw, *all_schedules):
            x.step()
    assert torch.equal(own[0], alone[0])
    assert torch.allclose(own[1], alone[1], rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "found",
    [
        5,
        None,
        {},
        {"lr": 1, "slow_lr": 3},
        {"lr": 0.2, "slow_lr": [0.05, "x"]},
        {"lr": float("nan"), "slow_lr": [0.05, 1.0]},
        {"lr": 0.2, "slow_lr": [0.05, float("inf")]},
    ],
    ids=str,
)
def test_what_does_not_follow_is_refused(found: object) -> None:
    opt = TwoRates(params(), lr=0.2, slow_lr=0.05)
    content, before = copy.deepcopy(opt.state_dict()), copy.deepcopy(opt.state_dict())
    content["param_groups"][0]["following"] = found
    with pytest.raises(ValueError, match="'following' of a group: expected 'lr', a number, and of each rate a pair"):
        opt.load_state_dict(content)
    assert str(opt.state_dict()) == str(before)
