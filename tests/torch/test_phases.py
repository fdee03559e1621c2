"""Steps with several gradients: closures, methods of phases, and what is refused between them."""

from __future__ import annotations

import copy
import warnings
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint import state_dict as dcp

import optgen.torch
from tests.torch.interrupts import interrupted

SAM = optgen.torch.optimizer("adamw with sam(rho=0.1)")
DATA = [torch.randn(8, n, generator=torch.Generator().manual_seed(n)).double() for n in (4, 2)]


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)).double()


def backward(net: torch.nn.Module) -> torch.Tensor:
    loss = ((net(DATA[0]) - DATA[1]) ** 2).mean()
    loss.backward()
    return loss.detach()


def reference(net: torch.nn.Module, base: torch.optim.Optimizer, limit: float | None) -> torch.Tensor:
    """A step of SAM as its authors' code has it, with clipped gradients; returns the first loss."""

    def gradients() -> torch.Tensor:
        base.zero_grad()
        loss = backward(net)
        if limit is not None:
            torch.nn.utils.clip_grad_norm_(net.parameters(), limit)
        return loss

    first, start = gradients(), copy.deepcopy(net.state_dict())
    norm = torch.cat([p.grad.flatten() for p in net.parameters()]).norm()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(p.grad * (0.1 / (norm + 1e-12)))
    gradients()
    net.load_state_dict(start)
    base.step()
    return first


@pytest.mark.parametrize("limit", [None, 0.2])
@pytest.mark.parametrize("zeroes", [False, True])
def test_a_closure_is_called_for_each_phase(zeroes: bool, limit: float | None) -> None:
    net, alike = network(), network()
    optimizer = SAM(net.parameters(), lr=0.05, clip_norm=limit)
    base = optgen.torch.optimizer("adamw")(alike.parameters(), lr=0.05)
    schedules = [torch.optim.lr_scheduler.StepLR(x, 1, 0.9) for x in (optimizer, base)]
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append("hook"))

    def closure() -> torch.Tensor:
        calls.append("closure")
        if zeroes:
            optimizer.zero_grad()
        return backward(net)

    for _ in range(4):
        calls.clear()
        torch.testing.assert_close(optimizer.step(closure), reference(alike, base, limit), rtol=1e-9, atol=0)
        assert calls == ["closure", "closure", "hook"]
        for schedule in schedules:
            schedule.step()
        for p, q in zip(net.parameters(), alike.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-12)
    assert {int(states["step"]) for states in optimizer.state.values()} == {4}


def test_phases_are_methods_in_their_order() -> None:
    net, alike = network(), network()
    optimizer, by_closure = SAM(net.parameters(), lr=0.05), SAM(alike.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 1.0)
    with pytest.raises(RuntimeError, match=r"call step\(closure\).* or optimizer.ascend\(\), new gradients"):
        optimizer.step()
    with pytest.raises(RuntimeError, match="the phase 'ascend' is due, and not 'descend'"):
        optimizer.descend()
    for _ in range(3):
        optimizer.zero_grad()
        backward(net)
        optimizer.ascend()
        for refused in (optimizer.state_dict, optimizer.ascend):
            with pytest.raises(RuntimeError, match=r"'descend' is due.* go on by step\(closure\), or by descend"):
                refused()
        assert copy.deepcopy(optimizer)._due == 1
        optimizer.zero_grad()
        backward(net)
        optimizer.clip_norm = 1e6  # has the kernels of the second phase made anew
        optimizer.descend()
        with warnings.catch_warnings(action="error"):
            schedule.step()
        by_closure.step(lambda: backward(alike))
    for p, q in zip(net.parameters(), alike.parameters(), strict=True):
        assert torch.equal(p, q)


def test_states_and_groups() -> None:
    net, alike = network(), network()
    groups = [{"params": list(net[0].parameters())}, {"params": list(net[2].parameters()), "lr": 0.01}]
    optimizer = SAM(groups, lr=0.05)
    for _ in range(2):
        optimizer.step(lambda: backward(net))
    alike.load_state_dict(net.state_dict())
    other = SAM([{"params": list(alike[0].parameters())}, {"params": list(alike[2].parameters())}])
    backward(alike)
    other.ascend()
    other.load_state_dict(optimizer.state_dict())  # begins with a first phase
    alike.load_state_dict(net.state_dict())
    for _ in range(2):
        optimizer.step(lambda: backward(net))
        other.step(lambda: backward(alike))
    for p, q in zip(net.parameters(), alike.parameters(), strict=True):
        assert torch.equal(p, q)


def test_all_phases_update_the_same_parameters() -> None:
    net = network()
    optimizer = optgen.torch.ExtraGradient(net.parameters())
    backward(net)
    net[2].bias.grad = None
    optimizer.extrapolate()
    before = [p.detach().clone() for p in net.parameters()]
    backward(net)
    message = r"parameter 3 of group 0.* has a gradient in the phase 'correct', and had none in 'extrapolate'"
    with pytest.raises(ValueError, match=message):
        optimizer.correct()
    assert all(map(torch.equal, net.parameters(), before))
    net[2].bias.grad = None
    optimizer.correct()


@pytest.mark.parametrize(
    ("options", "message"), [({"in_backward": True}, "a step has phases, extrapolate and correct")]
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        optgen.torch.ExtraGradient(network().parameters(), **options)
    embedding = torch.nn.Embedding(4, 2, sparse=True)
    optimizer = optgen.torch.ExtraGradient(embedding.parameters())
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match="has a sparse gradient, and steps with phases take dense ones"):
        optimizer.extrapolate()


@pytest.mark.parametrize("name", ["adamw with sam(rho=0.1)", "extragradient", "alig"])
def test_distributed_checkpoints_find_states_without_a_closure(name: str) -> None:
    """Where there are no states yet, it calls a step of its own, at a rate of 0 and with gradients of 0."""
    (net, optimizer), (alike, other) = (
        (net, optgen.torch.optimizer(name)(net.parameters())) for net in (network(), network())
    )

    def step(net: torch.nn.Module, optimizer: Any) -> None:
        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            return backward(net)

        optimizer.step(closure)

    step(net, optimizer)
    optimizer.zero_grad()
    found = dcp.get_optimizer_state_dict(net, optimizer)
    other.state.clear()
    rates = [group["lr"] for group in other.param_groups]
    empty = dcp.get_optimizer_state_dict(alike, other)
    assert empty["state"].keys() == found["state"].keys() and rates == [group["lr"] for group in other.param_groups]
    assert all(map(torch.equal, alike.parameters(), network().parameters()))
    assert {int(states["step"]) for states in other.state.values()} == {0}
    alike.load_state_dict(net.state_dict())
    dcp.set_optimizer_state_dict(alike, other, found)
    for _ in range(2):
        step(net, optimizer)
        step(alike, other)
    assert all(map(torch.equal, net.parameters(), alike.parameters()))


def test_a_forgotten_closure_is_no_step_for_states() -> None:
    for rate, gradient in ((0.1, 0.0), (0.0, 1.0), (0.0, None)):
        net = network()
        optimizer = optgen.torch.ExtraGradient(net.parameters(), lr=rate)
        optimizer.state.clear()
        for p in net.parameters():
            p.grad = None if gradient is None else torch.full_like(p, gradient)
        with pytest.raises(RuntimeError, match=r"call step\(closure\)"):
            optimizer.step()


MEZO = """\
optimizer MeZO
param eps = 0.01
state above: host = 0
input loss: host
phase up:
  z  = normal()
  w' = w + eps*z
phase down:
  above' = loss
  w'     = w - 2*eps*z
phase descend:
  w' = w + eps*z - lr*(above - loss)/(2*eps)*z
"""


def test_a_spec_that_reads_no_gradient_updates_what_learns() -> None:
    p, q, fixed = (torch.nn.Parameter(torch.ones(5), requires_grad=x) for x in (True, True, False))
    opt: Any = optgen.torch.optimizer(optgen.parse(MEZO))([p, q, fixed], lr=0.05)
    calls = []

    def closure() -> torch.Tensor:
        calls.append(torch.is_grad_enabled())
        return p.square().sum() + (q + 1).square().sum()

    first = closure()
    for _ in range(100):
        opt.step(closure)
    assert calls[1:] == [False] * 200  # the first phase reads no loss
    assert closure() < 0.1 * first and p.grad is None and torch.equal(fixed, torch.ones(5))
    q.grad = torch.zeros(5)  # where some have gradients, those are updated
    before = p.detach().clone()
    for phase in ("up", "down", "descend"):
        getattr(opt, phase)(loss=closure().detach()) if phase != "up" else opt.up()
    assert torch.equal(p, before)


def test_an_interrupt_behind_a_phase_leaves_the_next_one_due() -> None:
    nets = network(), network()
    stopped, whole = (SAM(net.parameters(), lr=0.05) for net in nets)
    for net, opt in zip(nets, (stopped, whole), strict=True):
        for phase in ("ascend", "descend"):
            opt.zero_grad()
            backward(net)
            with interrupted() if opt is stopped else nullcontext():
                getattr(opt, phase)()
            assert opt._due == (phase == "ascend")
    assert all(torch.equal(p, q) for p, q in zip(nets[0].parameters(), nets[1].parameters(), strict=True))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("skip", [False, True])
def test_after_a_closure_that_raised_the_phases_that_are_left_are_made(error: type[BaseException], skip: bool) -> None:
    nets = network(), network()
    stopped, whole = (SAM(net.parameters(), lr=0.05, skip_nonfinite=skip) for net in nets)
    calls: list[int] = []

    def closure(fails: int) -> torch.Tensor:
        calls.append(fails)
        if len(calls) == fails:
            raise error("no batch")
        return backward(nets[0])

    for fails, due in ((2, 1), (1, 0), (3, 0)):
        calls.clear()
        if fails < 3:
            with pytest.raises(error):
                stopped.step(lambda fails=fails: closure(fails))
        assert stopped._due == due
        loss = stopped.step(lambda: backward(nets[0]))
        assert stopped._due == 0 and loss > 0
        whole.step(lambda: backward(nets[1]))
        assert all(torch.equal(p, q) for p, q in zip(nets[0].parameters(), nets[1].parameters(), strict=True))


def test_an_interrupt_within_backward_leaves_no_gradient_that_was_used() -> None:
    p = torch.nn.Parameter(torch.ones(3))
    optimizer = optgen.torch.optimizer("sgd")([p], lr=0.25, in_backward=True)
    p.sum().backward()
    with interrupted():
        p.sum().backward()
    assert p.grad is None
    optimizer.step()
    assert p.tolist() == [0.5] * 3
